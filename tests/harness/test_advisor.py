"""The seam for learning: asked before decisions, told how it ended, never in the cached prefix."""

import asyncio
import threading

import msgspec
import pytest

from hermes_agent.tools.tool import Tool
from hermes_agent.types.advice import Advice, Failure, Moment, Ruling, Situation, Steer
from hermes_agent.types.events import AdviceGiven, CallFinished, Decided, Fragment, PlanChanged, PrefixFrozen
from hermes_agent.types.plan import ActivePlan
from hermes_agent.types.trace import AdviceItem, CallStatus, RunStatus, Trace
from tests.harness.rig import Rig, Witness, call, calling, events, of, results, saying, until


class Adviser:
    """Says what it is told to say and writes down what it is asked."""

    def __init__(self, advice: Advice | None = None, avoid: str = "", futile: bool = False) -> None:
        self.asked: list[tuple[str, object]] = []
        self.traces: list[Trace] = []
        self._advice = advice or Advice()
        self._avoid = avoid
        self._futile = futile

    async def advise(self, situation: Situation) -> Advice:
        self.asked.append(("advise", situation))
        return self._advice

    async def resume(self, situation: Situation, version: int) -> None:
        self.asked.append(("resume", version))

    def review(self, moment: Moment) -> Ruling:
        name = moment.call.name
        self.asked.append(("review", name))
        return Ruling(steer=Steer(reason=f"{name} fails here", better="slow") if name == self._avoid else None)

    def weigh_retry(self, failure: Failure, situation: Situation) -> Ruling:
        self.asked.append(("weigh_retry", failure))
        return Ruling(steer=Steer(reason="futile") if self._futile else None)

    def repair(self, failure: Failure, situation: Situation) -> Ruling:
        return Ruling()

    async def learn(self, trace: Trace) -> None:
        self.asked.append(("learn", trace.outcome.status))
        self.traces.append(trace)


def until_the_answer(trace: Trace) -> Trace:
    """A trace without its total time, which also counts the delivery that comes after learning."""
    return msgspec.structs.replace(trace, summary=msgspec.structs.replace(trace.summary, total_time=0.0))


def probe(log: list[str], name: str = "probe") -> Tool:
    def run(number: int = 0) -> str:
        """Look."""
        log.append(f"{name} {number}")
        return f"saw {number}"

    return Tool(name, run, capabilities=[], effect="none")


@pytest.mark.trunk
@pytest.mark.req("H7")
def test_heuristics_then_plan_then_model_then_tool_then_record_then_learning(rig: Rig) -> None:
    log: list[str] = []
    adviser = Adviser(Advice(hints=("look twice",), plan=ActivePlan(pending=("look", "tell"), retries_left=2)))
    agent = rig.agent([calling(call("probe", number=1)), saying("seen")], [probe(log)], advisor=adviser)
    result = agent.run("look")
    assert [type(event).__name__ for event in events(agent, result)] == [
        "RunStarted",
        "UserMessage",
        "PrefixFrozen",
        "AdviceGiven",
        "PlanChanged",
        "Fragment",
        "ModelCalled",
        "AssistantMessage",
        "CallIntended",
        "CallFinished",
        "ModelCalled",
        "AssistantMessage",
        "RunFinished",
        "DeliveryIntended",
        "DeliveryFinished",
    ]
    assert adviser.asked == [
        (
            "advise",
            Situation(
                request="look",
                model="scripted:script",
                surface="library",
                run_id=result.run_id,
                workspace=str(agent.workspace),
            ),
        ),
        ("review", "probe"),
        ("learn", RunStatus.DONE),
    ]
    assert log == ["probe 1"]
    assert [until_the_answer(trace) for trace in adviser.traces] == [until_the_answer(agent.state.trace(result.run_id))]
    plan = of(PlanChanged, events(agent, result))[0].plan
    assert plan == ActivePlan(pending=("look", "tell"), retries_left=2)


@pytest.mark.req("H7", "R9")
def test_hints_come_behind_the_transcript_and_never_into_the_prefix(rig: Rig) -> None:
    items = (
        AdviceItem(id="h1", text="use the second parser", propensity=0.9),
        AdviceItem(id="h2", text="withheld", applied=False, propensity=0.5),
    )
    adviser = Adviser(Advice(hints=("use the second parser",), behind=("probe",), items=items))
    plain, hinted = Witness([saying("a")], model="m"), Witness([saying("a"), saying("b")], model="m")
    rig.agent(plain, name="plain").run("do it")
    agent = rig.agent(hinted, name="hinted", advisor=adviser)
    result = agent.run("do it")
    assert hinted.systems == plain.systems
    assert "second parser" not in hinted.systems[0]
    sent = msgspec.json.decode(hinted.bodies[0])["messages"]
    assert [message["content"] for message in sent[1:]] == [
        "do it",
        '<notice from="advice">\nuse the second parser\n</notice>',
    ]
    given = AdviceGiven(items=items, hints=("use the second parser",), behind=("probe",))
    assert of(AdviceGiven, events(agent, result)) == [given]
    assert of(Fragment, events(agent, result)) == [Fragment(source="advice", text="use the second parser")]
    second = agent.run("again")
    assert hinted.systems[1] == hinted.systems[0]
    assert [item.reason for item in of(PrefixFrozen, events(agent, second))] == [""]


@pytest.mark.trunk
@pytest.mark.req("H7")
def test_a_steered_call_is_not_made_and_an_insisting_one_is(rig: Rig) -> None:
    log: list[str] = []
    script = [
        calling(call("probe", number=1), call("probe", number=1)),
        calling(call("probe", number=2)),
        calling(call("probe", number=1)),
        saying("done"),
    ]
    agent = rig.agent(script, [probe(log), probe(log, "slow")], advisor=Adviser(avoid="probe"))
    result = agent.run("look")
    assert results(agent, result) == [
        ("call_0_0", "steered", "steered"),
        ("call_0_1", "steered", "steered"),
        ("call_1_0", "steered", "steered"),
        ("call_2_0", "ok", ""),
    ]
    assert log == ["probe 1"]
    said = msgspec.json.decode(of(CallFinished, events(agent, result))[0].text)
    assert said == {"error": "probe fails here. Use slow instead. Make the same call again to insist."}


@pytest.mark.req("H7")
def test_a_futile_retry_is_not_made(local_rig: Rig) -> None:
    tries: list[int] = []

    def down() -> str:
        tries.append(1)
        raise ConnectionError("down")

    adviser = Adviser(futile=True)
    agent = local_rig.agent(
        [calling(call("down")), saying("gave up")],
        [Tool("down", down, capabilities=[], effect="idempotent")],
        advisor=adviser,
    )
    result = agent.run("try")
    assert len(tries) == 1
    assert of(Decided, events(agent, result)) == [
        Decided(
            subject="failure",
            choice="skip",
            reason="down: ConnectionError: known to be futile here",
            call_id="call_0_0",
        )
    ]
    failure = Failure(tool="down", error="ConnectionError", text="ConnectionError: down", attempt=1)
    assert ("weigh_retry", failure) in adviser.asked


@pytest.mark.req("H7")
def test_learning_hears_of_failed_and_interrupted_runs(local_rig: Rig) -> None:
    local_rig.configure(limits={"iterations": 1})
    adviser, inside = Adviser(), threading.Event()

    async def wait() -> str:
        inside.set()
        await asyncio.sleep(60)
        return "never"

    agent = local_rig.agent(
        [calling(call("probe", number=1)), saying("not finished"), calling(call("wait"))],
        [probe([]), Tool("wait", wait, capabilities=[], effect="once")],
        advisor=adviser,
    )
    failed = agent.run("one")
    worker = threading.Thread(target=agent.run, args=("two",))
    worker.start()
    assert inside.wait(30)
    until(agent.interrupt)
    worker.join()
    assert [trace.outcome.status for trace in adviser.traces] == [RunStatus.FAILED, RunStatus.INTERRUPTED]
    assert until_the_answer(adviser.traces[0]) == until_the_answer(agent.state.trace(failed.run_id))
    assert [record.status for record in adviser.traces[1].calls] == [CallStatus.IN_DOUBT]

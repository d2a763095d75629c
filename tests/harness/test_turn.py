"""One request from message to answer: the order of things, the active plan, traces, another model."""

import threading

import msgspec
import pytest

from hermes_agent.agent import Agent
from hermes_agent.models.providers.scripted import ScriptedModel
from hermes_agent.tools.tool import Tool
from hermes_agent.types.events import (
    AssistantMessage,
    CallFinished,
    CallIntended,
    DeliveryFinished,
    DeliveryIntended,
    ModelCalled,
    PrefixFrozen,
    RunFinished,
    RunStarted,
    UserMessage,
)
from hermes_agent.types.trace import ExecutionSummary, Outcome, RunStatus, Step, StepType, ToolRecord, Trace
from tests.harness.rig import Rig, Witness, call, calling, events, of, saying, until


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


ADD = Tool("add", add, capabilities=[], effect="none")


@pytest.mark.trunk
@pytest.mark.req("R2", "R4", "R10")
def test_a_run_is_journaled_in_order(rig: Rig) -> None:
    agent = rig.agent([calling(call("add", a=1, b=2)), saying("three")], [ADD])
    result = agent.run("what is 1 + 2?")
    journal = events(agent, result)
    assert [type(event) for event in journal] == [
        RunStarted,
        UserMessage,
        PrefixFrozen,
        ModelCalled,
        AssistantMessage,
        CallIntended,
        CallFinished,
        ModelCalled,
        AssistantMessage,
        RunFinished,
        DeliveryIntended,
        DeliveryFinished,
    ]
    done = of(CallFinished, journal)[0]
    assert msgspec.structs.replace(done, duration_ms=0.0) == CallFinished(
        call_id="call_0_0", tool="add", status=done.status, text="3"
    )
    assert (result.answer, result.status, result.reason, result.ok, str(result)) == (
        "three",
        RunStatus.DONE,
        "",
        True,
        "three",
    )


@pytest.mark.trunk
@pytest.mark.req("H5", "L1")
def test_trace_and_tool_history(rig: Rig) -> None:
    agent = rig.agent([calling(call("add", a=1, b=2), text="I add"), saying("three"), saying("nothing to add")], [ADD])
    first = agent.run("what is 1 + 2?")
    second = agent.run("and now?")
    trace = agent.state.trace(first.run_id)
    record = trace.calls[0]
    assert trace == Trace(
        run_id=first.run_id,
        session_id=agent.session_id,
        request="what is 1 + 2?",
        model="scripted:script",
        steps=(
            Step(step_id=0, type=StepType.THOUGHT, content="I add", timestamp=trace.steps[0].timestamp),
            Step(
                step_id=1,
                type=StepType.TOOL_CALL,
                content="add",
                timestamp=trace.steps[1].timestamp,
                metadata={"tool_name": "add", "call_id": "call_0_0", "arguments": {"a": 1, "b": 2}},
            ),
            Step(
                step_id=2,
                type=StepType.OBSERVATION,
                content="3",
                timestamp=trace.steps[2].timestamp,
                metadata={"tool_name": "add", "call_id": "call_0_0", "latency_ms": record.latency_ms},
            ),
            Step(step_id=3, type=StepType.THOUGHT, content="three", timestamp=trace.steps[3].timestamp),
        ),
        calls=(
            ToolRecord(
                tool="add",
                input={"a": 1, "b": 2},
                output="3",
                duration=record.duration,
                latency_ms=record.latency_ms,
                run_id=first.run_id,
                call_id="call_0_0",
                digest=record.digest,
            ),
        ),
        outcome=Outcome(status=RunStatus.DONE),
        summary=ExecutionSummary(
            total_steps=4,
            tool_calls_count=1,
            error_count=0,
            total_time=trace.summary.total_time,
            tools_used=("add",),
            was_successful=True,
        ),
        surface="library",
        started_at=trace.started_at,
    )
    assert record.duration > 0
    assert record.digest
    assert trace.started_at > 0
    assert [step.timestamp for step in trace.steps] == sorted(step.timestamp for step in trace.steps)
    assert msgspec.json.decode(msgspec.json.encode(trace), type=Trace) == trace
    assert agent.state.trace(second.run_id).request == "and now?"


@pytest.mark.req("H5", "L1")
def test_tool_history_goes_over_runs_and_instances(rig: Rig) -> None:
    script = [calling(call("add", a=1, b=2)), saying("x"), calling(call("add", a=3, b=4)), saying("y")]
    agent = rig.agent(script, [ADD])
    agent.run("one")
    agent.run("two")
    expected = [("add", {"a": 1, "b": 2}, "3", "ok", None), ("add", {"a": 3, "b": 4}, "7", "ok", None)]
    keys = ("tool", "input", "output", "status", "error")
    assert [tuple(item[key] for key in keys) for item in agent.state.tool_history] == expected
    assert all(item["duration"] * 1000 == pytest.approx(item["latency_ms"]) for item in agent.state.tool_history)
    later = rig.agent(script)
    assert later.state.tool_history == []
    later.run("three", session=agent.session_id)
    later.session_id = agent.session_id
    assert [tuple(item[key] for key in keys) for item in later.state.tool_history] == expected


@pytest.mark.trunk
@pytest.mark.req("H5", "L1")
def test_the_active_plan_is_there_while_a_tool_runs(local_rig: Rig) -> None:
    inside, go_on = threading.Event(), threading.Event()

    def hold() -> str:
        inside.set()
        go_on.wait(30)
        return "held"

    agent = local_rig.agent(
        [calling(call("hold"), call("add", a=1, b=1)), saying("done")],
        [Tool("hold", hold, capabilities=[], effect="once"), ADD],
    )
    assert agent.state.active_plan is None
    worker = threading.Thread(target=agent.run, args=("hold it",))
    worker.start()
    assert inside.wait(30)
    plan = agent.state.active_plan
    go_on.set()
    worker.join()
    assert plan == {"step": 1, "pending": ("hold", "add"), "retries_left": 4}
    assert agent.state.active_plan is None


@pytest.mark.req("H5", "L1")
def test_the_active_plan_counts_retries(local_rig: Rig) -> None:
    seen: list[object] = []

    def flaky(agent: Agent) -> Tool:
        def run() -> str:
            seen.append(agent.state.active_plan)
            if len(seen) == 1:
                raise ConnectionError("gone for a moment")
            return "back"

        return Tool("flaky", run, capabilities=[], effect="none")

    agent = local_rig.agent([calling(call("flaky")), saying("done")])
    agent.register_tool(flaky(agent))
    agent.run("try")
    until(lambda: agent.state.active_plan is None)
    assert seen[:2] == [{"step": 1, "pending": ("flaky",), "retries_left": left} for left in (4, 3)]
    assert [item["status"] for item in agent.state.tool_history] == ["ok"]


@pytest.mark.trunk
@pytest.mark.req("H1", "R9")
def test_another_model_takes_the_session_up(rig: Rig) -> None:
    first = rig.agent([calling(call("add", a=1, b=2)), saying("three")], [ADD])
    one = first.run("what is 1 + 2?")
    first.close()
    rig.configure(model={"name": "scripted:other"})
    other = Witness([saying("never"), saying("never"), saying("it was three")], model="other")
    second = rig.agent("", [ADD])
    second.app.parts.models["scripted:other"] = other
    two = second.run("what was it?", session=one.session_id)
    assert (two.answer, two.session_id) == ("it was three", one.session_id)
    sent = msgspec.json.decode(other.bodies[0])["messages"]
    assert [(message["role"], message.get("content")) for message in sent[1:]] == [
        ("user", "what is 1 + 2?"),
        ("assistant", None),
        ("tool", "3"),
        ("assistant", "three"),
        ("user", "what was it?"),
    ]
    frozen = [of(PrefixFrozen, events(second, run))[0] for run in (one, two)]
    assert [(item.prefix_epoch, item.reason) for item in frozen] == [(1, "new session"), (2, "another model")]
    runs = second.wait(second.app.store.runs.of_session(one.session_id))
    assert [(run.ordinal, run.model) for run in runs] == [(1, "scripted:script"), (2, "scripted:other")]


@pytest.mark.req("H1")
def test_a_model_whose_name_is_unknown_fails_the_run_and_not_the_session(local_rig: Rig) -> None:
    agent = local_rig.agent([saying("hello")])
    failed = agent.run("hi", options={"model": "nowhere:x"})
    assert (failed.status, failed.answer) == (RunStatus.FAILED, "")
    assert "there is no provider 'nowhere'" in failed.reason
    assert agent.run("hi again").answer == "hello"


@pytest.mark.req("H1")
def test_models_are_chosen_per_request(local_rig: Rig) -> None:
    agent = local_rig.agent([saying("from the first")])
    agent.app.parts.models["scripted:b"] = ScriptedModel([saying("-"), saying("from the second")], model="b")
    assert [
        agent.run("one").answer,
        agent.run("two", options={"model": "scripted:b"}).answer,
    ] == ["from the first", "from the second"]

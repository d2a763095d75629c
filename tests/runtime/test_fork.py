"""Forks: the past is copied, not repeated; from the step on it is a run like any other. Pinned runs decide alike."""

import random
import subprocess
import sys
from collections.abc import Sequence

import msgspec
import pytest

from hermes_agent.agent import Agent, RunResult
from hermes_agent.models.providers.scripted import ScriptedModel, Turn
from hermes_agent.runtime.comparison import Comparison, DecisionLine, Match, compare, decisions_of
from hermes_agent.runtime.engine import Finished
from hermes_agent.runtime.fork import Change, Forked, Forker, kept_events, points_of
from hermes_agent.safety.approvals import Nobody
from hermes_agent.store.retention import delete_sessions
from hermes_agent.store.usage import UsageBy, UsageReport
from hermes_agent.tools.tool import Tool
from hermes_agent.types.advice import Advice, Failure, Moment, Ruling, Situation, Steer
from hermes_agent.types.errors import HermesError, UsageError
from hermes_agent.types.events import (
    AdviceGiven,
    AnyEvent,
    AssistantMessage,
    CallFinished,
    CallIntended,
    Decided,
    Fragment,
    InboxMode,
    ModelCalled,
    PlanChanged,
    Recorded,
    RunFinished,
    RunStarted,
    UserMessage,
)
from hermes_agent.types.plan import ActivePlan
from hermes_agent.types.tools import Effect, ToolCall
from hermes_agent.types.trace import AdviceItem, CallStatus, Outcome, RunStatus, Trace
from tests.harness.rig import Rig, Witness, call, calling, events, of, results, saying

SCRIPT = (calling(call("mark", text="1"), text="first"), calling(call("mark", text="2")), saying("both marked"))


class Coins:
    """Learned things that a coin lets act, drawn from the seed as `Situation` says. Steers away from what it knows."""

    def __init__(self, things: int = 12) -> None:
        self._things = things
        self.asked: list[tuple[str, object]] = []
        self.traces: list[Trace] = []

    def _item(self, situation: Situation, name: str) -> AdviceItem:
        drawn = random.Random(f"{situation.seed if situation.seed is not None else situation.run_id}:{name}").random()
        return AdviceItem(id=name, text=f"do {name}", applied=drawn < 0.5, propensity=0.5, kind="hint")

    async def advise(self, situation: Situation) -> Advice:
        self.asked.append(("advise", situation.pin))
        items = tuple(self._item(situation, f"h{number}") for number in range(self._things))
        hints = tuple(item.text for item in items if item.applied)
        return Advice(hints=hints, items=items, family="marks", version=situation.pin or 7)

    async def resume(self, situation: Situation, version: int) -> None:
        self.asked.append(("resume", version))

    def review(self, moment: Moment) -> Ruling:
        item = self._item(moment.situation, f"avoid {moment.call.arguments.get('text')}")
        steer = Steer(reason="it fails here") if item.applied else None
        return Ruling(steer=steer, items=(item,)) if self._things else Ruling()

    def weigh_retry(self, failure: Failure, situation: Situation) -> Ruling:
        return Ruling()

    def repair(self, failure: Failure, situation: Situation) -> Ruling:
        return Ruling()

    async def learn(self, trace: Trace) -> None:
        self.traces.append(trace)


def marker(log: list[str], size: int = 0) -> Tool:
    def mark(text: str) -> str:
        """Leave a mark."""
        log.append(text)
        return f"marked {text}" + "x" * size

    return Tool("mark", mark, capabilities=[], effect="once")


def fork(agent: Agent, result: RunResult | str, change: Change | None = None) -> Forked:
    """A fork that nobody drives yet."""
    run_id = result if isinstance(result, str) else result.run_id
    run = agent.wait(agent.app.store.runs.get(run_id))
    return agent.wait(Forker(agent.app.store, agent.name, "library").fork(run, change or Change()))


async def unseen(finished: Finished) -> None:
    """Nobody looks."""


def driven(agent: Agent, forked: Forked) -> Finished:
    finished = agent.wait(agent.app.engine.resume_run(forked.run, Nobody(), unseen))
    assert finished is not None
    return finished


def journal(agent: Agent, run_id: str) -> list[Recorded]:
    return agent.wait(agent.app.store.journal.run_events(run_id))


def compared(agent: Agent, one: str, other: str) -> Comparison:
    left, right = (agent.wait(agent.app.store.runs.get(name)) for name in (one, other))
    return compare((left, journal(agent, left.id)), (right, journal(agent, right.id)))


@pytest.mark.req("B2")
def test_a_fork_goes_on_from_its_step_and_repeats_nothing(rig: Rig) -> None:
    log: list[str] = []
    model = Witness([saying("hello"), *SCRIPT])
    agent = rig.agent(model, [marker(log, 40_000)])
    agent.run("good day")
    original = agent.run("mark twice")
    store = agent.app.store
    before = agent.wait(store.sessions.export(original.session_id))
    used = agent.wait(UsageReport(store.database).sums(UsageBy.MODEL))
    forked = fork(agent, original)
    assert agent.wait(UsageReport(store.database).sums(UsageBy.MODEL)) == used
    assert (forked.origin.run, forked.origin.step, forked.session.runs) == (original.run_id, 2, 2)
    assert forked.session.title == f"fork of {original.run_id} at step 2: good day"
    finished = driven(agent, forked)
    assert (finished.result.answer, log) == ("both marked", ["1", "2"])
    assert len(model.bodies) == 5
    assert model.bodies[4] == model.bodies[3], "the model is asked what it was asked then"
    assert agent.wait(store.sessions.export(original.session_id)) == before
    blobs = [done.blob for done in of(CallFinished, events(agent, finished.run_id))]
    assert [len(store.blobs(forked.session.id).get(blob)) for blob in blobs] == [40_008, 40_008]
    assert len(of(ModelCalled, events(agent, finished.run_id))) == 1
    agent.wait(delete_sessions(store, [original.session_id]))
    assert agent.run("and now?", session=forked.session.id).answer == "(the script is over)"
    again = fork(agent, finished.run_id, Change(step=1))
    assert again.session.title == f"fork of {finished.run_id} at step 1: good day"
    assert driven(agent, again).result.answer == "both marked"
    assert log == ["1", "2", "2"], "what comes behind the step is done for real"


@pytest.mark.req("B2")
def test_another_request_another_model_and_words_at_a_step(local_rig: Rig) -> None:
    log: list[str] = []
    agent = local_rig.agent(list(SCRIPT), [marker(log)])
    original = agent.run("mark twice", options={"consent": "all", "family": "marks"})
    other = Witness([saying("nothing to do"), saying("I see")], model="other")
    agent.app.parts.models["scripted:other"] = other
    change = Change(step=0, say="mark nothing", model="scripted:other", seed=3)
    first = fork(agent, original, change)
    assert driven(agent, first).result.answer == "nothing to do"
    started, request = events(agent, first.run.id)[:2]
    fork_of = msgspec.to_builtins(first.origin)
    options = {"model": "scripted:other", "base_url": "", "family": "marks", "seed": 3, "fork": fork_of}
    assert started == RunStarted(inbox_id="", model="scripted:other", options=options)
    assert request == UserMessage(text="mark nothing")
    second = fork(agent, original, Change(step=1, say="that is enough", model="scripted:other", consent=True))
    assert driven(agent, second).result.answer == "I see"
    told = [message["content"] for message in msgspec.json.decode(other.bodies[1])["messages"][1:]]
    assert told == ["mark twice", "first", "marked 1", "that is enough"]
    assert of(RunStarted, events(agent, second.run.id))[0].options["consent"] == "all"
    assert log == ["1", "2"]
    shown = compared(agent, original.run_id, second.run.id)
    assert [row.match for row in shown.rows] == [Match.SAME, Match.LEFT]
    assert (shown.parts, shown.left.said, shown.right.said) == ("at step 2: a call more", (), ("that is enough",))


@pytest.mark.req("B2", "B1")
def test_a_fork_keeps_its_advice_unless_another_set_is_asked(local_rig: Rig) -> None:
    coins = Coins(things=1)
    agent = local_rig.agent(list(SCRIPT), [marker([])], advisor=coins)
    original = agent.run("mark", options={"seed": 5})
    coins.asked.clear()
    kept = driven(agent, fork(agent, original, Change(step=1)))
    assert coins.asked == [("resume", 7)]
    assert len([given for given in of(AdviceGiven, events(agent, kept.run_id)) if given.set_version]) == 1
    coins.asked.clear()
    driven(agent, fork(agent, original, Change(step=1, pin=0)))
    driven(agent, fork(agent, original, Change(step=0)))
    assert coins.asked == [("advise", 0), ("advise", None)]


@pytest.mark.req("B2")
def test_a_fork_whose_driver_died_is_taken_up_like_any_run(rig: Rig) -> None:
    log: list[str] = []
    agent = rig.agent(list(SCRIPT), [marker(log)])
    forked = fork(agent, agent.run("mark"), Change(step=1))
    later = rig.agent(list(SCRIPT), [marker(log)])
    (finished,) = later.resume()
    assert (finished.run_id, finished.answer, log) == (forked.run.id, "both marked", ["1", "2", "2"])
    assert driven_by_nobody(agent, forked)


def driven_by_nobody(agent: Agent, forked: Forked) -> bool:
    return agent.wait(agent.app.engine.resume_run(forked.run, Nobody(), unseen)) is None


@pytest.mark.req("B2")
def test_what_a_killed_fork_left_is_removed_and_what_a_living_one_makes_is_not(local_rig: Rig) -> None:
    agent = local_rig.agent(list(SCRIPT), [marker([])])
    original = agent.run("mark")
    blobs = agent.app.store.home / "blobs"
    code = (
        "import sys, msgspec; from hermes_agent.tools.sandbox.identity import own_identity;"
        "sys.stdout.write(msgspec.json.encode(own_identity()).decode()); sys.stdout.flush(); sys.stdin.read()"
    )
    maker = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert maker.stdin is not None and maker.stdout is not None
    identity = b""
    while not identity.endswith(b"}"):
        identity += maker.stdout.read(1)
    for name in ("halfmade", original.session_id):
        (blobs / name).mkdir(parents=True, exist_ok=True)
        (blobs / name / "0123456789abcdef").write_text("left over")
        (blobs / f"{name}.forking").write_bytes(identity)
    fork(agent, original)
    assert (blobs / "halfmade").is_dir() and (blobs / "halfmade.forking").exists()
    maker.communicate()
    fork(agent, original)
    assert sorted(path.name for path in blobs.iterdir()) == [original.session_id]


@pytest.mark.req("B2")
def test_what_cannot_be_forked_is_said_and_nothing_is_written(rig: Rig) -> None:
    agent = rig.agent(list(SCRIPT), [marker([])])
    store = agent.app.store
    original = agent.run("mark")
    sessions = agent.wait(store.sessions.recent(9))
    for change, message in (
        (Change(step=3), "step 3 is the final answer"),
        (Change(step=4), "has no step 4"),
        (Change(step=-1), "has no step -1"),
        (Change(say=" \n"), "nothing in the message"),
        (Change(pin=99), "there is no heuristic set 99"),
        (Change(workspace="/no/such/folder"), "is not there any more"),
    ):
        with pytest.raises(UsageError, match=message):
            fork(agent, original, change)
    unfinished = fork(agent, original)
    with pytest.raises(UsageError, match=f"run {unfinished.run.id} is not finished"):
        fork(agent, unfinished.run.id)
    driven(agent, unfinished)
    agent.wait(delete_sessions(store, [unfinished.session.id]))
    with pytest.raises(HermesError, match="was deleted; nothing of it is left"):
        fork(agent, unfinished.run.id)
    assert agent.wait(store.sessions.recent(9)) == sessions


def recorded(*given: AnyEvent) -> list[Recorded]:
    return [Recorded(run_id="r", seq=seq, epoch=1, at=float(seq), event=event) for seq, event in enumerate(given, 1)]


def test_where_a_run_is_cut() -> None:
    one, two = (ToolCall(id=name, name="mark", arguments={}) for name in ("one", "two"))
    started, request = RunStarted(inbox_id="i", model="m"), UserMessage(text="do it", inbox_id="i")
    asked = AssistantMessage(text="", calls=(one, two), replay={"wire": [1]})
    done = CallFinished(call_id="one", tool="mark", status=CallStatus.OK, text="")
    hint = Fragment(source="advice", text="then do this")
    steered = UserMessage(text="quicker", inbox_id="j", mode=InboxMode.STEER)
    limit = Fragment(source="limits", text="answer now")
    outcome = Outcome(status=RunStatus.FAILED)
    end = RunFinished(answer="", status=RunStatus.FAILED, outcome=outcome)
    intent = CallIntended(call_id="two", tool="mark", effect=Effect.ONCE, key="k", digest="d")
    called = ModelCalled(provider="p", model="m", latency_ms=1)
    whole = recorded(started, request, called, asked, intent, done, hint, steered, limit, called, end)
    unsent = [RunStarted(inbox_id="", model="m"), UserMessage(text="do it")]
    cut = msgspec.structs.replace(asked, calls=(one,), replay={})
    quicker = UserMessage(text="quicker", mode=InboxMode.STEER)
    assert kept_events(whole, 1) == [*unsent, cut, done, hint, quicker]
    slower = UserMessage(text="slower", mode=InboxMode.STEER)
    assert kept_events(whole, 1, "slower") == [*unsent, cut, done, hint, slower]
    assert kept_events(whole, 0) == unsent
    assert kept_events(whole, 0, "do that") == [unsent[0], UserMessage(text="do that")]
    assert [(point.step, point.final, point.results) for point in points_of(whole)] == [(1, False, (done,))]
    bare = recorded(started, request, AssistantMessage(text="", calls=(two,)), intent, end)
    assert kept_events(bare, 1) == unsent


def run_twice(agent: Agent, first: int | None, second: int | None) -> tuple[str, str]:
    """Two runs of the same request in sessions of their own, with these seeds."""
    ids = []
    for seed in (first, second):
        options = {"pin": 0, **({} if seed is None else {"seed": seed})}
        ids.append(agent.run("mark", session="new", options=options).run_id)
    return ids[0], ids[1]


@pytest.mark.req("B1")
def test_pinned_runs_with_the_same_seed_make_the_same_decisions(local_rig: Rig) -> None:
    insisting: Sequence[Turn] = [SCRIPT[0], SCRIPT[0], SCRIPT[1], SCRIPT[2]]
    agent = local_rig.agent(list(insisting), [marker([])], advisor=Coins())
    one, other = run_twice(agent, 11, 11)
    same = compared(agent, one, other)
    assert (same.pinned, same.same_decisions, same.parts) == (True, True, "")
    assert same.left.decisions == same.right.decisions
    assert len([line for line in same.left.decisions if line.kind == "advice"]) >= 14
    one, other = run_twice(agent, 11, 12)
    different = compared(agent, one, other)
    assert (different.pinned, different.same_decisions) == (False, False)
    assert {line.choice for line in different.only_left} >= {"applied", "withheld"}
    one, other = run_twice(agent, None, None)
    assert not compared(agent, one, other).same_decisions


@pytest.mark.req("B1")
def test_the_decisions_of_a_run_in_the_order_of_its_calls() -> None:
    calls = tuple(ToolCall(id=name, name="probe", arguments={"n": name}) for name in ("z", "a"))
    given = AdviceGiven(items=(AdviceItem(id="h", text="why", applied=False),), set_version=3)
    slow, fast = (
        Decided(subject="failure", choice="retry", reason="down", call_id="z"),
        Decided(subject="taint", choice="refuse", reason="strange", call_id="a"),
    )
    steered = CallFinished(call_id="z", tool="probe", status=CallStatus.STEERED, text="no")
    plan = PlanChanged(plan=ActivePlan(pending=("a", "b")), reason="learned workflow")
    note = Decided(subject="learning", choice="skip", reason="not of the run")
    asked = AssistantMessage(text="", calls=calls)
    expected = (
        DecisionLine(kind="advice", subject="h", choice="withheld", text="why"),
        DecisionLine(kind="plan", subject="plan", choice="a → b", text="learned workflow"),
        DecisionLine(kind="retry", subject="probe", choice="retry", call="1.1", text="down"),
        DecisionLine(kind="steer", subject="probe", choice="steered", call="1.1", text="no"),
        DecisionLine(kind="permission", subject="probe", choice="refuse", call="1.2", text="strange"),
    )
    assert decisions_of(recorded(given, plan, asked, slow, fast, steered, note)) == expected
    assert decisions_of(recorded(given, plan, asked, fast, slow, steered, note)) == expected
    assert decisions_of([]) == ()


def test_the_same_call_that_ends_differently_is_where_runs_part(local_rig: Rig) -> None:
    log: list[str] = []

    def flaky(n: int) -> str:
        """Work once."""
        log.append("x")
        if len(log) > 1:
            raise ValueError("worn out")
        return "fine"

    tool = Tool("flaky", flaky, capabilities=[], effect="once")
    agent = local_rig.agent(ScriptedModel([calling(call("flaky", n=1)), saying("done")]), [tool])
    one, other = agent.run("go", session="new"), agent.run("go", session="new")
    shown = compared(agent, one.run_id, other.run_id)
    assert results(agent, other) == [("call_0_0", "error", "ValueError")]
    assert [row.match for row in shown.rows] == [Match.SAME]
    assert (shown.parts, shown.left.errors, shown.right.errors) == ("at step 1: the same call ended differently", 0, 1)
    assert [(line.kind, line.choice) for line in shown.only_right] == [("retry", "skip")]

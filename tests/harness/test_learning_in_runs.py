"""What was learned, at work in real runs: on both databases, through the agent with the product's own advisor."""

import asyncio
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from hermes_agent.agent import Agent, RunResult
from hermes_agent.config.settings import LearningSettings
from hermes_agent.learning.control import Control
from hermes_agent.learning.families import Book
from hermes_agent.learning.guard import FamilyGuard
from hermes_agent.learning.standing import coin
from hermes_agent.models.providers.scripted import Turn
from hermes_agent.store.heuristics import Heuristic, Kind, Stage, save_heuristic
from hermes_agent.store.lessons import Lesson, PlanStep, ascii_json
from hermes_agent.tools.tool import Tool
from hermes_agent.types.events import CallFinished, Decided, Fragment, PlanChanged
from hermes_agent.types.trace import AdviceItem, CallStatus
from tests.harness.rig import Rig, Witness, call, calling, events, of, results, saying, until
from tests.harness.taught import HERE, MODEL, TOLD, advice, configured, failing, seed_for, teach, tools
from tests.learning.lesson_maker import lesson, mended, seen
from tests.learning.tables import counter, dump, heuristics, named
from tests.runtime.driver import tools as driver_tools
from tests.runtime.processes import Drivers

ROOT = Path(__file__).parents[2]


@pytest.mark.req("H2", "H7")
def test_runs_teach_and_a_tool_that_keeps_failing_goes_behind_only_in_its_family(rig: Rig) -> None:
    configured(rig)
    log: list[str] = []
    script = [calling(call("bad", path="a.csv")), calling(call("good", path="a.csv")), saying("done")]
    agent = rig.agent(script, tools(log))
    first, *_ = [agent.run("sum", session="new", options=HERE) for _ in range(7)]
    assert [(given.items, given.hints, given.behind) for given in advice(agent, first)] == [((), (), ())]
    assert log == ["bad a.csv", "good a.csv"] * 7
    log.clear()
    taught = agent.run("sum", session="new", options=HERE)
    (opening, about_the_call) = advice(agent, taught)
    assert (opening.behind, opening.hints[0], opening.family) == (("bad",), TOLD, "ledgers")
    assert [(item.kind, item.call_id) for item in about_the_call.items] == [("avoid_tool", "call_0_0")]
    assert [status for _, status, _ in results(agent, taught)] == ["steered", "ok"]
    assert log == ["good a.csv"]
    elsewhere = agent.run("sum", session="new", options={"family": "reports"})
    assert [(given.behind, given.hints, given.items) for given in advice(agent, elsewhere)] == [((), (), ())]
    assert [status for _, status, _ in results(agent, elsewhere)] == ["error", "ok"]


@pytest.mark.req("H3")
def test_hints_come_behind_the_transcript_and_the_prefix_is_the_same_to_the_byte(rig: Rig) -> None:
    configured(rig)
    plain, hinted = Witness([saying("a")], model="w"), Witness([saying("a")], model="w")
    rig.agent(plain, tools([]), name="one").run("sum", options=HERE)
    agent = rig.agent(hinted, tools([]), name="two")
    teach(agent, [failing(number, model="scripted:w") for number in range(7)])
    result = agent.run("sum", options=HERE)
    assert hinted.systems == plain.systems
    whole, more = plain.bodies[0], hinted.bodies[0]
    shared = next(at for at, (ours, theirs) in enumerate(zip(whole, more, strict=False)) if ours != theirs)
    assert whole[:shared].endswith(b'{"role":"user","content":"sum"}') and TOLD.encode() not in more[:shared]
    (told,) = of(Fragment, events(agent, result))
    assert (told.source, told.text.splitlines()[0]) == ("advice", TOLD)
    last = msgspec.json.decode(more)["messages"][-1]
    assert last == {"role": "user", "content": f'<notice from="advice">\n{told.text}\n</notice>'}


@pytest.mark.req("H6")
def test_insisting_goes_through_is_journaled_as_an_override_and_is_learned_from(rig: Rig) -> None:
    configured(rig)
    log: list[str] = []
    again = calling(call("bad", path="a.csv"))
    agent = rig.agent([again, again, saying("I did it my way")], tools(log))
    teach(agent)
    result = agent.run("sum", options=HERE)
    assert results(agent, result)[0] == ("call_0_0", "steered", "steered")
    assert results(agent, result)[1][1] == "error"
    assert log == ["bad a.csv"]
    (steered, *_) = of(CallFinished, events(agent, result))
    reason = "`bad` failed 7 of 7 times in tasks like this. Use good instead. Make the same call again to insist."
    assert msgspec.json.decode(steered.text) == {"error": reason}
    overrides = [event for event in of(Decided, events(agent, result)) if event.subject == "advice"]
    assert overrides == [
        Decided(subject="advice", choice="override", reason="the call was made again", call_id="call_1_0")
    ]
    last = msgspec.json.decode(dump(agent.app.store, "lessons")["lessons"][-1][16], type=Lesson)
    assert [(one.tool, one.worked, one.call_id) for one in last.observations] == [("bad", False, "call_1_0")]


@pytest.mark.req("H7")
def test_a_retry_that_is_known_to_be_futile_is_not_made(rig: Rig) -> None:
    configured(rig)
    tries: list[int] = []

    def down() -> str:
        """Call a server."""
        tries.append(1)
        raise ConnectionError("down")

    tool = Tool("down", down, capabilities=[], effect="idempotent")
    agent = rig.agent([calling(call("down")), saying("gave up")], [tool])
    again = seen("down", False, error="connectionerror", tries=3)
    teach(agent, [lesson(number, again, model=MODEL) for number in range(10)])
    result = agent.run("try", options=HERE)
    assert len(tries) == 1
    (decided,) = of(Decided, events(agent, result))
    assert (decided.choice, decided.reason) == ("skip", "down: ConnectionError: known to be futile here")
    kinds = [item.kind for given in advice(agent, result) for item in given.items if item.call_id]
    assert kinds == ["futile_retry"]


STEPS = [
    PlanStep(tool="a", after="", worked=True),
    PlanStep(tool="b", after="a", worked=True),
    PlanStep(tool="c", after="b", worked=False),
    PlanStep(tool="d", after="b", worked=True),
]
SOONER = [STEPS[0], PlanStep(tool="c", after="a", worked=False), STEPS[1], PlanStep(tool="d", after="b", worked=True)]


def yes(heuristic: Heuristic) -> int:
    """A seed for which the coin of something on probation says yes."""
    return next(seed for seed in range(100) if coin(str(seed), heuristic.id) < 0.5)


def planned(agent: Agent, *failing: Sequence[PlanStep]) -> Heuristic:
    """The workflow of an agent that did all steps three times, and then failed at `c` in runs like these."""
    worked = [msgspec.structs.replace(step, worked=True) for step in STEPS]
    runs = [lesson(number, steps=worked, model=MODEL) for number in range(3)]
    runs += [
        lesson(10 + number, seen("c", False), steps=steps, success=False, model=MODEL)
        for number, steps in enumerate(failing)
    ]
    teach(agent, runs, LearningSettings())
    (flow,) = [item for item in heuristics(agent.app.store) if item.kind is Kind.WORKFLOW]
    assert flow.stage is Stage.PROBATION
    return flow


FOUR = [calling(call(name)) for name in "abcd"]


@pytest.mark.req("H4")
def test_a_plan_comes_from_a_workflow_and_a_failing_step_is_done_sooner_without_asking(rig: Rig) -> None:
    rig.configure(learning={"explore": 0.0})
    log: list[str] = []
    agent = rig.agent([*FOUR, saying("done")], tools(log))
    flow = planned(agent, *([STEPS] * 14))
    moved = named(agent.app.store, Kind.MOVE_STEP, "c")
    assert (moved.stage, moved.detail) == (Stage.TRUSTED, {"before": "b"})
    result = agent.run("do the steps", session="new", options={**HERE, "seed": yes(flow)})
    first = of(PlanChanged, events(agent, result))[0]
    assert (first.plan.pending, first.reason) == (("a", "c", "b", "d"), "a workflow learned from earlier runs")
    assert f"do `c` before `b`: {moved.text}." in advice(agent, result)[0].hints
    assert log == ["a", "b", "c", "d"], "a call that comes too late is not held back"


@pytest.mark.req("H4", "H10")
def test_a_step_that_fails_sooner_too_is_left_out_once_a_person_agrees(rig: Rig) -> None:
    rig.configure(learning={"explore": 0.0})
    log: list[str] = []
    agent = rig.agent([*FOUR, saying("done")], tools(log))
    store = agent.app.store
    flow = planned(agent, *([SOONER] * 3), *([STEPS] * 14))
    skip = named(store, Kind.SKIP_STEP, "c")
    assert skip.stage is Stage.AWAITING_APPROVAL
    options = {**HERE, "seed": yes(flow)}
    before = agent.run("do the steps", session="new", options=options)
    assert [changed.plan.pending for changed in of(PlanChanged, events(agent, before))][:1] == [("a", "b", "c", "d")]
    assert log == ["a", "b", "c", "d"]
    asyncio.run(Control(store.database).approve(skip.id))
    log.clear()
    after = agent.run("do the steps", session="new", options=options)
    assert of(PlanChanged, events(agent, after))[0].plan.pending == ("a", "b", "d")
    assert any(hint.startswith("skip `c`: `c` failed ") for hint in advice(agent, after)[0].hints)
    assert log == ["a", "b", "d"]
    told = of(CallFinished, events(agent, after))[2]
    assert (told.tool, told.status) == ("c", CallStatus.STEERED)
    assert "this step is skipped here" in told.text


@pytest.mark.req("B1", "H6")
def test_what_is_left_aside_to_see_whether_it_still_holds_is_logged_with_its_chance(rig: Rig) -> None:
    configured(rig, explore=0.25)
    log: list[str] = []
    agent = rig.agent([calling(call("bad", path="a.csv")), saying("done")], tools(log))
    teach(agent)
    avoid = named(agent.app.store, Kind.AVOID_TOOL)
    seed = seed_for("tool:bad", on=False, chance=0.75)
    left = agent.run("sum", session="new", options={**HERE, "seed": seed})
    opening, at_the_call = advice(agent, left)[:2]
    item = AdviceItem(id=avoid.id, text=avoid.text, applied=False, propensity=0.25, kind="avoid_tool")
    assert item in opening.items
    assert (opening.hints, opening.behind) == (
        ("use `bad` first this time: it failed before and is tried again.",),
        (),
    )
    assert at_the_call.items == (msgspec.structs.replace(item, call_id="call_0_0"),)
    assert (log, [status for _, status, _ in results(agent, left)]) == (["bad a.csv"], ["error"])
    kept = agent.run("sum", session="new", options={**HERE, "seed": seed_for("tool:bad", on=True, chance=0.75)})
    assert [(one.applied, one.propensity) for one in advice(agent, kept)[1].items] == [(True, 0.75)]


def decisions(agent: Agent, result: RunResult) -> list[object]:
    """What was applied or withheld in a run and with which chance, what went behind, and how each call ended."""
    given = [
        (one.set_version, one.behind, [(i.id, i.applied, i.propensity, i.kind, i.call_id) for i in one.items])
        for one in advice(agent, result)
    ]
    return [*given, *results(agent, result), *(len(one.hints) for one in advice(agent, result))]


def version_of(agent: Agent) -> int:
    return counter(agent.app.store, "active_set")


@pytest.mark.req("B1")
def test_the_same_set_and_seed_make_the_same_decisions_whatever_was_learned_since(rig: Rig) -> None:
    configured(rig, explore=0.5)
    script = [calling(call("bad", path="a.csv")), calling(call("good", path="a.csv")), saying("done")]
    agent = rig.agent(script, tools([]))
    teach(agent)
    version, applied = version_of(agent), set()
    seeds = [seed_for("tool:bad", on=on, chance=0.5) for on in (True, False)]
    pins = [{**HERE, "pin": version, "seed": seed} for seed in seeds]
    first = [agent.run("sum", session="new", options=pin) for pin in pins]
    teach(agent, [lesson(100 + n, seen("good", False), seen("bad", True), model=MODEL) for n in range(9)])
    assert version_of(agent) > version
    for pin, run in zip(pins, first, strict=True):
        again = agent.run("sum", session="new", options=pin)
        assert decisions(agent, again) == decisions(agent, run)
        applied |= {item.applied for given in advice(agent, again) for item in given.items}
    assert applied == {True, False}
    now = agent.run("sum", session="new", options={**HERE, "seed": 1})
    assert advice(agent, now)[0].set_version > version


@pytest.mark.req("B1")
@pytest.mark.parametrize("since", ["trusted", "widened", "hopeful"])
def test_a_pinned_run_keeps_the_stages_and_chances_of_its_set(local_rig: Rig, since: str) -> None:
    """What was on probation then is on probation in the pinned run; the guard's alarm of today is not in it, nor is
    the hope that a tool works again."""
    configured(local_rig, explore=0.1)
    agent = local_rig.agent([saying("done")], tools([]))
    store = agent.app.store
    steps = [PlanStep(tool=tool, after=after, worked=True) for tool, after in (("a", ""), ("b", "a"))]
    teach(agent, [lesson(number, steps=steps, model=MODEL) for number in range(3)])
    (flow,) = heuristics(store)
    pinned = {**HERE, "pin": version_of(agent), "seed": 3}
    before = decisions(agent, agent.run("sum", session="new", options=pinned))
    if since == "trusted":
        store.database.write_now(lambda c: save_heuristic(c, msgspec.structs.replace(flow, stage=Stage.TRUSTED)))
        move = "UPDATE learning SET value = value + 1 WHERE id = 'audit'"
        store.database.write_now(lambda c: c.run(move))
    else:
        teach(agent, [failing(50 + number) for number in range(7)])
        pinned = {**HERE, "pin": version_of(agent), "seed": 3}
        before = decisions(agent, agent.run("sum", session="new", options=pinned))
        if since == "widened":
            guard = ascii_json(FamilyGuard(notified=True))
            sql = "INSERT INTO watches (family, model, watching, payload) VALUES ('ledgers', ?, 1, ?)"
            store.database.write_now(lambda c: c.run(sql, (MODEL, guard)))
        else:
            teach(agent, [lesson(90, seen("bad", True), model=MODEL)])
            assert named(store, Kind.AVOID_TOOL).evidence["hopeful"] is True
            now = decisions(agent, agent.run("sum", session="new", options={**HERE, "seed": 3}))
            assert now != before
    assert decisions(agent, agent.run("sum", session="new", options=pinned)) == before


@pytest.mark.req("B1", "H15")
def test_a_resumed_run_keeps_its_set_and_its_coins(rig: Rig) -> None:
    configured(rig, explore=0.5)
    family = Book(()).place("do it").family_id
    watcher = rig.agent([saying("never")], name="watcher")
    bad = [seen("mark_none", False), seen("mark_once", True)]
    mendings = [mended("mark_none", "mark_once")]
    teach(watcher, [lesson(n, *bad, mendings=mendings, model=MODEL, family=family) for n in range(7)])
    script = (
        calling(call("mark_none", text="1")),
        calling(call("stand_none", until="go", name="x")),
        calling(call("mark_none", text="2")),
        saying("finished"),
    )
    drivers = Drivers(rig)
    try:
        driver = drivers.start(*script, requests=("do it",))
        until(lambda: drivers.lines("stood.log"))
        driver.send(signal.SIGKILL)
        driver.process.communicate()
    finally:
        drivers.end()
    version = version_of(watcher)
    asyncio.run(Control(watcher.app.store.database).roll_back(0))
    (rig.workspace / "go").touch()
    second = rig.agent(Witness(script, model="script"), driver_tools(rig.workspace), name="driver")
    (resumed,) = second.resume()
    on = coin(resumed.run_id, "tool:mark_none") < 0.5
    reviewed = "steered" if on else "ok"
    assert [status for _, status, _ in results(second, resumed)] == [reviewed, "ok", reviewed]
    opening, *calls = advice(second, resumed)
    assert opening.set_version == version
    about = {(item.id, item.applied, item.propensity) for given in calls for item in given.items}
    assert [given.items[0].call_id for given in calls] == ["call_0_0", "call_2_0"]
    assert about == {(item.id, on, 0.5) for item in opening.items if item.kind == "avoid_tool"}


def test_with_learning_off_nothing_is_said_and_nothing_is_learned(rig: Rig) -> None:
    configured(rig)
    log: list[str] = []
    script = [calling(call("bad", path="a.csv")), saying("done")]
    teach(rig.agent(script, name="teacher"))
    rig.configure(learning={"mode": "off"})
    agent = rig.agent(script, tools(log))
    before = dump(agent.app.store)
    result = agent.run("sum", options=HERE)
    assert advice(agent, result) == []
    assert (log, dump(agent.app.store)) == (["bad a.csv"], before)


@pytest.mark.req("H16")
def test_another_model_starts_clean(rig: Rig) -> None:
    configured(rig)
    agent = rig.agent(Witness([calling(call("bad", path="a.csv")), saying("done")], model="newer"), tools([]))
    teach(agent)
    result = agent.run("sum", options=HERE)
    assert [(given.items, given.hints) for given in advice(agent, result)] == [((), ())]
    assert [status for _, status, _ in results(agent, result)] == ["error"]


def died_before_learning(rig: Rig, family: str) -> None:
    """A run whose answer is committed and from which nothing was learned."""
    order = [sys.executable, "-m", "tests.harness.dying", str(rig.home), str(rig.workspace), family]
    died = subprocess.run(order, cwd=ROOT, capture_output=True, check=False)
    assert died.returncode == -signal.SIGKILL, died.stderr.decode()


@pytest.mark.req("H7", "H15")
def test_a_run_that_was_killed_before_it_was_learned_from_is_learned_at_the_next_start(rig: Rig) -> None:
    configured(rig)
    died_before_learning(rig, "Ledgers!")
    agent = rig.agent([saying("hello")], tools([]), name="later")
    assert dump(agent.app.store, "lessons")["lessons"] == []
    result = agent.run("hello", options={"family": "greetings"})
    lessons = [msgspec.json.decode(row[16], type=Lesson) for row in dump(agent.app.store, "lessons")["lessons"]]
    assert [(one.family, one.model, [seen.tool for seen in one.observations]) for one in lessons] == [
        ("ledgers", "scripted:dying", ["bad"]),
        ("greetings", MODEL, []),
    ]
    assert lessons[1].run_id == result.run_id
    before = dump(agent.app.store, "lessons", "cells")
    rig.agent([saying("hello")], name="third").run("hello again", options={"family": "greetings"})
    assert dump(agent.app.store, "lessons")["lessons"][:2] == before["lessons"]


@pytest.mark.req("H14")
def test_hostile_arguments_in_a_run_are_learned_and_hurt_nobody(rig: Rig) -> None:
    configured(rig)
    wild: Turn = calling(call("bad", path="http://a\x00b/x"), call("good", path="'; DROP TABLE cells; --\x00"))
    agent = rig.agent([wild, saying("done")], tools([]))
    result = agent.run("sum \x00 it", options=HERE)
    assert [decided for decided in of(Decided, events(agent, result)) if decided.subject == "learning"] == []
    assert [row[0] for row in dump(agent.app.store, "lessons")["lessons"]] == [result.run_id]

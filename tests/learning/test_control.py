"""A person's hand on learning: each act can be undone, and what makes no sense changes nothing."""

import asyncio
from collections.abc import Awaitable, Callable

import msgspec
import pytest

from hermes_agent.config.settings import LearningSettings
from hermes_agent.learning.cells import ToolCell
from hermes_agent.learning.control import Control, RolledBack
from hermes_agent.learning.learner import Learner
from hermes_agent.store.database import Connection
from hermes_agent.store.heuristics import Heuristic, Kind, Stage, save_heuristic, value_of, write_cells
from hermes_agent.store.lessons import PlanStep
from hermes_agent.store.open import Store
from hermes_agent.types.errors import HermesError, NotFound, UsageError
from tests.learning.lesson_maker import lesson, seen
from tests.learning.tables import absorb, dump, failing, heuristics, named, stages

SETTINGS = LearningSettings(approve=("avoid_tool",))
STEPS = [PlanStep(tool="a", after="", worked=True), PlanStep(tool="b", after="a", worked=True)]


def learner_of(store: Store, settings: LearningSettings = SETTINGS) -> Learner:
    return Learner(store.database, settings=settings, clock=lambda: 5000.0)


def control_of(store: Store, settings: LearningSettings = SETTINGS) -> Control:
    return Control(store.database, settings, clock=lambda: 6000.0)


def taught(store: Store, settings: LearningSettings = SETTINGS) -> Control:
    """A store in which one heuristic waits, two are trusted and a workflow is on probation."""
    absorb(store, learner_of(store, settings), *(failing(number, steps=STEPS) for number in range(9)))
    return control_of(store, settings)


def active(store: Store) -> tuple[int, list[str]]:
    """The set in force and its members."""
    version = store.database.read_now(lambda connection: value_of(connection, "active_set"))
    (members,) = [row[2] for row in dump(store, "heuristic_sets")["heuristic_sets"] if row[0] == version]
    return version, msgspec.json.decode(members)


def acting(store: Store) -> list[str]:
    return sorted(item.id for item in heuristics(store) if item.stage.acts)


def refused(store: Store, act: Callable[[], Awaitable[object]], error: type[HermesError]) -> str:
    """The message of an act that is an error, after which every table is as before."""
    before = dump(store)

    async def attempt() -> None:
        await act()

    with pytest.raises(error) as caught:
        asyncio.run(attempt())
    assert dump(store) == before
    return str(caught.value)


@pytest.mark.req("H10", "H11")
def test_what_waits_acts_once_approved_and_no_longer_when_rejected(store: Store) -> None:
    control = taught(store)
    waiting = named(store, Kind.AVOID_TOOL)
    assert (waiting.stage, waiting.id in acting(store)) == (Stage.AWAITING_APPROVAL, False)
    version, members = active(store)
    approved = asyncio.run(control.approve(waiting.id, by="Ada"))
    assert approved == msgspec.structs.replace(waiting, stage=Stage.TRUSTED, updated_at=6000.0)
    assert active(store) == (version + 1, sorted([*members, waiting.id]))
    assert active(store)[1] == acting(store)
    rejected = asyncio.run(control.reject(waiting.id, by="Ada"))
    assert rejected.stage is Stage.REJECTED
    assert active(store) == (version + 2, members)
    told = [row[5:9] for row in dump(store, "heuristic_audit")["heuristic_audit"] if row[1] == waiting.id][-2:]
    assert told == [
        ("awaiting_approval", "trusted", "approved by Ada", ""),
        ("trusted", "rejected", "rejected by Ada", ""),
    ]


@pytest.mark.req("H10")
def test_contradictory_and_unknown_decisions_are_errors_and_change_nothing(store: Store) -> None:
    control = taught(store)
    waiting, acts = named(store, Kind.AVOID_TOOL), named(store, Kind.PREFER_TOOL)
    assert refused(store, lambda: control.approve(acts.id), UsageError) == (
        f"{acts.id} is probation, it does not wait for approval"
    )
    asyncio.run(control.reject(waiting.id))
    assert refused(store, lambda: control.approve(waiting.id), UsageError) == (
        f"{waiting.id} is rejected, it does not wait for approval"
    )
    assert refused(store, lambda: control.reject(waiting.id), UsageError) == f"{waiting.id} is rejected already"
    for hostile in ("nothing", "", "%", "' OR 1=1 --", waiting.id[:5], "x" * 100_000):
        message = f"there is no heuristic {hostile!r}"
        assert refused(store, lambda name=hostile: control.approve(name), NotFound) == message  # type: ignore[misc]
        assert refused(store, lambda name=hostile: control.reject(name), NotFound) == message  # type: ignore[misc]


@pytest.mark.req("H10")
def test_several_are_decided_once_each_and_all_or_none(store: Store) -> None:
    control = taught(store, LearningSettings(approve=("avoid_tool", "prefer_tool")))
    first, second = named(store, Kind.AVOID_TOOL), named(store, Kind.PREFER_TOOL)
    asyncio.run(control.reject(second.id))
    message = f"{second.id} is rejected, it does not wait for approval"
    assert refused(store, lambda: control.approve_all([first.id, second.id]), UsageError) == message
    rejected = f"{second.id} is rejected already"
    assert refused(store, lambda: control.reject_all([first.id, second.id]), UsageError) == rejected
    unknown = "there is no heuristic 'nothing'"
    assert refused(store, lambda: control.approve_all([first.id, "nothing"]), NotFound) == unknown
    approved = asyncio.run(control.approve_all([first.id, first.id]))
    assert [(one.id, one.stage) for one in approved] == [(first.id, Stage.TRUSTED)]
    gone = asyncio.run(control.reject_all([first.id, first.id]))
    assert [(one.id, one.stage) for one in gone] == [(first.id, Stage.REJECTED)]


@pytest.mark.req("H10")
def test_two_that_contradict_each_other_are_not_approved_together(store: Store) -> None:
    control = taught(store, LearningSettings(approve=("move_step",)))
    move = Heuristic(
        id="hafter-c", kind=Kind.MOVE_STEP, model="m", family="ledgers", subject="b", condition=("after=a",), text="x",
        better="c", stage=Stage.AWAITING_APPROVAL,
    )  # fmt: skip
    other = msgspec.structs.replace(move, id="hafter-d", better="d")

    def add(connection: Connection) -> None:
        for one in (move, other):
            save_heuristic(connection, one)

    store.database.write_now(add)
    message = "hafter-c and another of these contradict each other"
    assert refused(store, lambda: control.approve_all(["hafter-c", "hafter-d"]), UsageError) == message
    assert [one.stage for one in asyncio.run(control.approve_all(["hafter-c"]))] == [Stage.TRUSTED]


@pytest.mark.req("H10")
def test_what_was_rejected_is_not_proposed_again(store: Store) -> None:
    control = taught(store)
    waiting = named(store, Kind.AVOID_TOOL)
    asyncio.run(control.reject(waiting.id))
    absorb(store, learner_of(store), *(failing(100 + number) for number in range(20)))
    assert stages(store)[Kind.AVOID_TOOL, "bad"] is Stage.REJECTED


def test_rejecting_one_of_two_that_stand_on_the_same_evidence_leaves_the_other_under_test(store: Store) -> None:
    """The tool was repaired: what still speaks against it must hear of it."""
    control = taught(store, LearningSettings(approve=()))
    asyncio.run(control.reject(named(store, Kind.AVOID_TOOL).id))
    assert stages(store)[Kind.PREFER_TOOL, "bad"] is Stage.PROBATION
    learner = learner_of(store, LearningSettings(approve=()))
    absorb(store, learner, *(lesson(100 + number, seen("bad", True)) for number in range(8)))
    assert stages(store)[Kind.PREFER_TOOL, "bad"] is Stage.RETIRED


@pytest.mark.req("H9")
def test_a_rollback_goes_to_the_set_before_and_is_undone_by_going_to_where_one_came_from(store: Store) -> None:
    control = taught(store, LearningSettings(approve=()))
    kept = {item.id: item.stage for item in heuristics(store)}
    assert set(kept.values()) >= {Stage.TRUSTED, Stage.PROBATION}
    version, members = active(store)
    (parent,) = [row[1] for row in dump(store, "heuristic_sets")["heuristic_sets"] if row[0] == version]
    back = asyncio.run(control.roll_back())
    assert (back.was, back.version, back.acting_again) == (version, parent, ())
    assert active(store) == (parent, sorted(set(members) - set(back.stopped)))
    assert acting(store) == active(store)[1]
    nothing = asyncio.run(control.roll_back(0))
    assert (nothing.version, active(store), acting(store)) == (0, (0, []), [])
    forward = asyncio.run(control.roll_back(version))
    assert forward == RolledBack(was=0, version=version, stopped=(), acting_again=tuple(members))
    assert {item.id: item.stage for item in heuristics(store)} == kept
    assert len(dump(store, "heuristic_sets")["heuristic_sets"]) == version + 1
    told = {row[7] for row in dump(store, "heuristic_audit")["heuristic_audit"][-len(members) :]}
    assert told == {f"rolled back from set 0 to set {version}"}


def test_a_rollback_that_leads_nowhere_is_an_error_and_changes_nothing(store: Store) -> None:
    control = control_of(store)
    assert refused(store, control.roll_back, UsageError) == "there is nothing to go back to"
    taught(store)
    assert refused(store, lambda: control.roll_back(99), NotFound) == "there is no heuristic set 99"
    assert refused(store, lambda: control.roll_back(-1), NotFound) == "there is no heuristic set -1"
    before, version = dump(store), active(store)[0]
    same = asyncio.run(control.roll_back(version))
    assert (same, dump(store)) == (RolledBack(was=version, version=version, stopped=(), acting_again=()), before)


def test_learning_goes_on_from_the_set_that_was_gone_back_to(store: Store) -> None:
    control = taught(store, LearningSettings(approve=()))
    version = active(store)[0]
    asyncio.run(control.roll_back(0))
    learner = learner_of(store, LearningSettings(approve=()))
    absorb(store, learner, *(failing(100 + number) for number in range(12)))
    sets = dump(store, "heuristic_sets")["heuristic_sets"]
    assert [row[0] for row in sets] == list(range(len(sets)))
    assert (sets[version + 1][1], active(store)[0] > version) == (0, True)
    assert acting(store) == active(store)[1] != []


def test_freezing_keeps_the_set_and_is_undone(store: Store) -> None:
    control = taught(store)
    before = dump(store)
    assert [asyncio.run(control.freeze(frozen=on)) for on in (True, True, False, False)] == [True, False, True, False]
    assert dump(store) == before
    asyncio.run(control.freeze(frozen=True))
    waiting = named(store, Kind.AVOID_TOOL)
    asyncio.run(control.approve(waiting.id))
    assert waiting.id in acting(store), "a person may still decide"


@pytest.mark.req("H16")
def test_a_reset_forgets_one_model_only_and_keeps_the_history_and_what_was_brought(store: Store) -> None:
    control = taught(store, LearningSettings(approve=()))
    learner = learner_of(store, LearningSettings(approve=()))
    absorb(store, learner, *(failing(50 + number, model="other") for number in range(9)))

    def bring(connection: Connection) -> None:
        write_cells(connection, {("m", "ledgers", "prior:good", ""): '{"good":4.0,"all":5.0}'})

    store.database.write_now(bring)
    before, version = dump(store), active(store)[0]
    own = [row for row in before["cells"] if row[0] == "m"]
    retired, forgotten = asyncio.run(control.reset("m"))
    after = dump(store)
    assert (retired, forgotten) == (sum(item.model == "m" for item in heuristics(store)), len(own) - 1)
    assert [row[2] for row in after["cells"] if row[0] == "m"] == ["prior:good"]
    assert [row for row in after["cells"] if row[0] == "other"] == [row for row in before["cells"] if row[0] == "other"]
    assert after["lessons"] == before["lessons"]
    assert {item.model for item in heuristics(store) if item.stage.acts} == {"other"}
    assert active(store) == (version + 1, acting(store))
    assert refused(store, lambda: control.reset("m"), NotFound) == "nothing was learned about the model 'm'"
    assert refused(store, lambda: control.reset("'; --"), NotFound) == 'nothing was learned about the model "\'; --"'
    asyncio.run(control.roll_back(version))
    assert {item.model for item in heuristics(store) if item.stage.acts} == {"m", "other"}


def test_evidence_starts_afresh_after_a_rollback_and_asks_for_twice_as_much(store: Store) -> None:
    control = taught(store, LearningSettings(approve=()))
    asyncio.run(control.roll_back(0))
    (cell,) = [row[4] for row in dump(store, "cells")["cells"] if row[1:4] == ("ledgers", "tool:bad", "")]
    assert msgspec.json.decode(cell, type=ToolCell) == ToolCell(generation=1)

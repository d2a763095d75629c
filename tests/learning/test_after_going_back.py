"""What learning still sees after a person went back, took a general claim in, or judged a run that replay made."""

import asyncio

import msgspec
import pytest

from hermes_agent.config.settings import LearningSettings
from hermes_agent.learning.cells import Cells, WideCell, wide_key
from hermes_agent.learning.control import Control
from hermes_agent.learning.guard import FamilyGuard
from hermes_agent.learning.learner import Learner
from hermes_agent.learning.life import mark
from hermes_agent.store.heuristics import EVERY_FAMILY, Heuristic, Kind
from hermes_agent.store.lessons import ascii_json
from hermes_agent.store.open import Store
from hermes_agent.types.trace import Judge
from tests.learning.lesson_maker import lesson, seen
from tests.learning.tables import absorb, dump, failing, heuristics

FREE = LearningSettings(approve=())


def guard_tasks(store: Store) -> float:
    """How many judged tasks of the family the guard has seen, baseline and watch together."""
    rows = dump(store, "watches")["watches"]
    found = [msgspec.json.decode(row[3], type=FamilyGuard) for row in rows if row[0] == "ledgers"]
    return sum(one.baseline.tasks + (one.watching.tasks if one.watching else 0) for one in found)


@pytest.mark.req("H9")
def test_the_guard_sees_runs_under_a_set_that_a_person_went_back_to(store: Store) -> None:
    learner = Learner(store.database, settings=FREE, clock=lambda: 5000.0)
    control = Control(store.database, FREE, clock=lambda: 6000.0)
    absorb(store, learner, *(failing(number) for number in range(9)))
    for acting in [one.id for one in heuristics(store) if one.stage.acts]:
        asyncio.run(control.reject(acting))
    assert asyncio.run(control.roll_back(0)).stopped == ()
    before = guard_tasks(store)
    absorb(store, learner, lesson(50, seen("good", True), judged_by=Judge.VERIFIER))
    assert guard_tasks(store) == before + 1


@pytest.mark.req("B7")
@pytest.mark.parametrize("kind", [Kind.AVOID_TOOL, Kind.HINT, Kind.PREFER_TOOL])
def test_a_general_claim_that_acts_leaves_the_evidence_over_all_families(kind: Kind) -> None:
    place = wide_key("m", "bad")
    known = WideCell(families={"ledgers": (1, 4)}, instead={"good": (3, 3)})
    cells = Cells(lambda keys: {key: ascii_json(known) for key in keys if key == place})
    claim = Heuristic(id="x", kind=kind, model="m", family=EVERY_FAMILY, subject="bad", text="", better="good")
    mark(cells, claim, acting=True)
    assert cells.get(place, WideCell) == msgspec.structs.replace(known, acting=True)


def test_judging_a_run_that_replay_made_changes_nothing(store: Store) -> None:
    learner = Learner(store.database, settings=FREE, clock=lambda: 5000.0)
    made = lesson(1, success=None, tainted=True, judged_by=Judge.VERIFIER)
    absorb(store, learner, made)
    before = dump(store)
    absorb(store, learner, msgspec.structs.replace(made, judged_by=Judge.USER))
    assert dump(store) == before

"""Learning in the database: each run once, in one transaction, audited, and taken back when it harms."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hermes_agent.config.settings import LearningSettings
from hermes_agent.learning.guard import FamilyGuard
from hermes_agent.learning.learner import Learned, Learner
from hermes_agent.store.database import Connection, Row
from hermes_agent.store.heuristics import HeuristicSet, Kind, Stage, read_set, set_value
from hermes_agent.store.lessons import Lesson, PlanStep, lesson_of
from hermes_agent.store.open import Store, open_store
from hermes_agent.types.trace import AdviceItem, CallStatus, Judge, RunStatus
from tests.learning.lesson_maker import Memory, failed, lesson, mended, record, seen, trace
from tests.learning.tables import absorb, dump, failing, heuristics, stages

NOTHING_WAITS = LearningSettings(approve=())
STEPS = [PlanStep(tool="a", after="", worked=True), PlanStep(tool="b", after="a", worked=True)]


def ticking() -> Callable[[], float]:
    """A clock that shows a later second each time."""
    time = [5000.0]

    def clock() -> float:
        time[0] += 1
        return time[0]

    return clock


@pytest.fixture
def learner(store: Store) -> Learner:
    return Learner(store.database, settings=NOTHING_WAITS, clock=ticking())


def teach(learner: Learner, numbers: range = range(8)) -> list[Learned]:
    """Runs in which `bad` fails on a ledger and `good` does its job."""
    calls = [failed("bad", path="a.csv"), record("good", path="a.csv")]
    return [learner.learn_now(trace(number, *calls), "ledgers", tainted=False) for number in numbers]


@pytest.mark.req("H15", "H14")
def test_learning_the_same_trace_twice_changes_nothing_at_all(store: Store, learner: Learner) -> None:
    (*_, last) = teach(learner)
    before = dump(store)
    assert (len(before["lessons"]), len(before["families"]), last.version > 0) == (8, 1, True)
    assert teach(learner) == [Learned(version=last.version)] * 8
    assert dump(store) == before


@pytest.mark.req("H15")
def test_evidence_is_the_fold_of_the_stored_sequence(store: Store, learner: Learner) -> None:
    """Tools that fail, work again, fail under a condition, in three families; then the same from what was stored."""
    for number in range(60):
        family = ("ledgers", "reports", "letters")[number % 3]
        worked = 24 <= number < 48
        calls = [record("bad", path=f"a{number % 2}.csv")] if worked else [failed("bad", path=f"a{number % 2}.csv")]
        calls += [record("good", path=f"a{number % 2}.csv"), failed("odd", "quota", url=f"http://h/{number}")]
        run = trace(number, *calls, session=f"s{number // 2}", status=RunStatus.DONE if worked else RunStatus.FAILED)
        learner.learn_now(run, family, tainted=number == 7)
    memory = Memory()
    for taught in stored(store):
        memory.learn(taught)
    cells = {tuple(row[:4]): row[4] for row in dump(store, "cells")["cells"]}
    assert cells == memory.stored
    assert {(item.id, item.stage) for item in heuristics(store)} == {
        (item.id, item.stage) for item in memory.known.values()
    }
    assert set(stages(store).values()) > {Stage.TRUSTED, Stage.RETIRED}


def stored(store: Store) -> list[Lesson]:
    """The lessons as they were learned, in their order."""

    def unit(connection: Connection) -> list[Lesson]:
        rows = connection.run("SELECT payload FROM lessons ORDER BY seq")
        return [msgspec.json.decode(row[0], type=Lesson) for row in rows]

    return store.database.read_now(unit)


@pytest.mark.req("H15")
def test_another_store_that_learns_the_stored_sequence_comes_to_the_same_state(
    store: Store, learner: Learner, tmp_path: Path
) -> None:
    """Lessons and later judgements, one sequence: the state is its fold, on every database."""
    coin = on_probation(store, learner)
    for number in range(10, 60):
        item = msgspec.structs.replace(coin, applied=number % 2 == 0)
        taught = lesson(number, seen("bad", number % 5 == 0), seen("good", True), items=[item])
        taught = msgspec.structs.replace(taught, set_version=number)
        absorb(store, learner, taught, judged(taught, success=number % 3 > 0))
    whole = dump(store)
    payloads = {row[0]: msgspec.json.decode(row[16], type=Lesson) for row in whole["lessons"]}
    sequence = {row[1]: payloads[row[0]] for row in whole["lessons"]}
    for seq, run, _, success, by, _ in whole["judgements"]:
        sequence[seq] = judged(payloads[run], success=bool(success), by=Judge(by))
    assert sorted(sequence) == list(range(1, 104))
    again = open_store("", tmp_path)
    absorb(again, Learner(again.database, settings=NOTHING_WAITS), *(sequence[seq] for seq in sorted(sequence)))
    same = dump(again)
    again.close()
    for table in ("learning", "cells", "watches"):
        assert same[table] == whole[table]
    assert [row[:13] for row in same["heuristics"]] == [row[:13] for row in whole["heuristics"]]
    assert [row[:11] for row in same["heuristic_audit"]] == [row[:11] for row in whole["heuristic_audit"]]


def judged(taught: Lesson, *, success: bool, by: Judge = Judge.USER) -> Lesson:
    return msgspec.structs.replace(taught, success=success, judged_by=by)


def tasks(store: Store) -> int:
    """How many judged tasks the coin of the workflow has seen."""
    found = [row for row in dump(store, "cells")["cells"] if row[2].startswith("task:")]
    return int(msgspec.json.decode(found[0][4])["evidence"]["tasks"]) if found else 0


def on_probation(store: Store, learner: Learner) -> AdviceItem:
    """A workflow on probation, as an item of a run in which its coin said yes."""
    absorb(store, learner, *(lesson(number, steps=STEPS) for number in range(3)))
    (workflow,) = [item for item in heuristics(store) if item.kind is Kind.WORKFLOW]
    assert workflow.stage is Stage.PROBATION
    return AdviceItem(id=workflow.id, text="", applied=True, propensity=0.5)


@pytest.mark.req("H7")
def test_a_judgement_after_an_inferred_outcome_is_counted_once(store: Store, learner: Learner) -> None:
    taught = msgspec.structs.replace(lesson(50, items=[on_probation(store, learner)]), set_version=1)
    absorb(store, learner, taught)
    assert tasks(store) == 0
    absorb(store, learner, judged(taught, success=False))
    assert tasks(store) == 1
    found = store.database.read_now(lambda connection: lesson_of(connection, "run50"))
    assert found == judged(taught, success=False)
    before = dump(store)
    absorb(store, learner, judged(taught, success=False), taught)
    assert dump(store) == before
    watched = {row[0]: msgspec.json.decode(row[3], type=FamilyGuard) for row in before["watches"]}
    assert {family: guard.baseline.tasks for family, guard in watched.items()} == {"ledgers": 1, "ledgers~inferred": 4}


@pytest.mark.req("H7")
def test_of_contradictory_judgements_the_last_is_kept_and_the_first_was_counted(store: Store, learner: Learner) -> None:
    taught = lesson(50, items=[on_probation(store, learner)])
    absorb(store, learner, taught, judged(taught, success=True), judged(taught, success=False))
    absorb(store, learner, judged(taught, success=True, by=Judge.VERIFIER))
    assert tasks(store) == 1
    kept = [row[1:5:2] for row in dump(store, "judgements")["judgements"]]
    assert kept == [("run50", 1), ("run50", 0), ("run50", 1)]
    assert store.database.read_now(lambda connection: lesson_of(connection, "run50")) == judged(
        taught, success=True, by=Judge.VERIFIER
    )


@pytest.mark.req("H7")
def test_failed_and_interrupted_runs_are_learned(store: Store, learner: Learner) -> None:
    stopped = record("wait", CallStatus.INTERRUPTED)
    for number, status in enumerate((RunStatus.FAILED, RunStatus.INTERRUPTED, RunStatus.FAILED)):
        learner.learn_now(trace(number, failed("bad"), stopped, status=status), "ledgers", tainted=False)
    rows = dump(store, "lessons")["lessons"]
    assert [(row[0], row[1], row[7]) for row in rows] == [("run0", 1, 0), ("run1", 2, None), ("run2", 3, 0)]
    (cell,) = [row for row in dump(store, "cells")["cells"] if row[1:4] == ("ledgers", "tool:bad", "")]
    assert msgspec.json.decode(cell[4])["evidence"]["failed"] == 3


@pytest.mark.req("H11")
def test_every_change_is_audited_with_time_cause_run_and_evidence_and_sets_never_change(
    store: Store, learner: Learner
) -> None:
    teach(learner, range(6))
    sets = dump(store, "heuristic_sets")["heuristic_sets"]
    teach(learner, range(6, 8))
    for number in range(20, 26):
        learner.learn_now(trace(number, record("bad", path="a.csv")), "ledgers", tainted=False)
    audit = dump(store, "heuristic_audit")["heuristic_audit"]
    assert dump(store, "heuristic_sets")["heuristic_sets"][: len(sets)] == sets
    assert [row[0] for row in audit] == list(range(1, len(audit) + 1))
    changes: dict[str, list[str]] = {}
    for row in audit:
        _, name, _, model, family, was, became, cause, run, evidence, _, at = row
        assert (model, family, bool(cause), at > 5000) == ("m", "ledgers", True, True)
        assert run in {f"run{number}" for number in (*range(8), *range(20, 26))}
        assert msgspec.json.decode(evidence).keys() >= {"worked", "failed", "traces", "sessions", "e_value"}
        assert changes.setdefault(name, [""])[-1] == was
        changes[name].append(became)
    assert {item.id: item.stage.value for item in heuristics(store)} == {name: on[-1] for name, on in changes.items()}
    (avoided,) = [item for item in heuristics(store) if item.kind is Kind.AVOID_TOOL and not item.condition]
    assert changes[avoided.id] == ["", "candidate", "trusted", "trusted", "retired"], "in between it was looked at more"
    looked = next(row for row in audit if row[1] == avoided.id and row[5] == row[6])
    assert (looked[7], msgspec.json.decode(looked[9])["hopeful"], looked[10]) == (
        "worked when it was tried again; it is tried more often now",
        True,
        0,
    )
    members = [msgspec.json.decode(row[2]) for row in dump(store, "heuristic_sets")["heuristic_sets"]]
    assert members[-1] == sorted(item.id for item in heuristics(store) if item.stage.acts)


class Died(Exception):
    """The process ended here."""


class Breaking:
    """A connection that breaks at its `at`th statement."""

    def __init__(self, inner: Connection, at: int) -> None:
        self._inner = inner
        self._left = at

    def run(self, sql: str, params: Sequence[Any] = ()) -> list[Row]:
        self._left -= 1
        if self._left < 0:
            raise Died
        return self._inner.run(sql, params)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


@pytest.mark.req("H15")
def test_a_crash_anywhere_in_the_transaction_leaves_nothing(store: Store, learner: Learner) -> None:
    teach(learner, range(6))
    before = dump(store)
    taught = failing(6)

    def attempt(at: int) -> None:
        def unit(connection: Connection) -> None:
            learner.absorb(Breaking(connection, at), taught, "Summarise the ledger.")

        store.database.write_now(unit)

    at = 0
    while at < 500:
        try:
            attempt(at)
        except Died:
            assert dump(store) == before
            at += 1
        else:
            break
    assert 10 < at < 500
    assert dump(store, "learning")["learning"] != before["learning"]
    assert dump(store, "lessons")["lessons"][-1][0] == "run6"


def test_a_frozen_set_stays_and_goes_on_when_it_is_let(store: Store, learner: Learner) -> None:
    store.database.write_now(lambda connection: set_value(connection, "frozen", 1))
    assert teach(learner, range(12)) == [Learned(version=0)] * 12
    assert set(stages(store).values()) == {Stage.CANDIDATE}
    store.database.write_now(lambda connection: set_value(connection, "frozen", 0))
    (learned,) = teach(learner, range(12, 13))
    assert learned.version > 0
    assert stages(store)[Kind.AVOID_TOOL, "bad"] is Stage.TRUSTED


def baseline(store: Store, learner: Learner, good: int = 40) -> int:
    """Forty good tasks, then a finding that acts; returns the version of the set with it."""
    absorb(store, learner, *(lesson(1000 + n, judged_by=Judge.VERIFIER) for n in range(good)))
    (*_, last) = absorb(store, learner, *(failing(n, judged_by=Judge.VERIFIER) for n in range(7)))
    assert last.version > 0
    return last.version


def later(number: int, version: int, success: bool | None) -> Lesson:
    """A task under a set."""
    taught = lesson(2000 + number, success=success, judged_by=Judge.VERIFIER if success is not None else Judge.INFERRED)
    return msgspec.structs.replace(taught, set_version=version)


@pytest.mark.req("H9", "H11")
def test_a_fall_below_the_baseline_takes_back_what_was_learned_and_says_so(store: Store, learner: Learner) -> None:
    version = baseline(store, learner)
    acting = {item.id for item in heuristics(store) if item.stage.acts}
    notices: list[str] = []
    tasks = 0
    while not any("rolled back" in notice for notice in notices):
        (learned,) = absorb(store, learner, later(tasks, version, success=False))
        notices += learned.notices
        tasks += 1
        assert tasks < 60
    first, last = notices
    assert first == "ledgers: success is below its baseline; half of its runs now go without what was learned"
    known_good = int(last.rpartition("set ")[2].split()[0])
    cause = f"rolled back: success fell below the baseline measured with set {known_good}"
    assert last == f"ledgers: {cause} (`hermes learning audit` says what was retired)"
    assert {item.stage for item in heuristics(store) if item.id in acting} == {Stage.RETIRED}
    now = store.database.read_now(lambda connection: read_set(connection, learned.version))
    assert now == HeuristicSet(
        version=version + 1, parent=version, members=(), cause=cause, run_id=f"run{2000 + tasks - 1}", at=now.at
    )
    retired = [row for row in dump(store, "heuristic_audit")["heuristic_audit"] if row[6] == "retired"]
    assert {(row[1], row[7], row[8], row[10]) for row in retired} == {
        (name, cause, f"run{2000 + tasks - 1}", version + 1) for name in acting
    }
    assert tasks <= 25
    guards = [msgspec.json.decode(row[3], type=FamilyGuard) for row in dump(store, "watches")["watches"]]
    assert {(guard.known_good, guard.version, guard.watching) for guard in guards} == {(version + 1, version + 1, None)}


@pytest.mark.req("H9")
def test_an_outage_and_runs_under_an_older_set_cause_no_rollback(store: Store, learner: Learner) -> None:
    version = baseline(store, learner)
    before = dump(store, "watches", "heuristics", "heuristic_sets")
    down = [later(number, version, success=None) for number in range(60)]
    pinned = [later(100 + number, 0, success=False) for number in range(60)]
    assert {learned.notices for learned in absorb(store, learner, *down, *pinned)} == {()}
    assert dump(store, "watches", "heuristics", "heuristic_sets") == before


@pytest.mark.req("H9")
def test_what_happens_in_one_family_takes_nothing_back_in_another(store: Store, learner: Learner) -> None:
    version = baseline(store, learner)
    elsewhere = [msgspec.structs.replace(later(n, version, success=False), family="reports") for n in range(60)]
    assert {learned.notices for learned in absorb(store, learner, *elsewhere)} == {()}
    assert stages(store)[Kind.AVOID_TOOL, "bad"] is Stage.TRUSTED


@pytest.mark.req("H9")
def test_a_frozen_set_is_not_rolled_back_and_nothing_claims_that_it_was(store: Store, learner: Learner) -> None:
    version = baseline(store, learner)
    store.database.write_now(lambda connection: set_value(connection, "frozen", 1))
    before = dump(store, "heuristics", "heuristic_sets", "heuristic_audit")
    told = absorb(store, learner, *(later(number, version, success=False) for number in range(30)))
    assert dump(store, "heuristics", "heuristic_sets", "heuristic_audit") == before
    notices = [notice for learned in told for notice in learned.notices]
    assert notices and not any("rolled back" in notice for notice in notices)
    assert any("frozen" in notice for notice in notices)


def planned(number: int, name: str) -> Lesson:
    """A successful run by a plan of its own."""
    steps = [PlanStep(tool=f"{name}1", after="", worked=True), PlanStep(tool=f"{name}2", after="a", worked=True)]
    return lesson(number, steps=steps)


def test_at_most_so_many_are_on_probation_and_the_oldest_candidate_follows(store: Store) -> None:
    learner = Learner(store.database, settings=LearningSettings(approve=(), probation=2), clock=ticking())
    for place, name in enumerate("abcd"):
        absorb(store, learner, *(planned(10 * place + number, name) for number in range(3)))
    by_text = {item.text: item for item in heuristics(store)}
    assert {text: item.stage for text, item in by_text.items()} == {
        "a1 > a2": Stage.PROBATION,
        "b1 > b2": Stage.PROBATION,
        "c1 > c2": Stage.CANDIDATE,
        "d1 > d2": Stage.CANDIDATE,
    }
    harmful = by_text["a1 > a2"].id
    for number in range(400):
        item = AdviceItem(id=harmful, text="", applied=number % 2 == 0, propensity=0.5)
        absorb(store, learner, lesson(500 + number, items=[item], success=number % 2 == 1, judged_by=Judge.VERIFIER))
        if {item.id: item.stage for item in heuristics(store)}[harmful] is Stage.RETIRED:
            break
    after = {item.text: item.stage for item in heuristics(store)}
    assert after == {
        "a1 > a2": Stage.RETIRED,
        "b1 > b2": Stage.PROBATION,
        "c1 > c2": Stage.PROBATION,
        "d1 > d2": Stage.CANDIDATE,
    }


@pytest.mark.req("H10")
def test_what_is_high_stakes_waits_and_does_not_act(store: Store) -> None:
    learner = Learner(store.database, settings=LearningSettings(approve=("avoid_tool", "once")), clock=ticking())
    absorb(store, learner, *(failing(number) for number in range(9)))
    sent = [
        lesson(50 + n, seen("send", False, once=True), seen("post", True), mendings=[mended("send", "post")])
        for n in range(9)
    ]
    absorb(store, learner, *sent)
    assert stages(store) == {
        (Kind.AVOID_TOOL, "bad"): Stage.AWAITING_APPROVAL,
        (Kind.PREFER_TOOL, "bad"): Stage.PROBATION,
        (Kind.REPAIR, "bad:parse"): Stage.TRUSTED,
        (Kind.AVOID_TOOL, "send"): Stage.AWAITING_APPROVAL,
        (Kind.PREFER_TOOL, "send"): Stage.AWAITING_APPROVAL,
        (Kind.REPAIR, "send:parse"): Stage.TRUSTED,
    }
    members = {name for row in dump(store, "heuristic_sets")["heuristic_sets"] for name in msgspec.json.decode(row[2])}
    waiting = {item.id for item in heuristics(store) if item.stage is Stage.AWAITING_APPROVAL}
    assert members and not members & waiting


@pytest.mark.req("H14")
def test_a_hostile_trace_is_learned_like_any_other(store: Store, learner: Learner) -> None:
    wild: dict[str, Any] = {"pa\x00th": "http://a\x00b\ud800/x", "\ud800": "\ud800", "q": "'; DROP TABLE cells; --"}
    for number in range(9):
        calls = [failed("bad", "e\x00\ud800", **wild), record("good", **wild), record("bad", **{**wild, "q": "\x00"})]
        run = trace(number, *calls, request="say \x00 \ud800 it")
        learner.learn_now(run, "ledgers", tainted=False)
    assert len(stored(store)) == 9
    assert heuristics(store) and dump(store)["learning"][-1] == ("sequence", 9)

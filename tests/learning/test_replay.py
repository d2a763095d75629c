"""Replay: how decisions and runs are labelled, and real lessons on both databases."""

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from hermes_agent.learning.estimates import Verdict
from hermes_agent.learning.lessons import REPLAYED
from hermes_agent.learning.past import Seen, Window
from hermes_agent.learning.replay import (
    Decision,
    Label,
    Replay,
    Report,
    applies,
    decide,
    decide_all,
    replayed,
    set_target,
    with_target,
    without_target,
)
from hermes_agent.store.database import Connection
from hermes_agent.store.heuristics import (
    Heuristic,
    Kind,
    Stage,
    activate_members,
    lock_sequence,
    save_heuristic,
)
from hermes_agent.store.lessons import Lesson, Observation, add_judgement, add_lesson
from hermes_agent.store.open import Store, open_store
from hermes_agent.types.errors import StoreDamaged
from hermes_agent.types.trace import AdviceItem, Judge
from tests.learning.logs import FAMILY, MODEL, coin, report_of, rule, run, simulated


@pytest.mark.req("H13")
@pytest.mark.parametrize(
    ("item", "acting", "expected"),
    [
        (coin("h", True, 0.9), 0.9, Decision(id="h", label=Label.SAME)),
        (coin("h", False, 0.9), 0.9, Decision(id="h", label=Label.SAME)),
        (coin("h", True, 0.5), 0.9, Decision(id="h", label=Label.WEIGHTED, weight=1.8)),
        (coin("h", True, 0.9), 0.0, Decision(id="h", label=Label.WEIGHTED, weight=0.0)),
        (coin("h", False, 0.75), 0.0, Decision(id="h", label=Label.WEIGHTED, weight=4.0)),
        (coin("h", True, 1.0), 0.0, Decision(id="h", label=Label.UNSUPPORTED, weight=0.0)),
        (coin("h", True, 1.0), 0.9, Decision(id="h", label=Label.SAME)),
        (coin("h", False, 0.0), 0.9, Decision(id="h", label=Label.SAME)),
        (coin("h", False, 0.0), 0.0, Decision(id="h", label=Label.SAME)),
        *(
            (AdviceItem(id="h", text="", propensity=wrong), 0.9, Decision(id="h", label=Label.UNSUPPORTED, weight=0.0))
            for wrong in (0.0, -1.0, 1.5, float("nan"), float("inf"))
        ),
    ],
)
def test_a_decision_is_labelled_by_its_chances(item: AdviceItem, acting: float, expected: Decision) -> None:
    target = set_target(2, [rule("h")] if acting else [], explore=1 - acting)
    got = decide(item, target)
    assert (got.id, got.label) == (expected.id, expected.label)
    assert got.weight == pytest.approx(expected.weight)


def test_who_acts_with_which_chance() -> None:
    members = [rule("a"), rule("b", stage=Stage.PROBATION), rule("c", kind=Kind.WORKFLOW)]
    members.append(rule("d", kind=Kind.WORKFLOW, stage=Stage.PROBATION))
    assert set_target(3, members, 0.2).acting == {"a": 0.8, "b": 0.8, "c": 0.9, "d": 0.5}
    assert with_target(rule("d", stage=Stage.CANDIDATE), 0.1).acting == {"d": 0.5}
    assert without_target(rule("a")).acting == {}


def held(id: str, applied: bool, chance: float = 0.9) -> AdviceItem:
    """A workflow that is trusted: the holdout's one coin decides about all of them."""
    item = coin(id, applied, chance)
    return AdviceItem(id=id, text="", applied=item.applied, propensity=item.propensity, kind="workflow")


def test_a_heuristic_has_one_coin_a_run() -> None:
    items = [coin("h", True, 0.5, "c1"), coin("h", True, 0.5, "c2"), coin("g", False, 0.5)]
    got = decide_all(items, without_target(rule("h")))
    assert got == [Decision(id="h", label=Label.WEIGHTED, weight=0.0), Decision(id="g", label=Label.SAME)]


@pytest.mark.req("H13")
def test_what_one_coin_decided_together_cannot_be_told_apart() -> None:
    both = [held("a", False), held("b", False)]
    a, b, none = rule("a", kind=Kind.WORKFLOW), rule("b", kind=Kind.WORKFLOW), set_target(0, [], 0.2)
    unsupported = Decision(id="a", label=Label.UNSUPPORTED, weight=0.0)
    assert decide_all(both, without_target(a)) == [unsupported, Decision(id="b", label=Label.SAME)]
    assert decide_all(both, set_target(1, [b], 0.2)) == [unsupported, Decision(id="b", label=Label.SAME)]
    assert [one.label for one in decide_all(both, set_target(1, [a, b], 0.2))] == [Label.SAME, Label.SAME]
    got = decide_all(both, none)
    assert [(one.id, one.label) for one in got] == [("a", Label.WEIGHTED), ("b", Label.WEIGHTED)]
    assert [one.weight for one in got] == [pytest.approx(10.0), 1.0]
    assert [one.label for one in decide_all([held("a", False)], none)] == [Label.WEIGHTED]
    apart = [held("a", False, 0.5), held("b", True, 0.5)]
    assert [one.label for one in decide_all(apart, without_target(a))] == [Label.WEIGHTED, Label.SAME]
    alone, together = (
        report_of(Replay(without_target(a), {}), [run(0, True, *items)]) for items in ([held("a", True)], both)
    )
    assert [row.effect.runs for row in alone.heuristics] == [1]
    assert [row.effect.runs for row in together.heuristics] == [0, 0]


@pytest.mark.req("H13")
@pytest.mark.parametrize(
    ("heuristic", "expected"),
    [
        (rule("h"), True),
        (rule("h", family="*"), True),
        (rule("h", family="other"), False),
        (rule("h", model="scripted:other"), False),
        (rule("h", kind=Kind.AVOID_TOOL, subject="unused", condition=("path.suffix=.csv",)), True),
        (rule("h", kind=Kind.FUTILE_RETRY, subject="read:parse"), False),
        (rule("h", kind=Kind.FUTILE_RETRY, subject="fetch:timeout"), True),
        (rule("h", kind=Kind.REPAIR, subject="write:parse"), True),
        (rule("h", kind=Kind.REPAIR, subject="write"), True),
        (rule("h", kind=Kind.REPAIR, subject="write:timeout"), False),
    ],
)
def test_where_a_heuristic_would_have_been_asked(heuristic: Heuristic, expected: bool) -> None:
    seen = (
        Seen(tool="read"),
        Seen(tool="fetch", tries=3),
        Seen(tool="write", worked=False, error="parse"),
    )
    assert applies(heuristic, run(observations=seen)) is expected


@pytest.mark.req("H13")
def test_a_run_is_as_weak_as_its_weakest_decision_and_labels_partition_the_runs() -> None:
    new = rule("new", kind=Kind.REPAIR, subject="read:parse")
    replay = Replay(set_target(9, [rule("kept"), new], 0.1), {1: frozenset({"kept"}), 9: frozenset({"kept", "new"})})
    failed = (Seen(tool="read", worked=False, error="parse"),)
    kept, gone = coin("kept", True, 0.9), coin("gone", False, 0.5)
    labels = [
        replay.add(run(1, True, kept)),
        replay.add(run(2, True, kept, gone)),
        replay.add(run(3, True, kept, gone, observations=failed)),
        replay.add(run(4, True, kept, observations=failed)),
        replay.add(run(5, False, kept, observations=failed, set_version=9)),
        replay.add(run(6, None, kept)),
        replay.add(run(7, True, kept, tainted=True)),
        replay.add(run(8, False, model="scripted:other", observations=failed)),
    ]
    unsupported = Label.UNSUPPORTED
    assert labels == [Label.SAME, Label.WEIGHTED, unsupported, unsupported, Label.SAME, None, None, Label.SAME]
    report = replay.report()
    assert (report.runs, report.left_out) == (8, 2)
    assert report.labels == {"same": 3, "reexecuted": 0, "weighted": 1, "unsupported": 2}
    rows = {row.id: (row.labels, row.acting, row.unsupported) for row in report.heuristics}
    assert rows == {
        "kept": ({"same": 5, "reexecuted": 0, "weighted": 0, "unsupported": 0}, 0.9, 0.0),
        "gone": ({"same": 0, "reexecuted": 0, "weighted": 2, "unsupported": 0}, 0.0, 0.0),
        "new": ({"same": 0, "reexecuted": 0, "weighted": 0, "unsupported": 2}, 0.9, 1.0),
    }


def lesson(number: int, **more: Any) -> Lesson:
    told = {"family": FAMILY, "model": MODEL, "at": 1000.0 + number, "judged_by": Judge.VERIFIER, "success": True}
    return Lesson(run_id=f"r{number:06}", session_id=f"s{number % 7}", **{**told, **more})


def stored(store: Store, lessons: Iterable[Lesson]) -> None:
    def unit(connection: Connection) -> None:
        for one in lessons:
            add_lesson(connection, one, lock_sequence(connection, store.database.backend), "local")

    store.database.write_now(unit)


def replay_of(store: Store, window: Window, heuristic: Heuristic) -> Report:
    return asyncio.run(replayed(store.database, without_target(heuristic), window)).report()


@pytest.mark.req("H13")
def test_stored_lessons_are_replayed_as_they_stand_now(store: Store) -> None:
    seen = (Observation(tool="read", worked=True, features=("path.suffix=.csv",)),)
    simulation = simulated(5, 300, 0.5, 0.8, 0.5)
    kept = [
        lesson(place, success=one.success, items=one.items, observations=seen, surface="cli")
        for place, one in enumerate(simulation)
    ]
    others = [
        lesson(900, family="f2", items=(coin("h", True, 0.5),)),
        lesson(901, model="scripted:n"),
        lesson(902, surface=REPLAYED, items=(coin("h", True, 0.5),)),
    ]
    stored(store, kept + others)
    judged = Lesson(**{**{name: getattr(kept[0], name) for name in kept[0].__struct_fields__}, "success": False})
    store.database.write_now(lambda connection: add_judgement(connection, judged, 9999, 2000.0))
    changed = run(0, False, *simulation[0].items)
    expected = report_of(Replay(without_target(rule("h")), {}), [changed, *simulation[1:]])
    assert replay_of(store, Window(family=FAMILY, model=MODEL), rule("h")) == expected
    by_family = replay_of(store, Window(family=FAMILY), rule("h"))
    assert (by_family.runs, by_family.labels["weighted"], by_family.labels["same"]) == (301, 300, 1)
    assert replay_of(store, Window(), rule("h")).runs == 302
    assert replay_of(store, Window(model="scripted:n"), rule("h")).runs == 1
    assert replay_of(store, Window(since=1250.0), rule("h")).runs == 52
    assert replay_of(store, Window(since=9000.0), rule("h")) == report_of(Replay(without_target(rule("h")), {}), [])


def test_a_familys_own_heuristic_silences_the_general_one() -> None:
    general, other = rule("general", family="*"), rule("other", family="*", subject="write")
    report = report_of(Replay(set_target(2, [rule("own"), general, other], 0.1), {}), [run()])
    assert {row.id: row.labels["unsupported"] for row in report.heuristics} == {"own": 1, "other": 1, "general": 0}


@pytest.mark.req("H13")
def test_a_set_is_judged_only_where_it_was_tried(store: Store) -> None:
    new = rule("new", kind=Kind.WORKFLOW, stage=Stage.PROBATION)

    def unit(connection: Connection) -> int:
        save_heuristic(connection, new)
        return activate_members(connection, ["new"], "test", "", 1.0)

    version = store.database.write_now(unit)
    before = [lesson(place, success=place % 2 == 0) for place in range(10)]
    tried = [lesson(10 + place, set_version=version, items=(coin("new", place % 2 == 0, 0.5),)) for place in range(6)]
    passed_by = [lesson(20, set_version=version)]
    stored(store, [*before, *tried, *passed_by])
    replay = asyncio.run(replayed(store.database, set_target(version, [new], 0.1), Window()))
    report = replay.report()
    assert report.labels == {"same": 7, "reexecuted": 0, "weighted": 0, "unsupported": 10}
    assert (report.judged.runs, report.judged.as_logged, report.verdict) == (7, 1.0, Verdict.UNKNOWN)
    assert [one.run_id for one in replay.differing] == [one.run_id for one in before]


def test_many_batches_lose_nothing_and_progress_is_told(home: Path) -> None:
    store = open_store("", home)
    stored(store, [lesson(number) for number in range(4100)])
    told: list[int] = []
    replay = asyncio.run(replayed(store.database, without_target(rule("h")), Window(since=1001.0), told.append))
    store.close()
    assert (replay.report().runs, told) == (4099, [2000, 4000, 4099])


def test_a_damaged_lesson_is_said(store: Store) -> None:
    stored(store, [lesson(1)])
    store.database.write_now(lambda connection: connection.run("UPDATE lessons SET payload = '{\"run_id\": 1'"))
    with pytest.raises(StoreDamaged, match="lesson 1 cannot be read"):
        replay_of(store, Window(), rule("h"))

"""The learning views, the same on both databases, and the typed reads of them."""

import math
from pathlib import Path

import pytest

from hermes_agent.store.database import Connection, Row
from hermes_agent.store.heuristics import Stage
from hermes_agent.store.learning_views import (
    _ROLLBACKS,
    Best,
    Census,
    Day,
    Drift,
    Feedback,
    Mark,
    Pair,
    Totals,
    best_of,
    census,
    daily,
    drift,
    entropy,
    family_named,
    feedback,
    known_model,
    latency_of,
    marks,
    pairs,
    recent_runs,
    totals,
)
from hermes_agent.store.open import Store, open_store
from hermes_agent.types.errors import NotFound
from tests.store.learning_samples import DAY, FAMILY, MODEL, START, entry, fill, heuristic, history, lesson

OTHER_MODEL = "scripted:b"


def asked(store: Store, sql: str, *params: object) -> list[Row]:
    return store.database.read_now(lambda connection: connection.run(sql, params))


def two_days(store: Store) -> None:
    """Four runs in the last second of a day and the first of the next, on two models."""
    fill(
        store,
        [
            lesson(0, at=START + DAY - 0.4, plan="a > b", seconds=1.0),
            lesson(1, at=START + DAY - 0.4, plan="a > b", success=False, error="timeout", seconds=3.0),
            lesson(2, at=START + DAY - 0.4, plan="c", success=None, seconds=2.0),
            lesson(3, at=START + DAY, plan="a > b", error="encoding", advised=True),
            lesson(4, at=START + DAY, plan="", model=OTHER_MODEL, success=False),
        ],
    )


FIRST = Day(
    family=FAMILY,
    model=MODEL,
    day=START,
    runs=3,
    judged=2,
    success_rate=0.5,
    tool_selection_entropy=entropy([2, 1]),
    plans=2,
    plan_variance=2 / 3,
    top_plan_share=2 / 3,
    with_errors=1,
    recovered=0,
    advised=0,
    mean_seconds=2.0,
)
SECOND = Day(
    family=FAMILY,
    model=MODEL,
    day=START + DAY,
    runs=1,
    judged=1,
    success_rate=1.0,
    tool_selection_entropy=0.0,
    plans=1,
    plan_variance=1.0,
    top_plan_share=1.0,
    with_errors=1,
    recovered=1,
    advised=1,
    mean_seconds=2.0,
)


@pytest.mark.req("H12")
def test_days(store: Store) -> None:
    two_days(store)

    def unit(connection: Connection) -> None:
        assert daily(connection, family=FAMILY, model=MODEL, since=0) == [FIRST, SECOND]
        assert daily(connection, family=FAMILY, model=MODEL, since=START + DAY + 5) == [SECOND]
        assert [(day.model, day.day, day.success_rate) for day in daily(connection, since=START + DAY)] == [
            (MODEL, START + DAY, 1.0),
            (OTHER_MODEL, START + DAY, 0.0),
        ]
        assert daily(connection, family="nobody", since=0) == []
        assert entropy([]) == 0.0

    store.database.read_now(unit)
    columns = "family, model, day, runs, judged, success_rate, tool_selection_entropy, plans, plan_variance"
    (in_sql,) = asked(store, f"SELECT {columns} FROM learning_daily WHERE model = ? AND day = ?", MODEL, START)
    expected = (FAMILY, MODEL, START, 3, 2, 0.5, FIRST.tool_selection_entropy, 2, 2 / 3)
    assert tuple(in_sql) == (*expected[:6], pytest.approx(expected[6], abs=1e-8), *expected[7:])


@pytest.mark.req("H12")
def test_the_entropy_in_sql_is_the_entropy(store: Store) -> None:
    """Counts from one to some hundreds, equal and unequal: the logarithm in SQL is a lookup and a series."""
    days = [[1], [1, 1], [7, 3, 1], [300], [255, 1], [128, 64, 33], [5] * 40]
    lessons = [
        lesson(1000 * number + sum(counts[:plan]) + n, at=START + number * DAY + n, plan=f"t{plan}")
        for number, counts in enumerate(days)
        for plan, count in enumerate(counts)
        for n in range(count)
    ]
    fill(store, lessons)
    rows = asked(store, "SELECT tool_selection_entropy, top_plan_share FROM learning_daily ORDER BY day")
    total = [sum(counts) for counts in days]
    expected = [
        (-sum(n / all_ * math.log2(n / all_) for n in counts), max(counts) / all_)
        for counts, all_ in zip(days, total, strict=True)
    ]
    assert [tuple(row) for row in rows] == [(pytest.approx(bits, abs=1e-8), share) for bits, share in expected]


@pytest.mark.req("H12")
def test_windows_and_trend(store: Store) -> None:
    """Twenty failures, twenty successes, then one failure; a run that nobody could judge moves nothing."""
    outcomes: list[bool | None] = [False] * 20 + [None] + [True] * 20 + [False]
    fill(store, [lesson(n, at=START + n, success=outcome) for n, outcome in enumerate(outcomes)])
    rows = asked(
        store, "SELECT seq, rate_20, rate_50, trend FROM learning_windows WHERE family = ? ORDER BY seq", FAMILY
    )
    by_seq = {row[0]: tuple(row[1:]) for row in rows}
    assert 21 not in by_seq and len(by_seq) == 41
    assert by_seq[1] == (0.0, 0.0, None)
    assert by_seq[41] == (1.0, 0.5, 1.0)
    assert by_seq[42] == (0.95, pytest.approx(20 / 41), pytest.approx(0.95 - 0.05))


CHANGES = [
    entry("h1", "", "candidate", START),
    entry("h1", "candidate", "probation", START + 10),
    entry("h1", "probation", "trusted", START + 20),
    entry("h2", "", "candidate", START + DAY),
    entry("h2", "candidate", "trusted", START + DAY + 1),
    entry("h2", "trusted", "retired", START + DAY + 2, cause="rolled back: success fell"),
    entry("h3", "awaiting_approval", "rejected", START + DAY + 3),
]


@pytest.mark.req("H12")
def test_drift_feedback_and_moments(store: Store) -> None:
    known = [
        heuristic("h1", Stage.TRUSTED, applied_at=START + 100),
        heuristic("h2", Stage.RETIRED, applied_at=START + DAY + 51),
        heuristic("h3", Stage.REJECTED),
    ]
    fill(store, [], known, CHANGES)

    def unit(connection: Connection) -> None:
        place = {"family": FAMILY, "model": MODEL}
        first = Drift(**place, day=START, added=1, changed=2, activated=1, retired=0, rolled_back=0)
        second = Drift(**place, day=START + DAY, added=1, changed=1, activated=1, retired=2, rolled_back=1)
        assert drift(connection, since=0) == [first, second]
        assert drift(connection, since=START + DAY) == [second]
        assert feedback(connection) == [Feedback(family=FAMILY, model=MODEL, heuristics=2, mean_seconds=70.0)]
        assert [latency_of(connection, name) for name in ("h1", "h2", "h3", "h4")] == [90.0, 50.0, None, None]
        found = marks(connection, families=[FAMILY], since=START + 1)
        assert [(mark.change, mark.heuristic_id, mark.at - START) for mark in found] == [
            ("activated", "h1", 10),
            ("activated", "h2", DAY + 1),
            ("rolled back", "h2", DAY + 2),
            ("retired", "h3", DAY + 3),
        ]
        assert marks(connection, model=MODEL, limit=1) == [
            Mark(
                at=START + DAY + 3,
                change="retired",
                heuristic_id="h3",
                kind="avoid_tool",
                family=FAMILY,
                model=MODEL,
                cause="it failed",
            )
        ]
        assert marks(connection, families=["nobody"]) == []
        assert census(connection) == Census(
            heuristics={("rejected", "avoid_tool"): 1, ("retired", "avoid_tool"): 1, ("trusted", "avoid_tool"): 1},
            changes={"activated": 2, "added": 2, "changed": 1, "retired": 2},
            rollbacks=1,
            set_version=0,
            frozen=False,
        )

    store.database.read_now(unit)


@pytest.mark.req("H9", "H12")
def test_a_persons_rollback_is_one_and_what_acts_again_is_not_rolled_back(store: Store) -> None:
    """Two things stop and one acts again when somebody goes back; later everything acts again, which takes nothing
    back."""
    back, forward = "rolled back from set 3 to set 1", "rolled back from set 1 to set 3"
    fill(
        store,
        [],
        [heuristic(name, Stage.TRUSTED) for name in ("h1", "h2", "h3")],
        [
            entry("h1", "trusted", "retired", START, cause=back),
            entry("h2", "trusted", "retired", START, cause=back),
            entry("h3", "retired", "trusted", START, cause=back),
            entry("h1", "retired", "trusted", START + DAY, cause=forward),
            entry("h2", "retired", "trusted", START + DAY, cause=forward),
        ],
    )

    def unit(connection: Connection) -> None:
        place = {"family": FAMILY, "model": MODEL}
        first = Drift(**place, day=START, added=0, changed=1, activated=1, retired=2, rolled_back=2)
        second = Drift(**place, day=START + DAY, added=0, changed=2, activated=2, retired=0, rolled_back=0)
        assert drift(connection, since=0) == [first, second]
        assert census(connection).rollbacks == 1
        assert [(mark.heuristic_id, mark.change) for mark in marks(connection)] == [
            ("h1", "rolled back"),
            ("h2", "rolled back"),
            ("h3", "activated"),
            ("h1", "activated"),
            ("h2", "activated"),
        ]

    store.database.read_now(unit)


def test_nothing_is_nothing(store: Store) -> None:
    def unit(connection: Connection) -> None:
        assert (pairs(connection), totals(connection), feedback(connection)) == ([], [], [])
        assert recent_runs(connection, limit=5) == []
        assert best_of(connection, FAMILY, MODEL) == Best()
        with pytest.raises(NotFound, match="'x' is no family"):
            family_named(connection, "x")
        with pytest.raises(NotFound, match="nothing was run on the model 'x'"):
            known_model(connection, "x")

    store.database.read_now(unit)


@pytest.mark.req("L2", "L7")
def test_runs_totals_and_the_best(store: Store) -> None:
    others = [
        lesson(n, at=START + n, model=OTHER_MODEL, family=family, success=None) for n, family in enumerate(("a", "z"))
    ]
    fill(store, [*history(4), *others])

    def unit(connection: Connection) -> None:
        assert pairs(connection) == [
            Pair(family="a", model=OTHER_MODEL),
            Pair(family=FAMILY, model=MODEL),
            Pair(family="z", model=OTHER_MODEL),
        ]
        assert [run.seq for run in recent_runs(connection, limit=3)] == [4, 5, 6]
        assert [run.seq for run in recent_runs(connection, model=OTHER_MODEL, limit=9)] == [5, 6]
        assert [run.seq for run in recent_runs(connection, model=OTHER_MODEL, limit=1)] == [6]
        assert [run.seq for run in recent_runs(connection, family=FAMILY, limit=2)] == [3, 4]
        first = recent_runs(connection, family=FAMILY, limit=4)[0]
        assert (first.success, first.errors, first.recovered, first.advised) == (True, 1, True, False)
        assert totals(connection) == [
            Totals(family="a", model=OTHER_MODEL, outcome="unknown", runs=1),
            Totals(family=FAMILY, model=MODEL, outcome="failure", runs=1),
            Totals(family=FAMILY, model=MODEL, outcome="success", runs=3),
            Totals(family="z", model=OTHER_MODEL, outcome="unknown", runs=1),
        ]
        assert best_of(connection, FAMILY, MODEL) == Best(
            calls=2, seconds=2.0, pitfalls=frozenset({"parse_csv:encoding"})
        )
        assert best_of(connection, "a", OTHER_MODEL) == Best()
        assert best_of(connection, FAMILY, MODEL, before=1) == Best()
        assert best_of(connection, FAMILY, MODEL, before=5) == best_of(connection, FAMILY, MODEL)
        assert family_named(connection, FAMILY) == FAMILY
        assert known_model(connection, MODEL) == MODEL

    store.database.read_now(unit)


def test_a_family_by_its_name(store: Store) -> None:
    sql = (
        "INSERT INTO families (id, name, named_by, centroid, tasks, merged_into, created_at, updated_at)"
        " VALUES (?, ?, 'user', '', 0, '', 0, 0)"
    )
    store.database.write_now(
        lambda connection: connection.run_all([(sql, ("f1", "twins")), (sql, ("f2", "twins")), (sql, ("f3", "it's"))])
    )

    def unit(connection: Connection) -> None:
        assert (family_named(connection, "it's"), family_named(connection, "f2")) == ("f3", "f2")
        with pytest.raises(NotFound, match="names more than one family"):
            family_named(connection, "twins")
        for hostile in ("", "%", "'; DROP TABLE lessons; --", "a" * 5000):
            with pytest.raises(NotFound, match="is no family"):
                family_named(connection, hostile)

    store.database.read_now(unit)


def test_the_reads_stay_on_their_indexes(home: Path) -> None:
    """With many lessons a scan would take seconds, so the engine is asked how it would go about it. PostgreSQL's answer
    depends on how full the tables are."""
    store = open_store("", home)
    place = "family = 'f' AND model = 'm'"
    expected = {
        f"SELECT * FROM learning_runs WHERE {place} ORDER BY seq DESC LIMIT 9": "by_family (family=? AND model=?)",
        "SELECT * FROM learning_runs WHERE model = 'm' ORDER BY seq DESC LIMIT 9": "lessons_by_model (model=?)",
        "SELECT * FROM learning_runs ORDER BY seq DESC LIMIT 50": "SCAN lessons USING INDEX sqlite_autoindex_lessons_2",
        "SELECT * FROM learning_plans WHERE day >= 5": "lessons_by_day (<expr>>?)",
        f"SELECT * FROM learning_plans WHERE {place} AND day >= 5": "(family=? AND model=?)",
        f"SELECT MIN(calls) FROM lessons WHERE {place} AND success = 1": "COVERING INDEX lessons_by_outcome",
        f"SELECT MIN(seconds) FROM lessons WHERE {place} AND success = 1": "COVERING INDEX lessons_by_seconds",
        "SELECT family, model, success, COUNT(*) FROM lessons GROUP BY family, model, success": "COVERING INDEX",
        "SELECT was, became, COUNT(*) FROM heuristic_audit GROUP BY was, became": "COVERING INDEX",
        _ROLLBACKS: "USING INDEX heuristic_audit_by_rollback",
        f"SELECT calls FROM lessons WHERE {place} AND seq < 9 ORDER BY seq DESC": "(family=? AND model=? AND seq<?)",
    }
    for sql, index in expected.items():
        steps = " | ".join(str(row[3]) for row in asked(store, f"EXPLAIN QUERY PLAN {sql}"))
        assert index in steps, sql
    store.close()

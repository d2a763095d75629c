"""Typed reads of the learning views (`migrations/0006_learning_views.sql`), each bounded and along an index.

Entropy is computed here from the counts of the plans, which every engine delivers quickly; the view `learning_daily`
has the same figure for those who can only ask in SQL.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Sequence
from itertools import groupby

import msgspec

from ..types.base import Value
from ..types.errors import NotFound
from .database import Connection, Row
from .heuristics import value_of
from .lessons import Lesson

_POINT = "run_id, seq, family, model, at, success, plan, calls, errors, recovered, advised, seconds"
_PLANS = (
    "SELECT family, model, day, plan, runs, judged, successes, with_errors, recovered, advised, seconds"
    " FROM learning_plans WHERE {where} ORDER BY family, model, day, runs DESC, plan"
)
_DRIFT = "SELECT family, model, day, added, changed, activated, retired, rolled_back FROM learning_drift WHERE {where}"
_MARKS = (
    "SELECT at, change, heuristic_id, kind, family, model, cause, rolled_back FROM learning_events"
    " WHERE change IN ('activated', 'retired') AND was <> '' AND at >= ?{where} ORDER BY at DESC, seq DESC LIMIT ?"
)
_CHANGES = "SELECT was, became, COUNT(*) FROM heuristic_audit GROUP BY was, became"
_ROLLBACKS = (
    "SELECT COUNT(*) FROM (SELECT DISTINCT at, cause FROM heuristic_audit"
    " WHERE became = 'retired' AND substr(cause, 1, 11) = 'rolled back') taken_back"
)
_BEST_BEFORE = (
    "SELECT MIN(calls), MIN(seconds) FROM (SELECT calls, seconds, success FROM lessons"
    " WHERE family = ? AND model = ? AND seq < ? ORDER BY seq DESC LIMIT ?) earlier WHERE success = 1"
)
BEST_FROM = 5000
"""Among how many runs before it the best of a past run is sought."""
PITFALLS_FROM = 200
"""From how many of a family's latest runs the known failures are read."""


class Pair(Value, frozen=True, kw_only=True):
    """A family on a model."""

    family: str
    model: str


class RunPoint(Value, frozen=True, kw_only=True):
    """One run as a point of a curve. `success` is None when nobody can say."""

    run_id: str
    seq: int
    family: str
    model: str
    at: float
    success: bool | None
    plan: str
    calls: int
    errors: int
    recovered: bool
    advised: bool
    seconds: float


class Day(Value, frozen=True, kw_only=True):
    """A family on a model on one day, which begins at `day` (midnight UTC, seconds since 1970).

    `tool_selection_entropy` is that of the plans taken, in bits; `plan_variance` the number of different plans per run,
    `top_plan_share` the share of the most frequent one."""

    family: str
    model: str
    day: int
    runs: int
    judged: int
    success_rate: float | None
    tool_selection_entropy: float
    plans: int
    plan_variance: float
    top_plan_share: float
    with_errors: int
    recovered: int
    advised: int
    mean_seconds: float


class Drift(Value, frozen=True, kw_only=True):
    """How many heuristics changed on one day. Those `activated` are among the added and changed, those `rolled_back`
    among the retired."""

    family: str
    model: str
    day: int
    added: int
    changed: int
    activated: int
    retired: int
    rolled_back: int


class Feedback(Value, frozen=True, kw_only=True):
    """How long the heuristics of a family on a model waited, on average, from being able to act to first acting."""

    family: str
    model: str
    heuristics: int
    mean_seconds: float


class Mark(Value, frozen=True, kw_only=True):
    """A moment of learning worth a line on a plot: something was activated, retired or rolled back."""

    at: float
    change: str
    heuristic_id: str
    kind: str
    family: str
    model: str
    cause: str


class Best(Value, frozen=True, kw_only=True):
    """The best that successful runs of a family have done so far, and the failures known there ("tool:error class").

    None where no run succeeded yet."""

    calls: int | None = None
    seconds: float | None = None
    pitfalls: frozenset[str] = frozenset()


class Totals(Value, frozen=True, kw_only=True):
    """Runs by family, model and outcome ("success", "failure", "unknown")."""

    family: str
    model: str
    outcome: str
    runs: int


class Census(Value, frozen=True, kw_only=True):
    """Heuristics by stage and kind, changes by name, and what is in force."""

    heuristics: dict[tuple[str, str], int]
    changes: dict[str, int]
    rollbacks: int
    set_version: int
    frozen: bool


def entropy(counts: Iterable[int]) -> float:
    """Shannon's entropy of a distribution given by counts, in bits."""
    listed = [count for count in counts if count > 0]
    total = sum(listed)
    return sum(count / total * math.log2(total / count) for count in listed)


def pairs(connection: Connection, *, family: str = "", model: str = "") -> list[Pair]:
    """Which models each family was run on: one step of the index for each, however many runs there are."""
    found: list[Pair] = []
    at = (family, "")
    while True:
        rows = connection.run(
            "SELECT family, model FROM lessons WHERE (family, model) > (?, ?) ORDER BY family, model LIMIT 1", at
        )
        if not rows or (family and rows[0][0] != family):
            break
        at = (rows[0][0], rows[0][1])
        found.append(Pair(family=at[0], model=at[1]))
    return [pair for pair in found if not model or pair.model == model]


def recent_runs(connection: Connection, *, family: str = "", model: str = "", limit: int) -> list[RunPoint]:
    """The latest runs of a family, on a model, or of all, oldest first."""

    def latest(where: str, *params: str) -> list[Row]:
        sql = f"SELECT {_POINT} FROM learning_runs {where} ORDER BY seq DESC LIMIT ?"
        return connection.run(sql, (*params, limit))

    if not family:
        rows = latest("WHERE model = ?", model) if model else latest("")
    else:
        places = pairs(connection, family=family, model=model)
        each = (latest("WHERE family = ? AND model = ?", one.family, one.model) for one in places)
        rows = list(heapq.merge(*each, key=_newest_first))[:limit]
    return [_point(row) for row in rows][::-1]


def daily(connection: Connection, *, family: str = "", model: str = "", since: float) -> list[Day]:
    """Day by day, per family and model, from the day on that `since` lies in."""
    where, params = _place(family, model, ("day >= ?", int(since // 86_400) * 86_400))
    rows = connection.run(_PLANS.format(where=where), params)
    return [_day(*key, list(plans)) for key, plans in groupby(rows, lambda row: (row[0], row[1], int(row[2])))]


def drift(connection: Connection, *, family: str = "", model: str = "", since: float) -> list[Drift]:
    """Changes of heuristics per family, model and day."""
    where, params = _place(family, model, ("day >= ?", int(since // 86_400) * 86_400))
    rows = connection.run(f"{_DRIFT.format(where=where)} ORDER BY day, family, model", params)
    return [
        Drift(
            family=row[0],
            model=row[1],
            day=int(row[2]),
            added=int(row[3]),
            changed=int(row[4]),
            activated=int(row[5]),
            retired=int(row[6]),
            rolled_back=int(row[7]),
        )
        for row in rows
    ]


def feedback(connection: Connection) -> list[Feedback]:
    """Feedback latency per family and model, of the heuristics that were applied at least once."""
    rows = connection.run(
        "SELECT family, model, COUNT(*), AVG(latency_seconds) FROM learning_feedback WHERE applied_at IS NOT NULL"
        " GROUP BY family, model ORDER BY family, model"
    )
    return [Feedback(family=row[0], model=row[1], heuristics=int(row[2]), mean_seconds=float(row[3])) for row in rows]


def latency_of(connection: Connection, heuristic_id: str) -> float | None:
    """How long one heuristic waited until it was first applied; None if it never could act or never was."""
    rows = connection.run("SELECT latency_seconds FROM learning_feedback WHERE heuristic_id = ?", (heuristic_id,))
    return float(rows[0][0]) if rows and rows[0][0] is not None else None


def marks(
    connection: Connection, *, families: Sequence[str] = (), model: str = "", since: float = 0.0, limit: int = 200
) -> list[Mark]:
    """The latest moments of learning, oldest first; of some families, or of all."""
    where, params = "", []
    if families:
        where += f" AND family IN ({', '.join('?' * len(families))})"
        params += list(families)
    if model:
        where += " AND model = ?"
        params.append(model)
    rows = connection.run(_MARKS.format(where=where), (since, *params, limit))
    return [
        Mark(
            at=row[0],
            change="rolled back" if row[7] else row[1],
            heuristic_id=row[2],
            kind=row[3],
            family=row[4],
            model=row[5],
            cause=row[6],
        )
        for row in reversed(rows)
    ]


def best_of(connection: Connection, family: str, model: str, before: int | None = None) -> Best:
    """What `learning.observe` compares a run with: all lessons, or the latest thousands before a place in the
    sequence."""
    if before is None:
        good = "FROM lessons WHERE family = ? AND model = ? AND success = 1"
        ((calls,),) = connection.run(f"SELECT MIN(calls) {good}", (family, model))
        ((seconds,),) = connection.run(f"SELECT MIN(seconds) {good}", (family, model))
    else:
        ((calls, seconds),) = connection.run(_BEST_BEFORE, (family, model, before, BEST_FROM))
    rows = connection.run(
        "SELECT payload FROM lessons WHERE family = ? AND model = ? AND seq < ? AND payload <> ''"
        " ORDER BY seq DESC LIMIT ?",
        (family, model, 2**62 if before is None else before, PITFALLS_FROM),
    )
    lessons = [msgspec.json.decode(row[0], type=Lesson) for row in rows]
    pitfalls = {f"{one.tool}:{one.error}" for lesson in lessons for one in lesson.observations if one.error}
    return Best(
        calls=None if calls is None else int(calls),
        seconds=None if seconds is None else float(seconds),
        pitfalls=frozenset(pitfalls),
    )


def totals(connection: Connection) -> list[Totals]:
    """All runs counted, on an index that holds nothing else."""
    rows = connection.run("SELECT family, model, success, COUNT(*) FROM lessons GROUP BY family, model, success")
    names = {None: "unknown", 0: "failure", 1: "success"}
    counted = [Totals(family=row[0], model=row[1], outcome=names[row[2]], runs=int(row[3])) for row in rows]
    return sorted(counted, key=lambda one: (one.family, one.model, one.outcome))


def census(connection: Connection) -> Census:
    """The state of learning in numbers."""
    by_stage = connection.run("SELECT stage, kind, COUNT(*) FROM heuristics GROUP BY stage, kind ORDER BY stage, kind")
    changes: dict[str, int] = {}
    for was, became, count in connection.run(_CHANGES):
        name = change_of(was, became)
        changes[name] = changes.get(name, 0) + int(count)
    return Census(
        heuristics={(row[0], row[1]): int(row[2]) for row in by_stage},
        rollbacks=int(connection.run(_ROLLBACKS)[0][0]),
        changes=dict(sorted(changes.items())),
        set_version=value_of(connection, "active_set"),
        frozen=bool(value_of(connection, "frozen")),
    )


def change_of(was: str, became: str) -> str:
    """What an audit entry says, in one word: as the view `learning_events` names it."""
    acting = ("probation", "trusted")
    if became in ("retired", "rejected"):
        return "retired"
    if became in acting and was not in acting:
        return "activated"
    return "changed" if was else "added"


def family_named(connection: Connection, name: str) -> str:
    """The id of the family with this id or name. Raises NotFound."""
    ids = {row[0] for row in connection.run("SELECT id FROM families WHERE id = ?", (name,))}
    ids |= {pair.family for pair in pairs(connection, family=name)} if name else set()
    ids |= {row[0] for row in connection.run("SELECT family FROM heuristics WHERE family = ? LIMIT 1", (name,))}
    ids = ids or {row[0] for row in connection.run("SELECT id FROM families WHERE name = ? LIMIT 3", (name,))}
    if len(ids) != 1:
        problem = "names more than one family" if ids else "is no family"
        raise NotFound(f"{name!r} {problem}", remedy="`hermes learning families` lists them")
    return str(ids.pop())


def known_model(connection: Connection, name: str) -> str:
    """`name`, if anything was learned or run on a model of that name. Raises NotFound, with the names there are."""
    if connection.run("SELECT 1 FROM heuristics WHERE model = ? LIMIT 1", (name,)):
        return name
    models = sorted({pair.model for pair in pairs(connection)})
    if name not in models:
        known = ", ".join(models[:10]) or "none yet"
        raise NotFound(f"nothing was run on the model {name!r}", remedy=f"models with runs: {known}")
    return name


def family_names(connection: Connection, ids: Iterable[str]) -> dict[str, str]:
    """Names for people; a family without one is shown by its id."""
    found = {one: one for one in ids}
    for one in found:
        rows = connection.run("SELECT name FROM families WHERE id = ?", (one,))
        found[one] = rows[0][0] if rows and rows[0][0] else one
    return found


def _place(family: str, model: str, *more: tuple[str, float]) -> tuple[str, list[str | float]]:
    parts: list[tuple[str, str | float]] = [
        (f"{column} = ?", value) for column, value in (("family", family), ("model", model)) if value
    ]
    parts += more
    return " AND ".join(text for text, _ in parts), [value for _, value in parts]


def _newest_first(row: Row) -> int:
    return -int(row[1])


def _point(row: Row) -> RunPoint:
    return RunPoint(
        run_id=row[0],
        seq=row[1],
        family=row[2],
        model=row[3],
        at=row[4],
        success=None if row[5] is None else bool(row[5]),
        plan=row[6],
        calls=row[7],
        errors=row[8],
        recovered=bool(row[9]),
        advised=bool(row[10]),
        seconds=row[11],
    )


def _day(family: str, model: str, day: int, plans: Sequence[Row]) -> Day:
    runs, judged, successes, with_errors, recovered, advised = (
        sum(int(row[place]) for row in plans) for place in range(4, 10)
    )
    return Day(
        family=family,
        model=model,
        day=day,
        runs=runs,
        judged=judged,
        success_rate=successes / judged if judged else None,
        tool_selection_entropy=entropy(int(row[4]) for row in plans),
        plans=len(plans),
        plan_variance=len(plans) / runs,
        top_plan_share=int(plans[0][4]) / runs,
        with_errors=with_errors,
        recovered=recovered,
        advised=advised,
        mean_seconds=sum(float(row[10]) for row in plans) / runs,
    )

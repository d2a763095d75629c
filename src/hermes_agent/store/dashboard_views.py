"""What the page asks the store, each answer bounded and along an index, however many runs are stored."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from ..types.base import Value
from ..types.events import Recorded
from ..types.trace import RunStatus
from .database import Connection, Row
from .heuristics import COLUMNS, Heuristic, Stage, heuristic_of
from .journal import recorded
from .learning_views import entropy
from .runs import Run
from .sessions import Session

_RUN = (
    "SELECT r.id, r.session_id, r.agent, r.ordinal, r.status, r.epoch, r.seq, r.holder, r.lease_until, r.model,"
    " r.started_at, r.finished_at, s.title, s.surface, s.parent FROM runs r JOIN sessions s ON s.id = r.session_id"
)
_EVENT = "run_id, seq, epoch, kind, version, payload, crc, at"
_DAY = 86_400
_MOST_AGENTS = 100


class RunLine(Value, frozen=True, kw_only=True):
    """A run with the session it belongs to. `parent` is the session that it works beside, if any."""

    run: Run
    title: str
    surface: str
    parent: str


class DayPoint(Value, frozen=True, kw_only=True):
    """One day of one place, or of several summed up. Entropy and variance are means over families and models, weighted
    by runs: plans of different kinds of tasks are no variance."""

    day: int
    runs: int
    judged: int
    successes: int
    entropy: float
    plan_variance: float
    with_errors: int
    recovered: int
    advised: int
    mean_seconds: float


class LatencyPoint(Value, frozen=True, kw_only=True):
    """When a heuristic was first applied, and how long after it could act."""

    heuristic_id: str
    at: float
    seconds: float


class FamilyName(Value, frozen=True, kw_only=True):
    """A family to choose from."""

    id: str
    name: str
    tasks: int


def live_runs(connection: Connection, known: Sequence[str], since: float, limit: int) -> list[RunLine]:
    """The runs that are open, those that began since a moment, and those known already; newest first."""
    rows = connection.run(f"{_RUN} WHERE r.status = 'open' ORDER BY r.started_at DESC LIMIT ?", (limit,))
    rows += connection.run(f"{_RUN} WHERE r.started_at >= ? ORDER BY r.started_at DESC LIMIT ?", (since, limit))
    if known:
        rows += connection.run(f"{_RUN} WHERE r.id IN ({', '.join('?' * len(known))})", list(known))
    found = {row[0]: _line(row) for row in rows}
    return sorted(found.values(), key=lambda line: (-line.run.started_at, line.run.id))


def last_runs(connection: Connection, limit: int) -> list[RunLine]:
    """The runs that began last, newest first."""
    rows = connection.run(f"{_RUN} WHERE s.deleted_at IS NULL ORDER BY r.started_at DESC LIMIT ?", (limit,))
    return [_line(row) for row in rows]


def events_after(connection: Connection, run_id: str, seq: int, limit: int) -> list[Recorded]:
    """The events of a run behind a place in its journal. Raises StoreDamaged where one cannot be read."""
    sql = f"SELECT {_EVENT} FROM events WHERE run_id = ? AND seq > ? ORDER BY seq LIMIT ?"
    return [recorded(row) for row in connection.run(sql, (run_id, seq, limit))]


def runs_of_session(connection: Connection, session_id: str, before: int, limit: int) -> list[RunLine]:
    """The runs of a session whose place is before `before`, newest first; 0 is the end."""
    sql = f"{_RUN} WHERE r.session_id = ? AND r.ordinal < ? ORDER BY r.ordinal DESC LIMIT ?"
    rows = connection.run(sql, (session_id, before or 2**62, limit))
    return [_line(row) for row in rows]


def sessions_page(connection: Connection, before: float, limit: int) -> list[Session]:
    """Sessions used before a moment, newest first; 0 is now. Those of background work are left out. Each agent's are
    read along its index."""
    sql = (
        "SELECT id, agent, surface, workspace, title, runs, created_at, updated_at FROM sessions"
        " WHERE agent = ? AND updated_at < ? AND deleted_at IS NULL AND parent = '' ORDER BY updated_at DESC LIMIT ?"
    )
    found: list[Row] = []
    for agent in _agents(connection):
        found += connection.run(sql, (agent, before or 1e15, limit))
    newest = sorted(found, key=lambda row: (-row[7], row[0]))[:limit]
    return [Session(**dict(zip(Session.__struct_fields__, row, strict=True))) for row in newest]


def _agents(connection: Connection) -> list[str]:
    found: list[str] = []
    while len(found) < _MOST_AGENTS:
        after = found[-1] if found else ""
        rows = connection.run("SELECT agent FROM sessions WHERE agent > ? ORDER BY agent LIMIT 1", (after,))
        if not rows:
            break
        found.append(rows[0][0])
    return found


def sessions_named(connection: Connection, ids: Sequence[str]) -> dict[str, str]:
    """The titles of some sessions."""
    if not ids:
        return {}
    marks = ", ".join("?" * len(ids))
    return dict(connection.run(f"SELECT id, title FROM sessions WHERE id IN ({marks})", list(ids)))


def first_and_last_lesson(connection: Connection) -> tuple[float, float] | None:
    """When the first and the last run was learned from; None before any was."""
    first = connection.run("SELECT MIN(at) FROM lessons")[0][0]
    return None if first is None else (float(first), float(connection.run("SELECT MAX(at) FROM lessons")[0][0]))


def judged_until(connection: Connection) -> tuple[int, int]:
    """Moves on when an outcome of the past was changed, or a family."""
    last = connection.run("SELECT COALESCE(MAX(seq), 0) FROM judgements")[0][0]
    families = connection.run("SELECT value FROM learning WHERE id = 'families'")[0][0]
    return int(last), int(families)


def day_of(connection: Connection, day: int, family: str, model: str) -> DayPoint | None:
    """One day (a midnight UTC) of a family, a model, both, or all; None without a run. One range of one index."""
    where, params = "day = ?", [day // _DAY * _DAY, *filter(None, (family, model))]
    where += " AND family = ?" if family else ""
    where += " AND model = ?" if model else ""
    rows = connection.run(
        "SELECT family, model, runs, judged, successes, with_errors, recovered, advised, seconds"
        f" FROM learning_plans WHERE {where} ORDER BY family, model",
        params,
    )
    if not rows:
        return None
    sums = [sum(int(row[place]) for row in rows) for place in range(2, 8)]
    runs = sums[0]
    places = [[int(row[2]) for row in plans] for _, plans in groupby(rows, lambda row: (row[0], row[1]))]
    return DayPoint(
        day=day,
        runs=runs,
        judged=sums[1],
        successes=sums[2],
        entropy=sum(entropy(counts) * sum(counts) for counts in places) / runs,
        plan_variance=len(rows) / runs,
        with_errors=sums[3],
        recovered=sums[4],
        advised=sums[5],
        mean_seconds=sum(float(row[8]) for row in rows) / runs,
    )


def latencies(connection: Connection, family: str, model: str, since: float, limit: int) -> list[LatencyPoint]:
    """Feedback latency of the heuristics first applied since a moment, oldest first."""
    where, params = "applied_at >= ?", [since, *filter(None, (family, model))]
    where += " AND family = ?" if family else ""
    where += " AND model = ?" if model else ""
    rows = connection.run(
        f"SELECT heuristic_id, applied_at, latency_seconds FROM learning_feedback WHERE {where}"
        " ORDER BY applied_at DESC LIMIT ?",
        (*params, limit),
    )
    return [LatencyPoint(heuristic_id=row[0], at=float(row[1]), seconds=float(row[2])) for row in reversed(rows)]


def family_choices(connection: Connection, limit: int) -> list[FamilyName]:
    """The families with the most tasks."""
    rows = connection.run(
        "SELECT id, name, tasks FROM families WHERE merged_into = '' ORDER BY tasks DESC, id LIMIT ?", (limit,)
    )
    return [FamilyName(id=row[0], name=row[1] or row[0], tasks=int(row[2])) for row in rows]


def model_choices(connection: Connection, limit: int) -> list[str]:
    """The models that runs were learned from on: one step of the index for each."""
    found: list[str] = []
    while len(found) < limit:
        rows = connection.run(
            "SELECT model FROM lessons WHERE model > ? ORDER BY model LIMIT 1", (found[-1] if found else "",)
        )
        if not rows:
            break
        found.append(rows[0][0])
    return found


def heuristics_page(
    connection: Connection, *, stage: str, family: str, model: str, offset: int, limit: int
) -> tuple[int, list[Heuristic]]:
    """How many heuristics fit, and a part of them: what waits for a person first, then newest change first."""
    where, params = ["1 = 1"], []
    for column, value in (("stage", stage), ("family", family), ("model", model)):
        if value:
            where.append(f"{column} = ?")
            params.append(value)
    fitting = " AND ".join(where)
    total = int(connection.run(f"SELECT COUNT(*) FROM heuristics WHERE {fitting}", params)[0][0])
    rows = connection.run(
        f"SELECT {COLUMNS} FROM heuristics WHERE {fitting} ORDER BY CASE WHEN stage = ? THEN 0 ELSE 1 END,"
        " updated_at DESC, id LIMIT ? OFFSET ?",
        (*params, Stage.AWAITING_APPROVAL.value, limit, offset),
    )
    return total, [heuristic_of(row) for row in rows]


def _line(row: Row) -> RunLine:
    values = dict(zip(Run.__struct_fields__, row, strict=False))
    run = Run(**{**values, "status": RunStatus(values["status"])})
    title, surface, parent = row[len(values) :]
    return RunLine(run=run, title=title, surface=surface, parent=parent)

"""What stands now: runs under way, what waits, what is in doubt, what is spent. Each read is bounded by what is open,
not by the history."""

from __future__ import annotations

from collections.abc import Sequence

from ..types.base import Value
from ..types.budget import Amount, Scope
from .database import Connection

# A CROSS JOIN keeps SQLite, which knows no sizes, from beginning with the larger table.
_ABANDONED = "r.status = 'open' AND r.lease_until < ?"
_MOST_OPEN = 500


class Standing(Value, frozen=True, kw_only=True):
    """The state of the work. `abandoned` runs are open, but nobody drives them; `in_doubt` are their calls that must
    happen only once and may have happened. `oldest_wait` is in seconds."""

    under_way: int
    abandoned: int
    in_doubt: int
    waiting: int
    oldest_wait: float
    unread: int
    undelivered: int
    approvals: int


class SkillCount(Value, frozen=True, kw_only=True):
    """Skills that are not archived."""

    health: str
    origin: str
    skills: int


def standing(connection: Connection) -> Standing:
    """What runs, waits and is in doubt."""
    now = connection.now()

    def number(sql: str, *params: float) -> int:
        return int(connection.run(sql, params)[0][0] or 0)

    ((waiting, oldest),) = connection.run("SELECT COUNT(*), MIN(at) FROM inbox WHERE run_id IS NULL")
    return Standing(
        under_way=number("SELECT COUNT(*) FROM runs WHERE status = 'open'"),
        abandoned=number(f"SELECT COUNT(*) FROM runs r WHERE {_ABANDONED}", now),
        in_doubt=number(
            f"SELECT COUNT(*) FROM runs r CROSS JOIN tool_calls t WHERE {_ABANDONED}"
            " AND t.run_id = r.id AND t.effect = 'once' AND t.result_seq = 0",
            now,
        ),
        waiting=int(waiting),
        oldest_wait=max(0.0, now - float(oldest)) if oldest is not None else 0.0,
        unread=number("SELECT COUNT(*) FROM outbox WHERE read_at IS NULL"),
        undelivered=number("SELECT COUNT(*) FROM outcomes WHERE delivered_at IS NULL"),
        approvals=number("SELECT COUNT(*) FROM heuristics WHERE stage = 'awaiting_approval'"),
    )


def spent(connection: Connection, day: str) -> dict[Scope, Amount]:
    """What the day has spent, and what the dearest of the open runs and their sessions have, reservations included."""
    rows = connection.run(
        "SELECT id, session_id FROM runs WHERE status = 'open' ORDER BY started_at LIMIT ?", (_MOST_OPEN,)
    )
    keys: dict[Scope, Sequence[str]] = {
        Scope.DAY: [day],
        Scope.SESSION: sorted({row[1] for row in rows}),
        Scope.RUN: [row[0] for row in rows],
    }
    return {scope: _dearest(connection, scope, keys[scope]) for scope in keys}


def _dearest(connection: Connection, scope: Scope, keys: Sequence[str]) -> Amount:
    if not keys:
        return Amount()
    ((usd, tokens, seconds),) = connection.run(
        "SELECT MAX(usd + reserved_usd), MAX(tokens + reserved_tokens), MAX(seconds) FROM budgets"
        f" WHERE scope = ? AND key IN ({', '.join('?' * len(keys))})",
        (scope.value, *keys),
    )
    return Amount(usd=float(usd or 0), tokens=int(tokens or 0), seconds=float(seconds or 0))


def skill_counts(connection: Connection) -> list[SkillCount]:
    """Skills by what their last trial said and by who made them."""
    rows = connection.run(
        "SELECT health_status, origin, COUNT(*) FROM skills WHERE archived_at IS NULL"
        " GROUP BY health_status, origin ORDER BY health_status, origin"
    )
    return [SkillCount(health=row[0], origin=row[1], skills=int(row[2])) for row in rows]


def skills_to_rewrite(connection: Connection) -> int:
    """Skills that wait for being written anew."""
    rows = connection.run("SELECT COUNT(*) FROM skills WHERE archived_at IS NULL AND needs_rewrite = 1")
    return int(rows[0][0])


def watched_places(connection: Connection) -> list[tuple[str, str, str]]:
    """What the guard remembers of each family on each model: place, model, payload."""
    rows = connection.run("SELECT family, model, payload FROM watches ORDER BY family, model")
    return [(row[0], row[1], row[2]) for row in rows]

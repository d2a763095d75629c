"""What the model calls used, summed up from their projection.

The projection outlives the sessions: deleting one erases what was said, not how many tokens it took.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from enum import StrEnum

from ..types.base import Value
from .database import Connection, Database, Row

_BYTES_PER_TOKEN = 4
_EVER = 1e12
_SUMS = (
    "SELECT session_id, provider, model, COUNT(*), SUM(CASE WHEN failure <> '' THEN 1 ELSE 0 END),"
    " SUM(CASE WHEN input_tokens > 0 THEN 1 ELSE 0 END), SUM(input_tokens), SUM(output_tokens), SUM(cached_tokens)"
    " FROM model_calls WHERE at >= ? AND at < ? GROUP BY session_id, provider, model"
)
_NEXT_CALL = "SELECT MIN(at) FROM model_calls WHERE at >= ?"
_PREFIXES = (
    "SELECT e.session_id, LENGTH(p.payload) FROM prefix_epochs e JOIN prefixes p ON p.fingerprint = e.fingerprint"
    " JOIN (SELECT session_id, MAX(epoch) AS newest FROM prefix_epochs GROUP BY session_id) n"
    " ON n.session_id = e.session_id AND n.newest = e.epoch"
)


class UsageBy(StrEnum):
    """What usage is told apart by."""

    DAY = "day"
    MODEL = "model"
    SESSION = "session"
    PROVIDER = "provider"


class Used(Value, frozen=True, kw_only=True):
    """Calls and tokens. `cached` is a part of `input`.

    `fixed` estimates how much of `input` was the frozen prefix (system prompt and tools) sent again with every call;
    `conversation` is the rest. Calls of sessions whose prefix is gone are in neither.
    """

    calls: int = 0
    failures: int = 0
    input: int = 0
    output: int = 0
    cached: int = 0
    fixed: int = 0
    conversation: int = 0


class UsedBy(Value, frozen=True, kw_only=True):
    """What one model used under one key: a day such as `2031-05-27`, a model name, a session or a provider.

    `title` is that of the session; empty for other keys, and for a session that was deleted.
    """

    key: str
    provider: str
    model: str
    used: Used
    title: str = ""


def added(parts: Iterable[Used]) -> Used:
    """The sum of several."""
    listed = list(parts)
    return Used(
        calls=sum(one.calls for one in listed),
        failures=sum(one.failures for one in listed),
        input=sum(one.input for one in listed),
        output=sum(one.output for one in listed),
        cached=sum(one.cached for one in listed),
        fixed=sum(one.fixed for one in listed),
        conversation=sum(one.conversation for one in listed),
    )


class UsageReport:
    """Sums over the model calls of all sessions."""

    def __init__(self, database: Database, timezone: dt.tzinfo | None = None) -> None:
        """Days begin at midnight of `timezone`; without one, of this machine's."""
        self._database = database
        self._timezone = timezone

    async def sums(self, by: UsageBy, since: float = 0.0) -> list[UsedBy]:
        """What was used since a moment (seconds since 1970), by key and model, ordered by key and model."""

        def unit(connection: Connection) -> list[UsedBy]:
            prefixes = {session: int(size) // _BYTES_PER_TOKEN for session, size in connection.run(_PREFIXES)}
            if by is UsageBy.DAY:
                return self._by_day(connection, since, prefixes)
            titles: dict[str, str] = {}
            parents: dict[str, str] = {}
            if by is UsageBy.SESSION:
                parents = dict(connection.run("SELECT id, parent FROM sessions WHERE parent <> ''"))
                titles = dict(connection.run("SELECT id, title FROM sessions WHERE deleted_at IS NULL"))
            parts: dict[tuple[str, str, str], list[Used]] = {}
            for row in connection.run(_SUMS, (since, _EVER)):
                parts.setdefault((_key(by, row, parents), row[1], row[2]), []).append(_used(row, prefixes))
            return _listed(parts, titles)

        return await self._database.read(unit)

    def _by_day(self, connection: Connection, since: float, prefixes: dict[str, int]) -> list[UsedBy]:
        """Day by day along the index, leaping over days without a call: databases disagree about days, Python knows
        them, those of 23 and 25 hours included."""
        parts: dict[tuple[str, str, str], list[Used]] = {}
        while (found := connection.run(_NEXT_CALL, (since,))[0][0]) is not None:
            day = dt.datetime.fromtimestamp(found, self._timezone).date()
            end = self._midnight(day + dt.timedelta(days=1))
            for row in connection.run(_SUMS, (since, end)):
                parts.setdefault((day.isoformat(), row[1], row[2]), []).append(_used(row, prefixes))
            since = end
        return _listed(parts, {})

    def _midnight(self, day: dt.date) -> float:
        return dt.datetime.combine(day, dt.time(), self._timezone).timestamp()


def _key(by: UsageBy, row: Row, parents: dict[str, str]) -> str:
    """What a sum is listed under. What was spent beside a session counts for that session."""
    session, provider, model = row[:3]
    if by is UsageBy.SESSION:
        return str(parents.get(session, session))
    return f"{provider}:{model}" if by is UsageBy.MODEL else str(provider)


def _used(row: Row, prefixes: dict[str, int]) -> Used:
    """A row of sums. The prefix is counted for the calls that were answered, and never as more than was sent."""
    calls, failures, answered, given, output, cached = map(int, row[3:])
    known = row[0] in prefixes
    fixed = min(given, prefixes[row[0]] * answered) if known else 0
    return Used(
        calls=calls,
        failures=failures,
        input=given,
        output=output,
        cached=cached,
        fixed=fixed,
        conversation=given - fixed if known else 0,
    )


def _listed(parts: dict[tuple[str, str, str], list[Used]], titles: dict[str, str]) -> list[UsedBy]:
    return [
        UsedBy(key=key, provider=provider, model=model, used=added(used), title=titles.get(key, ""))
        for (key, provider, model), used in sorted(parts.items())
    ]

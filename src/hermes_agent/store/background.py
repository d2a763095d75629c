"""What was done in the background: reviews, extraction, curation, rewrites. Told to the user once, and undone by id."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from ..types.base import Value
from ..types.errors import NotFound
from ..types.ids import new_id
from ..types.text import clean_json
from .codec import plain
from .database import Connection, Database, Row
from .lessons import ascii_json
from .runs import is_part

_COLUMNS = "id, kind, run_id, session_id, status, summary, payload, at, told_at, undone_at"
RUNNING = "running"


class Work(Value, frozen=True, kw_only=True):
    """One piece of background work. `summary` is the line that the user is shown; `payload` says what was changed, such
    as the batch under which it changed skills."""

    id: str
    kind: str
    run_id: str
    session_id: str
    status: str
    summary: str
    payload: dict[str, Any]
    at: float
    told_at: float | None = None
    undone_at: float | None = None


class BackgroundWork:
    """The background work of one owner."""

    def __init__(self, database: Database, owner: str) -> None:
        self._database = database
        self._owner = owner

    async def begin(self, kind: str, *, run_id: str = "", session_id: str = "", work_id: str = "") -> Work:
        """Record that work began. For a deleted session nothing is recorded, now or when it is finished."""
        work_id = work_id or new_id()

        def unit(connection: Connection) -> Work:
            work = Work(
                id=work_id,
                kind=plain(kind),
                run_id=plain(run_id),
                session_id=plain(session_id),
                status=RUNNING,
                summary="",
                payload={},
                at=connection.now(),
            )
            connection.run(
                "INSERT INTO background_work (owner, id, kind, run_id, session_id, status, summary, payload, at)"
                " SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?"
                " WHERE NOT EXISTS (SELECT 1 FROM sessions WHERE id = ? AND deleted_at IS NOT NULL)",
                (
                    self._owner,
                    work.id,
                    work.kind,
                    work.run_id,
                    work.session_id,
                    work.status,
                    "",
                    "{}",
                    work.at,
                    work.session_id,
                ),
            )
            return work

        return await self._database.write(unit)

    async def finish(self, work_id: str, status: str, summary: str = "", payload: dict[str, Any] | None = None) -> None:
        """Record how work ended. An empty summary is never told."""
        values = (plain(status), plain(summary), ascii_json(clean_json(payload or {})), self._owner, work_id)
        sql = "UPDATE background_work SET status = ?, summary = ?, payload = ? WHERE owner = ? AND id = ?"
        await self._database.write(lambda connection: connection.run(sql, values))

    async def untold(self) -> list[Work]:
        """What ended with something to tell and was not told yet, oldest first."""
        return await self._select("told_at IS NULL AND summary <> '' AND status <> ? ORDER BY at, id", (RUNNING,))

    async def told(self, ids: Sequence[str]) -> None:
        """These were shown to the user."""

        def unit(connection: Connection) -> None:
            now = connection.now()
            for work_id in ids:
                connection.run(
                    "UPDATE background_work SET told_at = ? WHERE owner = ? AND id = ? AND told_at IS NULL",
                    (now, self._owner, work_id),
                )

        await self._database.write(unit)

    async def listed(self, limit: int) -> list[Work]:
        """The last work, newest first."""
        return await self._select("1 = 1 ORDER BY at DESC, id DESC LIMIT ?", (max(0, limit),))

    async def get(self, part: str) -> Work:
        """Work by its id, or by the beginning or end of one that only it has."""
        found = []
        if is_part(part):
            found = await self._select("(id LIKE ? OR id LIKE ?) ORDER BY id LIMIT 3", (f"{part}%", f"%{part}"))
        exact = [work for work in found if work.id == part] or found
        if not exact:
            raise NotFound(f"there is no background work {part!r}", remedy="`hermes review list` lists what there is")
        if len(exact) > 1:
            raise NotFound(f"{part!r} fits more than one piece of work", remedy="give more of the id")
        return exact[0]

    async def mark_undone(self, work_id: str) -> None:
        """A person took it back."""

        def unit(connection: Connection) -> None:
            connection.run(
                "UPDATE background_work SET undone_at = ? WHERE owner = ? AND id = ?",
                (connection.now(), self._owner, work_id),
            )

        await self._database.write(unit)

    async def _select(self, condition: str, params: Sequence[Any]) -> list[Work]:
        sql = f"SELECT {_COLUMNS} FROM background_work WHERE owner = ? AND {condition}"
        rows = await self._database.read(lambda connection: connection.run(sql, (self._owner, *params)))
        return [_work(row) for row in rows]


def _work(row: Row) -> Work:
    values: dict[str, Any] = dict(zip(Work.__struct_fields__, row, strict=True))
    values["payload"] = msgspec.json.decode(values["payload"])
    return Work(**values)

"""Messages to people. A message is committed once, however often the call that sends it runs."""

from __future__ import annotations

from collections.abc import Sequence

from ..types.base import Value
from ..types.errors import NotFound
from ..types.ids import new_id
from .codec import plain
from .database import Connection, Database, Row
from .runs import is_part, only

_COLUMNS = "id, session_id, run_id, recipient, text, urgent, created_at, read_at, delivered_at"


class Posted(Value, frozen=True, kw_only=True):
    """A message and what became of it."""

    id: str
    session_id: str
    run_id: str
    to: str
    text: str
    urgent: bool
    created_at: float
    read_at: float | None = None
    delivered_at: float | None = None


class Outbox:
    """The messages of all sessions of one owner."""

    def __init__(self, database: Database, owner: str) -> None:
        self._database = database
        self._owner = owner

    def of_run(self, session_id: str, run_id: str) -> RunOutbox:
        """The outbox as the tools of one run see it."""
        return RunOutbox(self, session_id, run_id)

    async def put(self, *, session_id: str, run_id: str, key: str, to: str, text: str, urgent: bool) -> str:
        """Commit a message; returns its id. The same key again gives the message that is there."""
        message_id = new_id()
        values = (plain(key), self._owner, plain(to), plain(text), int(urgent))

        def unit(connection: Connection) -> str:
            connection.run(
                "INSERT INTO outbox (id, session_id, run_id, key, owner, recipient, text, urgent, created_at)"
                " SELECT ?, id, ?, ?, ?, ?, ?, ?, ? FROM sessions WHERE id = ? AND deleted_at IS NULL"
                " ON CONFLICT (session_id, key) DO NOTHING",
                (message_id, run_id, *values, connection.now(), session_id),
            )
            rows = connection.run("SELECT id FROM outbox WHERE session_id = ? AND key = ?", (session_id, plain(key)))
            if not rows:
                raise NotFound(f"there is no session {session_id}", remedy="`hermes sessions list` shows what there is")
            return str(rows[0][0])

        return await self._database.write(unit)

    async def messages(self, limit: int, *, unread: bool = False) -> list[Posted]:
        """Unread ones first, urgent before others, newest first."""
        where = "WHERE read_at IS NULL" if unread else ""

        def unit(connection: Connection) -> list[Posted]:
            rows = connection.run(
                f"SELECT {_COLUMNS} FROM outbox {where} ORDER BY CASE WHEN read_at IS NULL THEN 0 ELSE 1 END,"
                " CASE WHEN read_at IS NULL THEN urgent ELSE 0 END DESC, created_at DESC, id DESC LIMIT ?",
                (max(0, limit),),
            )
            return [_posted(row) for row in rows]

        return await self._database.read(unit)

    async def get(self, message_id: str) -> Posted:
        """A message by its id, by `last`, or by the beginning or end of an id that only one message has."""

        def unit(connection: Connection) -> Sequence[Row]:
            if message_id == "last":
                return connection.run(f"SELECT {_COLUMNS} FROM outbox ORDER BY created_at DESC, id DESC LIMIT 1")
            if not is_part(message_id):
                return []
            return connection.run(
                f"SELECT {_COLUMNS} FROM outbox WHERE id LIKE ? OR id LIKE ? LIMIT 3",
                (f"{message_id}%", f"%{message_id}"),
            )

        rows = await self._database.read(unit)
        if not rows:
            raise NotFound(f"there is no message {message_id!r}", remedy="`hermes inbox` shows what there is")
        return _posted(only(rows, "message", message_id))

    async def mark_read(self, message_ids: Sequence[str]) -> int:
        """Remember that messages were read; returns for how many that was news."""
        return await self._mark("read_at", message_ids)

    async def mark_delivered(self, message_ids: Sequence[str]) -> int:
        """Remember that a surface delivered messages; returns for how many that was news."""
        return await self._mark("delivered_at", message_ids)

    async def delete(self, message_ids: Sequence[str]) -> int:
        """Remove messages; returns how many there were."""

        def unit(connection: Connection) -> int:
            return sum(
                len(connection.run("DELETE FROM outbox WHERE id = ? RETURNING id", (one,))) for one in message_ids
            )

        return await self._database.write(unit)

    async def _mark(self, column: str, message_ids: Sequence[str]) -> int:
        def unit(connection: Connection) -> int:
            now = connection.now()
            statement = f"UPDATE outbox SET {column} = ? WHERE id = ? AND {column} IS NULL RETURNING id"
            return sum(len(connection.run(statement, (now, one))) for one in message_ids)

        return await self._database.write(unit)


class RunOutbox:
    """The outbox of one run (the Outbox protocol of tools)."""

    def __init__(self, outbox: Outbox, session_id: str, run_id: str) -> None:
        self._outbox = outbox
        self._session_id = session_id
        self._run_id = run_id

    async def put(self, *, key: str, to: str, text: str, urgent: bool) -> str:
        """Commit a message of this run; returns its id."""
        return await self._outbox.put(
            session_id=self._session_id, run_id=self._run_id, key=key, to=to, text=text, urgent=urgent
        )


def _posted(row: Row) -> Posted:
    return Posted(
        id=row[0],
        session_id=row[1],
        run_id=row[2],
        to=row[3],
        text=row[4],
        urgent=bool(row[5]),
        created_at=row[6],
        read_at=row[7],
        delivered_at=row[8],
    )

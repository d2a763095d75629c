"""Messages to a session. A message is committed here before anything else happens to it."""

from __future__ import annotations

import json
from typing import Any

from ..types.base import Value
from ..types.errors import NotFound
from ..types.events import InboxMode
from ..types.ids import new_id
from ..types.text import clean
from .codec import dump
from .database import Connection, Database


class Waiting(Value, frozen=True, kw_only=True):
    """A message that no run has taken yet."""

    id: str
    mode: InboxMode
    text: str
    options: dict[str, Any] = {}


class Receipt(Value, frozen=True, kw_only=True):
    """What became of a message: the run that took it and how that run stands, once there is one."""

    run_id: str = ""
    status: str = ""


class Inbox:
    """The queue in front of a session's one driver."""

    def __init__(self, database: Database, owner: str) -> None:
        self._database = database
        self._owner = owner

    async def put(self, session_id: str, text: str, mode: InboxMode, options: dict[str, Any] | None = None) -> str:
        """Commit a message; returns its id. From here on it cannot be lost.

        Its place in the queue is counted on the session's row, so that messages of one millisecond keep their order.
        """
        message_id = new_id()
        stored = dump(options or {})
        text = clean(text).replace("\x00", "\N{REPLACEMENT CHARACTER}")

        def unit(connection: Connection) -> str:
            now = connection.now()
            counted = connection.run(
                "UPDATE sessions SET messages = messages + 1, updated_at = ? WHERE id = ? AND deleted_at IS NULL"
                " RETURNING messages",
                (now, session_id),
            )
            if not counted:
                raise NotFound(f"there is no session {session_id}", remedy="`hermes sessions list` shows what there is")
            connection.run(
                "INSERT INTO inbox (id, session_id, ordinal, owner, mode, text, options, at)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (message_id, session_id, counted[0][0], self._owner, mode.value, text, stored, now),
            )
            return message_id

        return await self._database.write(unit)

    async def receipt(self, message_id: str) -> Receipt:
        """Where a message is now."""

        def unit(connection: Connection) -> Receipt:
            rows = connection.run(
                "SELECT r.id, r.status FROM inbox i JOIN runs r ON r.id = i.run_id WHERE i.id = ?", (message_id,)
            )
            return Receipt(run_id=rows[0][0], status=rows[0][1]) if rows else Receipt()

        return await self._database.read(unit)

    async def take(self, session_id: str, run_id: str, mode: InboxMode) -> list[Waiting]:
        """Hand all waiting messages of one mode to a run that is under way.

        Only for messages that say nothing, such as a bare interrupt: what has text is journaled as it is taken
        (`Runs.steer`), or a crash in between would lose it.
        """
        return await self._database.write(lambda connection: take(connection, session_id, run_id, mode))

    async def waiting_everywhere(self) -> list[tuple[str, Waiting, float]]:
        """Every message of every session that no run has taken, with its session and when it came."""

        def unit(connection: Connection) -> list[tuple[str, Waiting, float]]:
            rows = connection.run(
                "SELECT session_id, id, mode, text, options, at FROM inbox WHERE run_id IS NULL"
                " ORDER BY session_id, ordinal"
            )
            return [
                (row[0], Waiting(id=row[1], mode=InboxMode(row[2]), text=row[3], options=json.loads(row[4])), row[5])
                for row in rows
            ]

        return await self._database.read(unit)

    async def texts(self, limit: int) -> list[str]:
        """The last messages of all sessions, newest first: what a prompt offers as history."""

        def unit(connection: Connection) -> list[str]:
            rows = connection.run("SELECT text FROM inbox WHERE text <> '' ORDER BY id DESC LIMIT ?", (limit,))
            return [str(text) for (text,) in rows]

        return await self._database.read(unit)

    async def withdraw(self, message_id: str) -> bool:
        """Take a message back if no run has it yet."""

        def unit(connection: Connection) -> bool:
            return bool(connection.run("DELETE FROM inbox WHERE id = ? AND run_id IS NULL RETURNING id", (message_id,)))

        return await self._database.write(unit)


def take(connection: Connection, session_id: str, run_id: str, mode: InboxMode) -> list[Waiting]:
    """Mark the waiting messages of one mode as taken by a run; one that was withdrawn meanwhile is not among them."""
    return [
        message
        for message in waiting(connection, session_id)
        if message.mode is mode
        and connection.run(
            "UPDATE inbox SET run_id = ? WHERE id = ? AND run_id IS NULL RETURNING id", (run_id, message.id)
        )
    ]


def waiting(connection: Connection, session_id: str) -> list[Waiting]:
    """The messages of a session that no run has taken, oldest first."""
    rows = connection.run(
        "SELECT id, mode, text, options FROM inbox WHERE session_id = ? AND run_id IS NULL ORDER BY ordinal",
        (session_id,),
    )
    return [Waiting(id=row[0], mode=InboxMode(row[1]), text=row[2], options=json.loads(row[3])) for row in rows]

"""Sessions: made, found, listed, searched, exported, and really erased."""

from __future__ import annotations

import json
from collections.abc import Sequence

from ..types.base import Value
from ..types.errors import NotFound, SessionBusy
from ..types.events import Recorded
from ..types.ids import new_id
from ..types.text import clean, one_line
from .codec import dump, plain
from .database import Connection, Database, Row
from .journal import read_event, read_run
from .runs import is_part, only
from .search import index_run, said, search_words, unindexed

_COLUMNS = "id, agent, surface, workspace, title, runs, created_at, updated_at"
_SNIPPET = 120
_UNNAME_FAMILIES = "UPDATE families SET name = id WHERE named_by = 'text' AND founded_by = ?"
_ERASED_BY_SESSION = (
    "inbox",
    "outbox",
    "session_values",
    "prefix_epochs",
    "decisions",
    "skill_uses",
    "background_work",
)


class Session(Value, frozen=True, kw_only=True):
    """A conversation with one agent in one workspace."""

    id: str
    agent: str
    surface: str
    workspace: str
    title: str
    runs: int
    created_at: float
    updated_at: float


class Found(Value, frozen=True, kw_only=True):
    """One place where a search found its words."""

    session_id: str
    run_id: str
    seq: int
    role: str
    snippet: str


class Sessions:
    """The sessions of one owner."""

    def __init__(self, database: Database, owner: str) -> None:
        self._database = database
        self._owner = owner

    async def create(self, *, agent: str, surface: str, workspace: str, title: str, parent: str = "") -> Session:
        """A new session; its title is one line. One with a `parent` works beside that session: it is not listed, not
        searched, and erased with it."""
        session_id = new_id()
        title = one_line(clean(title), 80)
        workspace = plain(workspace)

        def unit(connection: Connection) -> Session:
            now = connection.now()
            connection.run(
                "INSERT INTO sessions (id, owner, agent, surface, workspace, title, parent, created_at, updated_at)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (session_id, self._owner, agent, surface, workspace, title, parent, now, now),
            )
            return Session(
                id=session_id,
                agent=agent,
                surface=surface,
                workspace=workspace,
                title=title,
                runs=0,
                created_at=now,
                updated_at=now,
            )

        return await self._database.write(unit)

    async def get(self, session_id: str) -> Session:
        """A session by id, by `last`, or by the beginning or end of an id that only one session has."""

        def unit(connection: Connection) -> Sequence[Row]:
            if session_id == "last":
                return connection.run(
                    f"SELECT {_COLUMNS} FROM sessions WHERE deleted_at IS NULL AND parent = ''"
                    " ORDER BY updated_at DESC, id DESC LIMIT 1"
                )
            if not is_part(session_id):
                return []
            return connection.run(
                f"SELECT {_COLUMNS} FROM sessions WHERE deleted_at IS NULL AND (id LIKE ? OR id LIKE ?) LIMIT 3",
                (f"{session_id}%", f"%{session_id}"),
            )

        return _session(only(await self._database.read(unit), "session", session_id))

    async def recent(self, limit: int) -> list[Session]:
        """The sessions used last, newest first."""

        def unit(connection: Connection) -> list[Session]:
            rows = connection.run(
                f"SELECT {_COLUMNS} FROM sessions WHERE deleted_at IS NULL AND parent = ''"
                " ORDER BY updated_at DESC, id DESC LIMIT ?",
                (max(0, limit),),
            )
            return [_session(row) for row in rows]

        return await self._database.read(unit)

    async def search(self, query: str, limit: int) -> list[Found]:
        """Where all words of `query` were said or answered, newest first. A word may be given by its beginning."""
        words = search_words(query)
        if not words or limit < 1:
            return []
        backend = self._database.backend
        if await self._database.read(unindexed):
            await self._database.write(self._index)

        def unit(connection: Connection) -> list[Found]:
            return [_found(connection, row, words) for row in backend.search(connection, words, limit)]

        return await self._database.read(unit)

    def _index(self, connection: Connection) -> None:
        for run_id, session_id in unindexed(connection):
            index_run(connection, self._database.backend, run_id, session_id)

    async def export(self, session_id: str) -> list[Recorded]:
        """Every event of every run of a session, in order."""

        def unit(connection: Connection) -> list[Recorded]:
            rows = connection.run("SELECT id FROM runs WHERE session_id = ? ORDER BY ordinal", (session_id,))
            return [event for (run_id,) in rows for event in read_run(connection, run_id)]

        return await self._database.read(unit)

    async def erase(self, session_ids: Sequence[str]) -> None:
        """Delete every payload of these sessions; a tombstone and bare counts stay.

        The space is overwritten before this returns, so the caller should say that it may take a while.
        """

        def unit(connection: Connection) -> None:
            for session_id in session_ids:
                self._erase(connection, session_id)

        await self._database.write(unit)
        await self._database.compact()

    def _erase(self, connection: Connection, session_id: str) -> None:
        """Learning is held off first, the session's row is locked next and its runs fenced then, so that nobody adds
        while we delete: a learner that found the session alive has committed before, or finds it deleted."""
        connection.run(f"SELECT id FROM learning WHERE id = 'sequence'{self._database.backend.row_lock}")
        now = connection.now()
        if not connection.run(
            "UPDATE sessions SET title = '', workspace = '', deleted_at = ? WHERE id = ? RETURNING id",
            (now, session_id),
        ):
            raise NotFound(f"there is no session {session_id}", remedy="`hermes sessions list` shows what there is")
        if connection.run(
            "SELECT 1 FROM runs WHERE session_id = ? AND status = 'open' AND lease_until > ?", (session_id, now)
        ):
            raise SessionBusy(
                f"session {session_id} has a run under way", remedy="wait for it, or end it, then delete again"
            )
        connection.run(
            "UPDATE runs SET status = CASE WHEN status = 'open' THEN 'failed' ELSE status END, holder = '',"
            " epoch = epoch + 1, lease_until = 0 WHERE session_id = ?",
            (session_id,),
        )
        for (child,) in connection.run(
            "SELECT id FROM sessions WHERE parent = ? AND deleted_at IS NULL", (session_id,)
        ):
            self._erase(connection, child)
        connection.run("DELETE FROM events WHERE run_id IN (SELECT id FROM runs WHERE session_id = ?)", (session_id,))
        for table in _ERASED_BY_SESSION:
            connection.run(f"DELETE FROM {table} WHERE session_id = ?", (session_id,))
        connection.run(
            "UPDATE outcomes SET reason = '', delivered_at = COALESCE(delivered_at, ?) WHERE session_id = ?",
            (now, session_id),
        )
        connection.run(
            "UPDATE tool_calls SET digest = '', error = '', tool = CASE WHEN effect = '' THEN '' ELSE tool END"
            " WHERE session_id = ?",
            (session_id,),
        )
        connection.run("UPDATE lessons SET payload = '' WHERE session_id = ?", (session_id,))
        connection.run(_UNNAME_FAMILIES, (session_id,))
        connection.run("UPDATE learning SET value = value + 1 WHERE id = 'families'")
        connection.run("DELETE FROM prefixes WHERE fingerprint NOT IN (SELECT fingerprint FROM prefix_epochs)")
        self._database.backend.forget(connection, session_id)

    async def idle_since(self, cutoff: float) -> list[Session]:
        """Sessions not used since `cutoff`, oldest first, that no run is open on."""

        def unit(connection: Connection) -> list[Session]:
            rows = connection.run(
                f"SELECT {_COLUMNS} FROM sessions s WHERE deleted_at IS NULL AND parent = '' AND updated_at < ?"
                " AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.session_id = s.id AND r.status = 'open')"
                " ORDER BY updated_at",
                (cutoff,),
            )
            return [_session(row) for row in rows]

        return await self._database.read(unit)


class SessionValueStore:
    """Small named values of one session."""

    def __init__(self, database: Database, session_id: str) -> None:
        self._database = database
        self._session_id = session_id

    async def get(self, key: str) -> str | None:
        """The value of `key`, or None."""
        rows = await self._database.read(
            lambda connection: connection.run(
                "SELECT value FROM session_values WHERE session_id = ? AND key = ?", (self._session_id, dump(key))
            )
        )
        return str(json.loads(rows[0][0])) if rows else None

    async def set(self, key: str, value: str) -> None:
        """Replace the value of `key`. Any text comes back as it was; a deleted session keeps none."""
        name, stored = dump(key), dump(value)
        await self._database.write(
            lambda connection: connection.run(
                "INSERT INTO session_values (session_id, key, value) SELECT id, ?, ? FROM sessions"
                " WHERE id = ? AND deleted_at IS NULL"
                " ON CONFLICT (session_id, key) DO UPDATE SET value = excluded.value",
                (name, stored, self._session_id),
            )
        )


def _session(row: Row) -> Session:
    return Session(
        id=row[0],
        agent=row[1],
        surface=row[2],
        workspace=row[3],
        title=row[4],
        runs=row[5],
        created_at=row[6],
        updated_at=row[7],
    )


def _found(connection: Connection, row: Row, words: Sequence[str]) -> Found:
    session_id, run_id, seq, role = row
    _, text = said(read_event(connection, run_id, int(seq)).event)
    return Found(session_id=session_id, run_id=run_id, seq=int(seq), role=role, snippet=_snippet(text, words))


def _snippet(text: str, words: Sequence[str]) -> str:
    """A line of text around the first word found."""
    lower = text.lower()
    places = [place for word in words if (place := lower.find(word)) >= 0]
    start = max(0, min(places, default=0) - _SNIPPET // 3)
    return ("…" if start else "") + one_line(text[start : start + 2 * _SNIPPET], _SNIPPET)

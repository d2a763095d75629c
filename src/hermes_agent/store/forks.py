"""Forks: a session that begins as a copy of another one's journal, up to a step of one of its runs.

A copy costs nothing and proves nothing a second time: no usage, no outcome and no history is projected from it, it is
not in the search index, and its events say where they came from (`options.fork` of `RunStarted`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from ..types.base import Value
from ..types.errors import NotFound
from ..types.events import AnyEvent, Recorded, RunStarted, UserMessage
from ..types.ids import new_id
from ..types.text import clean, one_line
from ..types.trace import RunStatus
from .codec import Encoded, dump, encode, plain
from .database import Connection, Database, Statement
from .runs import Run
from .sessions import Session, SessionValueStore

FORK_OPTION = "fork"
FORK_VALUE = "forked_from"
_SESSION = (
    "INSERT INTO sessions (id, owner, agent, surface, workspace, title, runs, created_at, updated_at)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_RUN = (
    "INSERT INTO runs (id, session_id, owner, agent, ordinal, status, epoch, seq, holder, lease_until, model,"
    " started_at, finished_at, indexed) VALUES (?, ?, ?, ?, ?, ?, ?, ?, '', 0, ?, ?, ?, ?)"
)
_EVENT = "INSERT INTO events (run_id, seq, epoch, kind, version, payload, crc, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_VALUES = (
    "INSERT INTO session_values (session_id, key, value) SELECT ?, key, value FROM session_values"
    " WHERE session_id = ? AND key <> ?"
)
_VALUE = "INSERT INTO session_values (session_id, key, value) VALUES (?, ?, ?)"


class ForkedFrom(Value, frozen=True, kw_only=True):
    """Where a copy came from: the run, its session, the last step that was kept, and how many events were copied."""

    run: str
    session: str
    step: int
    events: int


class RunCopy(Value, frozen=True, kw_only=True):
    """A run as a fork holds it: the one it is copied from, and its events with their times."""

    source: Run
    model: str
    events: tuple[tuple[float, AnyEvent], ...]


class Draft(Value, frozen=True, kw_only=True):
    """A fork before it is stored. `earlier` are whole runs, `begun` is the one that goes on.

    `epoch` 0 makes the driver begin the run anew behind its copied events, with advice of its own; 1 makes it resume.
    """

    session_id: str
    source: Session
    agent: str
    surface: str
    workspace: str
    title: str
    origin: ForkedFrom
    earlier: tuple[RunCopy, ...]
    begun: RunCopy
    epoch: int


class Forks:
    """Stores forks, and says what a session is a fork of."""

    def __init__(self, database: Database, owner: str) -> None:
        self._database = database
        self._owner = owner

    async def insert(self, draft: Draft) -> tuple[Session, Run]:
        """Commit a fork as one: all of it or nothing. The original's row is locked, so that what is being erased is not
        copied. The run is open and nobody drives it: whoever resumes it takes it over."""
        earlier = [(new_id(), copy, _encoded(copy.events)) for copy in draft.earlier]
        begun = (new_id(), draft.begun, _encoded(draft.begun.events))
        title, lock = one_line(clean(draft.title), 80), self._database.backend.row_lock

        def unit(connection: Connection) -> tuple[Session, Run]:
            now = connection.now()
            alive = f"SELECT id FROM sessions WHERE id = ? AND deleted_at IS NULL{lock}"
            if not connection.run(alive, (draft.source.id,)):
                raise erased(draft.begun.source)
            ordinal = len(earlier) + 1
            session = Session(
                id=draft.session_id,
                agent=draft.agent,
                surface=draft.surface,
                workspace=plain(draft.workspace),
                title=title,
                runs=ordinal,
                created_at=now,
                updated_at=now,
            )
            run = Run(
                id=begun[0],
                session_id=session.id,
                agent=session.agent,
                ordinal=ordinal,
                status=RunStatus.OPEN,
                epoch=draft.epoch,
                seq=len(begun[2]),
                holder="",
                lease_until=0.0,
                model=plain(draft.begun.model),
                started_at=now,
            )
            connection.run_all(self._statements(session, draft, earlier, (run, begun[2])))
            return session, run

        return await self._database.write(unit)

    def _statements(
        self,
        session: Session,
        draft: Draft,
        earlier: Sequence[tuple[str, RunCopy, list[tuple[float, Encoded]]]],
        begun: tuple[Run, list[tuple[float, Encoded]]],
    ) -> list[Statement]:
        place = (session.agent, session.surface, session.workspace, session.title, session.runs)
        statements: list[Statement] = [
            (_SESSION, (session.id, self._owner, *place, session.created_at, session.updated_at)),
            (_VALUES, (session.id, draft.source.id, dump(FORK_VALUE))),
            (_VALUE, (session.id, dump(FORK_VALUE), dump(msgspec.json.encode(draft.origin).decode()))),
        ]
        for ordinal, (run_id, copy, events) in enumerate(earlier, 1):
            source, count = copy.source, len(events)
            key = (run_id, session.id, self._owner, session.agent, ordinal, source.status.value, 1, count)
            statements.append((_RUN, (*key, plain(copy.model), source.started_at, source.finished_at, count)))
            statements += _inserts(run_id, 1, events)
        run, events = begun
        key = (run.id, session.id, self._owner, run.agent, run.ordinal, run.status.value, run.epoch, run.seq)
        statements.append((_RUN, (*key, run.model, run.started_at, None, run.seq)))
        now = session.created_at
        return statements + _inserts(run.id, run.epoch, [(now, event) for _, event in events])

    async def origin(self, session_id: str) -> ForkedFrom | None:
        """What a session was forked from; None when it is no fork."""
        stored = await SessionValueStore(self._database, session_id).get(FORK_VALUE)
        return msgspec.json.decode(stored, type=ForkedFrom) if stored else None


def erased(run: Run) -> NotFound:
    """There is a run, but nothing of it is left."""
    return NotFound(
        f"the session of run {run.id} was deleted; nothing of it is left",
        remedy="`hermes sessions list` shows the rest",
    )


def origin_of(options: dict[str, Any]) -> ForkedFrom | None:
    """What a run's options say about where its first events came from."""
    stored = options.get(FORK_OPTION)
    return msgspec.convert(stored, ForkedFrom) if stored else None


def own_events(events: Sequence[Recorded]) -> list[Recorded]:
    """A run's events without those that were copied from another run, except for the request. What learning reads: a
    call that was made once is evidence once. A run that is no fork is returned as it is."""
    started = next((entry.event for entry in events if isinstance(entry.event, RunStarted)), None)
    origin = origin_of(started.options) if started else None
    if origin is None:
        return list(events)
    request = next((entry for entry in events if isinstance(entry.event, UserMessage)), None)
    return [
        entry
        for entry in events
        if entry.seq > origin.events or entry is request or isinstance(entry.event, RunStarted)
    ]


def _encoded(events: Sequence[tuple[float, AnyEvent]]) -> list[tuple[float, Encoded]]:
    return [(at, encode(event)) for at, event in events]


def _inserts(run_id: str, epoch: int, events: Sequence[tuple[float, Encoded]]) -> list[Statement]:
    return [
        (_EVENT, (run_id, seq, epoch, row.kind, row.version, row.payload, row.crc, at))
        for seq, (at, row) in enumerate(events, 1)
    ]

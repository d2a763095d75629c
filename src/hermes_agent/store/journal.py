"""The append-only journal: the truth about every run. Everything else is read from it or written with it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import msgspec

from ..types.errors import LeaseLost
from ..types.events import MESSAGE_KINDS, AnyEvent, Recorded, RunFinished
from .codec import Encoded, decode, encode
from .database import Backend, Connection, Database, Row, Statement
from .projections import project
from .search import index_run

_COLUMNS = "e.run_id, e.seq, e.epoch, e.kind, e.version, e.payload, e.crc, e.at"
_INSERT = "INSERT INTO events (run_id, seq, epoch, kind, version, payload, crc, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_ADVANCE = "UPDATE runs SET seq = ? WHERE id = ?"


class Append(msgspec.Struct, frozen=True, kw_only=True):
    """Events on their way into a run's journal, under the epoch of the lease they were made with."""

    run_id: str
    epoch: int
    events: Sequence[Encoded]
    at: float


class Journal:
    """Appends and reads events. An append is fenced: a driver whose lease was taken over writes nothing more."""

    def __init__(self, database: Database, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock
        self._together = self._append_all

    async def append(self, run_id: str, epoch: int, events: Sequence[AnyEvent]) -> list[Recorded]:
        """Commit `events` and their projections as one. Raises LeaseLost when `epoch` is no longer the run's."""
        encoded = [encode(event) for event in events]
        work = Append(run_id=run_id, epoch=epoch, events=encoded, at=self._clock())
        written: list[Recorded] = await self._database.write_together(self._together, work)
        return written

    def _append_all(self, connection: Connection, appends: Sequence[Append]) -> list[list[Recorded]]:
        return append_all(connection, self._database.backend, appends)

    async def run_events(self, run_id: str) -> list[Recorded]:
        """All events of a run, in order."""
        return await self._database.read(lambda connection: read_run(connection, run_id))

    async def transcript(self, session_id: str, after: int = 0) -> list[Recorded]:
        """The events that make the conversation the model sees, over all runs behind the `after`th, in order."""
        kinds = ", ".join(f"'{kind}'" for kind in (*MESSAGE_KINDS, "compacted"))

        def unit(connection: Connection) -> list[Recorded]:
            rows = connection.run(
                f"SELECT {_COLUMNS} FROM events e JOIN runs r ON r.id = e.run_id "
                f"WHERE r.session_id = ? AND r.ordinal > ? AND e.kind IN ({kinds}) ORDER BY r.ordinal, e.seq",
                (session_id, after),
            )
            return [recorded(row) for row in rows]

        return await self._database.read(unit)


def append_all(connection: Connection, backend: Backend, appends: Sequence[Append]) -> list[list[Recorded]]:
    """Add events to runs inside the caller's transaction. A stale epoch raises LeaseLost and nothing is written.

    All runs are locked and fenced by one statement, in the order of their ids, so that two groups cannot deadlock.
    """
    ids = sorted({append.run_id for append in appends})
    marks = ", ".join("?" * len(ids))
    rows = connection.run(
        f"SELECT id, epoch, seq, session_id, owner FROM runs WHERE id IN ({marks}){backend.row_lock}", ids
    )
    runs = {row[0]: row for row in rows}
    last: dict[str, int] = {}
    statements: list[Statement] = []
    effects: list[Statement] = []
    written = []
    for append in appends:
        row = runs.get(append.run_id)
        if row is None or row[1] != append.epoch:
            raise LeaseLost(f"run {append.run_id} was taken over by another process; this one stops")
        run_id, epoch, seq, session_id, owner = row
        first = last.get(run_id, int(seq)) + 1
        last[run_id] = first + len(append.events) - 1
        key = (run_id, session_id, owner, epoch)
        written.append(_write(statements, effects, key, first, append.events, append.at))
    statements += [(_ADVANCE, (seq, run_id)) for run_id, seq in last.items()]
    connection.run_all(statements + effects)
    for append in appends:
        if any(type(row.event) is RunFinished for row in append.events):
            index_run(connection, backend, append.run_id, runs[append.run_id][3])
    return written


def write_first(connection: Connection, key: tuple[str, str, str, int], events: Sequence[Encoded], at: float) -> None:
    """The first events of a run that was inserted in this transaction. `key` is (run, session, owner, epoch)."""
    statements: list[Statement] = []
    effects: list[Statement] = []
    _write(statements, effects, key, 1, events, at)
    connection.run_all(statements + effects)


def _write(
    statements: list[Statement],
    effects: list[Statement],
    key: tuple[str, str, str, int],
    first: int,
    events: Sequence[Encoded],
    at: float,
) -> list[Recorded]:
    """Add the inserts of events at `first`, `first + 1`, … to `statements`, and of their projections to `effects`."""
    run_id, session_id, owner, epoch = key
    written = []
    for seq, row in enumerate(events, first):
        statements.append((_INSERT, (run_id, seq, epoch, row.kind, row.version, row.payload, row.crc, at)))
        project(effects, (run_id, session_id, owner), seq, at, row.event)
        written.append(Recorded(run_id=run_id, seq=seq, epoch=epoch, at=at, event=row.event))
    return written


def read_run(connection: Connection, run_id: str) -> list[Recorded]:
    """All events of a run, inside the caller's transaction."""
    rows = connection.run(f"SELECT {_COLUMNS} FROM events e WHERE e.run_id = ? ORDER BY e.seq", (run_id,))
    return [recorded(row) for row in rows]


def read_event(connection: Connection, run_id: str, seq: int) -> Recorded:
    """One event that is known to be there."""
    rows = connection.run(f"SELECT {_COLUMNS} FROM events e WHERE e.run_id = ? AND e.seq = ?", (run_id, seq))
    return recorded(rows[0])


def recorded(row: Row) -> Recorded:
    """The event behind a row of the journal."""
    run_id, seq, epoch, kind, version, payload, crc, at = row
    event = decode(kind, version, payload, crc, where=f"{run_id}/{seq}")
    return Recorded(run_id=run_id, seq=seq, epoch=epoch, at=at, event=event)

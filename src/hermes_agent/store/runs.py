"""Runs and their leases. A run is driven by whoever holds its lease; the epoch fences everybody else off."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from ..types.base import Value
from ..types.errors import LeaseLost, NotFound
from ..types.events import AnyEvent, Image, InboxMode, Recorded, RunStarted, UserMessage
from ..types.ids import ALPHABET, new_id
from ..types.trace import RunStatus
from .codec import encode, plain
from .database import Connection, Database, Row
from .inbox import take, waiting
from .journal import Append, append_all, write_first

_COLUMNS = "id, session_id, agent, ordinal, status, epoch, seq, holder, lease_until, model, started_at, finished_at"


_BEGIN = (
    "INSERT INTO runs (id, session_id, owner, agent, ordinal, status, epoch, seq, holder, lease_until, model,"
    " started_at) SELECT ?, id, ?, agent, runs + 1, 'open', 1, ?, ?, ?, ?, ? FROM sessions WHERE id = ?"
    f" ON CONFLICT DO NOTHING RETURNING {_COLUMNS}"
)
"""Asked twice: where the first attempt lost its ordinal to a run that is over by now, the second sees the next one."""


class Run(Value, frozen=True, kw_only=True):
    """One request of a session, as stored."""

    id: str
    session_id: str
    agent: str
    ordinal: int
    status: RunStatus
    epoch: int
    seq: int
    holder: str
    lease_until: float
    model: str
    started_at: float
    finished_at: float | None = None


class Runs:
    """Begins, renews, takes over and finds runs."""

    def __init__(self, database: Database, owner: str, lease_seconds: float) -> None:
        self._database = database
        self._owner = owner
        self._lease_seconds = lease_seconds

    async def begin(self, session_id: str, holder: str, model: str) -> Run | None:
        """Start a run on the oldest waiting message, one that interrupted before all others, lease in hand.

        None when nothing waits or another run of the session is open: one driver per session, kept by the database.
        The unit shares its transaction with others, so a message withdrawn in between is undone by hand.
        """
        run_id = new_id()

        def unit(connection: Connection) -> Run | None:
            messages = [message for message in waiting(connection, session_id) if message.text]
            if not messages:
                return None
            interrupting = [message for message in messages if message.mode is InboxMode.INTERRUPT]
            message, now = (interrupting or messages)[0], connection.now()
            chosen = plain(str(message.options.get("model") or model))
            events: list[AnyEvent] = [
                RunStarted(inbox_id=message.id, model=chosen, options=message.options),
                UserMessage(
                    text=message.text, inbox_id=message.id, mode=InboxMode.QUEUE, images=_images(message.options)
                ),
            ]
            values = (run_id, self._owner, len(events), holder, now + self._lease_seconds, chosen, now, session_id)
            rows = connection.run(_BEGIN, values) or connection.run(_BEGIN, values)
            if not rows or not connection.run(
                "UPDATE inbox SET run_id = ? WHERE id = ? AND run_id IS NULL RETURNING id", (run_id, message.id)
            ):
                connection.run("DELETE FROM runs WHERE id = ?", (run_id,))
                return None
            if not connection.run(
                "UPDATE sessions SET runs = runs + 1, updated_at = ? WHERE id = ? AND deleted_at IS NULL RETURNING id",
                (now, session_id),
            ):
                raise NotFound(f"there is no session {session_id}")
            encoded = [encode(event) for event in events]
            write_first(connection, (run_id, session_id, self._owner, 1), encoded, now)
            return _run(rows[0])

        return await self._database.write(unit)

    async def steer(self, run: Run) -> list[Recorded]:
        """Hand the waiting steering messages to a running turn: taken and journaled as one, fenced by the lease."""
        backend = self._database.backend

        def unit(connection: Connection) -> list[Recorded]:
            found = take(connection, run.session_id, run.id, InboxMode.STEER)
            if not found:
                return []
            events = [
                encode(UserMessage(text=message.text, inbox_id=message.id, mode=message.mode)) for message in found
            ]
            work = Append(run_id=run.id, epoch=run.epoch, events=events, at=connection.now())
            return append_all(connection, backend, [work])[0]

        return await self._database.write(unit)

    async def take_over(self, run: Run, holder: str) -> Run | None:
        """Take the lease of a run whose driver is gone. None when somebody else was quicker."""

        def unit(connection: Connection) -> Run | None:
            rows = connection.run(
                "UPDATE runs SET epoch = epoch + 1, holder = ?, lease_until = ? "
                f"WHERE id = ? AND epoch = ? AND lease_until = ? AND status = 'open' RETURNING {_COLUMNS}",
                (holder, connection.now() + self._lease_seconds, run.id, run.epoch, run.lease_until),
            )
            return _run(rows[0]) if rows else None

        return await self._database.write(unit)

    def renew(self, run: Run) -> frozenset[InboxMode]:
        """Keep the lease, from a thread; returns which kinds of message wait for the running turn."""

        def unit(connection: Connection) -> frozenset[InboxMode]:
            rows = connection.run(
                "UPDATE runs SET lease_until = ? WHERE id = ? AND epoch = ? AND status = 'open' RETURNING id",
                (connection.now() + self._lease_seconds, run.id, run.epoch),
            )
            if not rows:
                raise LeaseLost(f"run {run.id} was taken over by another process")
            return frozenset(message.mode for message in waiting(connection, run.session_id))

        return self._database.write_now(unit)

    async def open_runs(self, agent: str) -> list[tuple[Run, bool]]:
        """Every open run of an agent, each with whether its lease has run out."""

        def unit(connection: Connection) -> list[tuple[Run, bool]]:
            now = connection.now()
            rows = connection.run(
                f"SELECT {_COLUMNS} FROM runs WHERE agent = ? AND status = 'open' ORDER BY id", (agent,)
            )
            return [(run, run.lease_until < now) for run in map(_run, rows)]

        return await self._database.read(unit)

    async def open_everywhere(self) -> list[tuple[Run, bool]]:
        """Every open run of every agent, each with whether its lease has run out."""

        def unit(connection: Connection) -> list[tuple[Run, bool]]:
            now = connection.now()
            rows = connection.run(f"SELECT {_COLUMNS} FROM runs WHERE status = 'open' ORDER BY id")
            return [(run, run.lease_until < now) for run in map(_run, rows)]

        return await self._database.read(unit)

    async def open_run_of(self, session_id: str) -> tuple[Run, bool] | None:
        """The open run of a session, if there is one, with whether its lease has run out."""

        def unit(connection: Connection) -> tuple[Run, bool] | None:
            rows = connection.run(
                f"SELECT {_COLUMNS} FROM runs WHERE session_id = ? AND status = 'open'", (session_id,)
            )
            return (_run(rows[0]), float(rows[0][8]) < connection.now()) if rows else None

        return await self._database.read(unit)

    async def get(self, run_id: str) -> Run:
        """A run by its id, by `last`, or by the beginning or end of an id that only one run has."""

        def unit(connection: Connection) -> Sequence[Row]:
            if run_id == "last":
                return connection.run(
                    f"SELECT {_COLUMNS} FROM runs WHERE session_id IN"
                    " (SELECT id FROM sessions WHERE deleted_at IS NULL AND parent = '')"
                    " ORDER BY started_at DESC, id DESC LIMIT 1"
                )
            if not is_part(run_id):
                return []
            return connection.run(
                f"SELECT {_COLUMNS} FROM runs WHERE id LIKE ? OR id LIKE ? LIMIT 3", (f"{run_id}%", f"%{run_id}")
            )

        return _run(only(await self._database.read(unit), "run", run_id))

    async def undelivered(self, agent: str) -> list[Run]:
        """Finished runs whose answer may never have been shown: its delivery was begun and not completed."""

        def unit(connection: Connection) -> list[Run]:
            rows = connection.run(
                f"SELECT {_COLUMNS} FROM runs WHERE agent = ? AND id IN"
                " (SELECT run_id FROM outcomes WHERE delivered_at IS NULL) ORDER BY id",
                (agent,),
            )
            return [_run(row) for row in rows]

        return await self._database.read(unit)

    async def of_session(self, session_id: str) -> list[Run]:
        """The runs of a session, oldest first."""

        def unit(connection: Connection) -> list[Run]:
            rows = connection.run(f"SELECT {_COLUMNS} FROM runs WHERE session_id = ? ORDER BY ordinal", (session_id,))
            return [_run(row) for row in rows]

        return await self._database.read(unit)


def is_part(text: str) -> bool:
    """Whether `text` can be a part of an id; anything else would be a pattern to the database."""
    return bool(text) and set(text) <= set(ALPHABET)


def _images(options: dict[str, Any]) -> tuple[Image, ...]:
    """The pictures that came with a message."""
    return msgspec.convert(options.get("images", ()), tuple[Image, ...])


def only(rows: Sequence[Row], what: str, asked: str) -> Row:
    """The one row that was meant; an exact id beats a part of one."""
    exact = [row for row in rows if row[0] == asked]
    chosen = exact or list(rows)
    if not chosen:
        raise NotFound(f"there is no {what} {asked!r}", remedy="`hermes sessions list` shows what there is")
    if len(chosen) > 1:
        raise NotFound(f"{asked!r} fits more than one {what}", remedy="give more of the id")
    return chosen[0]


def _run(row: Row) -> Run:
    return Run(
        id=row[0],
        session_id=row[1],
        agent=row[2],
        ordinal=row[3],
        status=RunStatus(row[4]),
        epoch=row[5],
        seq=row[6],
        holder=row[7],
        lease_until=row[8],
        model=row[9],
        started_at=row[10],
        finished_at=row[11],
    )

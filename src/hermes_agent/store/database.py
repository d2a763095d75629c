"""The seam between our state and a database engine, and the threads that serve it.

All SQL outside `backends/` is portable and uses `?` for parameters. A unit of work is a function of a connection;
it may run twice (a group that fails is taken apart and run one by one), so it must touch nothing but the database.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, Protocol, TypeVar

import msgspec

from ..types.errors import HermesError, StoreError

T = TypeVar("T")
Row = tuple[Any, ...]
Statement = tuple[str, Sequence[Any]]
_LARGEST_GROUP = 256
_DEADLOCK_TRIES = 5


class Connection(Protocol):
    """One session with the engine."""

    def run(self, sql: str, params: Sequence[Any] = ()) -> list[Row]:
        """Execute one statement and return all its rows."""

    def run_all(self, statements: Sequence[Statement]) -> None:
        """Execute statements in order, in one round trip where the engine can; nobody needs their rows."""

    def now(self) -> float:
        """The time all replicas agree on: the server's clock where there is a server."""

    def begin(self) -> None: ...

    def commit(self) -> None: ...

    def rollback(self) -> None: ...

    def close(self) -> None: ...


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One message in the full-text index; `words` are already folded and cut, so that every engine finds the same."""

    session_id: str
    run_id: str
    seq: int
    role: str
    words: tuple[str, ...]


class Backend(Protocol):
    """A database engine: how to connect, and the few things that have no portable SQL."""

    name: str
    row_lock: str
    """What a SELECT of rows with an `id` ends with to keep others from changing them until the commit."""

    def connect(self) -> Connection: ...

    def connect_reader(self) -> Connection:
        """A connection whose transactions lock nothing against writers."""

    def prepare(self) -> Sequence[str]:
        """Bring the schema up to date before first use; returns notices for the user."""

    def translate(self, error: Exception) -> HermesError | None:
        """The error a user should see for an engine's error, or None when it is not the engine's."""

    def may_retry(self, error: Exception) -> bool:
        """Whether the engine gave up a transaction only because of its neighbours, and it may simply run again."""

    def index(self, connection: Connection, entries: Sequence[Entry]) -> None:
        """Add entries to the full-text index."""

    def search(self, connection: Connection, words: Sequence[str], limit: int) -> list[Row]:
        """Rows (session, run, seq, role) of entries with words that begin like each of `words`, newest first."""

    def forget(self, connection: Connection, session_id: str) -> None:
        """Take a session out of the full-text index."""

    def compact(self) -> None:
        """Give freed space back and overwrite what was deleted."""

    def copies(self) -> list[str]:
        """Older states of the database that lie beside it, which erasing does not reach."""

    def check(self) -> list[str]:
        """Problems the engine finds in its own files."""

    def size(self) -> int:
        """Bytes on disk."""


Unit = Callable[[Connection], T]
Together = Callable[[Connection, Sequence[Any]], list[Any]]
"""Does several pieces of work of one kind at once, with fewer statements than one by one; one result for each."""


def _each(connection: Connection, units: Sequence[Unit[Any]]) -> list[Any]:
    return [unit(connection) for unit in units]


class _Job(msgspec.Struct, eq=False):
    """One piece of work, what does it, and who waits for it: a future of `loop`, or of a thread."""

    together: Together
    work: Any
    future: Any
    loop: asyncio.AbstractEventLoop | None = None


_Result = tuple[Any, BaseException | None]
_STOP = _Job(_each, None, None)


class _Worker:
    """One thread with one connection. `largest` is how many waiting units it may commit at once."""

    def __init__(self, backend: Backend, name: str, connect: Callable[[], Connection], largest: int) -> None:
        self._backend = backend
        self._name = name
        self._connect = connect
        self._largest = largest
        self._jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        self._gate = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stopped = False
        self._connection: Connection | None = None

    def submit(self, job: _Job) -> None:
        with self._gate:
            if self._stopped:
                raise StoreError("the store is closed", remedy="open a new Agent; a closed one keeps no connection")
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, name=self._name, daemon=True)
                self._thread.start()
            self._jobs.put(job)

    def stop(self) -> None:
        """Finish what was submitted. What comes later is refused, so that nobody waits for a thread that is gone."""
        with self._gate:
            self._stopped = True
            thread = self._thread
            self._jobs.put(_STOP)
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _serve(self) -> None:
        jobs, stopping = self._jobs, False
        while not stopping:
            batch = [jobs.get()]
            for _ in range(min(jobs.qsize(), self._largest - 1)):
                batch.append(jobs.get())
            if _STOP in batch:
                stopping = True
                batch.remove(_STOP)
            if batch:
                self._settle(batch, self._attempt(batch, _DEADLOCK_TRIES))
        if self._connection is not None:
            self._connection.close()

    def _attempt(self, batch: list[_Job], tries: int) -> list[_Result]:
        """Run the batch in one transaction; when a unit fails, each one in a transaction of its own.

        A commit that fails is not tried again: with the connection gone, nobody knows whether it happened.
        """
        try:
            connection = self._begin()
            results: list[_Result] = []
            for together, jobs in itertools.groupby(batch, lambda job: job.together):
                results += [(value, None) for value in together(connection, [job.work for job in jobs])]
        except Exception as error:  # noqa: BLE001 - the supervisor of database errors: each goes to its caller
            self._undo()
            if len(batch) > 1:
                return [self._attempt([job], tries)[0] for job in batch]
            if tries > 1 and self._backend.may_retry(error):
                return self._attempt(batch, tries - 1)
            return [(None, self._backend.translate(error) or error)]
        try:
            connection.commit()
        except Exception as error:  # noqa: BLE001 - as above
            self._undo()
            return [(None, self._backend.translate(error) or error) for _ in batch]
        return results

    def _begin(self) -> Connection:
        """A transaction, on a fresh connection if the old one broke while it was idle."""
        if self._connection is not None:
            try:
                self._connection.begin()
                return self._connection
            except Exception:
                self._undo()
                if self._connection is not None:
                    raise
        self._connection = self._connect()
        self._connection.begin()
        return self._connection

    def _undo(self) -> None:
        """Roll back; a connection that cannot even do that is dropped and opened anew for the next batch."""
        if self._connection is None:
            return
        try:
            self._connection.rollback()
        except Exception:  # noqa: BLE001 - whatever broke the connection was reported by the unit itself
            broken, self._connection = self._connection, None
            with contextlib.suppress(Exception):
                broken.close()

    def _settle(self, batch: list[_Job], results: list[_Result]) -> None:
        """Hand results over, waking each event loop once for the whole group."""
        by_loop: dict[asyncio.AbstractEventLoop, list[tuple[Any, Any, BaseException | None]]] = {}
        for job, (value, error) in zip(batch, results, strict=True):
            if job.loop is not None:
                by_loop.setdefault(job.loop, []).append((job.future, value, error))
            elif error is not None:
                job.future.set_exception(error)
            else:
                job.future.set_result(value)
        for loop, settled in by_loop.items():
            try:
                loop.call_soon_threadsafe(_resolve, settled)
            except RuntimeError:  # the loop was closed while its write was under way: nobody waits any more
                continue


def _resolve(settled: list[tuple[asyncio.Future[Any], Any, BaseException | None]]) -> None:
    for future, value, error in settled:
        if future.cancelled():
            continue
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(value)


class Database:
    """Runs units of work: writes through one thread with group commit, reads through another."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self._writer = _Worker(backend, "hermes-writer", backend.connect, _LARGEST_GROUP)
        self._reader = _Worker(backend, "hermes-reader", backend.connect_reader, 1)

    def open(self) -> Sequence[str]:
        """Bring the schema up to date. Returns notices (a migration, a backup made) for the user."""
        return self._translated(self.backend.prepare)

    async def compact(self) -> None:
        """Give freed space back and overwrite what was deleted. May take a while; blocks nobody who only reads."""
        await asyncio.to_thread(self._translated, self.backend.compact)

    def _translated(self, action: Callable[[], T]) -> T:
        try:
            return action()
        except HermesError:
            raise
        except Exception as error:
            translated = self.backend.translate(error)
            if translated is None:
                raise
            raise translated from error

    async def write(self, unit: Unit[T]) -> T:
        """Commit `unit`, possibly together with others. Returns once it is durable."""
        result: T = await self._ask(self._writer, _each, unit)
        return result

    def write_together(self, together: Together, work: Any) -> asyncio.Future[Any]:
        """`write` for work of which many pieces arrive at once: those of one group are handed to `together` at once."""
        return self._ask(self._writer, together, work)

    async def read(self, unit: Unit[T]) -> T:
        """Run `unit` on its own snapshot."""
        result: T = await self._ask(self._reader, _each, unit)
        return result

    def write_now(self, unit: Unit[T]) -> T:
        """`write` for callers without an event loop, such as the heartbeat thread."""
        return self._ask_now(self._writer, unit)

    def read_now(self, unit: Unit[T]) -> T:
        """`read` for callers without an event loop."""
        return self._ask_now(self._reader, unit)

    def close(self) -> None:
        """Finish what was submitted and close the connections."""
        self._reader.stop()
        self._writer.stop()

    def _ask(self, worker: _Worker, together: Together, work: Any) -> asyncio.Future[Any]:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        worker.submit(_Job(together, work, future, loop))
        return future

    def _ask_now(self, worker: _Worker, unit: Unit[T]) -> T:
        future: Future[T] = Future()
        worker.submit(_Job(_each, unit, future))
        return future.result()

"""What happens now, for everybody who has the page open.

Runs may be driven by any process on any machine, so the journal itself is followed: a place is kept for each run, and
what stands behind it is read along the primary key. It is looked at only while somebody listens.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
from starlette.types import Receive, Scope, Send

from ...store.dashboard_views import RunLine, events_after, last_runs, live_runs
from ...store.database import Connection, Database
from ...store.heuristics import values_of
from ...types.base import Value
from ...types.errors import HermesError
from ...types.events import Recorded
from ...types.text import clean_json
from ...types.trace import RunStatus
from ..cli.driving import is_interrupted
from .steps import ShownStep, step_of

LISTENERS = 16
RUNS = 30
STEPS = 80
WAITING = 200
_BATCH = 200
_LONGEST = 1200
_EARLIER = 8
_SLOW_SECONDS = 10.0
_QUIET_SECONDS = 15.0


class LiveRun(Value, frozen=True, kw_only=True):
    """A run as the page lists it. `state` is open, interrupted (nobody drives it), done, failed."""

    id: str
    session: str
    title: str
    agent: str
    surface: str
    model: str
    state: str
    beside: bool
    started_at: float
    finished_at: float | None
    steps: int


class _Followed:
    """A run and how far its journal was read."""

    def __init__(self, line: RunLine) -> None:
        self.line = line
        self.shown = _shown(line)
        self.place = max(0, line.run.seq - STEPS)
        self.steps: deque[ShownStep] = deque(maxlen=STEPS)


class Listener:
    """One open page. What it does not take in time is not kept for it."""

    def __init__(self) -> None:
        self._frames: asyncio.Queue[bytes | None] = asyncio.Queue(maxsize=WAITING)
        self.dropped = False

    def tell(self, frame: bytes | None) -> None:
        """Hand a frame over; None is the end."""
        try:
            self._frames.put_nowait(frame)
        except asyncio.QueueFull:
            self.dropped = True

    async def next(self) -> bytes | None:
        """The next frame; a remark when there is none for a while, so that a broken line is noticed; None at the
        end."""
        if self.dropped:
            return None
        try:
            async with asyncio.timeout(_QUIET_SECONDS):
                return await self._frames.get()
        except TimeoutError:
            return b": nothing new\n\n"


class Live:
    """Follows the journal for all listeners together."""

    def __init__(self, database: Database, seconds: float = 0.5, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._seconds = seconds
        self._clock = clock
        self._listeners: set[Listener] = set()
        self._followed: dict[str, _Followed] = {}
        self._since = 0.0
        self._values: dict[str, int] = {}
        self._task: asyncio.Task[None] | None = None
        self._closed = False
        self._gate = asyncio.Lock()

    @property
    def listeners(self) -> int:
        """How many pages listen."""
        return len(self._listeners)

    def full(self) -> bool:
        """Whether no more may listen."""
        return self._closed or len(self._listeners) >= LISTENERS

    async def join(self) -> Listener:
        """A new listener; the first thing it hears is everything there is."""
        listener = Listener()
        async with self._gate:
            if self._task is None:
                self._followed.clear()
                self._since = self._clock()
                await self._look(first=True)
                self._task = asyncio.create_task(self._follow())
            self._listeners.add(listener)
            listener.tell(self._snapshot())
        return listener

    def leave(self, listener: Listener) -> None:
        """The last one switches off the light."""
        self._listeners.discard(listener)
        if not self._listeners and self._task is not None:
            self._task.cancel()
            self._task = None

    def tell(self, kind: str, value: Any) -> None:
        """Tell everybody something."""
        frame = _frame(kind, value)
        for listener in tuple(self._listeners):
            listener.tell(frame)
            if listener.dropped:
                self._listeners.discard(listener)

    async def close(self) -> None:
        """End every page's line, so that the server can stop."""
        self._closed = True
        for listener in tuple(self._listeners):
            listener.tell(None)
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def _follow(self) -> None:
        while True:
            await asyncio.sleep(self._seconds)
            try:
                await self._look(first=False)
            except HermesError as error:
                self.tell("trouble", {"error": str(error), "remedy": error.advice})
                await asyncio.sleep(4 * self._seconds)

    async def _look(self, *, first: bool) -> None:
        known = list(self._followed)
        since = self._since

        def unit(connection: Connection) -> tuple[list[RunLine], dict[str, int]]:
            lines = live_runs(connection, known, since, RUNS)
            lines += last_runs(connection, _EARLIER) if first else []
            return lines, values_of(connection)

        lines, values = await self._database.read(unit)
        if values != self._values:
            self._values = values
            self.tell("learning", values)
        for line in {line.run.id: line for line in lines}.values():
            await self._update(line)
        self._forget()

    async def _update(self, line: RunLine) -> None:
        run, followed = line.run, self._followed.get(line.run.id)
        if followed is None:
            followed = self._followed[run.id] = _Followed(line)
            self.tell("run", followed.shown)
        shown = _shown(line)
        if shown.state != followed.shown.state:
            self.tell("run", shown)
        followed.line, followed.shown = line, shown
        self._since = max(self._since, run.started_at)
        while followed.place < run.seq:
            steps = await self._database.read(partial(_read, run_id=run.id, place=followed.place))
            if not steps:
                followed.place = run.seq
                return
            followed.steps.extend(steps)
            followed.place = steps[-1].seq
            self.tell("steps", {"run": run.id, "steps": steps})

    def _forget(self) -> None:
        """Keep the open runs and the newest of the others."""
        ranked = sorted(
            self._followed.values(), key=lambda one: (one.shown.state == "open", one.shown.started_at), reverse=True
        )
        for one in ranked[RUNS:]:
            del self._followed[one.shown.id]
            self.tell("gone", {"run": one.shown.id})

    def _snapshot(self) -> bytes:
        runs = sorted(self._followed.values(), key=lambda one: one.shown.started_at)
        return _frame("snapshot", [{"run": one.shown, "steps": list(one.steps)} for one in runs])


class EventStream:
    """The line to one page, as a response."""

    def __init__(self, live: Live) -> None:
        self._live = live

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"x-accel-buffering", b"no")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        listener = await self._live.join()
        feeding = asyncio.create_task(_feed(listener, send))
        leaving = asyncio.create_task(_gone(receive))
        try:
            await asyncio.wait((feeding, leaving), return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._live.leave(listener)
            for task in (feeding, leaving):
                task.cancel()
            await asyncio.gather(feeding, leaving, return_exceptions=True)


async def _feed(listener: Listener, send: Send) -> None:
    """Pass frames on. A page that does not read for a while loses its line; it will ask for a new one."""
    with contextlib.suppress(TimeoutError, OSError):
        while (frame := await listener.next()) is not None:
            async with asyncio.timeout(_SLOW_SECONDS):
                await send({"type": "http.response.body", "body": frame, "more_body": True})
        async with asyncio.timeout(_SLOW_SECONDS):
            await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        continue


def _read(connection: Connection, run_id: str, place: int) -> list[ShownStep]:
    """The steps behind a place. Where the journal cannot be read, one that says so stands for the rest."""
    try:
        events: list[Recorded] = events_after(connection, run_id, place, _BATCH)
    except HermesError as error:
        text = f"{error} ({error.advice})"
        return [
            ShownStep(
                run_id=run_id, seq=2**53 - 1, at=0.0, kind="damaged", title="cannot be read", text=text, state="bad"
            )
        ]
    return [step_of(event, _LONGEST) for event in events]


def _shown(line: RunLine) -> LiveRun:
    run = line.run
    interrupted = run.status is RunStatus.OPEN and is_interrupted(run, run.lease_until < time.time())
    return LiveRun(
        id=run.id,
        session=run.session_id,
        title=line.title,
        agent=run.agent,
        surface=line.surface,
        model=run.model,
        state="interrupted" if interrupted else run.status.value,
        beside=bool(line.parent),
        started_at=run.started_at,
        finished_at=run.finished_at,
        steps=run.seq,
    )


def _frame(kind: str, value: Any) -> bytes:
    try:
        raw = msgspec.json.encode(value)
    except UnicodeEncodeError:
        raw = msgspec.json.encode(clean_json(msgspec.to_builtins(value)))
    return b"event: " + kind.encode() + b"\ndata: " + raw + b"\n\n"

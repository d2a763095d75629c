"""Replay from the page: would past runs have gone better with a heuristic, without it, or with another set?

One replay at a time, in a thread of its own with an event loop of its own: judging a run is work for the processor, and
the page must go on answering meanwhile.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any, Literal

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ...app import App
from ...learning.past import Window
from ...learning.replay import HeuristicReplay, Report, Target, replayed, set_target, with_target, without_target
from ...store.database import Connection, Database
from ...store.heuristics import Heuristic, read_heuristics, read_set
from ...types.base import Value
from ...types.errors import HermesError, UsageError
from ..cli.learning.replay import in_words
from .answers import answer, body_of

ROWS = 100
_DAY = 86_400.0


class Stopped(HermesError):
    """Somebody stopped the replay."""


class AskedReplay(Value, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to replay: a set by its version, or the past with or without one heuristic; over which runs."""

    how: Literal["set", "with", "without"]
    version: int = 0
    heuristic: str = ""
    family: str = ""
    model: str = ""
    days: int = 0


class ReplayPage:
    """Starts, stops and shows the one replay there is. `told` hears of its progress."""

    def __init__(self, app: App, aside: Database, told: Callable[[str, Any], None]) -> None:
        self._app = app
        self._aside = aside
        self._told = told
        self._task: asyncio.Task[None] | None = None
        self._stop = threading.Event()
        self._state: dict[str, Any] = {"state": "none"}

    def routes(self) -> list[Route]:
        """Where it answers."""
        return [
            Route("/api/replay", self.shown),
            Route("/api/replay", self.start, methods=["POST"]),
            Route("/api/replay", self.stop, methods=["DELETE"]),
        ]

    async def shown(self, request: Request) -> Response:
        """The replay under way, or the last one."""
        return answer(self._state)

    async def start(self, request: Request) -> Response:
        """Begin one, unless one is under way."""
        asked = await body_of(request, AskedReplay)
        if self._task is not None and not self._task.done():
            raise UsageError("a replay is under way", remedy="wait for it, or stop it")
        if not 0 <= asked.days <= 36_500:
            raise UsageError("days is out of range", remedy="choose up to 36500 days; 0 is everything")
        target = await self._target(asked)
        since = time.time() - asked.days * _DAY if asked.days else 0.0
        window = Window(family=asked.family, model=asked.model, since=since)
        self._stop = threading.Event()
        self._set(state="running", words=target.words, runs=0, asked=asked)
        self._task = asyncio.create_task(self._work(target, window))
        return answer(self._state, 202)

    async def stop(self, request: Request) -> Response:
        """Stop the one under way; nothing was changed by it."""
        self._stop.set()
        return answer({"said": "the replay stops", "undo": "start it again"})

    async def close(self) -> None:
        """Stop, and wait until the thread has let go of the database."""
        self._stop.set()
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)

    async def _target(self, asked: AskedReplay) -> Target:
        store, explore = self._app.store, self._app.settings.learning.explore
        if asked.how == "set":

            def unit(connection: Connection) -> dict[str, Heuristic]:
                return read_heuristics(connection, read_set(connection, asked.version).members)

            return set_target(asked.version, (await store.database.read(unit)).values(), explore)
        heuristic = await store.heuristics.get(asked.heuristic)
        return without_target(heuristic) if asked.how == "without" else with_target(heuristic, explore)

    async def _work(self, target: Target, window: Window) -> None:
        loop = asyncio.get_running_loop()
        stop = self._stop

        def progress(runs: int) -> None:
            if stop.is_set():
                raise Stopped("the replay was stopped")
            loop.call_soon_threadsafe(self._moved, runs)

        def work() -> Report:
            return asyncio.run(replayed(self._aside, target, window, progress)).report()

        began = time.monotonic()
        try:
            report = await asyncio.to_thread(work)
        except HermesError as error:
            state = "stopped" if isinstance(error, Stopped) else "failed"
            self._set(state=state, words=target.words, error=str(error), remedy=error.advice)
            return
        ids = [row.id for row in report.heuristics[:ROWS]]
        known = await self._app.store.database.read(lambda connection: read_heuristics(connection, ids))
        rows = [_row(row, known.get(row.id)) for row in report.heuristics[:ROWS]]
        self._set(
            state="done",
            words=report.target,
            runs=report.runs,
            verdict=report.verdict.value,
            said=in_words(report) if report.runs else ["there are no such runs to replay"],
            labels=report.labels,
            rows=rows,
            seconds=time.monotonic() - began,
        )

    def _moved(self, runs: int) -> None:
        if self._state["state"] == "running":
            self._set(**{**self._state, "runs": runs})

    def _set(self, **state: Any) -> None:
        self._state = state
        self._told("replay", state)


def _row(row: HeuristicReplay, heuristic: Heuristic | None) -> dict[str, Any]:
    return {
        "id": row.id,
        "verdict": row.verdict.value,
        "effect": msgspec.to_builtins(row.effect),
        "labels": row.labels,
        "unsupported": row.unsupported,
        "text": f"{heuristic.kind.value}: {heuristic.text}" if heuristic else "(not stored any more)",
    }

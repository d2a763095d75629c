"""Work that nobody waits for while it runs, and that is finished before the process ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any


class Background:
    """Tasks of this process. What one raises is told to `failed` with the task's name and goes no further."""

    def __init__(self, failed: Callable[[str, BaseException], None]) -> None:
        self._failed = failed
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def names(self) -> list[str]:
        """What is under way."""
        return sorted(task.get_name() for task in self._tasks)

    def start(self, work: Coroutine[Any, Any, None], name: str) -> None:
        """Begin `work` on the running loop."""
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._failed(task.get_name(), error)

    async def join(self) -> None:
        """Wait for everything, also for what begins meanwhile. Being cancelled cancels what is left, and waits for
        that: nothing outlives this call."""
        try:
            while self._tasks:
                await asyncio.wait(set(self._tasks))
        finally:
            for task in self._tasks:
                task.cancel()
            while self._tasks:
                await asyncio.wait(set(self._tasks))

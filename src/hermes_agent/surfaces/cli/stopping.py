"""Ctrl-C: the first ends the turn cleanly, the second ends the process. The journal is whole either way."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from typing import NoReturn

from .console import Console

INTERRUPTED = 130


class CtrlC:
    """Handles SIGINT and SIGTERM on the running loop.

    `interrupt` ends the turn and says whether there was one. Where there was none, the task that made this is
    cancelled. Once `answered` is set, there is only waiting left, and one press leaves with that exit code.
    """

    def __init__(self, interrupt: Callable[[], bool], console: Console) -> None:
        self._interrupt = interrupt
        self._console = console
        self._task = asyncio.current_task()
        self._presses = 0
        self.answered: int | None = None
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, self._pressed)

    def _pressed(self) -> None:
        self._presses += 1
        if self.answered is not None:
            leave_at_once(self.answered)
        if self._presses > 1:
            leave_at_once()
        if self._interrupt():
            self._console.note("stopping; press Ctrl-C again to leave at once", "yellow")
        elif self._task is not None:
            self._task.cancel()


def leave_at_once(code: int = INTERRUPTED) -> NoReturn:
    """End the process now. What it was doing is taken up by the next start."""
    sys.stdout.flush()
    os._exit(code)

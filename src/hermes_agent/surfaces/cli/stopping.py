"""Ctrl-C: the first ends the turn cleanly, the second ends the process. The journal is whole either way."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable

from .console import Console

INTERRUPTED = 130


def stop_on_ctrl_c(interrupt: Callable[[], bool], console: Console) -> None:
    """Handle SIGINT and SIGTERM on the running loop. `interrupt` ends the turn and says whether there was one."""
    loop = asyncio.get_running_loop()
    presses = 0

    def pressed() -> None:
        nonlocal presses
        presses += 1
        if presses > 1 or not interrupt():
            os._exit(INTERRUPTED)
        console.note("stopping; press Ctrl-C again to leave at once", "yellow")

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, pressed)

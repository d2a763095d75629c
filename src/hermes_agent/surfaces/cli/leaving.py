"""The end of a command: background work is finished first, and the user may skip it."""

from __future__ import annotations

import asyncio
import signal

from ...app import App
from .console import Console
from .stopping import leave_at_once

_SOON = 0.3


async def finish_background(app: App, console: Console) -> None:
    """Wait for background work; in a terminal say so when it takes a while. The answer is on the screen already.

    Ctrl-C skips what is left and changes no exit code: it is cancelled between two steps, and what it had changed by
    then is whole and can be undone. A second press leaves at once.
    """
    if not app.background.names:
        return
    joining = asyncio.ensure_future(app.background.join())
    skipping = False

    def pressed() -> None:
        nonlocal skipping
        if skipping:
            leave_at_once()
        skipping = True
        joining.cancel()

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, pressed)
    try:
        await asyncio.wait([joining], timeout=_SOON)
        if not joining.done() and console.err.isatty():
            console.note("looking back at this run; Ctrl-C skips it")
        await asyncio.wait([joining])
    finally:
        if not joining.done():
            joining.cancel()
            await asyncio.wait([joining])
    if skipping:
        app.log.note("background_skipped", reason="the user left")

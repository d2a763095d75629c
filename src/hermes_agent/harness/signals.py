"""What can reach a turn from outside while it runs."""

from __future__ import annotations

import asyncio


class Interrupted(Exception):
    """The user, or a message that interrupts, ended the turn."""


class Signals:
    """Set by the driver, watched by the turn. Must be made on the turn's event loop."""

    def __init__(self) -> None:
        self.interrupt = asyncio.Event()
        self.lost = asyncio.Event()
        self.steering = False

"""Who drives a run, in words."""

from __future__ import annotations

import asyncio

import msgspec

from ...app import App
from ...store.runs import Run
from ...tools.sandbox.identity import Life, life_of, own_identity
from ...types.base import Value
from ...types.tools import ProcessIdentity
from .console import Console

_FIRST_LOOK = 0.3
_NEXT_LOOK = 1.0


class Driver(Value, frozen=True, kw_only=True):
    """The process that holds a run's lease, as far as it can be seen from here."""

    pid: int
    host: str
    life: Life


def driver_of(run: Run) -> Driver | None:
    """Who holds the run; None when the lease does not say."""
    identity = _identity(run)
    if identity is None:
        return None
    return Driver(pid=identity.pid, host=identity.host.partition(":")[0], life=life_of(identity))


def is_interrupted(run: Run, expired: bool) -> bool:
    """Nobody drives it: its lease ran out, or its driver was a process of this machine that is gone."""
    driver = driver_of(run)
    return expired or (driver is not None and driver.life is Life.DEAD)


def in_words(run: Run) -> str:
    """`process 123 on host`."""
    driver = driver_of(run)
    return "an unknown process" if driver is None else f"process {driver.pid} on {driver.host}"


async def say_when_waiting(app: App, session_id: str, console: Console) -> None:
    """Tell once when another process drives the session, then end. Cancel it when the wait is over."""
    ours = own_identity()
    await asyncio.sleep(_FIRST_LOOK)
    while True:
        opened = await app.store.runs.open_run_of(session_id)
        if opened is not None and not is_interrupted(*opened) and _identity(opened[0]) != ours:
            console.note(f"another terminal is driving this session ({in_words(opened[0])}); waiting", "yellow")
            return
        await asyncio.sleep(_NEXT_LOOK)


def _identity(run: Run) -> ProcessIdentity | None:
    try:
        return msgspec.json.decode(run.holder, type=ProcessIdentity)
    except msgspec.MsgspecError:
        return None

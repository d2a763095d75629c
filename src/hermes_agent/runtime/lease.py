"""Keeps the leases of the runs this process drives, from a thread of its own: a busy event loop loses none."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable

from ..harness.signals import Signals
from ..store.runs import Run, Runs
from ..types.errors import HermesError, LeaseLost
from ..types.events import InboxMode


class Heartbeat:
    """Renews leases and passes on what waits in the inbox: steering, interruption, a lost lease."""

    def __init__(self, runs: Runs, interval: float, patience: float) -> None:
        self._runs = runs
        self._interval = interval
        self._patience = patience
        self._lock = threading.Lock()
        self._held: dict[str, tuple[Run, Signals, asyncio.AbstractEventLoop]] = {}
        self._renewed: dict[str, float] = {}
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None

    def hold(self, run: Run, signals: Signals) -> None:
        """Keep this run's lease until `release`. Call it on the loop that drives the run."""
        with self._lock:
            self._held[run.id] = (run, signals, asyncio.get_running_loop())
            self._renewed[run.id] = time.monotonic()
            if self._thread is None:
                self._thread = threading.Thread(target=self._beat, name="hermes-heartbeat", daemon=True)
                self._thread.start()

    def release(self, run_id: str) -> None:
        """The run is over, or somebody else's."""
        with self._lock:
            self._held.pop(run_id, None)
            self._renewed.pop(run_id, None)

    def close(self) -> None:
        """Stop beating."""
        self._wake.set()
        if self._thread is not None:
            self._thread.join()

    def _beat(self) -> None:
        while not self._wake.wait(self._interval):
            with self._lock:
                held = list(self._held.values())
            for run, signals, loop in held:
                self._renew(run, signals, loop)

    def _renew(self, run: Run, signals: Signals, loop: asyncio.AbstractEventLoop) -> None:
        try:
            waiting = self._runs.renew(run)
        except LeaseLost:
            still_held = run.id in self._held
            if still_held:
                _tell(loop, signals.lost.set)
        except HermesError:
            if time.monotonic() - self._renewed.get(run.id, time.monotonic()) > self._patience:
                _tell(loop, signals.lost.set)
        else:
            self._renewed[run.id] = time.monotonic()
            if InboxMode.STEER in waiting:
                signals.steering = True
            if InboxMode.INTERRUPT in waiting:
                _tell(loop, signals.interrupt.set)


def _tell(loop: asyncio.AbstractEventLoop, callback: Callable[[], None]) -> None:
    try:
        loop.call_soon_threadsafe(callback)
    except RuntimeError:  # the loop ended with the run
        return

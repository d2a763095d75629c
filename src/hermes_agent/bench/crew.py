"""Histories side by side, each in a process of its own, which end with whoever started them."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from types import FrameType

from .study import Study

_LEAVING = 3.0
"""How many seconds processes have to close their files when they are stopped; then they are killed."""


class Crew:
    """Gives studies to processes, `most` at a time. `live` returns what went wrong, empty when nothing did."""

    def __init__(self, studies: Sequence[Study], most: int, live: Callable[[Study], str]) -> None:
        self._studies = studies
        self._most = max(1, most)
        self._live = live
        self._context = multiprocessing.get_context("spawn")
        self._working: dict[int, tuple[SpawnProcess, Connection]] = {}
        self._begun = 0
        self._said: dict[int, str] = {}

    def problems(self) -> list[str]:
        """What went wrong so far, in the order of the studies."""
        return [self._said[place] for place in sorted(self._said) if self._said[place]]

    def work(self, seconds: float) -> bool:
        """Keep all hands busy for up to so many seconds; less when somebody ends. False when nothing is left."""
        while len(self._working) < self._most and self._begun < len(self._studies):
            self._begin(self._begun)
            self._begun += 1
        said = set(wait([answers for _, answers in self._working.values()], seconds))
        for place, (process, answers) in list(self._working.items()):
            if answers in said:
                self._said[place] = self._answer(self._studies[place], process, answers)
                del self._working[place]
        return bool(self._working) or self._begun < len(self._studies)

    def stop(self) -> None:
        """End every process now, without waiting for its history: that goes on from there next time."""
        processes = [process for process, _ in self._working.values() if process.pid is not None]
        for process in processes:
            process.terminate()
        until = time.monotonic() + _LEAVING
        for process in processes:
            process.join(max(0.0, until - time.monotonic()))
            if process.is_alive():
                process.kill()
                process.join()
        for _, answers in self._working.values():
            answers.close()
        self._working.clear()

    def _begin(self, place: int) -> None:
        answers, saying = self._context.Pipe(duplex=False)
        process = self._context.Process(target=_work, args=(self._live, self._studies[place], saying))
        self._working[place] = process, answers
        process.start()
        saying.close()

    def _answer(self, study: Study, process: SpawnProcess, answers: Connection) -> str:
        try:
            said = str(answers.recv())
            process.join()
        except (EOFError, OSError):
            process.join()
            said = f"the process of {study.name}, arm {study.arm}, seed {study.seed} ended with {process.exitcode}"
        answers.close()
        process.close()
        return said


def _work(live: Callable[[Study], str], study: Study, saying: Connection) -> None:
    """What a process does. Whoever stops it, by the keyboard or by a signal, gets no traceback; when the one that
    started it was killed, it ends as well."""
    signal.signal(signal.SIGTERM, _leave)
    signal.signal(signal.SIGINT, _leave)
    threading.Thread(target=_follow, name="follow", daemon=True).start()
    saying.send(live(study))


def _follow() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)


def _leave(number: int, _frame: FrameType | None) -> None:
    sys.exit(128 + number)

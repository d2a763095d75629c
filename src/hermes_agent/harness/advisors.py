"""Advisors without learning: one that is silent, and one that asks a store of the program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ..types.advice import Advice, Failure, Moment, Ruling, Situation, Steer
from ..types.trace import Trace


class SilentAdvisor:
    """Knows nothing and allows everything."""

    async def advise(self, situation: Situation) -> Advice:
        return Advice()

    async def resume(self, situation: Situation, version: int) -> None:
        return None

    def review(self, moment: Moment) -> Ruling:
        return Ruling()

    def weigh_retry(self, failure: Failure, situation: Situation) -> Ruling:
        return Ruling()

    def repair(self, failure: Failure, situation: Situation) -> Ruling:
        return Ruling()

    async def learn(self, trace: Trace) -> None:
        return None


class HeuristicStore(Protocol):
    """Learned heuristics as the library's users see them."""

    def query(self, situation: Situation | str) -> Sequence[str]: ...

    def learn_from_trace(self, trace: Trace) -> None: ...

    def is_known_failure(self, step: str, error: str) -> bool: ...


class StoreAdvisor:
    """Advice from a heuristic store: its answers become hints, its known failures are not retried."""

    def __init__(self, store: HeuristicStore) -> None:
        self._store = store

    async def advise(self, situation: Situation) -> Advice:
        return Advice(hints=tuple(self._store.query(situation)), family=situation.family)

    async def resume(self, situation: Situation, version: int) -> None:
        return None

    def review(self, moment: Moment) -> Ruling:
        return Ruling()

    def weigh_retry(self, failure: Failure, situation: Situation) -> Ruling:
        if self._store.is_known_failure(failure.tool, failure.error):
            return Ruling(steer=Steer(reason="known to be futile here"))
        return Ruling()

    def repair(self, failure: Failure, situation: Situation) -> Ruling:
        return Ruling()

    async def learn(self, trace: Trace) -> None:
        self._store.learn_from_trace(trace)

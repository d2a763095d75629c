"""Plain Thompson sampling as an advisor: what a textbook bandit reaches, to compare regret with.

It keeps one Beta distribution per family and tool, samples one rate for each way of every function, and hints the best.
It knows no contexts within a family, no coins, no evidence, and never forgets.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from benchmarks.learning.world import Pool
from hermes_agent.models.providers.apprentice import parse_steps
from hermes_agent.types.advice import Advice, Failure, Moment, Ruling, Situation
from hermes_agent.types.trace import CallStatus, Trace

_COUNTED = (CallStatus.OK, CallStatus.ERROR, CallStatus.TIMEOUT)
_NOT_THE_TOOLS_FAULT = ("bad_arguments", "unknown_tool", "unavailable")


class Thompson:
    """An advisor that hints one sampled way for each function a request names."""

    def __init__(self, pool: Pool, seed: int) -> None:
        self._pool = pool
        self._rng = random.Random(f"thompson:{seed}")
        self._counts: dict[tuple[str, str], tuple[int, int]] = {}

    async def advise(self, situation: Situation) -> Advice:
        listed = [[way.tool for way in step.ways] for step in parse_steps(situation.request)]
        chosen = {self._sampled(situation.family, ways) for ways in listed if len(ways) > 1}
        return Advice(hints=tuple(f"Use `{tool}`." for tool in sorted(chosen)), family=situation.family)

    def _sampled(self, family: str, ways: Sequence[str]) -> str:
        def rate(tool: str) -> float:
            worked, failed = self._counts.get((family, tool), (0, 0))
            return self._rng.betavariate(1 + worked, 1 + failed)

        return max(ways, key=rate)

    async def resume(self, situation: Situation, version: int) -> None:
        return None

    def review(self, moment: Moment) -> Ruling:
        return Ruling()

    def weigh_retry(self, failure: Failure, situation: Situation) -> Ruling:
        return Ruling()

    def repair(self, failure: Failure, situation: Situation) -> Ruling:
        return Ruling()

    async def learn(self, trace: Trace) -> None:
        for call in trace.calls:
            if call.status in _COUNTED and call.error not in _NOT_THE_TOOLS_FAULT:
                worked, failed = self._counts.get((trace.family, call.tool), (0, 0))
                good = call.status is CallStatus.OK
                self._counts[trace.family, call.tool] = (worked + good, failed + (not good))

"""Notices when learning harms: a CUSUM of e-values per family and model, with a known rate of false alarms."""

from __future__ import annotations

import math

from ..types.base import Value

NOTIFY = 100.0
ROLL_BACK = 250.0
_SLACK = 0.05
_DROPS = (0.1, 0.2, 0.35)
_LOWEST = 0.02


class Watch(Value, frozen=True, kw_only=True):
    """One family on one model. `floor` is the rate below which something is wrong: the lower bound of the baseline,
    less a little. `logs` has one CUSUM for each size of drop that is looked for."""

    floor: float
    logs: tuple[float, ...] = ()
    tasks: int = 0

    def seen(self, *, success: bool) -> Watch:
        """One more task under the set that is watched."""
        before = self.logs or (0.0,) * len(self.rates())
        logs = tuple(
            max(0.0, log) + math.log(rate / self.floor if success else (1 - rate) / (1 - self.floor))
            for log, rate in zip(before, self.rates(), strict=True)
        )
        return Watch(floor=self.floor, logs=logs, tasks=self.tasks + 1)

    def restarted(self) -> float:
        """The value that the next step multiplies: a CUSUM never remembers more good news than none."""
        return sum(math.exp(max(0.0, log)) for log in self.logs or (0.0,)) / len(self.logs or (0.0,))

    def rates(self) -> tuple[float, ...]:
        """The success rates that would be a drop."""
        return tuple(rate for drop in _DROPS if _LOWEST < (rate := self.floor - drop) < 1)

    def alarm(self) -> float:
        """The mean over the sizes of drop; on average at least as many tasks pass before a false alarm so high."""
        if not self.logs:
            return 0.0
        return sum(math.exp(min(log, 600.0)) for log in self.logs) / len(self.logs)


def floor_of(successes: int, tasks: int, confidence_z: float = 1.645) -> float:
    """The lower end of the Wilson interval of a measured baseline, less the slack that learning may cost."""
    if not tasks:
        return 0.0
    rate, z2 = successes / tasks, confidence_z**2
    centre = (rate + z2 / (2 * tasks)) / (1 + z2 / tasks)
    spread = confidence_z * math.sqrt(rate * (1 - rate) / tasks + z2 / (4 * tasks**2)) / (1 + z2 / tasks)
    return max(0.0, centre - spread - _SLACK)


def threshold(families: int, base: float = ROLL_BACK) -> float:
    """When to roll back by itself: higher the more families are watched, so that all together stay as quiet."""
    return base * max(1, families)

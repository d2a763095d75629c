"""What a case study comes to: a table by ranges of iterations, a fitted curve, and whether a gain is one.

Definitions. Time: seconds really spent in tools plus the policy's own, which are simulated where the policy is.
Recovery: the share of runs with at least one failed call that still end in success. Reuse: the share of runs in which
a skill was read that an agent had written.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from statistics import fmean

from ..learning.curves import Fit, fit, moving_mean
from ..types.base import Value
from .study import Arm, TaskRecord

RANGES = ((1, 10), (11, 20), (21, 30), (31, 50), (51, 100))
"""The ranges of the first description's table."""
SEED_TABLE = {
    (1, 10): (0.52, 184.0, 0.0, 0.43),
    (11, 20): (0.67, 143.0, 0.8, 0.61),
    (21, 30): (0.74, 112.0, 1.4, 0.72),
    (31, 50): (0.81, 89.0, 2.1, 0.79),
    (51, 100): (0.87, 71.0, 3.2, 0.85),
}
"""Its figures: success, seconds, skills reused a task, recovery. For comparison only; nobody measured them here."""
_WINDOW = 10
_RESAMPLED = 2_000

Histories = Mapping[Arm, Sequence[Sequence[TaskRecord]]]
"""For each arm, the histories of all seeds."""


class Row(Value, frozen=True, kw_only=True):
    """One range of iterations. Figures are None where there is nothing to take them from."""

    first: int
    last: int
    tasks: int
    success: float | None
    seconds: float | None
    tool_seconds: float | None
    reuse: float | None
    skills: float | None
    recovery: float | None


class Gain(Value, frozen=True, kw_only=True):
    """How much success rose from the first iterations to the last, in points, with a 95 % interval over seeds and
    tasks. `real` when the interval is above zero."""

    points: float
    low: float
    high: float

    @property
    def real(self) -> bool:
        """Whether chance is no explanation."""
        return self.low > 0


class ArmReport(Value, frozen=True, kw_only=True):
    """One arm."""

    arm: Arm
    seeds: int
    rows: tuple[Row, ...]
    gain: Gain | None
    curve: Fit | None
    points: tuple[tuple[int, float], ...]


class Report(Value, frozen=True, kw_only=True):
    """A whole study. `simulated` when the policy is no model."""

    name: str
    policy: str
    simulated: bool
    iterations: int
    arms: tuple[ArmReport, ...]
    finished: bool


def ranges(iterations: int) -> list[tuple[int, int]]:
    """The ranges that a study of so many iterations reaches, the last one cut off where it ends."""
    found = [(first, min(last, iterations)) for first, last in RANGES if first <= iterations]
    if iterations > RANGES[-1][1]:
        found.append((RANGES[-1][1] + 1, iterations))
    return found


def report(name: str, policy: str, iterations: int, histories: Histories, *, simulated: bool) -> Report:
    """Everything there is to say about these histories, finished or not."""
    arms = tuple(_arm(arm, lived, iterations) for arm, lived in histories.items())
    finished = all(len(one) >= iterations for lived in histories.values() for one in lived)
    return Report(name=name, policy=policy, simulated=simulated, iterations=iterations, arms=arms, finished=finished)


def _arm(arm: Arm, lived: Sequence[Sequence[TaskRecord]], iterations: int) -> ArmReport:
    points = [(record.number, float(record.success)) for history in lived for record in history]
    points.sort()
    means = [
        (number, fmean(record.success for history in lived for record in history[number : number + 1]))
        for number in range(max((len(history) for history in lived), default=0))
    ]
    return ArmReport(
        arm=arm,
        seeds=len(lived),
        rows=tuple(_row(first, last, lived) for first, last in ranges(iterations)),
        gain=gain(lived),
        curve=fit(points) if points else None,
        points=tuple(moving_mean(means, _WINDOW)),
    )


def _row(first: int, last: int, lived: Sequence[Sequence[TaskRecord]]) -> Row:
    records = [record for history in lived for record in history[first - 1 : last]]
    troubled = [record for record in records if record.errors]

    def mean(values: Sequence[float]) -> float | None:
        return round(fmean(values), 4) if values else None

    return Row(
        first=first,
        last=last,
        tasks=len(records),
        success=mean([record.success for record in records]),
        seconds=mean([record.seconds for record in records]),
        tool_seconds=mean([record.tool_seconds for record in records]),
        reuse=mean([bool(record.skills) for record in records]),
        skills=mean([len(record.skills) for record in records]),
        recovery=mean([record.success for record in troubled]),
    )


def gain(lived: Sequence[Sequence[TaskRecord]]) -> Gain | None:
    """From the first ten iterations to the second half: resampled over seeds, and over the tasks of each."""
    parts = [(history[:10], history[len(history) // 2 :]) for history in lived if len(history) >= 20]
    if not parts:
        return None
    rng = random.Random(0)
    seen = []
    for _ in range(_RESAMPLED):
        drawn = rng.choices(parts, k=len(parts))
        early = [record.success for first, _ in drawn for record in rng.choices(first, k=len(first))]
        late = [record.success for _, second in drawn for record in rng.choices(second, k=len(second))]
        seen.append(100 * (fmean(late) - fmean(early)))
    seen.sort()
    early, late = ([record.success for pair in parts for record in pair[side]] for side in (0, 1))
    return Gain(
        points=round(100 * (fmean(late) - fmean(early)), 2),
        low=round(seen[int(0.025 * _RESAMPLED)], 2),
        high=round(seen[int(0.975 * _RESAMPLED)], 2),
    )

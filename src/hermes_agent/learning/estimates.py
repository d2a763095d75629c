"""Estimates from weighted runs: SNIPS, inverse propensities, effective sample sizes, and when there is a verdict."""

from __future__ import annotations

import math
from enum import StrEnum

from ..types.base import Value

ENOUGH = 50.0
"""The effective sample size below which there is no verdict."""
_Z = 1.96


class Verdict(StrEnum):
    """What the evidence says about a heuristic, or about the target as a whole."""

    HELPS = "helps"
    HARMS = "harms"
    UNKNOWN = "unknown"


class Sums:
    """Weighted successes, added up as they come: a million runs need no more room than one."""

    __slots__ = ("runs", "successes", "w", "w2", "w2y", "wy")

    def __init__(self) -> None:
        self.runs, self.successes = 0, 0
        self.w = self.wy = self.w2 = self.w2y = 0.0

    def add(self, weight: float, success: bool, times: int = 1) -> None:
        """One more run; `times=-1` takes one out again."""
        self.runs += times
        self.w += times * weight
        self.w2 += times * weight * weight
        if success:
            self.successes += times
            self.wy += times * weight
            self.w2y += times * weight * weight

    @property
    def ess(self) -> float:
        """How many equally weighted runs say as much."""
        return self.w * self.w / self.w2 if self.w > 0 and self.w2 > 0 else 0.0

    @property
    def snips(self) -> float | None:
        """The weighted mean of success; None when nothing has weight."""
        return min(1.0, max(0.0, self.wy / self.w)) if self.ess else None

    @property
    def rate(self) -> float:
        """Success as it was logged."""
        return self.successes / self.runs if self.runs else 0.0

    def variance(self) -> float:
        """Of `snips`, by the delta method. Where all outcomes agree, an estimate that is drawn towards one half."""
        mean = self.snips
        if mean is None:
            return 1.0
        squares = (self.w2y * (1 - mean) ** 2 + (self.w2 - self.w2y) * mean**2) / self.w**2
        return max(squares, _drawn(mean, self.ess) / self.ess)

    def variance_of_gain(self) -> float:
        """Of `snips - rate`: both are of the same runs, so what they share cancels."""
        mean, rate, n = self.snips, self.rate, self.runs
        if mean is None or n < 2:
            return 1.0
        scale = n / self.w
        good, bad = self.successes, n - self.successes
        hit = scale**2 * (1 - mean) ** 2 * self.w2y - 2 * scale * (1 - mean) * (1 - rate) * self.wy
        hit += good * (1 - rate) ** 2
        miss = scale**2 * mean**2 * (self.w2 - self.w2y) - 2 * scale * mean * rate * (self.w - self.wy)
        miss += bad * rate**2
        return max((hit + miss) / (n * (n - 1)), _drawn(mean, self.ess) * (1 / self.ess - 1 / n))


def _drawn(mean: float, ess: float) -> float:
    drawn = (mean * ess + 2) / (ess + 4)
    return drawn * (1 - drawn)


class Effect(Value, frozen=True, kw_only=True):
    """What a heuristic's own coin says: success where it acted and where it was held back, both inversely weighted by
    propensity. `ess` is that of the smaller side."""

    applied: float | None = None
    withheld: float | None = None
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    ess: float = 0.0
    runs: int = 0


def effect_of(on: Sums, off: Sums) -> Effect:
    """The difference a coin made, with its 95 % interval."""
    runs, ess = on.runs + off.runs, min(on.ess, off.ess)
    applied, withheld = on.snips, off.snips
    if applied is None or withheld is None:
        return Effect(applied=applied, withheld=withheld, runs=runs)
    low, high = _interval(applied - withheld, on.variance() + off.variance())
    return Effect(
        applied=applied, withheld=withheld, difference=applied - withheld, low=low, high=high, ess=ess, runs=runs
    )


class Comparison(Value, frozen=True, kw_only=True):
    """The runs that can be judged, as they went and as they would have gone. `ess` counts the runs in which something
    would have been decided differently; None figures mean that nothing can be said."""

    runs: int = 0
    copied: int = 0
    as_logged: float | None = None
    under_target: float | None = None
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    ess: float = 0.0


class Strata:
    """Runs by how they can be judged: copied, done again, weighted."""

    def __init__(self) -> None:
        self.same, self.again, self.weighted = Sums(), Sums(), Sums()
        self.gains, self.gains2 = 0, 0

    def compare(self) -> Comparison:
        """The weighted part estimated, the others as they are known."""
        same, again, weighted = self.same, self.again, self.weighted
        parts = [same, again] if weighted.snips is None else [same, again, weighted]
        runs = sum(part.runs for part in parts)
        if not runs:
            return Comparison()
        logged = sum(part.successes for part in parts)
        gain, variance = float(self.gains), 0.0
        if again.runs > 1:
            mean = self.gains / again.runs
            variance += again.runs * max(self.gains2 / again.runs - mean**2, 1 / (again.runs + 4))
        if weighted.snips is not None:
            gain += weighted.runs * (weighted.snips - weighted.rate)
            variance += weighted.runs**2 * weighted.variance_of_gain()
        low, high = _interval(gain / runs, variance / runs**2)
        return Comparison(
            runs=runs,
            copied=same.runs,
            as_logged=logged / runs,
            under_target=(logged + gain) / runs,
            difference=gain / runs,
            low=low,
            high=high,
            ess=weighted.ess + again.runs,
        )


def _interval(value: float, variance: float) -> tuple[float, float]:
    half = _Z * math.sqrt(max(0.0, variance))
    return max(-1.0, value - half), min(1.0, value + half)


def verdict_of(found: Effect | Comparison) -> Verdict:
    """Whether the interval leaves out zero, where the sample is large enough to say so."""
    if found.low is None or found.high is None or found.ess < ENOUGH:
        return Verdict.UNKNOWN
    return Verdict.HELPS if found.low > 0 else Verdict.HARMS if found.high < 0 else Verdict.UNKNOWN

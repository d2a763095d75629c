"""Learning curves: what runs show over time, fitted to a - (a - i) * exp(-r n), and the reference curves beside them.

The fit is least squares: for a given rate r the best a and i have a closed form, and r is looked for on a grid that is
refined once. The intervals come from a wild bootstrap (each residual keeps its size and gets a random sign), which
supposes neither equal spread nor a shape, and so serves successes and seconds alike. Curves describe; nothing is
promoted or rolled back by them.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from operator import mul
from pathlib import Path

import msgspec

from ..store.learning_views import RunPoint, entropy
from ..types.base import Value

FEWEST = 8
"""Below so many points three parameters would fit anything."""
LEVEL = 0.8
_BINS = 48
_RATES = tuple(10 ** (-3.5 + 0.15 * step) for step in range(26))
_FINER = (0.075, 0.04, 0.02, 0.01, 0.005, 0.0025, 0.00125)
_REPLICATES = 200
_OUTER = 0.025
_REFERENCES = Path(__file__).parent / "reference_curves.json"


class Curve(Value, frozen=True, kw_only=True):
    """asymptote - (asymptote - initial) * exp(-rate * n)"""

    initial: float
    asymptote: float
    rate: float

    def at(self, n: float) -> float:
        """The value after n iterations."""
        return self.asymptote - (self.asymptote - self.initial) * math.exp(-self.rate * n)

    def iterations_to(self, level: float) -> float | None:
        """After how many iterations the curve has risen to `level`; None if it never does."""
        if self.initial >= level:
            return 0.0
        if self.asymptote <= level or self.rate <= 0:
            return None
        return math.log((self.asymptote - self.initial) / (self.asymptote - level)) / self.rate


class Reference(Value, frozen=True, kw_only=True):
    """A curve to hold one's own against. `label` says where it comes from."""

    domain: str
    label: str
    curve: Curve
    stated_iterations_to_80: int

    def time_reduction(self, n: float) -> float:
        """The share of the time saved after n iterations, as the reference has it."""
        return 1 - math.exp(-0.7 * self.curve.rate * n)


class Interval(Value, frozen=True, kw_only=True):
    """95 % of the bootstrap lies inside. None as an end: not within any number of iterations."""

    low: float | None
    high: float | None


class Fit(Value, frozen=True, kw_only=True):
    """A fitted curve with its intervals. `rises` when even the lower end of the gain is above nothing."""

    label: str = "measured"
    runs: int
    curve: Curve
    initial: Interval
    asymptote: Interval
    rate: Interval
    iterations_to_80: float | None
    iterations_to_80_interval: Interval
    rises: bool


class Series(Value, frozen=True, kw_only=True):
    """One figure over iterations: (iteration, value) of every run that has it, its moving mean, and the fit."""

    name: str
    points: tuple[tuple[int, float], ...]
    window: tuple[tuple[int, float], ...]
    fit: Fit | None


class Measured(Value, frozen=True, kw_only=True):
    """All curves of some runs, the oldest being iteration 0. `entropy` is that of the plans in the window, in bits;
    `trend` the success rate of the last window less that of the window before, None before there are two."""

    runs: int
    window: int
    success: Series
    seconds: Series
    recovery: Series
    reuse: Series
    entropy: tuple[tuple[int, float], ...]
    trend: float | None


def measured(runs: Sequence[RunPoint], window: int) -> Measured:
    """The curves of runs, oldest first. Runs that nobody could judge have a duration, and no success."""
    numbered = list(enumerate(runs))
    success = [(n, float(run.success)) for n, run in numbered if run.success is not None]
    recovery = [(n, float(run.recovered)) for n, run in numbered if run.errors and run.success is not None]
    longest = max((run.seconds for run in runs), default=0.0)
    return Measured(
        runs=len(runs),
        window=window,
        success=_series("success", success, window),
        seconds=_series("seconds", [(n, run.seconds) for n, run in numbered], window, high=longest),
        recovery=_series("recovery", recovery, window),
        reuse=_series("reuse", [(n, float(run.advised)) for n, run in numbered], window),
        entropy=_entropies(runs, window),
        trend=_trend([value for _, value in success], window),
    )


def moving_mean(points: Sequence[tuple[int, float]], window: int) -> list[tuple[int, float]]:
    """The mean of the last `window` values at every point."""
    means: list[tuple[int, float]] = []
    total = 0.0
    for place, (n, value) in enumerate(points):
        total += value - (points[place - window][1] if place >= window else 0.0)
        means.append((n, total / min(place + 1, window)))
    return means


def fit(points: Sequence[tuple[int, float]], *, high: float = 1.0, seed: int = 0) -> Fit | None:
    """The curve through (iteration, value), with both ends between 0 and `high`. None if there are too few points."""
    if len(points) < FEWEST:
        return None
    design = _Design(_binned(points), high)
    values = [mean for _, mean, _ in design.bins]
    curve = design.solve(values, _FINER)
    fitted = [curve.at(n) for n, _, _ in design.bins]
    larger = math.sqrt(len(values) / max(1, len(values) - 3))
    flipped = [
        (at + larger * (value - at), at - larger * (value - at)) for value, at in zip(values, fitted, strict=True)
    ]
    coin = random.Random(seed)
    again = [design.solve([either[coin.random() < 0.5] for either in flipped]) for _ in range(_REPLICATES)]
    last = max(n for n, _ in points)
    return Fit(
        runs=len(points),
        curve=curve,
        initial=_interval([one.initial for one in again]),
        asymptote=_interval([one.asymptote for one in again]),
        rate=_interval([one.rate for one in again]),
        iterations_to_80=curve.iterations_to(LEVEL),
        iterations_to_80_interval=_interval([_or_never(one.iterations_to(LEVEL)) for one in again]),
        rises=_quantile([one.at(last) - one.initial for one in again], _OUTER) > 0,
    )


@lru_cache(maxsize=1)
def references() -> dict[str, Reference]:
    """The reference curves by domain."""
    raw = msgspec.json.decode(_REFERENCES.read_bytes())
    return {
        domain: Reference(
            domain=domain,
            label=raw["label"],
            curve=Curve(initial=one["initial"], asymptote=one["asymptote"], rate=one["rate"]),
            stated_iterations_to_80=one["stated_iterations_to_80"],
        )
        for domain, one in raw["domains"].items()
    }


class _Design:
    """The sums of the normal equations that depend on the iterations alone, so that a bootstrap pays for them once."""

    def __init__(self, bins: Sequence[tuple[float, float, float]], high: float) -> None:
        self.bins = bins
        self._high = high
        self._weights = [weight for _, _, weight in bins]
        self._total = sum(self._weights)
        self._columns = [self._column(rate) for rate in _RATES]

    def solve(self, values: Sequence[float], finer: Sequence[float] = ()) -> Curve:
        """The best curve through new values at the same iterations; `finer` are steps between the rates of the grid."""
        weighted = list(map(mul, self._weights, values))
        total = sum(weighted)
        tried = [self._ends(column, weighted, total) for column in self._columns]
        loss, initial, asymptote, place = min((*one, at) for at, one in enumerate(tried))
        curve = Curve(initial=initial, asymptote=asymptote, rate=_RATES[place])
        for step in finer:
            for rate in (curve.rate * 10**-step, curve.rate * 10**step):
                again = self._ends(self._column(rate), weighted, total)
                if again[0] < loss:
                    loss, curve = again[0], Curve(initial=again[1], asymptote=again[2], rate=rate)
        return curve

    def _column(self, rate: float) -> tuple[list[float], float, float]:
        decays = [math.exp(-rate * n) for n, _, _ in self.bins]
        weighted = list(map(mul, self._weights, decays))
        return decays, sum(weighted), sum(map(mul, weighted, decays))

    def _ends(
        self, column: tuple[list[float], float, float], weighted: Sequence[float], total: float
    ) -> tuple[float, float, float]:
        """(loss less a constant, initial, asymptote) for one rate. The loss is a bowl over the two ends: its lowest
        point inside the square of allowed values is inside, on an edge, or in a corner."""
        decays, once, twice = column
        mixed = sum(map(mul, weighted, decays))
        # y = i * e + a * (1 - e)
        ii, aa, ia = twice, self._total - 2 * once + twice, once - twice
        yi, ya = mixed, total - mixed

        def loss(initial: float, asymptote: float) -> tuple[float, float, float]:
            bowl = ii * initial**2 + aa * asymptote**2 + 2 * ia * initial * asymptote
            return bowl - 2 * (yi * initial + ya * asymptote), initial, asymptote

        def held(value: float) -> float:
            return min(self._high, max(0.0, value))

        determinant = ii * aa - ia * ia
        if determinant > 1e-9 * max(ii, aa) ** 2:
            initial, asymptote = (yi * aa - ya * ia) / determinant, (ya * ii - yi * ia) / determinant
            if 0 <= initial <= self._high and 0 <= asymptote <= self._high:
                return loss(initial, asymptote)
        edges = []
        for end in (0.0, self._high):
            edges.append(loss(end, held((ya - ia * end) / aa if aa > 0 else end)))
            edges.append(loss(held((yi - ia * end) / ii if ii > 0 else end), end))
        mean = held(total / self._total)
        return min(*edges, loss(mean, mean))


def _binned(points: Sequence[tuple[int, float]]) -> list[tuple[float, float, float]]:
    """(iteration, mean, number of points), at most so many: a long history costs no more than a short one. The bins
    grow with the iterations, because a curve bends where it begins."""
    if len(points) <= _BINS:
        return [(float(n), value, 1.0) for n, value in points]
    edges = sorted({round(len(points) * (place / _BINS) ** 1.5) for place in range(1, _BINS + 1)} | {0})
    bins = []
    for start, end in pairwise(edges):
        part = points[start:end]
        bins.append((sum(n for n, _ in part) / len(part), sum(value for _, value in part) / len(part), len(part) + 0.0))
    return bins


def _series(name: str, points: Sequence[tuple[int, float]], window: int, *, high: float = 1.0) -> Series:
    found = fit(points, high=high) if high > 0 else None
    return Series(name=name, points=tuple(points), window=tuple(moving_mean(points, window)), fit=found)


def _entropies(runs: Sequence[RunPoint], window: int) -> tuple[tuple[int, float], ...]:
    counts: dict[str, int] = {}
    found = []
    for n, run in enumerate(runs):
        counts[run.plan] = counts.get(run.plan, 0) + 1
        if n >= window:
            counts[runs[n - window].plan] -= 1
        found.append((n, entropy(counts.values())))
    return tuple(found)


def _trend(values: Sequence[float], window: int) -> float | None:
    if len(values) < 2 * window:
        return None
    return (sum(values[-window:]) - sum(values[-2 * window : -window])) / window


def _or_never(iterations: float | None) -> float:
    return math.inf if iterations is None else iterations


def _quantile(values: Iterable[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def _interval(values: Sequence[float]) -> Interval:
    low, high = _quantile(values, _OUTER), _quantile(values, 1 - _OUTER)
    return Interval(low=None if math.isinf(low) else low, high=None if math.isinf(high) else high)

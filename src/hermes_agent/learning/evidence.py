"""The mathematics of learning: e-values on calls, bets on tasks, discounted rates. Pure functions on small values.

An e-value is a product that a true null hypothesis keeps small: whenever one looks, the chance that it has ever reached
1/α is at most α. So evidence may be looked at after every trace, for ever, without a correction. Priors, imports and
other families never enter one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..types.base import Value

_PAIR_RATES = (0.9, 0.75)
ACT = 20.0
RESTORE = 5.0
DISCOUNT = 0.99
_HALF = 0.5
_FAILING = (0.05, 0.15, 0.3)
_WORKING = (0.95, 0.85, 0.7)
_AT_ONCE = 0.875
_HOPE, _CAUTION = 15.0, 100.0
_LATER = 1 - _AT_ONCE


class CallEvidence(Value, frozen=True, kw_only=True):
    """Evidence that a tool does not work in a situation (`against`) or works again (`restored`).

    Both hold one logarithm per alternative rate. `worked` and `failed` count what was observed: one observation per
    trace and argument digest.

    `against` is a mixture over the moment at which the tool may have broken: nearly all of the stake is laid before the
    first observation, the rest is spread over the later ones (1/(s(s-1)) of it before the s-th). So a tool that
    worked a hundred times and then breaks is still found, and the whole stays one e-value: no stake is laid twice.
    `restored` starts again whenever it falls below one, because it looks for the moment of a repair.
    """

    against: tuple[float, ...] = (math.log(_AT_ONCE),) * len(_FAILING)
    restored: tuple[float, ...] = (0.0,) * len(_WORKING)
    steps: int = 0
    worked: int = 0
    failed: int = 0

    def seen(self, *, worked: bool) -> CallEvidence:
        """One more observation, made without avoiding the tool."""
        return self._observed(worked, self.restored)

    def explored(self, *, worked: bool) -> CallEvidence:
        """One more observation, made although the tool is avoided: it also tells whether the tool works again."""
        kept = tuple(max(0.0, log) for log in self.restored)
        return self._observed(worked, _multiplied(kept, _WORKING, worked))

    def _observed(self, worked: bool, restored: tuple[float, ...]) -> CallEvidence:
        steps = self.steps + 1
        later = _LATER / (steps * (steps + 1))
        return CallEvidence(
            against=tuple(_log_sum(log, later) for log in _multiplied(self.against, _FAILING, worked)),
            restored=restored,
            steps=steps,
            worked=self.worked + worked,
            failed=self.failed + (not worked),
        )

    def e_against(self) -> float:
        """Evidence against "works at least half the time"."""
        return _mixture(self.against) + _LATER / (self.steps + 1)

    def e_restored(self) -> float:
        """Evidence against "works at most half the time", from exploration alone."""
        return _mixture(self.restored)


def acts(evidence: CallEvidence, weight: float) -> bool:
    """Whether a condition of this weight may act. Weights are fixed before any data and sum to at most one."""
    return weight * evidence.e_against() >= ACT


def _multiplied(logs: Sequence[float], rates: Sequence[float], worked: bool) -> tuple[float, ...]:
    return tuple(log + math.log((rate if worked else 1 - rate) / _HALF) for log, rate in zip(logs, rates, strict=True))


def _log_sum(log: float, more: float) -> float:
    """log(exp(log) + more) for any size of `log`."""
    return log + math.log1p(more * math.exp(-log)) if log > -600.0 else math.log(more)


def _mixture(logs: Sequence[float]) -> float:
    top = max(logs)
    return math.exp(min(top, 600.0)) * sum(math.exp(log - top) for log in logs) / len(logs)


class TaskEvidence(Value, frozen=True, kw_only=True):
    """A bet that switching a hint or skill on helps, and the mirrored bet that it harms.

    `helps` and `harms` are logarithms of the two capitals. The two sums make the next stakes (as if 100 tasks had shown
    a small effect) and `successes` of `tasks` the baseline: all depend on the past only.
    """

    helps: float = 0.0
    harms: float = 0.0
    tasks: int = 0
    successes: float = 0.0
    sum_z: float = 0.0
    sum_z2: float = 0.0
    on: int = 0
    on_successes: int = 0

    def seen(self, *, on: bool, success: bool, propensity: float) -> TaskEvidence:
        """One more task in which the coin decided with this propensity."""
        baseline = (self.successes + 0.5) / (self.tasks + 1)
        centred = float(success) - baseline
        z = centred / propensity if on else -centred / (1 - propensity)
        largest = 0.9 * min(propensity, 1 - propensity)
        spread = self.sum_z2 + _CAUTION / (4 * propensity * (1 - propensity))
        helping = min(largest, max(0.0, (self.sum_z + _HOPE) / spread))
        harming = min(largest, max(0.0, (_HOPE - self.sum_z) / spread))
        return TaskEvidence(
            helps=self.helps + math.log1p(helping * z),
            harms=self.harms + math.log1p(-harming * z),
            tasks=self.tasks + 1,
            successes=self.successes + success,
            sum_z=self.sum_z + z,
            sum_z2=self.sum_z2 + z * z,
            on=self.on + on,
            on_successes=self.on_successes + (on and success),
        )

    def e_helps(self) -> float:
        """Evidence against "it does not help"."""
        return math.exp(min(self.helps, 600.0))

    def e_harms(self) -> float:
        """Evidence against "it does not harm"."""
        return math.exp(min(self.harms, 600.0))

    def effect(self) -> float | None:
        """The estimated difference in success; None before both sides were seen."""
        off = self.tasks - self.on
        if not self.on or not off:
            return None
        return self.on_successes / self.on - (self.successes - self.on_successes) / off


class PairEvidence(Value, frozen=True, kw_only=True):
    """Tasks done twice from the same start, with and without. Only pairs that differ say something.

    Against "it wins at most as often as it loses" stands a mixture of two rates of winning, chosen before any data:
    one for what nearly always decides a task and one for what often does."""

    wins: int = 0
    losses: int = 0

    def seen(self, *, won: bool) -> PairEvidence:
        """One more discordant pair."""
        return PairEvidence(wins=self.wins + won, losses=self.losses + (not won))

    def e_helps(self) -> float:
        """Evidence against "it wins at most as often as it loses"."""
        return _mixed(self.wins, self.losses)

    def e_harms(self) -> float:
        """Evidence against "it loses at most as often as it wins"."""
        return _mixed(self.losses, self.wins)


def _mixed(won: int, lost: int) -> float:
    terms = [won * math.log(2 * rate) + lost * math.log(2 * (1 - rate)) for rate in _PAIR_RATES]
    return sum(math.exp(min(term, 600.0)) for term in terms) / len(terms)


class Rate(Value, frozen=True, kw_only=True):
    """A discounted Beta mean: recent observations count more. `prior` observations enter rankings only."""

    good: float = 0.0
    all: float = 0.0

    def seen(self, *, worked: bool) -> Rate:
        """One more observation."""
        return Rate(good=self.good * DISCOUNT + worked, all=self.all * DISCOUNT + 1)

    def mean(self, prior_good: float = 0.5, prior_all: float = 1.0) -> float:
        """The rate, drawn towards a prior of so many observations."""
        return (self.good + prior_good) / (self.all + prior_all)


def chance_better(good: Rate, than: Rate) -> float:
    """How likely the rate behind `good` is above the one behind `than`: Beta posteriors, compared as normals."""
    means, variance = [], 0.0
    for rate in (good, than):
        yes, no = rate.good + 1, rate.all - rate.good + 1
        means.append(yes / (yes + no))
        variance += yes * no / ((yes + no) ** 2 * (yes + no + 1))
    return 0.5 * (1 + math.erf((means[0] - means[1]) / math.sqrt(2 * variance)))


def prior(rate: Rate, most: float = 5.0) -> Rate:
    """What was seen elsewhere, cut down to a few observations. For rankings; an e-value takes no prior."""
    if rate.all <= most:
        return rate
    return Rate(good=rate.good * most / rate.all, all=most)


def added(rate: Rate, more: Rate) -> Rate:
    """Two rates as one."""
    return Rate(good=rate.good + more.good, all=rate.all + more.all)

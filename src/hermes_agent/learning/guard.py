"""Notices when learning harms: a CUSUM of e-values per family and model, with a known rate of false alarms.

`Watch` is the test, `FamilyGuard` what one family on one model remembers, `judged` its only step. A task whose outcome
is unknown, as in an outage, is not an observation and never gets here.
"""

from __future__ import annotations

import math
from enum import StrEnum

from ..types.base import Value

NOTIFY = 100.0
ROLL_BACK = 250.0
ENOUGH = 20
"""A baseline of fewer tasks proves too little to undo anything by itself: at a rate of .85, 19 of 19 still succeed one
time in twenty, so that what looks like a fall may be the rate there always was."""
REMEMBERED = 200
"""So many tasks a baseline is made of at most."""
ADOPTED = 150
"""After so many tasks without an alarm a set is known-good."""
SLACK = 0.05
DROPS = (0.1, 0.2, 0.35)
LOWEST = 0.02
CONFIDENCE_Z = 1.645
"""With it no measured baseline, from 20 tasks or 300, of .5 or .95, makes more than 1.5 % false rollbacks in 500."""


class Alarm(StrEnum):
    """What the caller has to do: tell people and widen the holdout, or go back to the last known-good set."""

    NOTIFY = "notify"
    ROLL_BACK = "roll_back"


class Watch(Value, frozen=True, kw_only=True):
    """One family on one model. `floor` is the rate below which something is wrong: the lower bound of the baseline,
    less a little. `logs` has one CUSUM for each size of drop that is looked for. `tasks` and `successes` are those of
    the newest set; the CUSUM goes on when a set follows another, because a fall may come from either."""

    floor: float
    logs: tuple[float, ...] = ()
    tasks: int = 0
    successes: int = 0

    def seen(self, *, success: bool) -> Watch:
        """One more task under the set that is watched."""
        before = self.logs or (0.0,) * len(self.rates())
        logs = tuple(
            max(0.0, log) + math.log(rate / self.floor if success else (1 - rate) / (1 - self.floor))
            for log, rate in zip(before, self.rates(), strict=True)
        )
        return Watch(floor=self.floor, logs=logs, tasks=self.tasks + 1, successes=self.successes + success)

    def handed_over(self) -> Watch:
        """The same watch on the set that followed."""
        return Watch(floor=self.floor, logs=self.logs)

    def restarted(self) -> float:
        """The value that the next step multiplies: a CUSUM never remembers more good news than none."""
        return sum(math.exp(max(0.0, log)) for log in self.logs or (0.0,)) / len(self.logs or (0.0,))

    def rates(self) -> tuple[float, ...]:
        """The success rates that would be a drop; none where the floor is so low that no drop could be told."""
        return tuple(rate for drop in DROPS if LOWEST < (rate := self.floor - drop) < 1)

    def alarm(self) -> float:
        """The mean over the sizes of drop; on average at least as many tasks pass before a false alarm so high."""
        if not self.logs:
            return 0.0
        return sum(math.exp(min(log, 600.0)) for log in self.logs) / len(self.logs)

    def suspects(self) -> bool:
        """Whether anything of an earlier alarm is left."""
        return any(log > 0 for log in self.logs)

    def stood(self) -> bool:
        """Whether the newest set has shown itself for long enough, and no worse than the floor."""
        return self.tasks >= ADOPTED and self.successes >= self.floor * self.tasks


class Baseline(Value, frozen=True, kw_only=True):
    """How a family does. Exact up to `REMEMBERED` tasks; then each new one weighs against so many before it, so that
    a family whose tasks slowly change is held against what it lately was."""

    successes: float = 0.0
    tasks: float = 0.0

    def seen(self, *, success: bool) -> Baseline:
        """One more task."""
        if self.tasks + 1 <= REMEMBERED:
            return Baseline(successes=self.successes + success, tasks=self.tasks + 1)
        kept = (REMEMBERED - 1) / self.tasks
        return Baseline(successes=self.successes * kept + success, tasks=REMEMBERED)


class FamilyGuard(Value, frozen=True, kw_only=True):
    """One family on one model: how it did under the set `known_good`, and the watch on set `version` if that is
    another. While `notified` the caller holds half of the runs out, and no set becomes known-good; it ends when nothing
    is left of the alarm."""

    baseline: Baseline = Baseline()
    known_good: int = 0
    version: int = 0
    watching: Watch | None = None
    notified: bool = False


def judged(
    guard: FamilyGuard, *, success: bool, version: int, families: int, roll_back: float = ROLL_BACK
) -> tuple[FamilyGuard, Alarm | None]:
    """The guard after one more task, and what is to be done.

    `version` is the newest set that changed what acts in this family, and the task ran under it: one that began under
    an older set, or with a pinned one, says nothing about what is in force and must not be fed. `families` is how many
    are watched at once, this one included. Until `ENOUGH` tasks are known no set is better than another and nothing is
    watched. After `ROLL_BACK` the guard takes it that `known_good` is in force again, and the next tasks come with it.
    """
    if guard.baseline.tasks < ENOUGH or version == guard.known_good:
        return FamilyGuard(baseline=guard.baseline.seen(success=success), known_good=version, version=version), None
    watch = guard.watching or Watch(floor=floor_of(guard.baseline.successes, guard.baseline.tasks))
    watch = (watch if version == guard.version else watch.handed_over()).seen(success=success)
    height = watch.alarm()
    if height >= threshold(families, roll_back):
        before = FamilyGuard(baseline=guard.baseline, known_good=guard.known_good, version=guard.known_good)
        return before, Alarm.ROLL_BACK
    loud = height >= NOTIFY
    notified = loud or (guard.notified and watch.suspects())
    if watch.stood() and not notified:
        measured = Baseline(successes=watch.successes, tasks=watch.tasks)
        return FamilyGuard(baseline=measured, known_good=version, version=version), None
    after = FamilyGuard(
        baseline=guard.baseline,
        known_good=guard.known_good,
        version=version,
        watching=watch,
        notified=notified,
    )
    return after, Alarm.NOTIFY if loud and not guard.notified else None


def floor_of(successes: float, tasks: float, confidence_z: float = CONFIDENCE_Z) -> float:
    """The lower end of the Wilson interval of a measured baseline, less the slack that learning may cost."""
    if not tasks:
        return 0.0
    rate, z2 = successes / tasks, confidence_z**2
    centre = (rate + z2 / (2 * tasks)) / (1 + z2 / tasks)
    spread = confidence_z * math.sqrt(rate * (1 - rate) / tasks + z2 / (4 * tasks**2)) / (1 + z2 / tasks)
    return max(0.0, centre - spread - SLACK)


def threshold(families: int, base: float = ROLL_BACK) -> float:
    """When to roll back by itself: higher the more families are watched, so that all together stay as quiet."""
    return base * max(1, families)

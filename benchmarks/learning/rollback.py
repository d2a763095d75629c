"""How often the guard is wrong and how soon it is right: `python -m benchmarks.learning.rollback [--histories N]`.

`Guards` is `guard.judged` for many families at once (`tests/learning/test_guard.py` holds one against the other).
Unless it says otherwise a history has 500 tasks under watch, with a new set every hundred: so the watch never ends.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from hermes_agent.learning.guard import (
    ADOPTED,
    CONFIDENCE_Z,
    DROPS,
    ENOUGH,
    LOWEST,
    NOTIFY,
    REMEMBERED,
    ROLL_BACK,
    SLACK,
    threshold,
)

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
TASKS, EVERY, BATCH = 500, 100, 10_000


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the table: a measured share or median with its 95 % interval, and the goal where there is one."""

    what: str
    measured: float
    low: float
    high: float
    goal: float | None = None
    unit: str = "%"
    within_noise: bool = False

    @property
    def reached(self) -> bool:
        """Whether the goal is met, or is within the interval where that is asked; without one none can be missed."""
        return self.goal is None or (self.low if self.within_noise else self.measured) <= self.goal


class Guards:
    """Many families side by side: the state of `FamilyGuard`, as arrays."""

    def __init__(self, count: int, *, families: int = 1, roll_back: float = ROLL_BACK) -> None:
        self.height = threshold(families, roll_back)
        self.successes, self.tasks = np.zeros(count), np.zeros(count)
        self.known_good, self.version = np.zeros(count, np.int64), np.zeros(count, np.int64)
        self.watching, self.notified = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
        self.floor, self.logs = np.zeros(count), np.full((count, len(DROPS)), -np.inf)
        self.watched, self.watched_successes = np.zeros(count), np.zeros(count)
        self.up, self.down = np.zeros((count, len(DROPS))), np.zeros((count, len(DROPS)))
        self.kinds = np.zeros(count)

    def watch_from(self, floors: Floats, where: Flags) -> None:
        """Begin to watch these families, with these floors."""
        rates = floors[:, None] - np.array(DROPS)
        usable = rates > LOWEST
        with np.errstate(divide="ignore", invalid="ignore"):
            up = np.where(usable, np.log(rates / floors[:, None]), -np.inf)
            down = np.where(usable, np.log((1 - rates) / (1 - floors[:, None])), -np.inf)
        self.floor[where], self.up[where], self.down[where] = floors[where], up[where], down[where]
        self.logs[where], self.kinds[where] = 0.0, usable.sum(axis=1)[where]
        self.watched[where], self.watched_successes[where] = 0, 0
        self.watching |= where

    def judged(self, success: Flags, version: int, where: Flags | None = None) -> tuple[Flags, Flags]:
        """One more task of each family in `where`; which are to be told of, and which rolled back."""
        fed = np.ones(len(success), np.bool_) if where is None else where
        calm = fed & ((self.tasks < ENOUGH) | (self.known_good == version))
        watched = fed & ~calm
        if watched.any():
            told, back = self._watched(success, version, watched)
        else:
            told = back = np.zeros(len(success), np.bool_)
        if calm.any():
            self._grow(success, calm)
            self._settle(calm, version)
        return told, back

    def _grow(self, success: Flags, where: Flags) -> None:
        full = self.tasks + 1 > REMEMBERED
        kept = np.where(full, (REMEMBERED - 1) / np.maximum(self.tasks, 1), 1.0)
        self.successes[where] = (self.successes * kept + success)[where]
        self.tasks[where] = np.where(full, REMEMBERED, self.tasks + 1)[where]

    def _watched(self, success: Flags, version: int, where: Flags) -> tuple[Flags, Flags]:
        fresh = where & ~self.watching
        if fresh.any():
            self.watch_from(floors_of(self.successes, self.tasks), fresh)
        over = where & (self.version != version)
        self.watched[over], self.watched_successes[over] = 0, 0
        self.version[where] = version
        steps = np.maximum(0.0, self.logs) + np.where(success[:, None], self.up, self.down)
        self.logs = steps if where.all() else np.where(where[:, None], steps, self.logs)
        self.watched += where
        self.watched_successes += where & success
        loud, back = self._loud(where)
        told = loud & ~back & ~self.notified
        suspects = np.any(self.logs > 0, axis=1)
        self.notified = np.where(where, loud | (self.notified & suspects), self.notified)
        stood = where & ~back & ~self.notified & (self.watched >= ADOPTED)
        stood &= self.watched_successes >= self.floor * self.watched
        if stood.any():
            self.successes[stood], self.tasks[stood] = self.watched_successes[stood], self.watched[stood]
            self._settle(stood, version)
        if back.any():
            self._settle(back, self.known_good[back])
        return told, back

    def _loud(self, where: Flags) -> tuple[Flags, Flags]:
        loud, back = np.zeros(len(where), np.bool_), np.zeros(len(where), np.bool_)
        rows = np.flatnonzero(where & (self.logs.max(axis=1) >= math.log(min(NOTIFY, self.height))))
        if len(rows):
            heights = np.exp(np.minimum(self.logs[rows], 600.0)).sum(axis=1) / self.kinds[rows]
            loud[rows], back[rows] = heights >= NOTIFY, heights >= self.height
        return loud, back

    def _settle(self, where: Flags, version: int | NDArray[np.int64]) -> None:
        self.known_good[where] = version
        self.version[where] = version
        self.watching[where] = self.notified[where] = False


def floors_of(successes: Floats, tasks: Floats) -> Floats:
    """`guard.floor_of` of many."""
    count = np.maximum(tasks, 1)
    rate, z2 = successes / count, CONFIDENCE_Z**2
    centre = (rate + z2 / (2 * count)) / (1 + z2 / count)
    spread = CONFIDENCE_Z * np.sqrt(rate * (1 - rate) / count + z2 / (4 * count**2)) / (1 + z2 / count)
    return np.asarray(np.where(tasks > 0, np.maximum(0.0, centre - spread - SLACK), 0.0))


def share(what: str, hits: int, of: int, goal: float | None = None) -> Figure:
    """A share with its Wilson interval."""
    rate, z2 = hits / of, 1.96**2
    centre = (rate + z2 / (2 * of)) / (1 + z2 / of)
    spread = 1.96 * math.sqrt(rate * (1 - rate) / of + z2 / (4 * of**2)) / (1 + z2 / of)
    low, high = max(0.0, centre - spread), min(1.0, centre + spread)
    return Figure(what=what, measured=rate, low=low, high=high, goal=goal)


def median(what: str, values: NDArray[np.int64], goal: float | None = None, unit: str = "tasks") -> Figure:
    """A median with the interval that order statistics give."""
    ordered, count = np.sort(values), len(values)
    reach = math.ceil(1.96 * math.sqrt(count) / 2)
    low, high = ordered[max(0, count // 2 - reach)], ordered[min(count - 1, count // 2 + reach)]
    return Figure(
        what=what, measured=float(ordered[count // 2]), low=float(low), high=float(high), goal=goal, unit=unit
    )


class World(msgspec.Struct, frozen=True, kw_only=True):
    """Histories to simulate. `baseline` tasks come first, under set 0 (none: the baseline is known exactly). `rate`
    gives the true success rate of a task by its number, counted from the first under watch (so the baseline's are
    negative); `silent` says which tasks have no outcome; a new set comes `every` so many tasks (0: only one)."""

    rate: Callable[[int], float]
    baseline: int = 0
    families: int = 1
    every: int = EVERY
    tasks: int = TASKS
    silent: Callable[[int], bool] = lambda _: False
    fixed: bool = False


def first_rollbacks(world: World, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """In each history the task under watch at which the first of its families was rolled back; 0 where none was."""
    parts = []
    size = max(1, BATCH // world.families)
    while count > 0:
        batch = min(size, count)
        parts.append(_batch(world, batch, rng))
        count -= batch
    return np.concatenate(parts)


def _batch(world: World, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    total = count * world.families
    guards = Guards(total, families=world.families)
    found = np.zeros(total, np.int64)
    for number in range(-world.baseline, 0):
        guards.judged(rng.random(total) < world.rate(number), 0)
    if not world.baseline:
        everyone = np.ones(total, np.bool_)
        guards.successes[:], guards.tasks[:] = world.rate(-1) * REMEMBERED, REMEMBERED
        guards.watch_from(np.full(total, world.rate(-1) - SLACK), everyone)
    for number in range(world.tasks):
        success = rng.random(total) < world.rate(number)
        if world.silent(number):
            continue
        version = 0 if world.fixed else 1 + (number // world.every if world.every else 0)
        _, back = guards.judged(success, version, found == 0)
        found[back] = number + 1
    by_history = found.reshape(count, world.families)
    late = np.where(by_history == 0, TASKS + world.tasks, by_history).min(axis=1)
    return np.where(late > world.tasks, 0, late)


def rollbacks(world: World, count: int, rng: np.random.Generator) -> int:
    """In how many histories anything was rolled back."""
    return int(np.count_nonzero(first_rollbacks(world, count, rng)))


def constant(rate: float) -> Callable[[int], float]:
    """A success rate that does not change."""
    return lambda _: rate


def naive_alarms(rate: float, count: int, rng: np.random.Generator, *, window: int = 20) -> int:
    """In how many histories the last `window` tasks were ever below the known baseline."""
    wins = rng.random((count, TASKS)) < rate
    sums = np.cumsum(np.pad(wins, ((0, 0), (1, 0))), axis=1)
    return int(np.any(sums[:, window:] - sums[:, :-window] < rate * window, axis=1).sum())


def false_alarms(count: int, rng: np.random.Generator) -> Iterator[Figure]:
    """Histories in which nothing gets worse: every rollback is a mistake."""
    for rate in (0.8, 0.5, 0.6, 0.9, 0.95):
        hits = rollbacks(World(rate=constant(rate)), count, rng)
        yield share(f"false rollback, known baseline {rate:.2f}", hits, count, 0.02 if rate == 0.8 else None)
    for rate, tasks in itertools.product((0.8, 0.5, 0.6, 0.9, 0.95), (20, 50, 300)):
        world = World(rate=constant(rate), baseline=tasks)
        hits = rollbacks(world, count, rng)
        yield share(f"false rollback, {rate:.2f} estimated from {tasks} tasks", hits, count, 0.02)
    for every in (25, 160, 0):
        world = World(rate=constant(0.8), baseline=50, every=every)
        hits = rollbacks(world, count, rng)
        how = f"a new set every {every} tasks" if every else "one new set"
        yield share(f"false rollback, .80 from 50 tasks, {how}", hits, count, 0.02)
    slow = World(rate=lambda number: 0.8 - 0.1 * min(1.0, max(0.0, (number + 1000) / 1000)), baseline=1000)
    hits = rollbacks(slow, count, rng)
    yield share("false rollback, a slow slide from .80 to .70 before the new set", hits, count, 0.02)
    yield share("naive rule (last 20 below baseline), .80 known", naive_alarms(0.8, count, rng), count)
    many = World(rate=constant(0.8), families=50)
    hits = rollbacks(many, max(1, count // 2), rng)
    yield share("50 families at once: any false rollback, known .80", hits, max(1, count // 2), 0.05)
    many = World(rate=constant(0.8), families=50, baseline=50)
    hits = rollbacks(many, max(1, count // 2), rng)
    yield share("50 families at once, .80 estimated from 50 tasks", hits, max(1, count // 2), 0.05)


def outages(count: int, rng: np.random.Generator) -> Iterator[Figure]:
    """Forty tasks in which the provider is away. Without an outcome they are not fed; with the set that the baseline
    was measured with in force, nothing is watched even if they are."""
    away = World(rate=lambda n: 0.0 if 200 <= n < 240 else 0.8, baseline=50, silent=lambda number: 200 <= number < 240)
    hits = rollbacks(away, count, rng)
    yield share("outage of 40 tasks under watch, without outcome: rollback", hits, count, 0.02)
    same = World(rate=lambda n: 0.0 if 200 <= n < 240 else 0.8, baseline=50, fixed=True)
    hits = rollbacks(same, count, rng)
    yield share("outage of 40 failures, no new set: rollback", hits, count, 0.0)


def delays(count: int, rng: np.random.Generator) -> Iterator[Figure]:
    """A new set under which .80 becomes .45."""
    for tasks, goal in ((0, 30.0), (20, None), (50, 70.0), (100, None), (200, None)):
        world = World(rate=lambda number: 0.8 if number < 0 else 0.45, baseline=tasks, every=0)
        found = first_rollbacks(world, count, rng)
        how = f"estimated from {tasks} tasks" if tasks else "known"
        yield median(f"a fall from .80 ({how}) to .45 is found after", np.where(found == 0, TASKS, found), goal)
        missed = int(np.count_nonzero(found == 0))
        yield share(f"... never found in {TASKS} tasks ({how})", missed, count)


def show(figures: Sequence[Figure]) -> None:
    """The table."""
    print(f"{'':66}{'measured':>10}{'95 % interval':>18}{'goal':>10}")
    for one in figures:
        scale, form = (100, ".2f") if one.unit == "%" else (1, ".0f")
        interval = f"{one.low * scale:{form}} - {one.high * scale:{form}}"
        goal = "" if one.goal is None else f"<= {one.goal * scale:g}"
        verdict = "" if one.goal is None else "  ok" if one.reached else "  MISSED"
        print(f"{one.what:66}{one.measured * scale:>10{form}}{interval:>18}{goal:>10} {one.unit:6}{verdict}")


def main() -> int:
    """Print the table; 1 when a goal is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.learning.rollback", description=__doc__)
    parser.add_argument("--histories", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=20_260)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rng, start = np.random.default_rng(options.seed), time.process_time()
    count = max(1, options.histories)
    figures = [*false_alarms(count, rng), *outages(count, rng), *delays(count, rng)]
    if options.json:
        print(json.dumps({"histories": count, "figures": msgspec.to_builtins(figures)}, indent=1))
    else:
        print(f"{count} histories of {TASKS} tasks, rollback at {ROLL_BACK:g} ({time.process_time() - start:.0f} s)\n")
        show(figures)
    return 0 if all(one.reached for one in figures) else 1


if __name__ == "__main__":
    sys.exit(main())

"""Error rates and power of what is learned from: `python -m benchmarks.learning.errors [--histories N] [--json]`.

Every history is looked at after each observation and ended by the first look that convinces: the hardest case for a
test, and the way the learner uses it. A share of wrong convictions has the bound that the e-value promises as goal.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import sys
import time
from collections.abc import Callable, Iterator

import msgspec
import numpy as np

from benchmarks.learning.rollback import Figure, constant, median, share, show
from hermes_agent.learning.evidence import ACT, RESTORE, CallEvidence, PairEvidence, TaskEvidence, acts

WEIGHT = 0.5
ATTEMPTS = 3


def calls_until_avoided(rng: random.Random, rate: float, limit: int, weight: float = WEIGHT) -> int:
    """After how many calls a tool that works at this rate is avoided; 0 when it is not."""
    evidence = CallEvidence()
    for number in range(1, limit + 1):
        evidence = evidence.seen(worked=rng.random() < rate)
        if acts(evidence, weight):
            return number
    return 0


def avoided_after_retries(rng: random.Random, rate: float, traces: int, counted: int) -> bool:
    """Whether a tool that works on this share of inputs is ever avoided, when an input on which it fails is tried
    `ATTEMPTS` times and `counted` of the tries are observations."""
    evidence = CallEvidence()
    for _ in range(traces):
        worked = rng.random() < rate
        for _ in range(1 if worked else counted):
            evidence = evidence.seen(worked=worked)
            if acts(evidence, WEIGHT):
                return True
    return False


def explorations_until_restored(rng: random.Random, rate: float, limit: int) -> int:
    """After how many explorations an avoided tool that works at this rate is back; 0 when it is not."""
    evidence = CallEvidence()
    for _ in range(12):
        evidence = evidence.seen(worked=False)
    for number in range(1, limit + 1):
        evidence = evidence.explored(worked=rng.random() < rate)
        if evidence.e_restored() >= RESTORE:
            return number
    return 0


def decided(
    rng: random.Random, base: Callable[[int], float], effect: float, propensity: float, limit: int
) -> tuple[int, int]:
    """After how many tasks a hint of this effect is promoted, and after how many dropped; 0 when it is not."""
    evidence, promoted, dropped = TaskEvidence(), 0, 0
    for number in range(1, limit + 1):
        on = rng.random() < propensity
        success = rng.random() < base(number) + effect * on
        evidence = evidence.seen(on=on, success=success, propensity=propensity)
        if not promoted and evidence.e_helps() >= ACT:
            promoted = number
        if not dropped and evidence.e_harms() >= ACT:
            dropped = number
        if promoted if effect else promoted and dropped:
            break
    return promoted, dropped


def swinging(number: int) -> float:
    """A success rate that changes for reasons of its own, every forty tasks."""
    return 0.2 if number // 40 % 2 else 0.9


def pairs_until_promoted(rng: random.Random, wins: float, limit: int) -> int:
    """After how many discordant pairs, won at this rate, the better side is trusted; 0 when it is not."""
    evidence = PairEvidence()
    for number in range(1, limit + 1):
        evidence = evidence.seen(won=rng.random() < wins)
        if evidence.e_helps() >= ACT:
            return number
    return 0


def largest_with_two_successes() -> float:
    """The strongest evidence that ten failures and two successes leave, over all orders, with its weight."""
    highest = 0.0
    for places in itertools.combinations(range(12), 2):
        evidence = CallEvidence()
        for place in range(12):
            evidence = evidence.seen(worked=place in places)
        highest = max(highest, WEIGHT * evidence.e_against())
    return highest


def straight_failures() -> int:
    """How many failures in a row are enough."""
    evidence, count = CallEvidence(), 0
    while not acts(evidence, WEIGHT):
        evidence, count = evidence.seen(worked=False), count + 1
    return count


def exactly(what: str, value: float, goal: float, unit: str) -> Figure:
    """A figure that is computed, not sampled."""
    return Figure(what=what, measured=value, low=value, high=value, goal=goal, unit=unit)


def wrong(what: str, hits: int, of: int, bound: float) -> Figure:
    """A share of wrong convictions. Its bound is proven, so only a share significantly above it misses."""
    return msgspec.structs.replace(share(what, hits, of, bound), within_noise=True)


def waiting(what: str, values: list[int], limit: int, goal: float | None = None, unit: str = "tasks") -> Figure:
    """The median of waiting times in which 0 means "not within the limit"."""
    return median(what, np.array([value or limit for value in values]), goal, unit)


def call_figures(rng: random.Random, count: int) -> Iterator[Figure]:
    """Avoiding tools, and taking them up again."""
    yield exactly("straight failures that are enough", straight_failures(), 7, "calls")
    yield exactly("ten failures, two successes: w*E (acts at 20)", largest_with_two_successes(), ACT - 0.01, "E")
    for weight in (WEIGHT, 1.0):
        hits = sum(bool(calls_until_avoided(rng, 0.5, 300, weight)) for _ in range(count))
        yield wrong(f"tool works half the time: avoided in 300 calls, w={weight:g}", hits, count, weight / ACT)
    found = [calls_until_avoided(rng, 0.1, 300) for _ in range(count)]
    yield waiting("tool works one time in ten: found after", found, 300, 20, "calls")
    hits = sum(avoided_after_retries(rng, 0.7, 300, 1) for _ in range(count))
    yield share("tool works on 70 % of inputs, retries counted once: avoided", hits, count, 0.01)
    hits = sum(avoided_after_retries(rng, 0.7, 300, ATTEMPTS) for _ in range(count))
    yield share(f"... each of {ATTEMPTS} tries counted: avoided", hits, count)
    for rate in (0.95, 0.8):
        back = [explorations_until_restored(rng, rate, 300) for _ in range(count)]
        goal = 6 if rate == 0.95 else None
        yield waiting(f"repaired tool ({rate:.0%}): back after so many explorations", back, 300, goal, "calls")
    for rate in (0.0, 0.1, 0.3):
        hits = sum(bool(explorations_until_restored(rng, rate, 50)) for _ in range(count))
        yield share(f"tool still works only {rate:.0%}: taken up in 50 explorations", hits, count)


def task_figures(rng: random.Random, count: int) -> Iterator[Figure]:
    """Promoting and dropping hints, and comparing in pairs."""
    worlds = (("rate .5", constant(0.5)), ("rate .8", constant(0.8)), ("rate swings .2/.9", swinging))
    for propensity in (0.5, 0.9):
        for name, base in worlds:
            ends = [decided(rng, base, 0.0, propensity, 500) for _ in range(count)]
            what = f"no effect, P(on)={propensity:g}, {name}:"
            yield wrong(f"{what} promoted", sum(bool(up) for up, _ in ends), count, 1 / ACT)
            yield wrong(f"{what} dropped", sum(bool(down) for _, down in ends), count, 1 / ACT)
    for start, effect, goal in ((0.6, 0.2, 200), (0.4, 0.2, 200), (0.6, 0.1, 900), (0.45, 0.1, 900), (0.4, 0.4, 60)):
        ends = [decided(rng, constant(start), effect, 0.5, 1200) for _ in range(max(1, count // 4))]
        yield waiting(
            f"{effect * 100:.0f} points above {start:.2f}: promoted after", [up for up, _ in ends], 1200, goal
        )
    hits = sum(bool(pairs_until_promoted(rng, 0.5, 300)) for _ in range(count))
    yield wrong("discordant pairs without effect: promoted in 300", hits, count, 1 / ACT)
    for wins in (0.9, 0.8, 0.7):
        found = [pairs_until_promoted(rng, wins, 300) for _ in range(count)]
        yield waiting(
            f"discordant pairs, {wins:.0%} won: promoted after", found, 300, 30 if wins >= 0.8 else 99, "pairs"
        )


def main() -> int:
    """Print the table; 1 when a goal is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.learning.errors", description=__doc__)
    parser.add_argument("--histories", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=20_261)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rng, start, count = random.Random(options.seed), time.process_time(), max(1, options.histories)
    figures = [*call_figures(rng, count), *task_figures(rng, count)]
    if options.json:
        print(json.dumps({"histories": count, "figures": msgspec.to_builtins(figures)}, indent=1))
    else:
        print(f"{count} histories, looked at after every observation ({time.process_time() - start:.0f} s)\n")
        show(figures)
    return 0 if all(one.reached for one in figures) else 1


if __name__ == "__main__":
    sys.exit(main())

"""What a new family gains from older ones (B8): tasks until it goes well, with and without their experience.

Four families share the same tools: tasks of one class of the leaderboard, dealt out by chance. In all of them the first
three of the five providers of the frequent functions are broken (with two, both sides arrive within the window, and
nothing can be told). Three families are worked on first; then the fourth arrives. It has arrived when eight of its last
ten tasks were solved. Compared is the same fourth family, with the same tasks, on an empty store.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator, Sequence
from statistics import fmean, median

from benchmarks.learning.arms import Arm, Rig
from benchmarks.learning.bfcl import Task
from benchmarks.learning.faults import WAYS, Fault, Schedule
from benchmarks.learning.stats import Figure, bootstrapped
from benchmarks.learning.world import Pool, World, habits_of, pool_of

OWNER = "GorillaFileSystem"
_OLD_TASKS = 105
_MOST = 90
_WINDOW, _ENOUGH = 10, 8
_TROUBLED = 4
_BROKEN = 3


def _schedule(pool: Pool) -> Schedule:
    """The first providers of the most frequent functions are broken everywhere."""
    frequent = sorted(habits_of(pool), key=lambda habit: (-habit.count, habit.function))[:_TROUBLED]
    tools = [habit.function + way for habit in frequent for way in WAYS[:_BROKEN]]
    return Schedule(faults=tuple(Fault(tool=tool) for tool in tools))


def _dealt(pool: Pool, seed: int) -> list[list[Task]]:
    """The tasks in four heaps."""
    rng = random.Random(f"sharing:{seed}")
    everything = [task for members in pool.families.values() for task in members]
    rng.shuffle(everything)
    return [everything[place::4] for place in range(4)]


def _drawn(heap: Sequence[Task], seed: int) -> Iterator[Task]:
    rng = random.Random(f"new:{seed}")
    while True:
        yield rng.choice(heap)


async def tasks_needed(seed: int, *, with_older: bool) -> int:
    """Tasks of the new family until it goes well; the limit when it never does."""
    pool = pool_of([OWNER])
    world = World(pool, _schedule(pool), seed)
    heaps = _dealt(pool, seed)
    rig = Rig(world, Arm.ON, seed)
    try:
        rng = random.Random(f"old:{seed}")
        for number in range(_OLD_TASKS if with_older else 0):
            family = rng.randrange(3)
            await rig.run(world.begin(number, rng.choice(heaps[family])), number, f"older {family}")
        solved: list[bool] = []
        for number, task in enumerate(_drawn(heaps[3], seed)):
            await rig.run(world.begin(_OLD_TASKS + number, task), _OLD_TASKS + number, "newcomer")
            solved.append(world.solved())
            if sum(solved[-_WINDOW:]) >= _ENOUGH or len(solved) >= _MOST:
                break
        return len(solved)
    finally:
        await asyncio.to_thread(rig.close)


async def _both(seeds: Sequence[int]) -> list[tuple[int, int]]:
    shared = await asyncio.gather(*(tasks_needed(seed, with_older=True) for seed in seeds))
    alone = await asyncio.gather(*(tasks_needed(seed, with_older=False) for seed in seeds))
    return list(zip(shared, alone, strict=True))


def figures(seeds: Sequence[int] = range(301, 321)) -> list[Figure]:
    """The comparison over seeds."""
    pairs = asyncio.run(_both(seeds))
    shared, alone = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    ratio = fmean(shared) / fmean(alone)
    middle = f"medians {median(shared):g}, {median(alone):g}"
    measured = f"{ratio:.2f} ({bootstrapped(shared)} against {bootstrapped(alone)}; {middle})"
    what = "sharing: tasks until 80 %, with older families / alone"
    return [Figure(what=what, measured=measured, goal="<= 0.5", reached=ratio <= 0.5)]


if __name__ == "__main__":
    for figure in figures():
        print(figure.what, figure.measured, figure.goal, figure.reached)

"""How many stored lessons replay judges in a second, reading included.

`python -m benchmarks.learning.replay [LESSONS]` fills a database of its own; `rate` measures on one that is there.
"""

from __future__ import annotations

import asyncio
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from hermes_agent.learning.past import Window
from hermes_agent.learning.replay import replayed, set_target
from hermes_agent.store.backends.sqlite import Sqlite
from hermes_agent.store.database import Connection, Database
from hermes_agent.store.heuristics import (
    Heuristic,
    Kind,
    Stage,
    activate_members,
    active_set,
    read_heuristics,
    save_heuristic,
    set_value,
)
from hermes_agent.store.lessons import Lesson, Observation, PlanStep, add_lesson
from hermes_agent.types.trace import AdviceItem, Judge

GOAL = 5000.0
_TOOLS = ("read_file", "search_files", "terminal", "web_fetch", "patch", "write_file")
_SUFFIXES = (".csv", ".py", ".md", ".json")
_FAMILIES = 20
_HEURISTICS = 40
_AT_ONCE = 5000


def rate(database_path: Path | str) -> float:
    """Lessons a second, judging the set in force on everything that is stored."""
    database = Database(Sqlite(Path(database_path)))
    database.open()
    try:
        members = database.read_now(lambda c: read_heuristics(c, active_set(c).members))
        target = set_target(database.read_now(active_set).version, members.values(), explore=0.1)
        begun = time.perf_counter()
        judged = asyncio.run(replayed(database, target, Window()))
        seconds = time.perf_counter() - begun
    finally:
        database.close()
    return judged.report().runs / seconds


def fill(database_path: Path, lessons: int, seed: int = 1) -> None:
    """A database with lessons of usual size: six calls, ten features each, two coins."""
    database = Database(Sqlite(database_path))
    database.open()
    rng = random.Random(seed)

    def heuristics(connection: Connection) -> None:
        for heuristic in _heuristics():
            save_heuristic(connection, heuristic)
        activate_members(connection, [heuristic.id for heuristic in _heuristics()], "benchmark", "", 1.0)

    def some(connection: Connection, first: int) -> None:
        for seq in range(first, min(first + _AT_ONCE, lessons + 1)):
            add_lesson(connection, _lesson(seq, rng), seq, "local")
        set_value(connection, "sequence", min(first + _AT_ONCE - 1, lessons))

    database.write_now(heuristics)
    for first in range(1, lessons + 1, _AT_ONCE):
        database.write_now(partial(some, first=first))
    database.close()


def _heuristics() -> Iterator[Heuristic]:
    for number in range(_HEURISTICS):
        yield Heuristic(
            id=f"h{number:02}",
            kind=Kind.AVOID_TOOL,
            model="scripted:m",
            family=f"f{number % _FAMILIES}",
            subject=_TOOLS[number % len(_TOOLS)],
            condition=(f"path.suffix={_SUFFIXES[number % len(_SUFFIXES)]}",) if number % 3 else (),
            text="it failed often in tasks like this",
            stage=Stage.TRUSTED if number % 4 else Stage.PROBATION,
        )


def _lesson(seq: int, rng: random.Random) -> Lesson:
    family = rng.randrange(_FAMILIES)
    tools = [rng.choice(_TOOLS) for _ in range(6)]
    return Lesson(
        run_id=f"r{seq:09}",
        session_id=f"s{seq // 3}",
        family=f"f{family}",
        model="scripted:m",
        at=float(seq),
        set_version=seq % 2,
        success=rng.random() < 0.7,
        judged_by=Judge.VERIFIER if seq % 3 else Judge.INFERRED,
        observations=tuple(
            Observation(tool=tool, worked=rng.random() < 0.8, features=_features(rng), call_id=f"call_{place}_0")
            for place, tool in enumerate(tools)
        ),
        steps=tuple(PlanStep(tool=tool, after=tools[place - 1], worked=True) for place, tool in enumerate(tools)),
        items=tuple(_item(family + _FAMILIES * place, rng) for place in range(2)) if seq % 2 else (),
        calls=6,
        errors=1,
        seconds=3.0,
    )


def _features(rng: random.Random) -> tuple[str, ...]:
    return (f"path.suffix={rng.choice(_SUFFIXES)}", "after=read_file:ok", *(f"arg{place}:text" for place in range(8)))


def _item(number: int, rng: random.Random) -> AdviceItem:
    chance = 0.9 if number % 4 else 0.5
    applied = rng.random() < chance
    return AdviceItem(
        id=f"h{number:02}",
        text="it failed often in tasks like this",
        applied=applied,
        propensity=chance if applied else 1 - chance,
        kind="avoid_tool",
    )


def main() -> None:
    """Fill, measure, print."""
    lessons = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lessons.db"
        fill(path, lessons)
        size = path.stat().st_size / lessons
        print(f"replay of {lessons:,} lessons of {size:.0f} bytes: {rate(path):,.0f} a second (goal {GOAL:,.0f})")


if __name__ == "__main__":
    main()

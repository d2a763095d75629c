"""What skills cost: CPU of advice with 10, 100 and 300 of them, and of a one-shot command with and without them."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median, quantiles

import msgspec

from benchmarks.learning.arms import MEMORY
from benchmarks.learning.bfcl import ROOT
from benchmarks.learning.stats import Figure
from benchmarks.skills.index import REQUESTS, here, shelved
from hermes_agent.config.settings import LearningSettings
from hermes_agent.learning.advisor import LearnedAdvisor
from hermes_agent.learning.offering import LibraryOffers, Likeness
from hermes_agent.store.open import open_store
from hermes_agent.types.advice import Situation

SIZES = (10, 100, 300)
_GOAL_MS = 2.0
_LEFT_OUT = "memory"
"""Without this package the product wires neither skills nor memory; learning itself needs a part of the other."""


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """CPU milliseconds of advice with so many skills: the first time, and then."""

    skills: int
    first: float
    usual: list[float]


async def advised(home: Path, count: int, times: int) -> Cost:
    """Advice for requests of one family, when its skills are known."""
    store = open_store(f"sqlite:///{home}/hermes.db", home)
    try:
        library = shelved(home, count, store)
        advisor = LearnedAdvisor(store, LearningSettings(), lambda text: None, LibraryOffers(library, here, Likeness()))
        requests = [request for some in REQUESTS.values() for request in some]
        spent = []
        for number in range(times + 1):
            asked = Situation(request=requests[number % 5], model="m", run_id=f"r{number}", family="one", workspace="")
            begun = time.process_time()
            await advisor.advise(asked)
            spent.append(1000 * (time.process_time() - begun))
        return Cost(skills=count, first=spent[0], usual=spent[6:])
    finally:
        store.close()


def advice(times: int = 300) -> list[Figure]:
    """Advice with libraries of several sizes."""
    table = []
    for count in SIZES:
        with tempfile.TemporaryDirectory(prefix="skills-", dir=MEMORY if MEMORY.is_dir() else None) as folder:
            cost = asyncio.run(advised(Path(folder), count, times))
        p99 = quantiles(cost.usual, n=100)[98]
        table.append(
            Figure(
                what=f"advice with {count} skills, CPU p50 / p99; the first time",
                measured=f"{median(cost.usual):.2f} / {p99:.2f} ms; {cost.first:.0f} ms",
                goal=f"p99 <= {_GOAL_MS:g} ms",
                reached=p99 <= _GOAL_MS,
            )
        )
    return table


def _spent(code: Path, home: Path, times: int) -> float:
    """The least CPU of a one-shot question, children included."""
    environment = {**os.environ, "PYTHONPATH": str(code), "HERMES_HOME": str(home), "HERMES_MODEL": "apprentice:1"}
    command = [sys.executable, "-m", "hermes_agent.surfaces.cli.main", "run", "1. clock {}"]
    spent = []
    for _ in range(times):
        before = os.times()
        done = subprocess.run(command, env=environment, cwd=home, capture_output=True, text=True)
        after = os.times()
        if done.returncode:
            raise SystemExit(f"hermes run failed: {done.stderr[-400:]}")
        spent.append(after.children_user + after.children_system - before.children_user - before.children_system)
    return min(spent[1:])


def start_up(times: int = 8) -> list[Figure]:
    """`hermes run` as installed, with a hundred skills, and from a copy of the code without skills and memory."""
    with tempfile.TemporaryDirectory(prefix="skills-") as folder:
        code, homes = Path(folder) / "code", [Path(folder) / name for name in ("without", "with", "many")]
        shutil.copytree(ROOT / "src" / "hermes_agent", code / "hermes_agent", ignore=_left_out)
        for home in homes:
            home.mkdir()
        store = open_store(f"sqlite:///{homes[2]}/hermes.db", homes[2])
        shelved(homes[2], 100, store)
        store.close()
        without, usual, many = (
            _spent(source, home, times) for source, home in zip((code, ROOT / "src", ROOT / "src"), homes, strict=True)
        )
    return [
        Figure(
            what="`hermes run`, CPU: without skills and memory / as installed / with 100 skills",
            measured=f"{without:.2f} / {usual:.2f} / {many:.2f} s",
        ),
        Figure(
            what="the same as ratios to without",
            measured=f"{usual / without:.2f} x / {many / without:.2f} x",
        ),
    ]


def _left_out(folder: str, names: Sequence[str]) -> set[str]:
    return {_LEFT_OUT} & set(names) if Path(folder) == ROOT / "src" / "hermes_agent" else set()

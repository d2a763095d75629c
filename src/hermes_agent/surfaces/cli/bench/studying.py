"""What the commands of `hermes bench` share: what was asked for, running it with progress, the picture."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click
import msgspec

from ....bench.catalog import folder_of, run, tasks_done
from ....bench.living import forget, known_policy, simulated
from ....bench.picture import svg
from ....bench.records import done
from ....bench.report import Report, report
from ....bench.study import Arm, Study
from ....types.base import Value
from ....types.errors import MissingExtra, StoreUnwritable, UsageError
from ..console import Console

_TOGETHER = 4
"""Histories for each core: their tools mostly wait."""
arms_option = click.option(
    "--arms", default="off,on,shuffled", show_default=True, metavar="ARMS", help="Which arms, parted by commas."
)


class Wanted(Value, frozen=True, kw_only=True):
    """What the user asked for."""

    name: str
    policy: str
    arms: tuple[Arm, ...]
    seeds: tuple[int, ...]
    iterations: int
    workers: int
    fresh: bool

    @classmethod
    def of(cls, name: str, given: dict[str, Any]) -> Wanted:
        """From the options of a command."""
        first, count = given["first_seed"], given["seeds"]
        return cls(
            name=name,
            policy=known_policy(given["policy"]),
            arms=_arms(given["arms"]),
            seeds=tuple(range(first, first + count)),
            iterations=given["iterations"],
            workers=given["workers"] or _TOGETHER * (os.cpu_count() or 1),
            fresh=given["fresh"],
        )

    def studies(self, home: Path) -> dict[Arm, list[Study]]:
        """The histories, by arm."""
        return {
            arm: [
                Study(
                    name=self.name,
                    policy=self.policy,
                    arm=arm,
                    seed=seed,
                    iterations=self.iterations,
                    folder=folder_of(home, self.name, self.policy, arm.value, seed),
                )
                for seed in self.seeds
            ]
            for arm in self.arms
        }


def _arms(text: str) -> tuple[Arm, ...]:
    try:
        arms = tuple(dict.fromkeys(Arm(part.strip()) for part in text.split(",") if part.strip()))
    except ValueError as error:
        raise UsageError(f"{text!r} names no arms", remedy=f"there are: {', '.join(Arm)}") from error
    if not arms:
        raise UsageError("no arm is named", remedy=f"there are: {', '.join(Arm)}")
    return arms


def study(console: Console, wanted: Wanted, home: Path, plot: Path | None) -> tuple[Report, Path]:
    """Run what is left, and report; the picture is drawn as well."""
    by_arm = wanted.studies(home)
    everything = [one for studies in by_arm.values() for one in studies]
    if wanted.fresh:
        for one in everything:
            forget(one)
    begun = tasks_done(everything)
    if begun and begun < len(everything) * wanted.iterations:
        console.note(f"going on: {begun} of {len(everything) * wanted.iterations} tasks are on record")
    progress = _Progress(console, len(everything) * wanted.iterations, begun)
    for problem in run(everything, wanted.workers, progress):
        console.note(problem, "red")
    progress.end()
    histories = {arm: [done(one)[: wanted.iterations] for one in studies] for arm, studies in by_arm.items()}
    found = report(wanted.name, wanted.policy, wanted.iterations, histories, simulated=simulated(wanted.policy))
    target = plot or home / "bench" / wanted.name / "success.svg"
    _draw(found, target)
    keep(found, home)
    return found, target


def keep(found: Report, home: Path) -> None:
    """Put a report where the page finds it."""
    place = home / "bench" / found.name / "report.json"
    place.parent.mkdir(parents=True, exist_ok=True)
    fresh = place.with_suffix(".new")
    fresh.write_bytes(msgspec.json.encode(found))
    fresh.replace(place)


def _draw(found: Report, target: Path) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.suffix.lower() != ".png":
            target.write_text(svg(found), encoding="utf-8")
            return
        from .plotting import draw

        draw(found, target)
    except OSError as error:
        raise StoreUnwritable(f"{target} cannot be written: {error.strerror}", remedy="name another file") from error
    except ImportError as error:
        raise MissingExtra(
            "a PNG needs matplotlib", remedy="pip install 'hermes-harness[data]', or name a .svg"
        ) from error


class _Progress:
    """A line that says how far it is and how long it will take; only once in a while where nobody watches."""

    def __init__(self, console: Console, total: int, begun: int) -> None:
        self._console = console
        self._total = total
        self._begun = begun
        self._watched = sys.stderr.isatty()
        self._next = 0.0

    def __call__(self, tasks: int, seconds: float) -> None:
        if seconds < self._next:
            return
        self._next = seconds + (0.5 if self._watched else 30.0)
        fresh = tasks - self._begun
        left = f", about {_time((self._total - tasks) * seconds / fresh)} left" if fresh > 0 and seconds > 2 else ""
        line = f"{tasks} of {self._total} tasks ({100 * tasks // max(1, self._total)} %), {_time(seconds)}{left}"
        if self._watched:
            sys.stderr.write(f"\r\x1b[2K{line}")
            sys.stderr.flush()
        else:
            self._console.note(line)

    def end(self) -> None:
        """Leave the line."""
        if self._watched:
            sys.stderr.write("\r\x1b[2K")


def _time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"

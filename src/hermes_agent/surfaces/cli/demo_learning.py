"""The first thing to watch: twenty tasks on bank exports, with learning and without it, side by side."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from ...bench.catalog import run
from ...bench.living import forget
from ...bench.picture import svg
from ...bench.records import done
from ...bench.report import Report, report
from ...bench.study import Arm, Study
from ...types.errors import HermesError
from .bench.studying import keep

TASKS = 20
_SEED = 3007
_RECENT = 5


class Learning:
    """Two histories of the same tasks: the agent learns in one of them."""

    def __init__(self, folder: Path, *, quiet: bool) -> None:
        self._folder = folder
        self._quiet = quiet
        self._told = -1
        self._studies = {
            arm: Study(
                name="finance",
                policy="apprentice",
                arm=arm,
                seed=_SEED,
                iterations=TASKS,
                folder=folder / arm.value,
            )
            for arm in (Arm.ON, Arm.OFF)
        }

    @property
    def home(self) -> Path:
        """The home of the agent that learned: what it knows can be looked at there."""
        return self._studies[Arm.ON].folder / "home"

    @property
    def picture(self) -> Path:
        """Where the picture is."""
        return self._folder / "success.svg"

    def play(self) -> Report:
        """Do all tasks; returns what came of them."""
        studies = list(self._studies.values())
        for study in studies:
            forget(study)
        problems = list(run(studies, len(studies), lambda tasks, seconds: self._progress()))
        self._end()
        if problems:
            raise HermesError(problems[0], remedy="run `hermes doctor`")
        histories = {arm: [done(study)] for arm, study in self._studies.items()}
        found = report("finance", "apprentice", TASKS, histories, simulated=True)
        self.picture.write_text(svg(found), encoding="utf-8")
        keep(found, self.home)
        return found

    def _progress(self) -> None:
        if self._quiet:
            return
        on, off = ([record.success for record in done(study)] for study in self._studies.values())
        if len(on) + len(off) == self._told:
            return
        self._told = len(on) + len(off)
        line = f"   task {len(on):2} of {TASKS}   learning: {_share(on)}   without: {_share(off)}"
        if sys.stdout.isatty():
            sys.stdout.write(f"\r\x1b[2K{line}")
            sys.stdout.flush()
        elif len(on) % _RECENT == 0 and len(on) == len(off):
            print(line, flush=True)

    def _end(self) -> None:
        if not self._quiet and sys.stdout.isatty():
            sys.stdout.write("\r\x1b[2K")


def _share(outcomes: Sequence[bool]) -> str:
    """The last few tasks as marks, and the share of all."""
    marks = "".join("✓" if one else "✗" for one in outcomes[-_RECENT:]).rjust(_RECENT)
    return f"{marks} {100 * sum(outcomes) // max(1, len(outcomes)):3} %"

"""Which case studies there are, by name, and how their histories are run side by side."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path

from ..types.errors import UsageError
from .crew import Crew
from .records import done
from .study import Study, World

STUDIES = {
    "finance": "finance.world",
    "reports": "families.reports",
    "debugging": "families.debugging",
    "analysis": "families.analysis",
    "research": "families.research",
    "administration": "families.administration",
    "open-ended": "families.open_ended",
}
"""Name to module; each has a class `World` that takes a seed."""
_LOOK = 0.25


def world_of(name: str, seed: int) -> World:
    """The world of a study and seed."""
    if name not in STUDIES:
        raise UsageError(f"there is no case study {name!r}", remedy=f"there are: {', '.join(STUDIES)}")
    made: World = import_module(f"{__package__}.{STUDIES[name]}").World(seed)
    return made


def folder_of(home: Path, name: str, policy: str, arm: str, seed: int) -> Path:
    """Where a history is kept."""
    return home / "bench" / name / policy.replace(":", "-").replace("/", "-") / f"{arm}-{seed}"


def live(study: Study) -> str:
    """Live one history to its end, in this process. Returns why it could not be, empty when it could."""
    from .living import Living

    try:
        Living(study, lambda seed: world_of(study.name, seed)).live(lambda record: None)
    except Exception as error:  # noqa: BLE001 - the boundary of a worker process: the parent says what happened
        return f"{type(error).__name__}: {error}"
    return ""


def run(studies: Sequence[Study], workers: int, look: Callable[[int, float], None]) -> Iterator[str]:
    """Live histories side by side; `look` hears how many tasks are done and for how many seconds. Yields what went
    wrong. Nobody is waited for when this is left early: what is stopped goes on from there next time."""
    began = time.monotonic()
    crew = Crew(studies, workers, live)
    try:
        while crew.work(_LOOK):
            look(tasks_done(studies), time.monotonic() - began)
    finally:
        crew.stop()
    look(tasks_done(studies), time.monotonic() - began)
    yield from crew.problems()


def tasks_done(studies: Sequence[Study]) -> int:
    """How many tasks of these histories are on record."""
    return sum(min(len(done(study)), study.iterations) for study in studies)

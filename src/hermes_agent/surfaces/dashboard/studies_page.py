"""Case studies: what `hermes bench` left in the home, as tables and curves. Reads files; changes nothing."""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import stat
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ...bench.report import ArmReport, Report
from ...types.base import Value
from ...types.text import one_line
from .answers import answer

STUDIES = 20
LARGEST = 2_000_000
LONGEST = 2_000
"""Iterations of a study: twice what the command takes."""
_LOOKED_AT = 500
_ROWS = 20
_LONGEST_NAME = 80
_FURTHEST = 1e9
_REMEDY = "the same `hermes bench` command writes it anew"


class Line(Value, frozen=True, kw_only=True):
    """An arm as it is drawn: (iteration, share), the first being 1. `real`: chance does not explain its gain."""

    points: tuple[tuple[int, float], ...]
    fitted: tuple[tuple[int, float], ...] | None
    real: bool


class ShownStudy(Value, frozen=True, kw_only=True):
    """One study; `lines` go with the arms of the report."""

    folder: str
    written_at: float
    report: Report
    lines: tuple[Line, ...]


class Problem(Value, frozen=True, kw_only=True):
    """A report that cannot be shown."""

    folder: str
    error: str
    remedy: str = _REMEDY


class Studies(Value, frozen=True, kw_only=True):
    """All there is to show, what was written last coming first."""

    studies: tuple[ShownStudy, ...]
    problems: tuple[Problem, ...]
    left_out: int


class StudiesPage:
    """Shows the reports of a home."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def routes(self) -> list[Route]:
        """Where it answers."""
        return [Route("/api/studies", self.listed)]

    async def listed(self, request: Request) -> Response:
        """Every study that has a report."""
        return answer(await asyncio.to_thread(read_studies, self._home))


def read_studies(home: Path) -> Studies:
    """The reports under a home: so many files of such a size and no more, whatever lies there. Links are not followed,
    and what is no report is said to be none."""
    found = sorted(_reports(home / "bench"), key=lambda one: (-one[0], one[1].parent.name))
    studies: list[ShownStudy] = []
    problems: list[Problem] = []
    for _, path in found[:STUDIES]:
        name = one_line(path.parent.name, _LONGEST_NAME)
        read = _read(path)
        if isinstance(read, str):
            problems.append(Problem(folder=name, error=read))
        else:
            studies.append(_shown(name, *read))
    return Studies(studies=tuple(studies), problems=tuple(problems), left_out=max(0, len(found) - STUDIES))


def _reports(bench: Path) -> Iterator[tuple[float, Path]]:
    """(when it was written, path) of each `report.json` one folder down."""
    try:
        with os.scandir(bench) as entries:
            folders = [Path(one.path) for one in islice(entries, _LOOKED_AT) if one.is_dir(follow_symlinks=False)]
    except OSError:
        return
    for folder in folders:
        path = folder / "report.json"
        with contextlib.suppress(OSError):
            yield path.lstat().st_mtime, path


def _read(path: Path) -> tuple[float, Report] | str:
    """When it was written and what it says, or why it cannot be shown."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            about = os.fstat(descriptor)
            if not stat.S_ISREG(about.st_mode):
                return "it is no plain file"
            with open(descriptor, "rb", closefd=False) as file:
                data = file.read(LARGEST + 1)
        finally:
            os.close(descriptor)
    except OSError as error:
        return f"it cannot be read: {error.strerror or error}"
    if len(data) > LARGEST:
        return f"it is larger than {LARGEST // 1_000_000} MB"
    try:
        report = msgspec.json.decode(data, type=Report)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        return one_line(f"it is no report of this version: {error}", 200)
    return _wrong(report) or (about.st_mtime, report)


def _wrong(report: Report) -> str:
    """What no study can have written; empty when all is well. Figures are drawn and multiplied, so they must be some
    that can be."""
    if not 1 <= report.iterations <= LONGEST or len({one.arm for one in report.arms}) < len(report.arms):
        return f"its arms or its iterations (1 to {LONGEST}) are none of a study"
    if any(len(one.rows) > _ROWS or len(one.points) > report.iterations for one in report.arms):
        return "it has more figures than iterations"
    if not all(math.isfinite(one) and abs(one) <= _FURTHEST for one in _numbers(msgspec.to_builtins(report))):
        return "it has figures that are out of bounds"
    for arm in report.arms:
        places = [place for place, _ in arm.points]
        if places != sorted(set(places)) or any(not 0 <= place < report.iterations for place in places):
            return "its points are not in order"
        if any(not 0 <= share <= 1 for _, share in arm.points):
            return "it has shares beyond 0 and 1"
        if arm.curve is not None and arm.curve.curve.rate < 0:
            return "its curve has no rate"
    return ""


def _numbers(value: Any) -> Iterator[float]:
    """Every number in a document."""
    match value:
        case dict():
            for one in value.values():
                yield from _numbers(one)
        case list() | tuple():
            for one in value:
                yield from _numbers(one)
        case int() | float():
            yield value
        case _:
            return


def _shown(folder: str, written_at: float, report: Report) -> ShownStudy:
    named = msgspec.structs.replace(
        report, name=one_line(report.name, _LONGEST_NAME), policy=one_line(report.policy, _LONGEST_NAME)
    )
    lines = tuple(_line(arm, report.iterations) for arm in report.arms)
    bare = tuple(msgspec.structs.replace(arm, points=()) for arm in named.arms)
    return ShownStudy(
        folder=folder, written_at=written_at, report=msgspec.structs.replace(named, arms=bare), lines=lines
    )


def _line(arm: ArmReport, iterations: int) -> Line:
    curve = arm.curve.curve if arm.curve is not None else None
    return Line(
        points=tuple((place + 1, share) for place, share in arm.points),
        fitted=tuple((place + 1, curve.at(place)) for place in range(iterations)) if curve else None,
        real=arm.gain is not None and arm.gain.real,
    )

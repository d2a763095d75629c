"""A task of a world, the verdict on it, and how its steps are written for the simulated policy."""

from __future__ import annotations

import json
import math
import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...types.base import Value

_LARGEST = 1 << 20
_NEAR = 0.01 + 1e-9


class Task(Value, frozen=True, kw_only=True):
    """One task. `request` is in plain words; `steps` are the ways that the simulated policy is given beside it.
    `files` is what lies in the workspace at first, `modes` the permissions of those that have their own, `truth` what
    the verdict is made from."""

    seed: int
    number: int
    family: str
    request: str
    steps: str
    files: dict[str, bytes]
    truth: dict[str, Any]
    modes: dict[str, int] = {}


class Verdict(Value, frozen=True, kw_only=True):
    """Whether a task was done, and if not, why."""

    ok: bool
    why: str = ""


class Step(Value, frozen=True, kw_only=True):
    """A step: the tools that may do it, and their arguments, which `own` overrides for a tool of another kind."""

    tools: tuple[str, ...]
    arguments: dict[str, Any]
    own: Mapping[str, dict[str, Any]] = {}


def steps_text(steps: Sequence[Step]) -> str:
    """Numbered steps as the simulated policy reads them."""
    return "\n".join(f"{place}. {' or '.join(_ways(step))}" for place, step in enumerate(steps, 1))


def _ways(step: Step) -> list[str]:
    return [f"{tool} {json.dumps(step.own.get(tool, step.arguments), ensure_ascii=False)}" for tool in step.tools]


def read_plain(path: Path, most: int = _LARGEST) -> bytes | None:
    """The content of a plain file of a decent size; None for anything else."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as file:
            about = os.fstat(file.fileno())
            if not stat.S_ISREG(about.st_mode) or about.st_size > most:
                return None
            return file.read(most)
    except (OSError, ValueError):
        return None


def json_problem(workspace: Path, name: str, right: Any) -> str:
    """What is wrong with a JSON file that should hold `right`; empty when nothing is. Numbers with a fraction may
    differ by a hundredth, nothing else may."""
    data = read_plain(workspace / name)
    if data is None:
        return f"there is no {name} of a decent size"
    try:
        found = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return f"{name} is no JSON"
    return "" if same(found, right) else f"{name} does not hold the right answer"


def same(found: Any, right: Any) -> bool:
    """Whether an answer is the right one."""
    match right:
        case dict():
            return (
                isinstance(found, dict)
                and found.keys() == right.keys()
                and all(same(found[name], value) for name, value in right.items())
            )
        case list():
            return (
                isinstance(found, list)
                and len(found) == len(right)
                and all(same(one, other) for one, other in zip(found, right, strict=True))
            )
        case float():
            return _is_near(found, right)
        case _:
            return type(found) is type(right) and bool(found == right)


def _is_near(found: Any, right: float) -> bool:
    if isinstance(found, bool) or not isinstance(found, int | float):
        return False
    try:
        return math.isfinite(found) and abs(found - right) <= _NEAR
    except OverflowError:
        return False

"""The verdict on a task, and how what lies in a workspace is read and compared for it."""

from __future__ import annotations

import json
import math
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..types.base import Value

_LARGEST = 1 << 20
_NEAR = 0.01 + 1e-9


class Verdict(Value, frozen=True, kw_only=True):
    """Whether a task was done, and if not, why."""

    ok: bool
    why: str = ""


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


def read_json(workspace: Path, name: str, pairs: Callable[[list[tuple[str, Any]]], Any] | None = None) -> Any:
    """What a JSON file of the workspace holds; `pairs` makes its objects. Raises ValueError with what is wrong."""
    data = read_plain(workspace / name)
    if data is None:
        raise ValueError(f"there is no {name} of a decent size")
    try:
        return json.loads(data.decode("utf-8-sig"), object_pairs_hook=pairs)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{name} is no JSON") from error


def same(found: Any, right: Any) -> bool:
    """Whether an answer is the right one. Numbers with a fraction may differ by a hundredth, nothing else may."""
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

"""A task of a world, what is wrong with its answer, and how its steps are written for the simulated policy."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...types.base import Value
from ..verdict import read_json, same


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


class Step(Value, frozen=True, kw_only=True):
    """A step: the tools that may do it, and their arguments, which `own` overrides for a tool of another kind."""

    tools: tuple[str, ...]
    arguments: dict[str, Any]
    own: Mapping[str, dict[str, Any]] = {}


class Draft(Value, frozen=True, kw_only=True):
    """What a family draws for a task: the task but for its place, its steps not written down yet."""

    request: str
    steps: tuple[Step, ...]
    truth: dict[str, Any]
    files: dict[str, bytes] = {}
    modes: dict[str, int] = {}


def steps_text(steps: Sequence[Step]) -> str:
    """Numbered steps as the simulated policy reads them."""
    return "\n".join(f"{place}. {' or '.join(_ways(step))}" for place, step in enumerate(steps, 1))


def _ways(step: Step) -> list[str]:
    return [f"{tool} {json.dumps(step.own.get(tool, step.arguments), ensure_ascii=False)}" for tool in step.tools]


def json_problem(workspace: Path, name: str, right: Any) -> str:
    """What is wrong with a JSON file that should hold `right`; empty when nothing is."""
    try:
        found = read_json(workspace, name)
    except ValueError as error:
        return str(error)
    return "" if same(found, right) else f"{name} does not hold the right answer"

"""What a case study consists of: worlds with tasks that can be checked exactly, arms, and the record of one task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

from ..tools.tool import Tool
from ..types.base import Value
from .verdict import Verdict


class Arm(StrEnum):
    """What is compared: without learning, with it, and with feedback that belongs to other calls and runs."""

    OFF = "off"
    ON = "on"
    SHUFFLED = "shuffled"

    @property
    def learns(self) -> bool:
        """Whether learning is switched on."""
        return self is not Arm.OFF


class Task(Protocol):
    """One task of a world; the same seed and number always give the same task."""

    @property
    def number(self) -> int: ...

    @property
    def family(self) -> str: ...


class World(Protocol):
    """Where tasks happen. `start` and `stop` surround everything; `prepare` makes the start of a task again."""

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def tools(self) -> Sequence[Tool]: ...

    def settings(self) -> Mapping[str, Any]: ...

    def task(self, number: int) -> Any: ...

    def prepare(self, task: Any, workspace: Path) -> None: ...

    def request(self, task: Any, policy: str) -> str: ...

    def verify(self, task: Any, workspace: Path) -> Verdict: ...


class WorldFor(Protocol):
    """Makes the world of a seed."""

    def __call__(self, seed: int) -> World: ...


class Study(Value, frozen=True, kw_only=True):
    """One history: a study under one policy and arm from one seed, kept in `folder` so that it can go on and be
    replayed."""

    name: str
    policy: str
    arm: Arm
    seed: int
    iterations: int
    folder: Path


class TaskRecord(Value, frozen=True, kw_only=True):
    """What became of one task. `tool_seconds` were really spent; `policy_seconds` are the policy's own, simulated where
    the policy is. `errors` are failed calls; `skills` those that an agent had written and that were read."""

    number: int
    family: str
    success: bool
    why: str
    tool_seconds: float
    policy_seconds: float
    calls: int
    errors: int
    skills: tuple[str, ...]
    advised: bool
    run_id: str

    @property
    def seconds(self) -> float:
        """The time of the task."""
        return self.tool_seconds + self.policy_seconds

    @property
    def recovered(self) -> bool | None:
        """Whether it succeeded in spite of an error; None without one."""
        return self.success if self.errors else None

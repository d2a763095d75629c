"""A world of one family: its tasks, the tools and services they are done with, and the verdict on each."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from ...tools.tool import Tool
from ...types.base import Value
from ...types.errors import UsageError
from .parameters import Parameters, parameters
from .stages import Stage, stage_tools
from .task import Task, Verdict

_SIMULATED = "apprentice"


class Running(Protocol):
    """A service that runs until it is closed."""

    @property
    def address(self) -> str: ...

    def close(self) -> None: ...


class Family(Value, frozen=True, kw_only=True):
    """What makes a world: `make` gives the task of a seed and number, `problem` says what is wrong with a workspace
    after it (nothing when it was done), `serve` starts what the tools reach over the network."""

    name: str
    stages: tuple[Stage, ...]
    make: Callable[[int, int, Parameters], Task]
    problem: Callable[[Task, Path], str]
    serve: Callable[[int], Running] | None = None


class FamilyWorld:
    """All tasks of a family and seed. Its service, if it has one, runs between `start` and `stop`."""

    def __init__(self, family: Family, seed: int, given: Parameters | None = None) -> None:
        self.family = family
        self.seed = seed
        self.parameters = given or parameters(family.name.replace("-", "_"))
        self._running: Running | None = None

    def start(self) -> None:
        """Start the service on a free port of the loopback."""
        if self._running is None and self.family.serve is not None:
            self._running = self.family.serve(self.seed)

    def stop(self) -> None:
        """End the service."""
        running, self._running = self._running, None
        if running is not None:
            running.close()

    def tools(self) -> list[Tool]:
        """The tools of the world, to be registered with an agent beside its own."""
        return [
            tool for stage in self.family.stages for tool in stage_tools(self.family.name, stage, self.surroundings)
        ]

    def settings(self) -> Mapping[str, Any]:
        """The product is used as it is installed."""
        return {}

    def task(self, number: int) -> Task:
        """One task."""
        if self.seed < 0 or number < 0:
            raise UsageError("seeds and numbers of tasks begin at 0")
        return self.family.make(self.seed, number, self.parameters)

    def prepare(self, task: Task, workspace: Path) -> None:
        """Make the workspace what it is at the start of a task. Only a folder that is empty, or was made by this, is
        emptied: what somebody else keeps there is not touched."""
        mark = f".{self.family.name}-world"
        workspace.mkdir(parents=True, exist_ok=True)
        held = list(workspace.iterdir())
        if held and not (workspace / mark).is_file():
            raise UsageError(f"{workspace} is not empty", remedy="give a new or empty folder as the workspace")
        for path in held:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
        (workspace / mark).write_bytes(b"")
        for name, data in task.files.items():
            (workspace / name).parent.mkdir(parents=True, exist_ok=True)
            (workspace / name).write_bytes(data)
        for name, mode in task.modes.items():
            (workspace / name).chmod(mode)

    def request(self, task: Task, policy: str) -> str:
        """How a task is asked for. The simulated policy reads nothing but steps, so it is given them."""
        if policy.partition(":")[0] == _SIMULATED:
            return f"{task.request}\n\n{task.steps}\n\nreference {task.seed}-{task.number}"
        return task.request

    def verify(self, task: Task, workspace: Path) -> Verdict:
        """Whether the task was done. Never raises for what lies in the workspace."""
        why = self.family.problem(task, workspace)
        return Verdict(ok=not why, why=why)

    def surroundings(self) -> Mapping[str, str]:
        """What programs are told beside their arguments."""
        odds = {name: str(value) for name, value in self.parameters.odds.items()}
        if self.family.serve is None:
            return odds
        if self._running is None:
            raise UsageError("the service of this world is not running", remedy="call start() first")
        return {**odds, "service": self._running.address}

"""A world of one family: its tasks, the tools and services they are done with, and the verdict on each."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ...tools.tool import Tool
from ...types.base import Value
from ...types.errors import UsageError
from ..asking import asked
from ..serving import Served
from ..verdict import Verdict
from ..workspace import lay_out
from .parameters import Parameters, parameters
from .stages import Stage, stage_tools
from .task import Draft, Task, steps_text


class Family(Value, frozen=True, kw_only=True):
    """What makes a world: `make` draws the task of a seed and number, `problem` says what is wrong with a workspace
    after it (nothing when it was done), `serve` starts what the tools reach over the network."""

    name: str
    stages: tuple[Stage, ...]
    make: Callable[[random.Random, int, int, Parameters], Draft]
    problem: Callable[[Task, Path], str]
    serve: Callable[[int], Served] | None = None


class FamilyWorld:
    """All tasks of a family and seed. Its service, if it has one, runs between `start` and `stop`."""

    def __init__(self, family: Family, seed: int, given: Parameters | None = None) -> None:
        self.family = family
        self.seed = seed
        self.parameters = given or parameters(family.name.replace("-", "_"))
        self._running: Served | None = None

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
        name = self.family.name
        rng = random.Random(f"{name}:{self.seed}:{number}")
        drawn = self.family.make(rng, self.seed, number, self.parameters)
        return Task(
            seed=self.seed,
            number=number,
            family=name,
            request=drawn.request,
            steps=steps_text(drawn.steps),
            files=drawn.files,
            truth=drawn.truth,
            modes=drawn.modes,
        )

    def prepare(self, task: Task, workspace: Path) -> None:
        """Make the workspace what it is at the start of a task. Only a folder that is empty, or was made by this, is
        emptied: what somebody else keeps there is not touched."""
        lay_out(workspace, self.family.name, task.files, task.modes)

    def request(self, task: Task, policy: str) -> str:
        """How a task is asked for."""
        return asked(task, policy)

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

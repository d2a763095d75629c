"""The world of the case study: tasks, the services and tools they are done with, and the verdict on each."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...tools.tool import Tool
from ...types.errors import UsageError
from ..asking import asked
from ..serving import Served
from ..verdict import Verdict
from ..workspace import lay_out
from .parameters import Parameters, parameters
from .service import Service, serve
from .tasks import Task, task
from .tools import finance_tools
from .verify import verify


class World:
    """All tasks of a seed. Its services run between `start` and `stop`, or inside `with`."""

    def __init__(self, seed: int, given: Parameters | None = None) -> None:
        self.seed = seed
        self.parameters = given or parameters()
        self._running: Served | None = None

    def __enter__(self) -> World:
        self.start()
        return self

    def __exit__(self, *reason: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start the quote service and the analysis engine on a free port of the loopback."""
        if self._running is None:
            self._running = serve(Service(self.seed, self.parameters))

    def stop(self) -> None:
        """End the services."""
        running, self._running = self._running, None
        if running is not None:
            running.close()

    @property
    def address(self) -> str:
        """Where the services are."""
        if self._running is None:
            raise UsageError("the services of this world are not running", remedy="call start() first")
        return self._running.address

    def tools(self) -> list[Tool]:
        """The tools of the world, to be registered with an agent beside its own."""
        return finance_tools(self.parameters, lambda: self.address)

    def settings(self) -> Mapping[str, Any]:
        """What the configuration must say for this world: nothing, the product is used as installed."""
        return {}

    def task(self, number: int) -> Task:
        """One task."""
        return task(self.seed, number, self.parameters)

    def prepare(self, task: Task, workspace: Path) -> None:
        """Make the workspace what it is at the start of a task. Only a folder that is empty, or was made by this, is
        emptied: what somebody else keeps there is not touched."""
        lay_out(workspace, "finance", task.files)

    def request(self, task: Task, policy: str) -> str:
        """How a task is asked for."""
        return asked(task, policy)

    def verify(self, task: Task, workspace: Path) -> Verdict:
        """Whether the task was done."""
        return verify(task, workspace)

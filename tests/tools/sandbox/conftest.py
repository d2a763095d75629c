"""Tables of commands in each sandbox that can be had here."""

import asyncio
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hermes_agent.config.settings import SandboxSettings
from hermes_agent.store.blobs import BlobFolder
from hermes_agent.tools.processes import ProcessLimits, ProcessTable
from hermes_agent.tools.sandbox.base import Sandbox
from hermes_agent.tools.sandbox.bubblewrap import Bubblewrap
from hermes_agent.tools.sandbox.identity import end_group
from hermes_agent.tools.sandbox.landlock import Landlock
from hermes_agent.tools.sandbox.output import OutputLimits
from hermes_agent.types.tools import Spawned, ToolResult
from tests.tools.context import ENVIRONMENT

LIMITS = ProcessLimits(output=OutputLimits(shown=3_000, kept=1 << 20), grace=0.3)


class Bench:
    """A table of commands in one sandbox, with its workspace."""

    def __init__(self, folder: Path, sandbox: Sandbox) -> None:
        self.workspace = folder / "workspace"
        self.workspace.mkdir(exist_ok=True)
        self.blobs = BlobFolder(folder / "blobs")
        self.sandbox = sandbox
        self.table = ProcessTable(sandbox, folder / "processes", self.blobs, self.workspace, LIMITS)
        self.spawned: list[Spawned] = []
        self.processes = self.table.for_call(self._announce)

    async def _announce(self, spawned: Spawned) -> None:
        self.spawned.append(spawned)

    def run(self, command: str, timeout: float = 30, **given: object) -> ToolResult:
        async def once() -> ToolResult:
            return await self.processes.run(command, directory=self.workspace, timeout=timeout, **given)  # type: ignore[arg-type]

        return asyncio.run(once())

    def python(self, code: str, timeout: float = 30) -> ToolResult:
        (self.workspace / "program.py").write_text(code)
        return self.run(f"exec {sys.executable} -I -S program.py", timeout)


Making = Callable[[SandboxSettings], Bench]


@pytest.fixture
def bubblewrap(tmp_path: Path) -> Iterator[Making]:
    made: list[Bench] = []

    def make(settings: SandboxSettings) -> Bench:
        made.append(Bench(tmp_path, Bubblewrap(settings, ENVIRONMENT)))
        return made[-1]

    yield make
    _clear(made)


@pytest.fixture(params=["bubblewrap", "landlock"])
def confined(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Making]:
    made: list[Bench] = []
    kind = Bubblewrap if request.param == "bubblewrap" else Landlock

    def make(settings: SandboxSettings) -> Bench:
        made.append(Bench(tmp_path, kind(settings, ENVIRONMENT)))
        return made[-1]

    yield make
    _clear(made)


def _clear(benches: list[Bench]) -> None:
    for bench in benches:
        for spawned in bench.spawned:
            asyncio.run(end_group(spawned.identity, 0.0))

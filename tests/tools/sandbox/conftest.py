"""Tables of commands in each sandbox that can be had here."""

import asyncio
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
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
from hermes_agent.types.errors import ConfigError
from hermes_agent.types.tools import Spawned, ToolResult
from tests.tools.context import ENVIRONMENT

KINDS: dict[str, type[Bubblewrap] | type[Landlock]] = {"bubblewrap": Bubblewrap, "landlock": Landlock}
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


def need(
    name: str, environment: Mapping[str, str], hidden: Sequence[Path] = ()
) -> Callable[[SandboxSettings], Sandbox]:
    """A maker of sandboxes of one kind. Where there is none that is visible, and an error where CI promises it."""
    why = _why_not(name)
    if why and os.environ.get("CI") == "true":
        pytest.fail(f"CI=true promises {name}: {why}")
    if why:
        pytest.skip(why)
    return lambda settings: KINDS[name](settings, environment, hidden)


@lru_cache
def _why_not(name: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        try:
            KINDS[name](SandboxSettings(), ENVIRONMENT).prove(Path(folder))
        except ConfigError as error:
            return error.explain()
    return ""


def _benches(name: str, folder: Path) -> Iterator[Making]:
    sandbox = need(name, ENVIRONMENT)
    made: list[Bench] = []

    def make(settings: SandboxSettings) -> Bench:
        made.append(Bench(folder, sandbox(settings)))
        return made[-1]

    yield make
    _clear(made)


@pytest.fixture
def bubblewrap(tmp_path: Path) -> Iterator[Making]:
    yield from _benches("bubblewrap", tmp_path)


@pytest.fixture(params=["bubblewrap", "landlock"])
def confined(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Making]:
    yield from _benches(request.param, tmp_path)


def _clear(benches: list[Bench]) -> None:
    for bench in benches:
        for spawned in bench.spawned:
            asyncio.run(end_group(spawned.identity, 0.0))

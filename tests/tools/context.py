"""A tool context made of the real parts, without a harness around it."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import psutil

from hermes_agent.store.blobs import BlobFolder
from hermes_agent.tools.processes import ProcessLimits, ProcessTable
from hermes_agent.tools.results import as_result
from hermes_agent.tools.sandbox.direct import Direct
from hermes_agent.tools.tool import declared_tool
from hermes_agent.types.tools import Blobs, Person, Processes, SessionValues, Spawned, ToolResult

ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/nowhere", "OPENAI_API_KEY": "sk-not-for-commands"}


def gone(pid: int) -> bool:
    """Whether a process has ended; a zombie has."""
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


async def appears(path: Path) -> None:
    """Wait until a file is there and holds something."""
    for _ in range(3000):
        if await asyncio.to_thread(lambda: path.exists() and path.stat().st_size):
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"{path.name} did not appear")


class Journal:
    """Remembers what was announced."""

    def __init__(self) -> None:
        self.spawned: list[Spawned] = []

    async def announce(self, spawned: Spawned) -> None:
        self.spawned.append(spawned)


class Answering:
    """A person who always gives the same answer, or none."""

    def __init__(self, answer: str | None) -> None:
        self.answer = answer
        self.asked: list[tuple[str, tuple[str, ...]]] = []

    async def choose(self, question: str, choices: Sequence[str]) -> str | None:
        self.asked.append((question, tuple(choices)))
        return self.answer


class Values:
    """A session's values in memory."""

    def __init__(self) -> None:
        self.kept: dict[str, str] = {}

    async def get(self, key: str) -> str | None:
        return self.kept.get(key)

    async def set(self, key: str, value: str) -> None:
        self.kept[key] = value


class Context:
    """Everything a tool may use. `workspace` is below `folder`, beside what the session keeps."""

    made: ClassVar[list["Context"]] = []

    def __init__(self, folder: Path, *, answer: str | None = None, limits: ProcessLimits | None = None) -> None:
        self.made.append(self)
        self.workspace = folder / "workspace"
        self.workspace.mkdir(parents=True, exist_ok=True)
        self.idempotency_key = "key"
        self.blobs: Blobs = BlobFolder(folder / "blobs")
        self.journal = Journal()
        self.table = ProcessTable(Direct(ENVIRONMENT), folder / "processes", self.blobs, limits)
        self.processes: Processes = self.table.for_call(self.journal.announce)
        self.person: Person = Answering(answer)
        self.values: SessionValues = Values()
        self.rerun = False
        self.before: Mapping[str, str] = {}

    async def call(self, function: object, **arguments: Any) -> ToolResult:
        """Call a tool the way the harness does: bound, run, and made a result."""
        tool = declared_tool(function)
        assert tool is not None
        return as_result(await tool.run(tool.bind(arguments), self))

    def now(self, function: object, **arguments: Any) -> ToolResult:
        """The same from a test that is not a coroutine."""
        return asyncio.run(self.call(function, **arguments))

    def after_crash(self, **before: str) -> None:
        """From now on calls run for the second time; `before` holds the digests of the first."""
        self.rerun = True
        self.before = {name.replace("__", "."): digest for name, digest in before.items()}

    def write(self, path: str, content: str | bytes) -> Path:
        """A file of the workspace."""
        file = self.workspace / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        return file

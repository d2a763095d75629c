"""A tool context made of the real parts, without a harness around it."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import psutil

from hermes_agent.store.blobs import BlobFolder
from hermes_agent.tools.processes import ProcessLimits, ProcessTable
from hermes_agent.tools.results import as_result
from hermes_agent.tools.sandbox.direct import Direct
from hermes_agent.tools.tool import Tool, declared_tool
from hermes_agent.types.tools import (
    Blobs,
    Caller,
    Hit,
    Person,
    Processes,
    SessionValues,
    Spawned,
    ToolResult,
    ToolSpec,
    WebAccess,
    Workshop,
)

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


class Shelf:
    """Some tools, called directly: what permission and journal do is tested with the harness."""

    def __init__(self, context: "Context") -> None:
        self._context = context
        self.tools: dict[str, Tool] = {}
        self.called: list[tuple[str, dict[str, Any]]] = []

    def find(self, query: str, limit: int) -> list[ToolSpec]:
        return [tool.spec for name, tool in self.tools.items() if query in name][:limit]

    async def call(self, name: str, arguments: dict[str, Any]) -> ToolResult:
        self.called.append((name, arguments))
        tool = self.tools.get(name)
        if tool is None:
            return ToolResult(ok=False, error="unknown_tool", text=f"there is no tool {name!r}")
        return as_result(await tool.run(tool.bind(arguments), self._context))


class Kept:
    """What lives as long as the session."""

    def __init__(self) -> None:
        self.made: dict[str, Any] = {}

    async def get(self, key: str, make: Callable[[], Awaitable[Any]]) -> Any:
        if key not in self.made:
            self.made[key] = await make()
        return self.made[key]

    async def drop(self, key: str) -> bool:
        found = self.made.pop(key, None)
        if found is not None:
            await found.close()
        return found is not None

    async def close(self) -> None:
        for key in list(self.made):
            await self.drop(key)


class Posted:
    """An outbox in memory: the same key twice is one message."""

    def __init__(self) -> None:
        self.messages: dict[str, tuple[str, str, bool]] = {}

    async def put(self, *, key: str, to: str, text: str, urgent: bool) -> str:
        self.messages.setdefault(key, (to, text, urgent))
        return key


class Looking:
    """A model that says the same about every picture."""

    def __init__(self) -> None:
        self.seen: list[tuple[int, str, str]] = []

    async def look(self, picture: bytes, media_type: str, question: str) -> ToolResult:
        self.seen.append((len(picture), media_type, question))
        return ToolResult(text="a picture")


class Said:
    """Earlier conversations."""

    def __init__(self) -> None:
        self.hits: list[Hit] = []

    async def search(self, query: str, limit: int) -> list[Hit]:
        return [hit for hit in self.hits if query in hit.text][:limit]


class Planning:
    """The plan of a request."""

    def __init__(self) -> None:
        self.proposed: list[tuple[tuple[str, ...], str]] = []

    def steps(self) -> tuple[str, ...]:
        return self.proposed[-1][0] if self.proposed else ()

    async def propose(self, steps: Sequence[str], reason: str) -> None:
        self.proposed.append((tuple(steps), reason))


class NoWorkshop:
    """Self-written tools are tested where they live."""

    async def create(self, name: str, source: str) -> ToolResult:
        raise NotImplementedError

    async def edit(self, name: str, source: str) -> ToolResult:
        raise NotImplementedError

    async def rollback(self, name: str, version: int | None) -> ToolResult:
        raise NotImplementedError

    async def list(self) -> ToolResult:
        raise NotImplementedError


class Context:
    """Everything a tool may use. `workspace` is below `folder`, beside what the session keeps."""

    made: ClassVar[list["Context"]] = []

    def __init__(self, folder: Path, *, answer: str | None = None, limits: ProcessLimits | None = None) -> None:
        self.made.append(self)
        self.workspace = folder / "workspace"
        self.workspace.mkdir(parents=True, exist_ok=True)
        self.idempotency_key = "key"
        self.caller = Caller(run_id="run", session_id="session", surface="terminal")
        self.blobs: Blobs = BlobFolder(folder / "blobs")
        self.journal = Journal()
        self.table = ProcessTable(Direct(ENVIRONMENT), folder / "processes", self.blobs, self.workspace, limits)
        self.processes: Processes = self.table.for_call(self.journal.announce)
        self.person: Person = Answering(answer)
        self.values: SessionValues = Values()
        self.rerun = False
        self.before: Mapping[str, str] = {}
        self.tools = Shelf(self)
        self.resources = Kept()
        self.web = WebAccess()
        self.eyes = Looking()
        self.conversations = Said()
        self.outbox = Posted()
        self.planner = Planning()
        self.workshop: Workshop = NoWorkshop()

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

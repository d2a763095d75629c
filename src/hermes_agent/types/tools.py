"""What a tool is, what it may do, and what it gives back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

from .base import Value


class Effect(StrEnum):
    """What happens to the world when a call runs, and so what may happen to it after a crash."""

    NONE = "none"
    IDEMPOTENT = "idempotent"
    ONCE = "once"


class Capability(StrEnum):
    """What a tool may reach. A tool that declares none of them may only compute."""

    FILES_READ = "files.read"
    FILES_WRITE = "files.write"
    SHELL = "shell"
    NETWORK = "network"
    BROWSER = "browser"
    MESSAGES = "messages"
    SECRETS = "secrets"
    SCHEDULE = "schedule"
    SELF_MODIFY = "self_modify"


class ToolSpec(Value, frozen=True, kw_only=True):
    """Everything the harness and the model need to know about a tool without importing it.

    `capabilities` is None when the author declared nothing. Undeclared is not the same as declared empty:
    an undeclared tool is asked about, runs alone, and counts as `effect="once"`. `replaces` names the parameters
    that hold paths of files the call overwrites: their digests are journaled with the intent.
    """

    name: str
    description: str
    parameters: dict[str, Any]
    capabilities: frozenset[Capability] | None = None
    effect: Effect = Effect.ONCE
    needs: tuple[str, ...] = ()
    timeout: float = 60.0
    family: str = "custom"
    replaces: tuple[str, ...] = ()


class ToolCall(Value, frozen=True, kw_only=True):
    """One call as the model asked for it. `problem` is set when its arguments could not be read."""

    id: str
    name: str
    arguments: dict[str, Any] = {}
    problem: str = ""


class ToolResult(Value, frozen=True, kw_only=True):
    """What a call gives back. A failure is data for the model, not an exception.

    `error` is a short class such as `not_found` or `timeout`; `transient` says that the same call may work later.
    `blob` names the whole output where `text` holds only its head and tail.
    """

    ok: bool = True
    text: str = ""
    error: str = ""
    transient: bool = False
    blob: str = ""


class ProcessIdentity(Value, frozen=True, kw_only=True):
    """A process that can be told apart from every other one, also after a reboot or reuse of its number.

    `mark` is a word in the environment of the process and of all it starts: it finds those that left the group.
    """

    boot_id: str
    pid: int
    started: float
    group: int
    host: str = ""
    mark: str = ""


class Spawned(Value, frozen=True, kw_only=True):
    """A command that waits behind its gate. `log` is the file a background command writes to."""

    process: str
    identity: ProcessIdentity
    background: bool = False
    command: str = ""
    log: str = ""


Announce = Callable[[Spawned], Awaitable[None]]


class Blobs(Protocol):
    """Large texts by the digest of their content."""

    def put(self, data: bytes) -> str: ...

    def put_file(self, source: Path) -> str: ...

    def get(self, digest: str) -> bytes: ...

    def path(self, digest: str) -> Path: ...


class Processes(Protocol):
    """Starts commands in the sandbox. A command begins only after its identity was journaled."""

    async def run(self, command: str, *, directory: Path, timeout: float, stdin: str = "") -> ToolResult: ...

    async def start(self, command: str, *, directory: Path) -> ToolResult: ...

    async def poll(self, process: str) -> ToolResult: ...

    async def wait(self, process: str, timeout: float) -> ToolResult: ...

    async def write(self, process: str, text: str) -> ToolResult: ...

    async def kill(self, process: str) -> ToolResult: ...

    async def list(self) -> ToolResult: ...


class Person(Protocol):
    """Whoever can be asked. None means that nobody answered."""

    async def choose(self, question: str, choices: Sequence[str]) -> str | None: ...


class SessionValues(Protocol):
    """Small values that belong to a session and outlive a crash, such as a to-do list."""

    async def get(self, key: str) -> str | None: ...

    async def set(self, key: str, value: str) -> None: ...


class ToolContext(Protocol):
    """What a running tool may use. A function gets it by having a parameter named `context`."""

    @property
    def workspace(self) -> Path: ...

    @property
    def idempotency_key(self) -> str: ...

    @property
    def blobs(self) -> Blobs: ...

    @property
    def processes(self) -> Processes: ...

    @property
    def person(self) -> Person: ...

    @property
    def values(self) -> SessionValues: ...

    @property
    def rerun(self) -> bool:
        """Whether this call began once before a crash and now runs again."""

    @property
    def before(self) -> Mapping[str, str]:
        """Digests of the files this call is about to replace, as they were when its intent was journaled."""

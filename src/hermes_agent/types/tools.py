"""What a tool is, what it may do, and what it gives back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol, TypeVar

from .base import Value


class Effect(StrEnum):
    """What happens to the world when a call runs, and so what may happen to it after a crash."""

    NONE = "none"
    IDEMPOTENT = "idempotent"
    ONCE = "once"


class Capability(StrEnum):
    """What a tool may reach. A tool that declares none of them may only compute.

    `files.delete` is deletion without undo; `accounts` is acting in the user's name: paying, booking, settings.
    """

    FILES_READ = "files.read"
    FILES_WRITE = "files.write"
    FILES_DELETE = "files.delete"
    SHELL = "shell"
    NETWORK = "network"
    BROWSER = "browser"
    MESSAGES = "messages"
    ACCOUNTS = "accounts"
    SECRETS = "secrets"
    SCHEDULE = "schedule"
    SELF_MODIFY = "self_modify"


class Label(StrEnum):
    """What is known about a text: written by strangers, belonging to the user alone, said by the user, or found to be
    followed up, as the addresses in the answer to a search are."""

    UNTRUSTED = "untrusted"
    PRIVATE = "private"
    SPOKEN = "spoken"
    DIRECTORY = "directory"


class ToolSpec(Value, frozen=True, kw_only=True):
    """Everything the harness and the model need to know about a tool without importing it.

    `capabilities` is None when the author declared nothing. Undeclared is not the same as declared empty:
    an undeclared tool is asked about, runs alone, and counts as `effect="once"`. `replaces` names the parameters
    that hold paths of files the call overwrites: their digests are journaled with the intent.

    `labels` is what every result of the tool carries; None means what its capabilities suggest. `destinations` names
    the parameters that say where something goes. `unlocks` names parameters that need one more capability when they
    are given and true. A `rare` tool is not in the prompt: the model finds it with `tool_search`.
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
    labels: frozenset[Label] | None = None
    destinations: tuple[str, ...] = ()
    unlocks: dict[str, Capability] = {}
    rare: bool = False


class ToolCall(Value, frozen=True, kw_only=True):
    """One call as the model asked for it. `problem` is set when its arguments could not be read."""

    id: str
    name: str
    arguments: dict[str, Any] = {}
    problem: str = ""

    def meant(self) -> ToolCall:
        """The call that `use_tool` stands for, so that permission, effect and journal are those of the tool itself."""
        name, arguments = self.arguments.get("name"), self.arguments.get("arguments", {})
        if self.name != "use_tool" or not isinstance(name, str) or not isinstance(arguments, dict):
            return self
        return ToolCall(id=self.id, name=name, arguments=arguments, problem=self.problem)


class ToolResult(Value, frozen=True, kw_only=True):
    """What a call gives back. A failure is data for the model, not an exception.

    `error` is a short class such as `not_found` or `timeout`; `transient` says that the same call may work later.
    `blob` names the whole output where `text` holds only its head and tail. `labels` are added to those of the tool
    where only the call knows, such as a file that came from outside; `origin` says where the text came from: an
    address, a path, a sender.
    """

    ok: bool = True
    text: str = ""
    error: str = ""
    transient: bool = False
    blob: str = ""
    labels: frozenset[Label] = frozenset()
    origin: str = ""


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
    """Starts commands in the sandbox. A command begins only after its identity was journaled.

    `network` lets a command out of the sandbox's closed network; whoever passes it has the capability. `shared` are
    folders beside the workspace that the command may use, such as one with a socket in it.
    """

    async def run(
        self,
        command: str,
        *,
        directory: Path,
        timeout: float,
        stdin: str = "",
        network: bool = False,
        shared: Sequence[Path] = (),
    ) -> ToolResult: ...

    async def start(self, command: str, *, directory: Path, network: bool = False) -> ToolResult: ...

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


class Toolbox(Protocol):
    """The other tools, for a tool that works with tools. A call made here is permitted, journaled and labelled as if
    the model had made it, but its result goes to the caller instead of the conversation."""

    def find(self, query: str, limit: int) -> Sequence[ToolSpec]: ...

    async def call(self, name: str, arguments: dict[str, Any]) -> ToolResult: ...


Made = TypeVar("Made", bound="Closing")


class Closing(Protocol):
    """Something that must be closed."""

    async def close(self) -> None: ...


class Resources(Protocol):
    """Things that live as long as the session is open in this process, such as a browser. They do not survive it."""

    async def get(self, key: str, make: Callable[[], Awaitable[Made]]) -> Made: ...

    async def drop(self, key: str) -> bool: ...


class WebAccess(Value, frozen=True, kw_only=True):
    """How the web may be reached. `allowed` are host:port pairs that may be private, such as a local test server.

    `search` names the back end; its address and key come from the configuration.
    """

    search: str = "auto"
    search_url: str = ""
    search_key: str = ""
    allowed: frozenset[str] = frozenset()
    browser: str = ""
    user_agent: str = ""


class Eyes(Protocol):
    """A model that can look at pictures. Spends the run's budget."""

    async def look(self, picture: bytes, media_type: str, question: str) -> ToolResult: ...


class Hit(Value, frozen=True, kw_only=True):
    """One place where earlier conversations match a search. `role` is who speaks: user, assistant or tool."""

    session_id: str
    title: str
    at: float
    text: str
    role: str = "user"


class Conversations(Protocol):
    """What was said before, in this and other sessions."""

    async def search(self, query: str, limit: int) -> Sequence[Hit]: ...


class Outbox(Protocol):
    """Where messages to people wait for the surface that delivers them. The same key twice is one message."""

    async def put(self, *, key: str, to: str, text: str, urgent: bool) -> str: ...


class Planner(Protocol):
    """The active plan of this request: proposed by the model, journaled, gone when the request is answered."""

    def steps(self) -> Sequence[str]: ...

    async def propose(self, steps: Sequence[str], reason: str) -> None: ...


class Workshop(Protocol):
    """Tools that the agent writes itself, in its own folder, with a history."""

    async def create(self, name: str, source: str) -> ToolResult: ...

    async def edit(self, name: str, source: str) -> ToolResult: ...

    async def rollback(self, name: str, version: int | None) -> ToolResult: ...

    async def list(self) -> ToolResult: ...


class Caller(Value, frozen=True, kw_only=True):
    """In whose run a call is made. `surface` is where the run came from, "review" for a background review; `tainted`
    says that a stranger's text is in the conversation."""

    run_id: str
    session_id: str
    surface: str = ""
    tainted: bool = False


class ToolContext(Protocol):
    """What a running tool may use. A function gets it by having a parameter named `context`."""

    @property
    def caller(self) -> Caller: ...

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

    @property
    def tools(self) -> Toolbox: ...

    @property
    def resources(self) -> Resources: ...

    @property
    def web(self) -> WebAccess: ...

    @property
    def eyes(self) -> Eyes: ...

    @property
    def conversations(self) -> Conversations: ...

    @property
    def outbox(self) -> Outbox: ...

    @property
    def planner(self) -> Planner: ...

    @property
    def workshop(self) -> Workshop: ...

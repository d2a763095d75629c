"""The agent's side of the socket over which a script in the sandbox calls tools.

Whatever comes through it was written by code we do not trust: every size, number and wait has a limit, and nothing a
script sends, withholds or leaves open reaches further than its own calls.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import secrets
import socket
import struct
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ...types.base import Value
from ...types.errors import HermesError
from ...types.text import clean, clean_json, head_and_tail, one_line
from ...types.tools import Capability, Label, Toolbox, ToolResult, ToolSpec
from ..failures import failed
from .folder import private_folder

_HEADER = struct.Struct(">I")
_CHUNK = 1 << 16
_KNOCKS_PER_CALL = 4
_NOT_FROM_CODE = frozenset(
    ("execute_code", "terminal", "process", "clarify", "use_tool", "tool_search", "tool_manage", "plan")
)
_TOO_MUCH = frozenset((Capability.SHELL, Capability.SELF_MODIFY))


class BridgeLimits(Value, frozen=True, kw_only=True):
    """`calls` in all, `at_once` at the same time, `open` connections, bytes of a `frame`, characters of an `answer`,
    seconds to `wait` for a frame to be sent or taken."""

    calls: int = 50
    at_once: int = 8
    open: int = 32
    frame: int = 1 << 20
    answer: int = 100_000
    wait: float = 10.0


class _Question(Value, frozen=True, kw_only=True):
    """What a script may send: a call, or with a `query` a search for tools."""

    token: str
    name: str = ""
    arguments: dict[str, Any] = {}
    query: str | None = None
    limit: int = 10


class Bridge:
    """A socket in a private folder, open for the time of one script."""

    def __init__(self, tools: Toolbox, limits: BridgeLimits | None = None) -> None:
        self._tools = tools
        self._limits = limits or BridgeLimits()
        self._token = secrets.token_hex(16)
        self._turns = asyncio.Semaphore(self._limits.at_once)
        self._room = asyncio.Semaphore(self._limits.open)
        self._tasks: set[asyncio.Task[None]] = set()
        self._calls = 0
        self.labels: frozenset[Label] = frozenset()

    @contextlib.asynccontextmanager
    async def opened(self) -> AsyncIterator[Path]:
        """The folder with the socket. Afterwards calls under way are cancelled and the folder is gone."""
        async with private_folder() as folder:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
                listening.setblocking(False)
                listening.bind(str(folder / "tools"))
                listening.listen(self._limits.open)
                accepting = asyncio.create_task(self._accept(listening))
                try:
                    yield folder
                finally:
                    for task in (accepting, *self._tasks):
                        task.cancel()
                    await asyncio.gather(accepting, *self._tasks, return_exceptions=True)

    def handover(self, folder: Path) -> dict[str, Any]:
        """What the script's side needs to know."""
        return {"socket": str(folder / "tools"), "token": self._token, "frame": self._limits.frame}

    async def _accept(self, listening: socket.socket) -> None:
        """Take connections while there is room; a script that keeps knocking finds the socket closed."""
        loop = asyncio.get_running_loop()
        for _ in range(_KNOCKS_PER_CALL * self._limits.calls):
            await self._room.acquire()
            connection, _ = await loop.sock_accept(listening)
            task = loop.create_task(self._serve(connection))
            self._tasks.add(task)
            task.add_done_callback(self._served)
        listening.close()

    def _served(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._room.release()

    async def _serve(self, connection: socket.socket) -> None:
        """One question, one answer. Garbage and silence are answered by hanging up."""
        with connection:
            try:
                async with asyncio.timeout(self._limits.wait):
                    question = await self._question(connection)
                if question is None:
                    return
                data = msgspec.json.encode(self._shown(await self._answer(question)))
                async with asyncio.timeout(self._limits.wait):
                    await asyncio.get_running_loop().sock_sendall(connection, _HEADER.pack(len(data)) + data)
            except (OSError, EOFError, TimeoutError):
                return

    async def _question(self, connection: socket.socket) -> _Question | None:
        (size,) = _HEADER.unpack(await _exactly(connection, _HEADER.size))
        if size > self._limits.frame:
            return None
        try:
            return msgspec.json.decode(await _exactly(connection, size), type=_Question)
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
            return None

    async def _answer(self, question: _Question) -> ToolResult:
        if not hmac.compare_digest(question.token.encode(), self._token.encode()):
            return failed("bad_token", "this socket belongs to another script")
        self._calls += 1
        if self._calls > self._limits.calls:
            return failed("too_many_calls", f"a script may make {self._limits.calls} calls; go on in the next one")
        async with self._turns:
            if question.query is not None:
                found = self._tools.find(question.query[:1000], max(1, min(question.limit, 50)))
                return ToolResult(text=_listed(found, self._limits.answer))
            return await self._call(question.name, clean_json(question.arguments))

    async def _call(self, name: str, arguments: dict[str, Any]) -> ToolResult:
        refusal = _refusal(name, self._tools)
        if refusal:
            return failed("not_from_code", refusal)
        try:
            result = await self._tools.call(name, arguments)
        except HermesError as error:
            return failed(type(error).__name__, error.explain())
        except Exception as error:  # noqa: BLE001 - the tool boundary: whatever a tool raises is data
            return failed(type(error).__name__, f"{type(error).__name__}: {error}")
        self.labels |= result.labels
        return result

    def _shown(self, result: ToolResult) -> dict[str, Any]:
        text = head_and_tail(clean(result.text), self._limits.answer)
        return {"ok": result.ok, "text": text, "error": result.error}


async def _exactly(connection: socket.socket, size: int) -> bytes:
    loop, data = asyncio.get_running_loop(), bytearray()
    while len(data) < size:
        part = await loop.sock_recv(connection, min(_CHUNK, size - len(data)))
        if not part:
            raise EOFError
        data += part
    return bytes(data)


def _refusal(name: str, tools: Toolbox) -> str:
    """Why a script may not call a tool; empty when it may, as far as permission goes along.

    Commands and code are the script's own business, a person is asked in the conversation, and what changes the agent
    itself is not done in passing.
    """
    if name in _NOT_FROM_CODE:
        return f"{name} cannot be called from code; call it from the conversation"
    spec = next((found for found in tools.find(name, 10) if found.name == name), None)
    too_much = _TOO_MUCH & (spec.capabilities or frozenset()) if spec else frozenset()
    if too_much:
        return f"{one_line(name)} reaches {', '.join(sorted(too_much))}; call it from the conversation"
    return ""


def _listed(specs: Sequence[ToolSpec], limit: int) -> str:
    """As many of the tools as fit, best first."""
    parts: list[str] = []
    for spec in specs:
        described = {"name": spec.name, "description": clean(spec.description), "parameters": spec.parameters}
        parts.append(msgspec.json.encode(described).decode())
        if sum(map(len, parts)) + 2 * len(parts) > limit:
            parts.pop()
            break
    return f"[{','.join(parts)}]"

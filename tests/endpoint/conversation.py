"""What the endpoint insists on in a chat-completions request, as the real service does."""

from __future__ import annotations

import re
from typing import Any, Literal

import msgspec

from .formats import InvalidRequest

__all__ = ["Head", "InvalidRequest", "read_head", "read_strictly"]

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


class StreamOptions(msgspec.Struct):
    include_usage: bool = False


class Head(msgspec.Struct):
    """The part of a request that decides the form of the answer."""

    model: str
    stream: bool | None = None
    stream_options: StreamOptions | None = None

    @property
    def wants_usage(self) -> bool:
        return self.stream_options is not None and self.stream_options.include_usage


class _CalledFunction(msgspec.Struct):
    name: str
    arguments: str


class _ToolCall(msgspec.Struct):
    id: str
    type: Literal["function"]
    function: _CalledFunction


class _Message(msgspec.Struct):
    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[dict[str, Any]] | None = None
    tool_calls: list[_ToolCall] | None = None
    tool_call_id: str | None = None
    refusal: str | None = None


class _Function(msgspec.Struct):
    name: str
    description: str = ""
    parameters: dict[str, Any] = {}


class _Tool(msgspec.Struct):
    type: Literal["function"]
    function: _Function


class _Body(Head):
    messages: list[_Message] = msgspec.field(default_factory=list)
    tools: list[_Tool] | None = None


_head = msgspec.json.Decoder(Head)
_body = msgspec.json.Decoder(_Body)


def read_head(body: bytes) -> Head:
    """Reads only what decides the form of the answer; for benchmarks, where the client is trusted."""
    try:
        return _head.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InvalidRequest(str(error)) from error


def read_strictly(body: bytes) -> Head:
    """Reads and checks the whole request."""
    try:
        request = _body.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InvalidRequest(str(error)) from error
    if not request.messages:
        raise InvalidRequest("messages: at least one message is needed")
    _check_tools(request.tools)
    _check_results(request.messages)
    return request


def _check_tools(tools: list[_Tool] | None) -> None:
    if tools is not None and not tools:
        raise InvalidRequest("tools: an empty array is not allowed, leave the field out")
    names = [tool.function.name for tool in tools or ()]
    for name in names:
        if not _NAME.fullmatch(name):
            raise InvalidRequest(f"tools: {name!r} is not a function name")
    if len(set(names)) != len(names):
        raise InvalidRequest("tools: a function name appears twice")


def _check_results(messages: list[_Message]) -> None:
    """Every call is answered once, directly after its message, and nothing else is answered."""
    waiting: set[str] = set()
    for position, message in enumerate(messages):
        where = f"messages[{position}]"
        if message.role == "tool":
            if message.tool_call_id not in waiting:
                raise InvalidRequest(f"{where}: no preceding tool call has the id {message.tool_call_id!r}")
            if message.content is None:
                raise InvalidRequest(f"{where}: a tool message needs content")
            waiting.discard(message.tool_call_id)
            continue
        if waiting:
            raise InvalidRequest(f"{where}: tool calls without a result: {', '.join(sorted(waiting))}")
        _check_message(where, message)
        waiting = {called.id for called in message.tool_calls or ()}
        if len(waiting) != len(message.tool_calls or ()):
            raise InvalidRequest(f"{where}: a tool call id appears twice")
    if waiting:
        raise InvalidRequest(f"the last tool calls have no result: {', '.join(sorted(waiting))}")


def _check_message(where: str, message: _Message) -> None:
    if message.tool_calls and message.role != "assistant":
        raise InvalidRequest(f"{where}: only an assistant message has tool calls")
    if message.tool_calls is not None and not message.tool_calls:
        raise InvalidRequest(f"{where}: tool_calls must not be empty")
    for called in message.tool_calls or ():
        if not called.id:
            raise InvalidRequest(f"{where}: a tool call has an empty id")
        if not _NAME.fullmatch(called.function.name):
            raise InvalidRequest(f"{where}: {called.function.name!r} is not a function name")
    if message.content is None and not message.tool_calls and message.refusal is None:
        raise InvalidRequest(f"{where}: content is missing")

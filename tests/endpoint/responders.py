"""Ready responders, and the same as a JSON script for the endpoint run as a process."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any, assert_never

import msgspec

from .replies import Answer, Call, Calls, Reply, Request, Responder, ScriptExhausted, Text


class _Role(msgspec.Struct):
    role: str


class _Roles(msgspec.Struct):
    messages: list[_Role]


_roles = msgspec.json.Decoder(_Roles)


def sequence(replies: Sequence[Reply]) -> Responder:
    """The n-th request gets the n-th reply, whatever it says."""
    numbers = count()

    def respond(request: Request) -> Reply:
        return _at(replies, next(numbers))

    return respond


def by_results(replies: Sequence[Reply]) -> Responder:
    """The reply's index is the number of assistant messages after the last user message.

    A pure function of the request: asked again after a crash, the same question gets the same answer.
    """

    def respond(request: Request) -> Reply:
        index = 0
        for message in reversed(_roles.decode(request.body).messages):
            if message.role == "user":
                break
            index += message.role == "assistant"
        return _at(replies, index)

    return respond


def loop(turns: int, call: Call, *, final: Answer | None = None, marker: str | None = None) -> Responder:
    """`turns` tool calls, one per turn, then `final`: a pure function of the request that never parses it.

    `$i` in the arguments becomes the index of the turn, so that no two calls are identical. Turns are counted by the
    assistant's role marker in the raw bytes after the last user message; `marker` counts another text in the whole
    body instead, for clients that send tool results in the role of the user.
    """
    last = final if final is not None else Text(text="done")
    template = arguments_text(call)

    def respond(request: Request) -> Reply:
        done = request.body.count(marker.encode()) if marker else _assistant_messages(request.body)
        if done >= turns:
            return last
        return Calls(calls=(Call(name=call.name, arguments=template.replace("$i", str(done))),))

    return respond


def arguments_text(call: Call) -> str:
    """The arguments as they appear on the wire: JSON in a string."""
    if isinstance(call.arguments, str):
        return call.arguments
    return msgspec.json.encode(call.arguments).decode()


def _assistant_messages(body: bytes) -> int:
    # Inside a JSON string the quotes would be escaped, so these bytes are never content.
    start = max(body.rfind(b'"role":"user"'), body.rfind(b'"role": "user"'), 0)
    return body.count(b'"role":"assistant"', start) + body.count(b'"role": "assistant"', start)


def _at(replies: Sequence[Reply], index: int) -> Reply:
    if index >= len(replies):
        raise ScriptExhausted(f"the script has {len(replies)} replies, number {index + 1} was asked for")
    return replies[index]


class SequenceScript(msgspec.Struct, frozen=True, kw_only=True, tag="sequence"):
    replies: tuple[Reply, ...]


class ByResultsScript(msgspec.Struct, frozen=True, kw_only=True, tag="by_results"):
    replies: tuple[Reply, ...]


class LoopScript(msgspec.Struct, frozen=True, kw_only=True, tag="loop"):
    turns: int
    call: Call
    final: Answer = Text(text="done")
    marker: str | None = None


Script = SequenceScript | ByResultsScript | LoopScript


def from_script(script: Script) -> Responder:
    match script:
        case SequenceScript():
            return sequence(script.replies)
        case ByResultsScript():
            return by_results(script.replies)
        case LoopScript():
            return loop(script.turns, script.call, final=script.final, marker=script.marker)
        case _:
            assert_never(script)


def load_script(path: Path) -> Responder:
    """Reads a script file: the JSON of one of the script structs, for instance
    `{"type": "loop", "turns": 50, "call": {"name": "echo", "arguments": {"text": "$i"}}}`.
    """
    script: Any = msgspec.json.decode(path.read_bytes(), type=Script)
    return from_script(script)

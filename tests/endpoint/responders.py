"""Ready responders, and the same as a JSON script for the endpoint run as a process."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any, assert_never

import msgspec

from .replies import Answer, Call, Calls, Reply, Request, Responder, ScriptExhausted, Text, arguments_text
from .turns import answers_so_far, answers_so_far_quickly


def sequence(replies: Sequence[Reply]) -> Responder:
    """The n-th request gets the n-th reply, whatever it says."""
    numbers = count()

    def respond(request: Request) -> Reply:
        return _at(replies, next(numbers))

    return respond


def by_results(replies: Sequence[Reply]) -> Responder:
    """The reply's index is the number of the assistant's answers after the last message of the user.

    A pure function of the request: asked again after a crash, the same question gets the same answer.
    """

    def respond(request: Request) -> Reply:
        return _at(replies, answers_so_far(request))

    return respond


def loop(turns: int, call: Call, *, final: Answer | None = None, marker: str | None = None) -> Responder:
    """`turns` tool calls, one per turn, then `final`: a pure function of the request, cheap enough for benchmarks.

    `$i` in the arguments becomes the index of the turn, so that no two calls are identical. `marker` counts a text in
    the whole body instead of the turns, for clients that send tool results as text in the role of the user.
    """
    last = final if final is not None else Text(text="done")
    template = arguments_text(call)

    def respond(request: Request) -> Reply:
        done = request.body.count(marker.encode()) if marker else answers_so_far_quickly(request)
        if done >= turns:
            return last
        return Calls(calls=(Call(name=call.name, arguments=template.replace("$i", str(done))),))

    return respond


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

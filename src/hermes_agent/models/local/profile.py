"""A prompt small enough for a small model, in the format its adapter was trained on.

A frozen prefix written for large models is several times as long as what this one can use, so of it only the tools
are taken: one line for each. Everything said here depends on the request alone, and what was said once is said again
in the same bytes, so that the engine finds its earlier work in its cache.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from ...types.base import Value
from ...types.events import AssistantMessage, CallFinished, Fragment, UserMessage
from ...types.text import clean, head_and_tail
from ...types.tools import ToolCall
from ...types.trace import CallStatus
from ..request import ToolDeclaration, Transcript
from .clauses import Split
from .forms import FINAL_ANSWER, ordered_properties

_SENTENCE = "You are an agent. Call one tool per turn."
_REPLY = 'Reply with one JSON object {"name": tool, "arguments": {...}}.'
_FINAL = f"{FINAL_ANSWER}(text: string): Tell the user the answer and finish."
_LEFT_OUT = "Hint: earlier steps were left out to fit the context window."
_UNSEEN = "[an image, which this model cannot see]"
_TOLD_CHARACTERS = 300
_RESULT_CHARACTERS = 4_000
_DROP_AT_ONCE = 4


class ChatMessage(Value, frozen=True, kw_only=True):
    """A message as the chat template takes it."""

    role: str
    content: str


class Step(Value, frozen=True, kw_only=True):
    """Messages that are kept or left out together: a call with its result, or one thing somebody said."""

    messages: tuple[ChatMessage, ...]
    pinned: bool = False

    @property
    def length(self) -> int:
        return sum(len(message.content) for message in self.messages)


_BASICS = frozenset(
    ("clarify", "list_files", "patch", "process", "read_file", "search_files", "terminal", "todo", "write_file")
)
_MOST_TOOLS = 12
_MOST_NAMED = 3


def offered(tools: Sequence[ToolDeclaration], transcript: Transcript) -> tuple[ToolDeclaration, ...]:
    """The tools that a small model can choose among: few are all offered; of many the basic ones, which its adapter
    knows, and those the user's words name."""
    if len(tools) <= _MOST_TOOLS:
        return tuple(tools)
    said = " ".join(message.text for message in transcript if isinstance(message, UserMessage)).casefold()
    words = set(re.findall(r"[^\W_]+", said))
    named = [tool.name for tool in tools if tool.name not in _BASICS and set(tool.name.casefold().split("_")) <= words]
    return tuple(tool for tool in tools if tool.name in _BASICS or tool.name in named[:_MOST_NAMED])


def system_text(tools: Sequence[ToolDeclaration]) -> str:
    """The system message for these tools."""
    lines = [tool_line(tool) for tool in tools if tool.name != FINAL_ANSWER]
    return "\n".join((_SENTENCE, "Tools:", *lines, _FINAL, _REPLY))


def tool_line(tool: ToolDeclaration) -> str:
    """`name(arg: type, optional?: a|b): description`, with the first sentence of the description."""
    properties = ordered_properties(tool.parameters)
    arguments = ", ".join(f"{name}{'' if needed else '?'}: {_kind(value)}" for name, value, needed in properties)
    return clean(f"{tool.name}({arguments}): {_first_sentence(tool.description)}")


def _first_sentence(text: str) -> str:
    line = " ".join(text.split())
    end = line.find(". ")
    return line if end < 0 else line[: end + 1]


def _kind(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return "|".join(str(value) for value in schema["enum"])
    kind = schema.get("type", "any")
    if kind == "array":
        return f"{_kind(schema.get('items') or {})}[]"
    return "|".join(kind) if isinstance(kind, list) else str(kind)


def call_text(call: ToolCall) -> str:
    """A call as the model writes it."""
    return clean(json.dumps({"name": call.name, "arguments": call.arguments}, ensure_ascii=False))


def steps_of(transcript: Transcript, split: Split) -> list[Step]:
    """The conversation in the trained format: one call at a time, each followed by its result.

    A request is shown by the clauses that `split` finds in it: the first at once, and after each call that worked the
    next, as if the result had been told and the next thing were asked for only then. Calls that another model made
    together come one by one, in the order in which they ended; what it said beside them is left out. The request
    under way is pinned.
    """
    steps: list[Step] = []
    asked: dict[str, ToolCall] = {}
    request = 0
    ahead: list[str] = []
    for message in transcript:
        match message:
            case UserMessage(text=text, images=images, mode=mode):
                if mode == "queue":
                    request = len(steps)
                    text, *ahead = split(text)
                steps.append(_said("user", "\n".join((text, *(_UNSEEN for _ in images)))))
            case Fragment(text=text):
                steps.append(_said("user", "\n".join(f"Hint: {line}" for line in text.splitlines() if line.strip())))
            case AssistantMessage(text=text, calls=calls):
                asked.update((call.id, call) for call in calls)
                if not calls:
                    steps.append(_said("assistant", call_text(_final(text))))
            case CallFinished(call_id=call_id, tool=tool, status=status):
                steps.append(_called(asked.get(call_id) or ToolCall(id=call_id, name=tool), message))
                if ahead and status is CallStatus.OK:
                    told = call_text(_final(head_and_tail(message.text, _TOLD_CHARACTERS)))
                    steps += (_said("assistant", told), _said("user", ahead.pop(0)))
    if steps:
        steps[request] = Step(messages=steps[request].messages, pinned=True)
        steps[-1] = Step(messages=steps[-1].messages, pinned=True)
    return steps


def _said(role: str, text: str) -> Step:
    return Step(messages=(ChatMessage(role=role, content=clean(text)),))


def _final(text: str) -> ToolCall:
    return ToolCall(id="", name=FINAL_ANSWER, arguments={"text": text})


def _called(call: ToolCall, finished: CallFinished) -> Step:
    word = "result" if finished.status is CallStatus.OK else "error"
    result = clean(f"Tool {word}: {head_and_tail(finished.text, _RESULT_CHARACTERS)}")
    return Step(
        messages=(ChatMessage(role="assistant", content=call_text(call)), ChatMessage(role="user", content=result))
    )


def chat(system: str, steps: Sequence[Step], dropped: int = 0) -> list[dict[str, str]]:
    """The messages for the chat template, without the `dropped` oldest steps that are not pinned."""
    messages = [ChatMessage(role="system", content=system)]
    left = dropped
    for step in steps:
        if left and not step.pinned:
            if left == dropped:
                messages.append(ChatMessage(role="user", content=_LEFT_OUT))
            left -= 1
        else:
            messages += step.messages
    joined: list[dict[str, str]] = []
    for message in messages:
        if joined and joined[-1]["role"] == message.role:
            joined[-1]["content"] += f"\n{message.content}"
        else:
            joined.append({"role": message.role, "content": message.content})
    return joined


def to_drop(steps: Sequence[Step], dropped: int, excess: float) -> int:
    """How many steps to leave out so that about `excess` more characters go; the same as `dropped` when none is left.

    Several go at once, so that the next requests of a growing conversation begin with the same bytes.
    """
    loose = [step.length for step in steps if not step.pinned]
    count = dropped
    while count < len(loose) and (excess > 0 or count == dropped):
        excess -= loose[count]
        count += 1
    return min(len(loose), -(-count // _DROP_AT_ONCE) * _DROP_AT_ONCE)

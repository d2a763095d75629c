"""A conversation in the chat format that training tools read: `transformers`' templates, `datasets`, TRL.

Where those tools disagree, this is the form that most of them take without change:

- `arguments` of a call is an object. Templates write it with `| tojson` or walk it with `| items`; a JSON string would
  be quoted twice by the former and refused by the latter. (DeepSeek's own templates want a string and are the
  exception; docs/trajectories.md has the line that converts.)
- A key that does not apply is absent, never null or empty: Llama's templates ask whether `tool_calls` is in a message.
- `content` is always a string: templates add it to others.
- Messages of one conversation differ in their keys, because every answer has `finish_reason`. `datasets` then reads
  them as JSON values; without a difference in its first ten megabytes it would freeze a table of columns, and refuse a
  later file part that has calls.
- What follows on each other in the user's role is one message, for templates in which the two sides alternate.
- Whole numbers beyond 64 bits are texts: the loader of `datasets` refuses a whole file for one of them.
- Every call has exactly one result, directly behind it, under an id that no other call of the conversation has.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..models.request import ToolDeclaration
from ..models.wire.calls import NO_RESULT, CallBook, tool_name
from ..models.wire.parts import notice, stray_result
from ..types.base import Value
from ..types.events import AssistantMessage, CallFinished, Fragment, Image, Message, UserMessage

ChatMessage = dict[str, Any]
_LONGEST = 64


class Chat(Value, frozen=True, kw_only=True):
    """A conversation as training reads it. `begins` is the place of the message that the second part begins in;
    `pictures` were left out, each with a note in its place."""

    messages: tuple[ChatMessage, ...]
    begins: int
    pictures: int


def chat_of(system: str, earlier: Sequence[Message], own: Sequence[Message]) -> Chat:
    """What was said before a run, and in it, as one conversation."""
    writer = _Writer(system)
    for message in earlier:
        writer.add(message)
    begins = writer.next_place()
    for message in own:
        writer.add(message)
    writer.settle()
    return Chat(messages=tuple(writer.messages), begins=begins, pictures=writer.pictures)


def declared(tool: ToolDeclaration) -> dict[str, Any]:
    """A tool as templates want it told."""
    function = {"name": tool.name, "description": tool.description, "parameters": fitting(tool.parameters)}
    return {"type": "function", "function": function}


def fitting(value: Any) -> Any:
    """A JSON value whose whole numbers fit into 64 bits."""
    match value:
        case int() if not -(2**63) <= value < 2**63:
            return str(value)
        case dict():
            return {key: fitting(item) for key, item in value.items()}
        case list() | tuple():
            return [fitting(item) for item in value]
        case _:
            return value


class _Writer:
    """Adds one message after the other. A result that nobody waits for is kept until the others are there, and then
    told as a notice: between a call and its result nothing else may stand."""

    def __init__(self, system: str) -> None:
        self.messages: list[ChatMessage] = [{"role": "system", "content": system}] if system else []
        self.pictures = 0
        self._book = CallBook(_LONGEST)
        self._names: dict[str, str] = {}
        self._strays: list[str] = []

    def add(self, message: Message) -> None:
        match message:
            case CallFinished():
                self._result(message)
            case AssistantMessage():
                self.settle()
                self._answer(message)
            case Fragment():
                self.settle()
                self._told(notice(message))
            case UserMessage(text=text, images=images):
                self.settle()
                self.pictures += len(images)
                self._told("\n".join((text, *map(_left_out, images))))

    def next_place(self) -> int:
        """Where something the user says now will stand."""
        self.settle()
        return len(self.messages) - (bool(self.messages) and self.messages[-1]["role"] == "user")

    def settle(self) -> None:
        """Close what is open: calls without a result, and results without a call."""
        for made in self._book.give_up():
            self._answered(made, NO_RESULT)
        strays, self._strays = self._strays, []
        for text in strays:
            self._told(text)

    def _answer(self, said: AssistantMessage) -> None:
        message: ChatMessage = {"role": "assistant", "content": said.text}
        if said.calls:
            ids = self._book.make(said.calls)
            names = [tool_name(call.name, _LONGEST) for call in said.calls]
            self._names.update(zip(ids, names, strict=True))
            message["tool_calls"] = [
                {"id": made, "type": "function", "function": {"name": name, "arguments": fitting(call.arguments)}}
                for made, name, call in zip(ids, names, said.calls, strict=True)
            ]
        message["finish_reason"] = said.stop or ("tool_calls" if said.calls else "stop")
        self.messages.append(message)

    def _result(self, done: CallFinished) -> None:
        made = self._book.finish(done.call_id)
        if made:
            self._answered(made, done.text)
        else:
            self._strays.append(stray_result(done))

    def _answered(self, made: str, text: str) -> None:
        self.messages.append({"role": "tool", "name": self._names[made], "tool_call_id": made, "content": text})

    def _told(self, text: str) -> None:
        if self.messages and self.messages[-1]["role"] == "user":
            self.messages[-1]["content"] += f"\n\n{text}"
        else:
            self.messages.append({"role": "user", "content": text})


def _left_out(image: Image) -> str:
    return f"[an image of type {image.media_type}, left out of this trajectory]"

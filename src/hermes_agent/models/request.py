"""Requests as stable bytes.

The transcript only grows, so each message is serialised once per wire format and a request body is joined from those
pieces: the cost of an iteration does not grow with the conversation, and the prefix never changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..types.base import Value
from ..types.effort import Effort
from ..types.errors import NotFound
from ..types.events import AssistantMessage, Message, UserMessage


class ToolDeclaration(Value, frozen=True, kw_only=True):
    """A tool as the model is told of it."""

    name: str
    description: str
    parameters: dict[str, Any]


class Prefix(Value, frozen=True, kw_only=True):
    """The frozen part of every request of an epoch."""

    system: str
    tools: tuple[ToolDeclaration, ...]


class Transcript:
    """An append-only conversation that remembers its own serialised pieces. `image` gives the bytes behind a digest."""

    def __init__(self, messages: Sequence[Message] = (), image: Callable[[str], bytes] | None = None) -> None:
        self.image = image or _no_image
        self._messages: list[Message] = list(messages)
        self._pieces: dict[str, list[bytes]] = {}
        self.assistant_messages = sum(isinstance(message, AssistantMessage) for message in messages)
        self.characters = sum(map(characters_of, messages))

    def append(self, message: Message) -> None:
        """Add a message at the end; there is no other way to change a transcript."""
        self._messages.append(message)
        self.assistant_messages += isinstance(message, AssistantMessage)
        self.characters += characters_of(message)

    def __len__(self) -> int:
        return len(self._messages)

    def __iter__(self) -> Iterator[Message]:
        return iter(self._messages)

    def since_last_request(self) -> list[Message]:
        """The messages from the last thing the user said that began a run, that one included."""
        for place in range(len(self._messages) - 1, -1, -1):
            message = self._messages[place]
            if isinstance(message, UserMessage) and message.mode == "queue":
                return self._messages[place:]
        return list(self._messages)

    def pieces(self, wire: str, serialise: Callable[[Message], bytes]) -> list[bytes]:
        """All messages in a wire format; only those added since the last call are serialised."""
        known = self._pieces.setdefault(wire, [])
        known.extend(serialise(message) for message in self._messages[len(known) :])
        return known


def characters_of(message: Message) -> int:
    """About how many characters a message adds to a request."""
    size = len(message.text) + 40
    if isinstance(message, AssistantMessage):
        size += sum(len(call.name) + len(str(call.arguments)) + 60 for call in message.calls)
    return size


def _no_image(digest: str) -> bytes:
    raise NotFound(f"there is no image {digest!r}: this conversation has no store behind it")


class ModelRequest(Value, frozen=True, kw_only=True):
    """Everything a model is given.

    `tool_choice` is `auto`, `none`, `required` or the name of a tool; `schema` asks for an answer in that JSON schema.
    """

    prefix: Prefix
    transcript: Transcript
    tool_choice: str = "auto"
    max_tokens: int = 0
    effort: Effort | None = None
    schema: dict[str, Any] | None = None

    @property
    def may_call_tools(self) -> bool:
        """Whether an answer may hold calls."""
        return self.tool_choice != "none" and bool(self.prefix.tools)

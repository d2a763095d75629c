"""Messages joined to turns, for formats in which the two sides alternate or results must stand together.

A message that belongs to the turn before it becomes more of that turn. The bytes of a turn's end are therefore no part
of any piece: the first piece of the next turn brings them, and the end of the request closes the last one. So a piece
once written never changes, and each request begins with the bytes of the one before, less that one's end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from ...types.base import Value
from ...types.events import Message
from .parts import encoded

Block = dict[str, Any]


class Turn(Value, frozen=True, kw_only=True):
    """Blocks for a turn of some kind: more of it when it is already open."""

    kind: str
    blocks: list[Block]


class Form(Value, frozen=True, kw_only=True):
    """How a format writes turns: the bytes that begin one, by its kind, and those that end any.

    `lead` goes before a conversation that does not begin with the kind of turn that `first` names.
    """

    begin: Mapping[str, bytes]
    end: bytes
    first: str
    lead: bytes


class Writer(Protocol):
    """Puts messages into blocks. It may remember what it wrote: it sees each message once, in order."""

    def write(self, message: Message) -> list[Turn]:
        """The turns a message is, at least one; none of them is empty."""

    def unanswered(self) -> list[Turn]:
        """What has to follow what was written so that the conversation can be sent as it is now."""


class Draft:
    """A conversation as far as it was written. The bytes of a message depend on the turn that is open before it."""

    def __init__(self, form: Form, writer: Writer) -> None:
        self._form = form
        self._writer = writer
        self._open = ""

    def piece(self, message: Message) -> bytes:
        """The bytes that a message adds."""
        added, self._open = self._added(self._writer.write(message))
        return added

    def ending(self, kind: str, blocks: Sequence[Block] = ()) -> bytes:
        """The bytes that end the conversation for one request. If its last turn is of this kind, it gets the blocks."""
        added, last = self._added(self._writer.unanswered())
        if blocks and last == kind:
            added += self._added([Turn(kind=kind, blocks=list(blocks))], last)[0]
        return added + self._form.end if last else b""

    def _added(self, turns: Sequence[Turn], before: str | None = None) -> tuple[bytes, str]:
        """The bytes of turns behind those before, and the kind that is open then."""
        kind = self._open if before is None else before
        written: list[bytes] = []
        for turn in turns:
            written += (self._joint(kind, turn.kind), encoded(turn.blocks)[1:-1])
            kind = turn.kind
        return b"".join(written), kind

    def _joint(self, before: str, kind: str) -> bytes:
        if before == kind:
            return b","
        if before:
            return self._form.end + b"," + self._form.begin[kind]
        return (b"" if kind == self._form.first else self._form.lead) + self._form.begin[kind]

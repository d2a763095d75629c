"""A memory file as it is, what is wished of it, and what came of it."""

from __future__ import annotations

from ..types.base import Value
from ..types.text import one_line
from .entries import Alike, Noted
from .history import Kind, version_of
from .screening import LeftOut

SHOWN = 60
"""How many characters of an entry are shown to name it."""


class NoteFile(Value, frozen=True, kw_only=True):
    """A memory file as it is. `problem` says why it cannot be used; then it has no text here."""

    kind: Kind
    text: str = ""
    version: str = ""
    entries: tuple[Noted, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    problem: str = ""

    @property
    def used(self) -> int:
        """How many characters it holds."""
        return len(self.text)


class Listed(Value, frozen=True, kw_only=True):
    """An entry as it is named to whoever has to choose one."""

    number: int
    characters: int
    beginning: str


class NoteChange(Value, frozen=True, kw_only=True):
    """What came of a wish to change a file: a structured answer for agents and people.

    `error` is a short class: `full`, `stale`, `not_found`, `ambiguous`, `blocked`, `hidden`, `secret`, `invalid`,
    `unusable`, `busy`. `entries` and `similar` are there where something has to be chosen or merged."""

    ok: bool
    action: str
    target: Kind
    message: str
    version: str = ""
    before: str = ""
    used: int = 0
    limit: int = 0
    error: str = ""
    entry: int = 0
    entries: tuple[Listed, ...] = ()
    similar: tuple[Alike, ...] = ()


class Refused(Exception):
    """A wish that cannot be met, with the answer."""

    def __init__(
        self, error: str, message: str, similar: tuple[Alike, ...] = (), shown: tuple[Noted, ...] = ()
    ) -> None:
        super().__init__(message)
        self.error = error
        self.message = message
        self.similar = similar
        self.shown = shown


class Wish(Value, frozen=True, kw_only=True):
    """The text that a file shall have, and what to say when it has."""

    text: str
    message: str
    entry: int = 0
    note: str = ""
    undoes: int = 0
    similar: tuple[Alike, ...] = ()


def done(action: str, file: NoteFile, wanted: Wish) -> NoteChange:
    """The answer to a wish that was met."""
    return NoteChange(
        ok=True,
        action=action,
        target=file.kind,
        message=wanted.message,
        version=version_of(wanted.text.encode()),
        before=file.version,
        used=len(wanted.text),
        limit=file.kind.limit,
        entry=wanted.entry,
        similar=wanted.similar,
    )


def refusal(action: str, file: NoteFile, refused: Refused) -> NoteChange:
    """The answer to a wish that was not, with the file as it is."""
    return NoteChange(
        ok=False,
        action=action,
        target=file.kind,
        message=refused.message,
        version=file.version,
        before=file.version,
        used=file.used,
        limit=file.kind.limit,
        error=refused.error,
        entries=tuple(map(listed, refused.shown)),
        similar=refused.similar,
    )


def listed(entry: Noted) -> Listed:
    """An entry as it is named to whoever has to choose one."""
    return Listed(number=entry.number, characters=len(entry.text), beginning=one_line(entry.text, SHOWN))

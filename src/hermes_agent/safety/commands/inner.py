"""What a program runs in turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from . import code
from .words import Word


class Inner(NamedTuple):
    """One thing that a program runs in turn: words, a script for a shell, or a part nobody can vouch for."""

    label: str
    argv: tuple[Word, ...] = ()
    script: str = ""
    unread: str = ""
    finding: code.Finding | None = None


def script(label: str, word: Word) -> Iterator[Inner]:
    """A word that a shell will read as a script."""
    if not word.known or word.computed or word.glob:
        yield Inner(label, unread=word.text)
    if word.known:
        yield Inner(label, script=word.text)


def findings(label: str, given: Sequence[Word], read: Callable[[str], Iterator[code.Finding]]) -> Iterator[Inner]:
    for word in given:
        if not word.known or word.computed:
            yield Inner(label, unread=word.text)
        for finding in read(word.text):
            yield Inner(label, finding=finding)

"""A memory file as entries: Markdown that a person can open and edit, and every byte of it kept.

An entry is an item of a list (`- text`, further lines indented or not), a heading, or a paragraph. A blank line ends
each of them. What lies between entries belongs to none and stays where it is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum

from ..types.base import Value

_BULLET = re.compile(r"[-*+](?:[ \t\r]|$)")
_HEADING = re.compile(r"#{1,6}(?:[ \t\r]|$)")
_SPACE = " \t\r\n"
_WORD = re.compile(r"\w+")
_COMMON = frozenset(
    _WORD.findall(
        "the and for with that this are was has have had not but you your user uses use from into when they them its"
        " is to of in on at it an as be by or do does"
    )
)
_ALIKE, _INSIDE, _FEWEST = 0.5, 0.8, 3


class Form(StrEnum):
    """How an entry is written."""

    ITEM = "item"
    HEADING = "heading"
    PARAGRAPH = "paragraph"


class Noted(Value, frozen=True, kw_only=True):
    """One entry: its number from 1, what it says, the line it begins in, and its place in the text of the file."""

    number: int
    text: str
    line: int
    form: Form
    start: int
    end: int


class Alike(Value, frozen=True, kw_only=True):
    """Two entries that say nearly the same: candidates for one."""

    first: int
    second: int
    likeness: float


def parse(text: str) -> tuple[Noted, ...]:
    """The entries of a file, in order. Any text is a file."""
    found: list[Noted] = []
    block: list[tuple[str, int, int]] = []
    form = Form.PARAGRAPH

    def close() -> None:
        if block:
            lines = [line for line, _, _ in block]
            start, number = block[0][1:]
            end = start + len("\n".join(lines))
            said = _said(lines, form)
            found.append(Noted(number=len(found) + 1, text=said, line=number, form=form, start=start, end=end))
            block.clear()

    place = 0
    for number, line in enumerate(text.split("\n"), 1):
        begun = _form(line)
        if begun is None or begun is not Form.PARAGRAPH or not block or form is Form.HEADING:
            close()
            form = begun or Form.PARAGRAPH
        if begun is not None:
            block.append((line, place, number))
        place += len(line) + 1
    close()
    return tuple(found)


def tidied(text: str) -> str:
    """What is to be noted, as an entry holds it: line breaks as one character, no blank lines, no space around it."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join(line.rstrip(_SPACE) for line in lines if line.strip(_SPACE)).strip(_SPACE)


def rendered(text: str) -> str:
    """An entry as an item of a list."""
    return "- " + "\n  ".join(tidied(text).split("\n"))


def with_entry(text: str, fresh: str) -> str:
    """The file with one more entry at its end."""
    end = _line_end(text)
    gap = "" if not text or text.endswith("\n") else end
    return f"{text}{gap}{_item(fresh, end)}{end}"


def with_replaced(text: str, old: Noted, fresh: str) -> str:
    """The file with an entry in the place of another; all the others say what they said."""
    end = _line_end(text)
    item = _item(fresh, end)
    before, behind = text[: old.start], text[old.end :]
    wanted = [tidied(fresh) if one.number == old.number else one.text for one in parse(text)]
    close = f"{before}{item}{behind}"
    return close if _texts(close) == wanted else f"{before}{end}{item}{end}{behind}"


def without(text: str, old: Noted) -> str:
    """The file without an entry; all the others say what they said."""
    before, behind = text[: old.start], text[old.end :]
    wanted = [one.text for one in parse(text) if one.number != old.number]
    close = before + behind.removeprefix("\n")
    return close if _texts(close) == wanted else before + behind


def matching(entries: Iterable[Noted], old: str) -> list[Noted]:
    """The entries that `old` may mean: the one of that number, else those whose text is it, else those that have it."""
    entries = list(entries)
    wanted = tidied(old)
    if wanted.isascii() and wanted.isdigit() and len(wanted) < 6:
        numbered = [one for one in entries if one.number == int(wanted)]
        if numbered:
            return numbered
    same = [one for one in entries if one.text == wanted]
    return same or [one for one in entries if wanted and wanted in one.text]


def said_already(entries: Iterable[Noted], text: str) -> Noted | None:
    """The entry that says this word for word, in whatever case and spacing."""
    wanted = _folded(text)
    return next((one for one in entries if _folded(one.text) == wanted), None)


def carried(before: str, after: str, onto: str) -> str:
    """What changed from `before` to `after`, entry by entry, done to `onto`: to undo, or to keep what two changed."""
    if onto == before:
        return after
    old, new = Counter(_texts(before)), Counter(_texts(after))
    added = {one.text: one for one in parse(after)}
    for gone in (old - new).elements():
        found = next((one for one in parse(onto) if one.text == gone), None)
        onto = onto if found is None else without(onto, found)
    held = Counter(_texts(onto))
    for fresh in (new - old).elements():
        if held[fresh]:
            held[fresh] -= 1
        else:
            onto = _with_copy(onto, added[fresh], after)
    return onto


def alike(entries: Sequence[Noted]) -> tuple[Alike, ...]:
    """Pairs of entries that share most of their words, the most alike first. No model is asked."""
    words = {one.number: _words(one.text) for one in entries if one.form is not Form.HEADING}
    pairs = [
        Alike(first=first, second=second, likeness=round(likeness, 2))
        for first in words
        for second in words
        if first < second and (likeness := _likeness(words[first], words[second])) >= _ALIKE
    ]
    return tuple(sorted(pairs, key=lambda pair: (-pair.likeness, pair.first, pair.second)))


def _with_copy(onto: str, entry: Noted, source: str) -> str:
    """`onto` with an entry of another text at its end, written as it is written there."""
    if entry.form is Form.ITEM:
        return with_entry(onto, entry.text)
    end = _line_end(onto)
    gap = "" if not onto else end if onto.endswith("\n") else end + end
    return f"{onto}{gap}{source[entry.start : entry.end]}{end}"


def _form(line: str) -> Form | None:
    """What a line begins, or goes on as; None for a blank one."""
    if not line.strip(_SPACE):
        return None
    if _BULLET.match(line):
        return Form.ITEM
    return Form.HEADING if _HEADING.match(line) else Form.PARAGRAPH


def _said(lines: Sequence[str], form: Form) -> str:
    if form is Form.PARAGRAPH:
        return "\n".join(line.rstrip("\r") for line in lines)
    first = lines[0].lstrip("#") if form is Form.HEADING else lines[0][1:]
    rest = (line[2:] if line.startswith("  ") else line.removeprefix("\t") for line in lines[1:])
    return "\n".join(line.rstrip(_SPACE) for line in (first, *rest)).strip(_SPACE)


def _item(text: str, end: str) -> str:
    return rendered(text).replace("\n", end)


def _line_end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _texts(text: str) -> list[str]:
    return [one.text for one in parse(text)]


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _words(text: str) -> frozenset[str]:
    return frozenset(word for word in _WORD.findall(text.casefold()) if len(word) > 1 and word not in _COMMON)


def _likeness(one: frozenset[str], other: frozenset[str]) -> float:
    """The share of words that both have; a short entry that is nearly all inside a longer one counts as well."""
    shared = len(one & other)
    if not shared:
        return 0.0
    fewer = min(len(one), len(other))
    inside = shared / fewer
    return max(shared / len(one | other), inside if inside >= _INSIDE and fewer >= _FEWEST else 0.0)

"""Replaces text in a file's bytes: exactly where it can, forgivingly where that is unambiguous, else with a reason."""

from __future__ import annotations

import difflib
import itertools

from ..safety.paths import digest_of
from ..types.base import Value
from ..types.text import one_line

_LINES_NAMED = 8
_LINES_COMPARED = 20_000
_WORK_BYTES = 256 << 20


class Edited(Value, frozen=True, kw_only=True):
    """The new content, and where it differs."""

    data: bytes
    report: str


class Miss(Value, frozen=True, kw_only=True):
    """Nothing was replaced, and what to do about it."""

    error: str
    reason: str


def replace(data: bytes, old: str, new: str, every: bool) -> Edited | Miss:
    """`data` with `old` replaced by `new`: once, and only if there is one place, unless `every`."""
    if not old:
        return Miss(error="bad_argument", reason="old_string is empty; write_file writes whole files")
    if old == new:
        return Miss(error="bad_argument", reason="old_string and new_string are the same")
    encoding = _encoding(data)
    text = data.decode(encoding)
    try:
        new.encode(encoding)
    except UnicodeEncodeError:
        return Miss(error="encoding", reason="the file is not UTF-8 and cannot hold new_string; convert it first")
    old, new = _with_line_ends(text, old, new)
    places = _places(text, old)
    if not places:
        return _forgiving(text, old, new, encoding)
    if len(places) > 1 and not every:
        lines = _named(text, places)
        return Miss(
            error="ambiguous",
            reason=f"old_string is there {len(places)} times (lines {lines}); give more of the text around, "
            "or replace_all=true",
        )
    count = "1 place" if len(places) == 1 else f"{len(places)} places"
    report = f"{count} (line {_named(text, places)})"
    return Edited(data=text.replace(old, new).encode(encoding), report=report)


def undone(data: bytes, old: str, new: str, every: bool, before: str) -> bool:
    """Whether `data` is exactly what this edit makes of the content with the digest `before`: try it backwards."""
    encoding = _encoding(data)
    text = data.decode(encoding)
    old, new = _with_line_ends(text, old, new)
    if every:
        return bool(new) and digest_of(text.replace(new, old).encode(encoding)) == before
    if (text.count(new) + 1) * len(data) > _WORK_BYTES:
        return False
    places = _places(text, new) if new else range(len(text) + 1)
    return any(
        digest_of((text[:place] + old + text[place + len(new) :]).encode(encoding)) == before for place in places
    )


def _encoding(data: bytes) -> str:
    try:
        data.decode()
    except UnicodeDecodeError:
        return "latin-1"
    return "utf-8"


def _with_line_ends(text: str, old: str, new: str) -> tuple[str, str]:
    """Both strings with the file's line ends: models write '\\n' whatever the file has."""
    if "\r\n" not in text or "\r\n" in old:
        return old, new
    if text.count("\r\n") * 2 < text.count("\n"):
        return old, new
    return old.replace("\n", "\r\n"), new.replace("\r\n", "\n").replace("\n", "\r\n")


def _places(text: str, part: str) -> list[int]:
    places = []
    place = text.find(part)
    while place >= 0:
        places.append(place)
        place = text.find(part, place + len(part))
    return places


def _named(text: str, places: list[int]) -> str:
    numbers = [str(text.count("\n", 0, place) + 1) for place in places[:_LINES_NAMED]]
    return ", ".join(numbers) + (", …" if len(places) > _LINES_NAMED else "")


def _forgiving(text: str, old: str, new: str, encoding: str) -> Edited | Miss:
    """The one block of lines that differs from `old` in whitespace at the ends of its lines only."""
    lines = text.splitlines(keepends=True)
    wanted = [line.strip() for line in old.strip("\r\n").splitlines()]
    if not any(wanted):
        return Miss(error="not_found", reason="old_string is nothing but whitespace, and not there as written")
    stripped = [line.strip() for line in lines]
    size = len(wanted)
    starts = [
        start
        for start in range(len(lines) - size + 1)
        if stripped[start] == wanted[0] and stripped[start : start + size] == wanted
    ]
    if not starts:
        return Miss(error="not_found", reason=f"old_string is not there{_closest(stripped, wanted)}")
    if len(starts) > 1:
        numbers = ", ".join(str(start + 1) for start in starts[:_LINES_NAMED])
        return Miss(
            error="ambiguous",
            reason=f"old_string is not there as written, but for whitespace at lines {numbers}; copy one exactly",
        )
    block = lines[starts[0] : starts[0] + size]
    fresh = _indented_like(block, old, new)
    ending = block[-1][len(block[-1].rstrip("\r\n")) :]
    body = fresh.strip("\r\n") if old.strip("\r\n") != old else fresh.rstrip("\r\n")
    changed = "".join(lines[: starts[0]]) + (body + ending if body else "") + "".join(lines[starts[0] + size :])
    return Edited(
        data=changed.encode(encoding), report=f"1 place (line {starts[0] + 1}, whitespace differed from old_string)"
    )


def _indented_like(block: list[str], old: str, new: str) -> str:
    """`new` with the file's indentation: wherever `old` is indented in some way, the file shows how it should be."""
    given = old.strip("\r\n").splitlines()
    known = {_indent(mine): _indent(theirs) for mine, theirs in zip(given, block, strict=True) if mine.strip()}
    return "".join(_moved(line, known) for line in new.splitlines(keepends=True))


def _moved(line: str, known: dict[str, str]) -> str:
    indent = _indent(line)
    if not line.strip():
        return line
    fitting = max((part for part in known if indent.startswith(part)), key=len, default=None)
    return line if fitting is None else known[fitting] + line[len(fitting) :]


def _indent(line: str) -> str:
    return "".join(itertools.takewhile(str.isspace, line.rstrip("\r\n")))


def _closest(stripped: list[str], wanted: list[str]) -> str:
    """Where the file comes nearest to the first telling line, so that the model can look there."""
    first = next(line for line in wanted if line)[:200]
    if first in stripped:
        number = stripped.index(first) + 1
        return f"; line {number} has its first line, but what follows differs: read it from there"
    candidates = list(dict.fromkeys(line[:200] for line in stripped[:_LINES_COMPARED] if line))
    close = difflib.get_close_matches(first, _comparable(candidates, first), n=1, cutoff=0.6)
    if not close:
        return "; read the file and copy the text exactly"
    number = next(index for index, line in enumerate(stripped, 1) if line[:200] == close[0])
    return f"; closest is line {number}: {one_line(close[0], 160)}"


def _comparable(candidates: list[str], wanted: str) -> list[str]:
    """Lines of a similar length, few enough to compare."""
    low, high = len(wanted) * 0.4, len(wanted) * 2.5
    return [line for line in candidates if low <= len(line) <= high][:3000]

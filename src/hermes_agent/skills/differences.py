"""The difference between two versions of a skill, as a person reads it before deciding."""

from __future__ import annotations

import difflib

from ..types.text import visible
from .skill import Files

_LONGEST = 200_000


def unified(before: Files, after: Files, *, was: str = "before", now: str = "after") -> str:
    """A unified diff over all files. Characters that could hide something are shown escaped."""
    parts = []
    for path in sorted({*before, *after}):
        old, new = before.get(path), after.get(path)
        if old != new:
            parts.append(_one(path, old, new, was, now))
    text = "".join(parts)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}\n[… {len(text) - _LONGEST} characters more …]\n"


def _one(path: str, old: bytes | None, new: bytes | None, was: str, now: str) -> str:
    name = visible(path)
    lines = [_lines(old), _lines(new)]
    one, other = lines
    if one is None or other is None:
        size = "removed" if new is None else f"{len(new)} bytes"
        return f"--- {was}/{name}\n+++ {now}/{name}\n(not text: {size})\n"
    from_name = f"{was}/{name}" if old is not None else "/dev/null"
    to_name = f"{now}/{name}" if new is not None else "/dev/null"
    diff = list(difflib.unified_diff(one, other, from_name, to_name))
    return "".join(line if line.endswith("\n") else f"{line}\n\\ no newline at the end\n" for line in diff)


def _lines(content: bytes | None) -> list[str] | None:
    if content is None:
        return []
    try:
        return visible(content.decode()).splitlines(keepends=True)
    except UnicodeDecodeError:
        return None

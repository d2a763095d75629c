"""Fixed forms, compiled when a text that they need turns up, and tried only around it.

Every repetition in a form is bounded and every place is tried a bounded number of times: cost is linear in the text.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .verdict import Evidence

_EACH = 4
_AROUND = 420
_LINE = 240
_STEP = 120


class Pattern(NamedTuple):
    """A form, the literal texts of which one must be there, its weight and what it means."""

    rule: str
    weight: int
    needs: tuple[str, ...]
    form: str
    why: str


class Together(NamedTuple):
    """Forms that must all stand on one line with one of the literal texts, in any order."""

    rule: str
    weight: int
    needs: tuple[str, ...]
    forms: tuple[str, ...]
    why: str


def page(text: str, **parts: str) -> tuple[Pattern, ...]:
    """Patterns as they are written down: `rule weight: why`, lines of needs behind `?`, the form in indented lines.

    Needs are two spaces apart, with `·` for a space at their ends. `<<name>>` in a form stands for one of `parts`.
    """
    patterns: list[Pattern] = []
    for line in text.strip("\n").split("\n"):
        if line.startswith("?"):
            last = patterns[-1]
            needs = tuple(need.replace("·", " ") for need in line[1:].split("  ") if need)
            patterns[-1] = last._replace(needs=last.needs + needs)
        elif line.startswith("    "):
            part = line[4:]
            for name, value in parts.items():
                part = part.replace(f"<<{name}>>", value)
            patterns[-1] = patterns[-1]._replace(form=patterns[-1].form + part)
        else:
            head, _, why = line.partition(": ")
            rule, weight = head.split(" ")
            patterns.append(Pattern(rule, int(weight), (), "", why))
    return tuple(patterns)


def observed(patterns: Sequence[Pattern], text: str, *, command: bool = False) -> Iterator[Evidence]:
    """Evidence for every pattern that the folded text shows."""
    for pattern in patterns:
        count = 0
        for low, high in _neighbourhoods(text, pattern.needs):
            for match in _compiled(pattern.form).finditer(text, low, high):
                count += 1
                yield _evidence(pattern, match.start(), match.end(), command=command)
                if count == _EACH:
                    break
            if count == _EACH:
                break


def together(patterns: Sequence[Together], text: str) -> Iterator[Evidence]:
    """Evidence for every set of forms that the folded text shows on one line."""
    for pattern in patterns:
        last = -_STEP
        for place in _places(text, pattern.needs):
            if place < last + _STEP:
                continue
            last = place
            low = text.rfind("\n", max(0, place - _LINE), place) + 1 or max(0, place - _LINE)
            end = text.find("\n", place, place + _LINE)
            high = end if end >= 0 else place + _LINE
            if all(_compiled(form).search(text, low, high) for form in pattern.forms):
                yield _evidence(pattern, low, high, command=True)
                break


def _evidence(pattern: Pattern | Together, start: int, end: int, *, command: bool) -> Evidence:
    return Evidence(
        rule=pattern.rule, weight=pattern.weight, start=start, end=end + 20, why=pattern.why, command=command
    )


def _places(text: str, needs: tuple[str, ...]) -> list[int]:
    """Where one of the texts stands, in order."""
    places = []
    for need in needs:
        place = text.find(need)
        while place >= 0:
            places.append(place)
            place = text.find(need, place + len(need))
    places.sort()
    return places


def _neighbourhoods(text: str, needs: tuple[str, ...]) -> Iterator[tuple[int, int]]:
    """The stretches around the texts, joined where they meet."""
    low = high = -1
    for place in _places(text, needs):
        if place - _AROUND > high:
            if high >= 0:
                yield low, high
            low = max(0, place - _AROUND)
        high = place + _AROUND
    if high >= 0:
        yield low, high


@functools.cache
def _compiled(form: str) -> re.Pattern[str]:
    return re.compile(form)

"""Fixed forms, compiled when a word that they need turns up. Every repetition in a form is bounded: cost is linear."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .verdict import Evidence

_EACH = 4


class Pattern(NamedTuple):
    """A form, the literal texts of which one must be there, its weight and what it means."""

    rule: str
    weight: int
    needs: tuple[str, ...]
    form: str
    why: str


def observed(patterns: Sequence[Pattern], text: str, *, command: bool = False) -> Iterator[Evidence]:
    """Evidence for every pattern that the folded text shows."""
    for pattern in patterns:
        if not any(need in text for need in pattern.needs):
            continue
        for count, match in enumerate(_compiled(pattern.form).finditer(text)):
            if count == _EACH:
                break
            yield Evidence(
                rule=pattern.rule,
                weight=pattern.weight,
                start=match.start(),
                end=match.end() + 20,
                why=pattern.why,
                command=command,
            )


@functools.cache
def _compiled(form: str) -> re.Pattern[str]:
    return re.compile(form)

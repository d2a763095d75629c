"""Text cut up so that nobody reads it as a sentence: one word a line."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .verdict import CERTAIN, Evidence

_ONE_WORD_LINES = re.compile(r"(?:^|\n)(?:[ \t]{0,4}[^\s]{1,24}[ \t]{0,4}\r?\n){9,}[ \t]{0,4}[^\s]{1,24}")
_MARKS = ".,:;!?()\"'"
_GLUE = (
    " the to and of a in that you your is for with it on as this be are from or by all any i my me do not if then "
    "der die das und zu von le la les de et el los que y il di e o os para и в на не что "
)


def cut_up(folded: str) -> Iterator[Evidence]:
    """Evidence of prose that was written one word a line."""
    for match in _ONE_WORD_LINES.finditer(folded):
        lines = match[0].split()
        glue = sum(1 for line in lines if f" {line.strip(_MARKS)} " in _GLUE)
        if glue >= 3 and glue * 8 >= len(lines):
            yield Evidence(
                rule="cut_up_text",
                weight=CERTAIN,
                start=match.start(),
                end=match.end(),
                why="a sentence is written one word a line, so that it is not read as one",
            )

"""What a scan answers: evidence is weighed into findings and one verdict."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from ...types.base import Value
from ...types.text import visible

MAX_CHARS = 1_000_000
EXCERPT_CHARS = 120
MAX_FINDINGS = 20
CERTAIN = 100
_BESIDE = 12
_CLOSE = 400
_SHOWN = 60


class Kind(StrEnum):
    """Where the text is going. What is kept and obeyed for long is judged more strictly."""

    MEMORY = "memory"
    CONTEXT = "context"
    SKILL = "skill"
    TOOL = "tool"
    COMMAND = "command"


class Verdict(StrEnum):
    """`flag` is said to the user and lets the text pass; `block` keeps it out."""

    ALLOW = "allow"
    FLAG = "flag"
    BLOCK = "block"


class Finding(Value, frozen=True, kw_only=True):
    """One thing that was found: the rule, the place, and why it matters. The excerpt is safe to show."""

    rule: str
    excerpt: str
    line: int
    why: str


class Report(Value, frozen=True, kw_only=True):
    """The verdict on a text and the findings it rests on, the heaviest first."""

    verdict: Verdict
    findings: tuple[Finding, ...] = ()


class Evidence(Value, frozen=True, kw_only=True):
    """One observation before it is weighed. `start` is a place in `text`; families share one ceiling.

    `command` evidence counts more where the text is little else. `shown` evidence is an example in a text that talks
    about such things: it counts less, and any number of examples together do not block.
    """

    rule: str
    weight: int
    start: int
    end: int
    why: str
    command: bool = False
    shown: bool = False


BLOCK_AT = {Kind.MEMORY: 70, Kind.TOOL: 80, Kind.SKILL: 100, Kind.CONTEXT: 100, Kind.COMMAND: 100}
FLAG_AT = {Kind.MEMORY: 30, Kind.TOOL: 40, Kind.SKILL: 50, Kind.CONTEXT: 50, Kind.COMMAND: 50}


def finding(text: str, evidence: Evidence) -> Finding:
    """Evidence as it is told to people."""
    begin = max(0, evidence.start)
    excerpt = text[begin : max(begin + 1, min(evidence.end, begin + EXCERPT_CHARS))]
    return Finding(
        rule=evidence.rule,
        excerpt=visible(" ".join(excerpt.split()))[: EXCERPT_CHARS * 2],
        line=text.count("\n", 0, begin) + 1,
        why=evidence.why,
    )


def weigh(kind: Kind, evidence: Iterable[Evidence]) -> tuple[Verdict, list[Evidence]]:
    """The verdict on all the evidence: rules add up, each with its heaviest observation.

    A second observation of the same rule close to the first counts by two thirds: an order repeated in other words.
    """
    heaviest: dict[str, Evidence] = {}
    ordered = sorted(evidence, key=lambda item: (-item.weight, item.start, item.rule))
    again: dict[str, int] = {}
    for item in ordered:
        known = heaviest.setdefault(item.rule, item)
        if not item.command and not item.shown and _BESIDE <= abs(item.start - known.start) <= _CLOSE:
            again[item.rule] = max(again.get(item.rule, 0), item.weight * 2 // 3)
    ranked = sorted(heaviest.values(), key=lambda item: (-item.weight, item.start, item.rule))
    said = sum(item.weight for item in ranked if not item.shown) + sum(again.values())
    total = said + min(_SHOWN, sum(item.weight for item in ranked if item.shown))
    if total >= BLOCK_AT[kind]:
        return Verdict.BLOCK, ranked
    return (Verdict.FLAG if total >= FLAG_AT[kind] else Verdict.ALLOW), ranked

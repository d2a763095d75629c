"""Intents in words: attempts to take over a model that reads the text. A small grammar over concepts, in any language.

A rule is a sequence of concepts with the number of words that may lie between them. One rule rarely decides alone;
the weights of different rules add up in `verdict.weigh`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from . import lexicon as c
from .normalise import Word
from .verdict import Evidence


class Rule(NamedTuple):
    """Concepts in order, each with the most words that may lie before it; `near` must stand close by as well."""

    name: str
    weight: int
    steps: tuple[tuple[int, int], ...]
    why: str
    near: int = 0
    reach: int = 6
    unless: int = 0


RULES: tuple[Rule, ...] = (
    Rule(
        "override",
        100,
        ((c.IGNORE, 0), (c.RULES, 6)),
        "tells the reader to drop its instructions",
        near=c.PRIOR | c.YOURS | c.SYSTEM,
        reach=4,
        unless=c.NOT,
    ),
    Rule(
        "override",
        90,
        ((c.IGNORE, 0), (c.ALL, 2), (c.RULES, 4)),
        "tells the reader to drop its instructions",
        unless=c.NOT,
    ),
    Rule(
        "override",
        100,
        ((c.IGNORE, 0), (c.RULES, 3), (c.UTTER, 5)),
        "drops the instructions for other ones",
        unless=c.NOT,
    ),
    Rule(
        "override",
        60,
        ((c.IGNORE, 0), (c.PRIOR, 4)),
        "tells the reader to drop what came before",
        near=c.UTTER,
        reach=8,
        unless=c.NOT,
    ),
    Rule(
        "override",
        100,
        ((c.IGNORE, 0), (c.ALL, 2), (c.PRIOR, 10)),
        "tells the reader to drop what came before",
        near=c.UTTER | c.YOU | c.YOURS | c.MACHINE,
        reach=8,
        unless=c.NOT,
    ),
    Rule(
        "override",
        100,
        ((c.IGNORE, 0), (c.ALL, 2), (c.CONTENT | c.TASK, 4), (c.UTTER, 4)),
        "drops the rest for a new task",
        unless=c.NOT,
    ),
    Rule(
        "override",
        100,
        ((c.NOT, 0), (c.FOLLOW, 3), (c.PRIOR | c.SYSTEM | c.YOURS, 3), (c.RULES, 3)),
        "revokes instructions",
    ),
    Rule(
        "override",
        80,
        ((c.IGNORE, 0), (c.PRIOR, 2), (c.CONTENT, 2)),
        "tells the reader to drop what came before",
        near=c.UTTER | c.YOURS | c.MACHINE,
        unless=c.NOT,
    ),
    Rule(
        "override",
        60,
        ((c.IGNORE, 0), (c.ALL, 2), (c.PRIOR, 4)),
        "tells the reader to drop what came before",
        unless=c.NOT,
    ),
    Rule(
        "adherence",
        60,
        ((c.STRICTLY | c.MUST, 0), (c.FOLLOW, 2), (c.FOLLOWING, 4), (c.RULES, 2)),
        "imposes its own instructions",
    ),
    Rule("new_task", 60, ((c.YOURS, 0), (c.NEW, 1), (c.TASK | c.RULES, 2)), "replaces the task"),
    Rule(
        "new_task", 50, ((c.NEW, 0), (c.RULES, 1), (c.YOURS, 4)), "announces new instructions", near=c.FOLLOW | c.MUST
    ),
    Rule("secrecy", 60, ((c.NOT, 0), (c.TELL, 2), (c.PERSON, 6)), "keeps something from the user"),
    Rule(
        "secrecy",
        60,
        ((c.HIDE, 0), (c.SEND | c.RUN, 4)),
        "acts in secret",
        near=c.SECRET | c.PLACE | c.CONTENT,
        reach=10,
    ),
    Rule(
        "prompt_extraction",
        100,
        ((c.REVEAL, 0), (c.YOURS, 5), (c.SYSTEM | c.PRIOR, 2), (c.RULES, 2)),
        "asks for the system prompt",
        unless=c.NOT,
    ),
    Rule(
        "prompt_extraction",
        80,
        ((c.REVEAL, 0), (c.SYSTEM, 3), (c.RULES, 1)),
        "asks for the system prompt",
        near=c.ASK | c.YOURS | c.YOU,
        reach=6,
        unless=c.NOT,
    ),
    Rule(
        "exfiltration_words",
        70,
        ((c.SEND, 0), (c.SECRET, 10), (c.PLACE, 14)),
        "sends secrets to an address",
        unless=c.NOT,
    ),
    Rule(
        "exfiltration_words",
        60,
        ((c.SEND, 0), (c.CONTENT, 6), (c.PLACE, 14)),
        "sends private content to an address",
        near=c.ALL | c.STANDING,
        reach=8,
        unless=c.NOT,
    ),
    Rule(
        "exfiltration_words",
        70,
        ((c.SEND, 0), (c.CONTENT | c.SECRET, 6), (c.PLACE, 14)),
        "sends private content to an address",
        near=c.NOT | c.HIDE,
        reach=24,
    ),
    Rule(
        "persona",
        50,
        ((c.YOU | c.YOURS, 0), (c.PERSONA, 6)),
        "gives the reader another identity",
        near=c.FREE | c.LIMITS,
        reach=40,
    ),
    Rule("unbound", 50, ((c.NOT, 0), (c.LIMITS, 4)), "claims that no rules apply", near=c.PERSONA | c.FREE, reach=40),
    Rule(
        "standing_config",
        100,
        ((c.CONFIG, 0), (c.ALL | c.STANDING, 4), (c.MACHINE, 4), (c.MUST, 3)),
        "plants lasting orders for agents",
        near=c.RUN | c.PLACE | c.SEND,
        reach=12,
    ),
    Rule(
        "standing_config",
        80,
        ((c.CONFIG, 0), (c.RUN, 8), (c.PLACE, 6)),
        "plants code from elsewhere",
        near=c.STANDING | c.NOT,
        reach=20,
    ),
    Rule("decode_and_follow", 60, ((c.DECODE, 0), (c.FOLLOW | c.RUN, 4)), "asks to decode something and obey it"),
)


def intents(found: Sequence[Word]) -> Iterator[Evidence]:
    """Evidence for every rule that the words satisfy."""
    present = 0
    for word in found:
        present |= word.concepts
    for rule in RULES:
        if all(present & concept for concept, _ in rule.steps) and (not rule.near or present & rule.near):
            yield from _matches(rule, found)


def _matches(rule: Rule, found: Sequence[Word]) -> Iterator[Evidence]:
    first = rule.steps[0][0]
    for place, word in enumerate(found):
        if not word.concepts & first:
            continue
        last = _follow(rule, found, place)
        if last < 0 and _is_foreign(word):
            last = _precede(rule, found, place)
        if last < 0:
            continue
        low, high = min(place, last), max(place, last)
        if rule.unless and _beside(found, low, rule.unless, before=3):
            continue
        if rule.near and not _beside(found, low, rule.near, before=rule.reach, until=high):
            continue
        begin, end = found[low].start, found[high].end
        yield Evidence(rule=rule.name, weight=rule.weight, start=begin, end=end + 40, why=rule.why)


def _follow(rule: Rule, found: Sequence[Word], place: int) -> int:
    """The place of the last word of the sequence that starts at `place`; -1 when there is none."""
    for concept, gap in rule.steps[1:]:
        reach = found[place].at + gap + 1
        at = place + 1
        while at < len(found) and found[at].at <= reach and not found[at].concepts & concept:
            at += 1
        if at >= len(found) or found[at].at > reach:
            return -1
        place = at
    return place


def _precede(rule: Rule, found: Sequence[Word], place: int) -> int:
    """The same for languages that put the verb last: everything else stands within the words before it."""
    span = sum(gap + 1 for _, gap in rule.steps[1:])
    missing = [concept for concept, _ in rule.steps[1:]]
    at = place
    low = place
    while at > 0 and missing and found[at - 1].at >= found[place].at - span:
        at -= 1
        hit = next((concept for concept in missing if found[at].concepts & concept and _is_foreign(found[at])), 0)
        if hit:
            missing.remove(hit)
            low = at
    return -1 if missing else low


def _is_foreign(word: Word) -> bool:
    return bool(word.concepts & c.FOREIGN) and not word.concepts & c.ENGLISH


def _beside(found: Sequence[Word], place: int, concept: int, *, before: int, until: int = -1) -> bool:
    """Whether a word with the concept stands between `place` and `until` or within reach of them."""
    end = max(place, until)
    if any(found[at].concepts & concept for at in range(place + 1, end)):
        return True
    at = place - 1
    while at >= 0 and found[at].at >= found[place].at - before:
        if found[at].concepts & concept:
            return True
        at -= 1
    if until < 0:
        return False
    at = end + 1
    while at < len(found) and found[at].at <= found[end].at + before:
        if found[at].concepts & concept:
            return True
        at += 1
    return False

"""The scan itself: read, gather, put into perspective, weigh."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from ...types.text import decode
from .commands import COMMANDS, shell_plain
from .discourse import Discourse
from .encodings import MAX_DEPTH, Decoded, decoded, needless, spaced
from .exfiltration import EXFILTRATION
from .hidden import hidden_text
from .injection import intents
from .layout import cut_up
from .normalise import fold, squeezed, unleeted, words
from .patterns import observed, together
from .persistence import PERSISTENCE, PLANTED
from .phrases import PHRASES
from .verdict import CERTAIN, MAX_CHARS, MAX_FINDINGS, Evidence, Kind, Report, finding, weigh

_BOMS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_LONG_PROSE = 5
_TELLING = 4


class Observed(NamedTuple):
    """Evidence with the text it was found in."""

    evidence: Evidence
    text: str


def judge(text: str | bytes, kind: Kind) -> Report:
    """Judge a text. Bytes that are no text, and texts beyond `MAX_CHARS`, are blocked: unread is not trusted."""
    if isinstance(text, str):
        plain, unreadable = text, ""
    else:
        plain, unreadable = _read(text)
    if len(plain) > MAX_CHARS:
        why = f"longer than {MAX_CHARS} characters, so it was not read"
        return _report(kind, [Observed(_whole("too_long", why), plain[:200])])
    seen = list(observe(plain, kind))
    if unreadable:
        seen.append(Observed(_whole("undecodable", unreadable), plain))
    return _report(kind, seen)


def _read(raw: bytes) -> tuple[str, str]:
    """Bytes as text, and why they cannot be trusted to say what they show; empty when they can."""
    for bom, encoding in _BOMS:
        if raw.startswith(bom):
            try:
                return raw.decode(encoding), ""
            except UnicodeDecodeError:
                return decode(raw), f"not valid {encoding}"
    try:
        return raw.decode(), ""
    except UnicodeDecodeError as error:
        return decode(raw), f"not UTF-8 (byte {error.start})"


def _whole(rule: str, why: str) -> Evidence:
    return Evidence(rule=rule, weight=CERTAIN, start=0, end=60, why=why)


def _report(kind: Kind, seen: list[Observed]) -> Report:
    verdict, ranked = weigh(kind, [one.evidence for one in seen])
    texts = {id(one.evidence): one.text for one in seen}
    return Report(
        verdict=verdict,
        findings=tuple(finding(texts[id(one)], one) for one in ranked[:MAX_FINDINGS]),
    )


def observe(text: str, kind: Kind, depth: int = 0) -> Iterator[Observed]:
    """Everything that was found in a text and in what is encoded in it, before it is weighed."""
    if not depth:
        for item in hidden_text(text):
            yield Observed(item, text)
    folded = fold(text)
    yield from _judged(folded, kind)
    leet = unleeted(folded)
    if leet != folded:
        yield from _judged(leet, kind)
    for apart in spaced(folded):
        found = squeezed(apart.text)
        for item in intents(found):
            yield Observed(_moved(item, apart.start, f"{item.why} (in {apart.form})"), folded)
        if len(found) >= _TELLING:
            yield Observed(
                _moved(_whole("spaced_letters", ""), apart.start, "words are written as single letters"), folded
            )
    escaped = needless(text)
    if escaped >= 0:
        yield Observed(_moved(_whole("encoded_prose", ""), escaped, "plain letters are written as escapes"), text)
    for reading in decoded(text, folded):
        yield from _inner(reading, text, kind, depth)


def _inner(reading: Decoded, text: str, kind: Kind, depth: int) -> Iterator[Observed]:
    """What an encoded stretch says, told with the place where it stands."""
    if depth >= MAX_DEPTH:
        yield Observed(_whole("nested_encodings", f"encoded more than {MAX_DEPTH} times, so it was not read"), text)
        return
    escapes = reading.form == "escapes"
    for one in observe(reading.text, kind, depth + 1):
        if escapes:
            yield one
        else:
            yield Observed(_moved(one.evidence, reading.start, f"{one.evidence.why} (in {reading.form})"), text)
    if not escapes and " " in reading.text.strip() and len(reading.text.split()) >= _LONG_PROSE:
        yield Observed(
            _moved(_whole("encoded_prose", ""), reading.start, f"sentences are hidden in {reading.form}", 60), text
        )


def _moved(item: Evidence, start: int, why: str, weight: int = 0) -> Evidence:
    return msgspec.structs.replace(item, start=start, end=start + 80, why=why, weight=weight or item.weight)


def _judged(folded: str, kind: Kind) -> Iterator[Observed]:
    """Evidence from one folded text, each piece weighed by how the text around it talks."""
    found = words(folded)
    around = Discourse(folded, found)
    for item in cut_up(folded):
        yield Observed(item, folded)
    for item in (*intents(found), *observed(PHRASES, folded)):
        yield Observed(_in_words(item, around), folded)
    yield from _commands(folded, around, kind)
    shell = shell_plain(folded)
    if shell != folded:
        yield from _commands(shell, Discourse(shell, found), kind)


def _commands(folded: str, around: Discourse, kind: Kind) -> Iterator[Observed]:
    short = around.is_short or kind is Kind.COMMAND
    for item in together(PLANTED, folded):
        yield Observed(_in_commands(item, around, short=short), folded)
    for patterns in (COMMANDS, EXFILTRATION, PERSISTENCE):
        for item in observed(patterns, folded, command=True):
            yield Observed(_in_commands(item, around, short=short), folded)


def _in_words(item: Evidence, around: Discourse) -> Evidence:
    if around.shown(item.start):
        return msgspec.structs.replace(item, weight=item.weight * 2 // 5, shown=True)
    return item


def _in_commands(item: Evidence, around: Discourse, *, short: bool) -> Evidence:
    weight = item.weight
    if around.standing(item.start):
        weight += 50
    elif short:
        weight = weight * 2
    shown = not short and around.shown(item.start)
    if shown:
        weight = weight * 2 // 5
    return msgspec.structs.replace(item, weight=min(CERTAIN, weight), shown=shown)

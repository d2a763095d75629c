"""What may enter a memory file and what of it may enter the prompt."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from ..safety.redact import Redactor
from ..safety.scan import Finding, Kind, Report, Verdict, scan
from ..types.base import Value
from ..types.text import one_line
from .entries import Noted

_HIDDEN = "hidden_"


class LeftOut(Value, frozen=True, kw_only=True):
    """An entry that stays in the file and out of the prompt, and why. Line 0 is the whole file."""

    number: int
    line: int
    reason: str


def screened(entries: Sequence[Noted]) -> tuple[LeftOut, ...]:
    """The entries that a model must not read: those that trip the scanner alone, and those that do so together."""
    out = {one.number: _reason(report) for one in entries if (report := _scanned(one.text)).verdict is Verdict.BLOCK}
    while passed := [one for one in entries if one.number not in out]:
        report = _scanned("\n\n".join(one.text for one in passed))
        if report.verdict is not Verdict.BLOCK:
            break
        suspect = _at(passed, report.findings[0])
        out |= {one.number: f"with other entries: {_reason(report)}" for one in ([suspect] if suspect else passed)}
    return tuple(
        LeftOut(number=one.number, line=one.line, reason=out[one.number]) for one in entries if one.number in out
    )


def objection(text: str, redactor: Redactor) -> tuple[str, str]:
    """Why a text may not be noted: a short class and the reason, both empty when it may."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return "invalid", "it is not valid text: it holds half of a surrogate pair"
    if redactor.redact(text) != text:
        return (
            "secret",
            "it holds a key or password; memory is sent to the model with every session. Note where it is kept",
        )
    report = _scanned(text)
    hidden = next((one for one in report.findings if one.rule.startswith(_HIDDEN)), None)
    if hidden is not None:
        return "hidden", f"it holds characters that cannot be seen ({hidden.why}); write it without them"
    if report.verdict is Verdict.BLOCK:
        return "blocked", f"the scanner holds it back: {_reason(report)}"
    return "", ""


def unreadable(raw: bytes) -> str:
    """Why the bytes of a file are no text; empty when they are."""
    try:
        raw.decode()
    except UnicodeDecodeError as error:
        return f"it is not UTF-8 (byte {error.start})"
    return ""


@lru_cache(maxsize=256)
def _scanned(text: str) -> Report:
    return scan(text, Kind.MEMORY)


def _at(entries: Sequence[Noted], finding: Finding) -> Noted | None:
    """The entry in which a finding of the joined text lies."""
    line = 1
    for one in entries:
        behind = line + one.text.count("\n") + 2
        if line <= finding.line < behind:
            return one
        line = behind
    return None


def _reason(report: Report) -> str:
    """The heaviest finding. Its excerpt is not repeated: a model reads this line as well."""
    first = report.findings[0]
    return one_line(f"{first.why} ({first.rule})", 160)

"""One scanner for every text that a model will read or a shell will run. Pure functions, no I/O.

`scan` normalises the text (invisible characters, look-alike letters, encodings, layout), gathers evidence of hidden
text, of intents and of commands, and weighs it. What cannot be decoded, or is longer than `MAX_CHARS`, is blocked
unread. The rules are loaded with the first scan, not with the import.
"""

from __future__ import annotations

from .verdict import MAX_CHARS, Finding, Kind, Report, Verdict

__all__ = ["MAX_CHARS", "Finding", "Kind", "Report", "Verdict", "scan"]


def scan(text: str | bytes, kind: Kind = Kind.CONTEXT) -> Report:
    """Judge a text. Bytes that are no text, and texts beyond `MAX_CHARS`, are blocked: unread is not trusted."""
    from .engine import judge

    return judge(text, kind)

"""Keeps secrets out of everything that is stored, sent on or shown."""

from __future__ import annotations

import re
from collections.abc import Iterable

_SHAPES = (
    ("private-key", r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"),
    ("api-key", r"\bsk-[A-Za-z0-9_-]{20,}"),
    ("github-token", r"\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,})"),
    ("aws-key", r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    ("slack-token", r"\bxox[abprs]-[A-Za-z0-9-]{10,}"),
    ("google-key", r"\bAIza[A-Za-z0-9_-]{35}"),
    ("jwt", r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"),
)


class Redactor:
    """Replaces known secret values and everything shaped like one by `[redacted:KIND]`."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        known = sorted({secret for secret in secrets if len(secret) >= 8}, key=len, reverse=True)
        parts = [f"(?P<known>{'|'.join(map(re.escape, known))})"] if known else []
        parts += [f"(?P<s{number}>{shape})" for number, (_, shape) in enumerate(_SHAPES)]
        self._pattern = re.compile("|".join(parts))

    def redact(self, text: str) -> str:
        """`text` without secrets."""
        return self._pattern.sub(_replacement, text)


def _replacement(match: re.Match[str]) -> str:
    group = match.lastgroup or ""
    kind = "secret" if group == "known" else _SHAPES[int(group[1:])][0]
    return f"[redacted:{kind}]"

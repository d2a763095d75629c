"""Keeps secrets out of everything that is stored, sent on or shown."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

REDACTED = "[redacted:"
"""What stands in the place of every secret, with its kind and a bracket behind it."""
_KNOWN = f"{REDACTED}secret]"
_SHAPES: tuple[tuple[str, tuple[str, ...], str], ...] = (
    (
        "private-key",
        ("-----BEGIN ",),
        r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z)",
    ),
    ("api-key", ("sk-",), r"sk-(?<=\bsk-)[A-Za-z0-9_-]{20,}"),
    ("github-token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"gh[pousr]_(?<=\bgh._)[A-Za-z0-9]{30,}"),
    ("github-token", ("github_pat_",), r"github_pat_(?<=\bgithub_pat_)[A-Za-z0-9_]{30,}"),
    ("aws-key", ("AKIA", "ASIA"), r"A(?:KIA|SIA)(?<=\bA.IA)[A-Z0-9]{16}\b"),
    ("slack-token", ("xoxa-", "xoxb-", "xoxp-", "xoxr-", "xoxs-"), r"xox[abprs]-(?<=\bxox.-)[A-Za-z0-9-]{10,}"),
    ("google-key", ("AIza",), r"AIza(?<=\bAIza)[A-Za-z0-9_-]{35}"),
    (
        "jwt",
        ("eyJ",),
        r"eyJ(?<=\beyJ)[A-Za-z0-9_-]{10,2000}\.eyJ[A-Za-z0-9_-]{10,8000}\.[A-Za-z0-9_-]{10,2000}",
    ),
)
"""Each shape with the words that every match begins with: a text without them is passed over at the speed of `in`."""


class Redactor:
    """Replaces known secret values and everything shaped like one by `[redacted:KIND]`."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        spellings = {spelling for secret in secrets if len(secret) >= 8 for spelling in _spellings(secret)}
        self._known = sorted(spellings, key=lambda secret: (-len(secret), secret))
        self._shapes = [(starts, re.compile(shape), f"{REDACTED}{kind}]") for kind, starts, shape in _SHAPES]

    def redact(self, text: str) -> str:
        """`text` without secrets."""
        for secret in self._known:
            if secret in text:
                text = text.replace(secret, _KNOWN)
        for starts, shape, replacement in self._shapes:
            if any(start in text for start in starts):
                text = shape.sub(replacement, text)
        return text

    def redact_json(self, value: Any) -> Any:
        """A JSON value with every string in it redacted; the value itself where there was nothing to redact."""
        match value:
            case str():
                return self.redact(value)
            case dict():
                fresh: Any = {self.redact(key): self.redact_json(item) for key, item in value.items()}
            case list():
                fresh = [self.redact_json(item) for item in value]
            case _:
                return value
        return value if fresh == value else fresh


def _spellings(secret: str) -> tuple[str, ...]:
    """A secret as it is, and as it looks inside JSON."""
    return secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]

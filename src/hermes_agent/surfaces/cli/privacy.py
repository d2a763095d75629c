"""What is kept out of what we print."""

from __future__ import annotations

import re

_PASSWORD = re.compile(r"(://[^:/@\s]*):[^@/\s]*@")
_NAMED = re.compile(r"(password=)[^&\s]*", re.IGNORECASE)


def without_password(url: str) -> str:
    """A database address that may be shown."""
    return _NAMED.sub(r"\1***", _PASSWORD.sub(r"\1:***@", url))

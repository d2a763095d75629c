"""Text as it may be stored, sent and shown."""

from __future__ import annotations

import re
import unicodedata
from typing import Any


def clean(text: str) -> str:
    """`text` with lone surrogates replaced, so that it encodes everywhere. Free for ordinary text."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def clean_json(value: Any) -> Any:
    """A JSON value with every string in it cleaned."""
    match value:
        case str():
            return clean(value)
        case dict():
            return {clean(key): clean_json(item) for key, item in value.items()}
        case list() | tuple():
            return [clean_json(item) for item in value]
        case _:
            return value


def decode(data: bytes) -> str:
    """Bytes from outside as text; what is not UTF-8 becomes the replacement character."""
    return data.decode("utf-8", "replace")


_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def visible(text: str) -> str:
    """`text` with control, format and bidirectional characters escaped, for showing to a person who decides by it."""
    if text.isascii() and not _CONTROL.search(text):
        return text
    return "".join(
        char
        if char in "\n\t" or unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
        else f"\\u{{{ord(char):04x}}}"
        for char in text
    )


def head_and_tail(text: str, limit: int, *, note: str = "") -> str:
    """`text` cut in its middle to about `limit` characters; the cut says how much is missing and where it is."""
    if len(text) <= limit:
        return text
    head = limit * 2 // 3
    tail = limit - head
    missing = len(text) - head - tail
    where = f"; {note}" if note else ""
    return f"{text[:head]}\n[… {missing} characters left out{where} …]\n{text[-tail:]}"


def one_line(text: str, limit: int = 100) -> str:
    """The first `limit` characters of `text` on one line, control characters escaped."""
    flat = " ".join(visible(text[: limit * 4]).split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"

"""A body as text: what kind it is by what it says and by what it is, and how each kind is read."""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from ...types.base import Value
from ...types.text import one_line
from .charset import decoded, seen
from .failure import WebFailure

Kind = Literal["html", "xml", "json", "text"]
_HTML = frozenset({"text/html", "application/xhtml+xml"})
_XML = frozenset({"text/xml", "application/xml"})
_TEXTS = frozenset(
    {"application/javascript", "application/x-javascript", "application/ecmascript", "application/x-yaml"}
    | {"application/yaml", "application/toml", "application/x-sh", "application/sql", "application/x-ndjson"}
    | {"application/x-www-form-urlencoded", "application/x-tex", "application/x-httpd-php", "message/rfc822"}
)
_UNSAID = frozenset({"", "application/octet-stream", "binary/octet-stream", "application/unknown", "*/*"})
_SIGNS = (
    (b"%PDF-", "a PDF"),
    (b"\x89PNG\r\n\x1a\n", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
    (b"GIF8", "a picture"),
    (b"PK\x03\x04", "an archive or an office document"),
    (b"\x1f\x8b", "an archive"),
    (b"\x7fELF", "a program"),
    (b"\xd0\xcf\x11\xe0", "an office document"),
)
_KINDS = {"image": "a picture", "audio": "sound", "video": "a film", "font": "a font"}
_MARKUP = re.compile(
    rb"\s*(?:<!--[^>]{0,500}-->\s*)?<(?:!doctype\s+html|html|head|body|title|meta|h1|p|div|table|a)\b", re.I
)
_LINE = 2_000


class Page(Value, frozen=True, kw_only=True):
    """A body made text. `hidden` counts characters that a reader would not see; `cut` says that it goes on."""

    kind: Kind
    title: str = ""
    text: str = ""
    charset: str = ""
    hidden: int = 0
    cut: bool = False


def kind_of(start: bytes, content_type: str) -> Kind:
    """What to read a body as. Raises WebFailure for one that is no text, whatever it says it is."""
    declared = content_type.partition(";")[0].strip().lower()
    sign = next((meaning for magic, meaning in _SIGNS if start.startswith(magic)), "")
    if sign or declared == "application/pdf":
        raise _no_text(sign or "a PDF")
    if declared in _HTML:
        return "html"
    if declared in _XML or declared.endswith("+xml"):
        return "html" if declared not in _XML and _MARKUP.match(start) else "xml"
    if declared == "application/json" or declared.endswith("+json"):
        return "json"
    if declared.startswith("text/") or declared in _TEXTS:
        return "text"
    if declared not in _UNSAID:
        raise _no_text(_KINDS.get(declared.partition("/")[0], one_line(declared, 60)))
    if _binary(start):
        raise _no_text("no text")
    return _sniffed(start)


def page(body: bytes, content_type: str, url: str, *, full: bool = False) -> Page:
    """A body as text. May take as long as hostile markup makes it: `reader` bounds that."""
    kind = kind_of(body, content_type)
    text, charset = decoded(body, content_type)
    match kind:
        case "html":
            return _html(text, charset, url, full=full)
        case "xml":
            return _xml(text, charset)
        case "json":
            return Page(kind=kind, text=wrapped(seen(_pretty(text))), charset=charset)
        case "text":
            return Page(kind=kind, text=wrapped(seen(text)), charset=charset)


def wrapped(text: str) -> str:
    """`text` with no line so long that a reader of lines would lose its end."""
    if all(len(line) <= _LINE for line in text.split("\n")):
        return text
    return "\n".join(piece for line in text.split("\n") for piece in _pieces(line))


def _html(text: str, charset: str, url: str, *, full: bool) -> Page:
    from .html import readable

    found = readable(text.replace("\0", ""), url, full=full)
    return Page(
        kind="html",
        title=one_line(seen(found.title), 200),
        text=wrapped(seen(found.text)),
        charset=charset,
        hidden=found.hidden,
        cut=found.cut,
    )


def _xml(text: str, charset: str) -> Page:
    from .feed import feed

    found = feed(text)
    title, content = found or ("", text)
    return Page(kind="xml", title=one_line(seen(title), 200), text=wrapped(seen(content)), charset=charset)


def _pretty(text: str) -> str:
    """JSON with its values as they are, laid out; what is not JSON stays as it is."""
    try:
        return msgspec.json.format(text.strip(), indent=2)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return text


def _pieces(line: str) -> list[str]:
    pieces: list[str] = []
    place = 0
    while len(line) - place > _LINE:
        end = line.rfind(" ", place, place + _LINE)
        end = place + _LINE if end <= place else end
        pieces.append(line[place:end])
        place = end + (line[end : end + 1] == " ")
    pieces.append(line[place:])
    return pieces


def _sniffed(start: bytes) -> Kind:
    if _MARKUP.match(start):
        return "html"
    if start.lstrip().startswith(b"<?xml"):
        return "xml"
    return "json" if start.lstrip()[:1] in (b"{", b"[") else "text"


def _binary(start: bytes) -> bool:
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        return False
    sample = start[:2_048]
    return b"\0" in sample or sum(byte < 9 or 13 < byte < 27 for byte in sample) > len(sample) // 20


def _no_text(meaning: str) -> WebFailure:
    return WebFailure("not_text", f"this is {meaning}, not text; web_download saves it as a file")

"""RSS and Atom as a list of entries."""

from __future__ import annotations

import re
from html import unescape
from xml.parsers import expat

_ENTRIES = 200
_FIELD = 20_000
_SHOWN = 600
_TAG = re.compile(r"<[^<>]{0,2000}>")
_DECLARATIONS = re.compile(r"<!(?:DOCTYPE|ENTITY)", re.IGNORECASE)
_NAMES = {
    "title": "title",
    "link": "link",
    "pubdate": "date",
    "published": "date",
    "updated": "date",
    "date": "date",
    "description": "text",
    "summary": "text",
    "content": "text",
    "encoded": "text",
}


def feed(text: str) -> tuple[str, str] | None:
    """Title and entries of a feed as text; None for what is none, and for one that declares entities."""
    if _DECLARATIONS.search(text):
        return None
    reading = _Reading()
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.StartElementHandler = reading.start
    parser.EndElementHandler = reading.end
    parser.CharacterDataHandler = reading.data
    try:
        parser.Parse(re.sub(r"^\s*<\?xml[^<>]{0,300}\?>", "", text), True)
    except expat.ExpatError:
        if not reading.entries:
            return None
    if not reading.is_feed:
        return None
    return plain(reading.title), "\n\n".join(map(_shown, reading.entries))


def plain(markup: str) -> str:
    """Text from a scrap of HTML such as an excerpt."""
    return " ".join(unescape(_TAG.sub(" ", unescape(markup) if "&lt;" in markup else markup)).split())


class _Reading:
    """What was read of a feed so far; elements that are not of interest cost nothing."""

    def __init__(self) -> None:
        self.is_feed = False
        self.title = ""
        self.entries: list[dict[str, str]] = []
        self._depth = 0
        self._entry: dict[str, str] | None = None
        self._entry_depth = 0
        self._field = ""
        self._field_depth = 0
        self._data: list[str] = []
        self._size = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        local = name.rpartition(" ")[2].lower()
        if self._depth == 1:
            self.is_feed = local in ("rss", "feed", "rdf")
        if not self.is_feed:
            return
        if local in ("item", "entry") and self._entry is None:
            self._entry, self._entry_depth = {}, self._depth
        elif local in _NAMES and not self._field:
            self._field, self._field_depth = _NAMES[local], self._depth
            self._data, self._size = [], 0
            address = attributes.get("href", "")
            if local == "link" and address and attributes.get("rel", "alternate") == "alternate":
                self._data.append(address)

    def data(self, text: str) -> None:
        if self._field and self._size < _FIELD:
            self._data.append(text)
            self._size += len(text)

    def end(self, name: str) -> None:
        if self._field and self._depth == self._field_depth:
            value = "".join(self._data).strip()
            if self._entry is not None and value:
                self._entry.setdefault(self._field, value)
            elif self._field == "title" and self._entry is None and not self.title:
                self.title = value
            self._field = ""
        elif self._entry is not None and self._depth == self._entry_depth:
            if len(self.entries) < _ENTRIES:
                self.entries.append(self._entry)
            self._entry = None
        self._depth -= 1


def _shown(entry: dict[str, str]) -> str:
    head = f"- {plain(entry.get('title', '')) or '(no title)'}"
    if "date" in entry:
        head += f" ({' '.join(entry['date'].split())[:60]})"
    lines = [head]
    if "link" in entry:
        lines.append(f"  {' '.join(entry['link'].split())[:1000]}")
    text = plain(entry.get("text", ""))
    if text:
        lines.append(f"  {text[:_SHOWN]}" + ("…" if len(text) > _SHOWN else ""))
    return "\n".join(lines)

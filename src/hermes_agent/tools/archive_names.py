"""The names in an archive: each leads to one place below the target, on every system.

Encoded, doubled and look-alike spellings are refused as well: what unpacks the files next may read them otherwise.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple
from urllib.parse import unquote

from ..types.text import one_line

_NAME_BYTES, _PATH_BYTES, _PARTS = 255, 1024, 40
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)(?:\..*)?", re.IGNORECASE)
_OVERLONG = re.compile(r"%(?:c0|c1|e0%80|f0%80)", re.IGNORECASE)
_SLASHES = str.maketrans(dict.fromkeys("\u2044\u2215\u29f8\u2571\ufe68\uff3c\u29f5\u2216", "/"))


class Refused(Exception):
    """Why an archive will not be unpacked. `error` is the short class for the model."""

    def __init__(self, error: str, reason: str) -> None:
        super().__init__(reason)
        self.error = error


class Entry(NamedTuple):
    """One member. `kind` is `file`, `folder`, `link` or `copy` (of an earlier member); `link` is where those lead."""

    name: str
    kind: str
    size: int = 0
    link: str = ""
    executable: bool = False


class Names:
    """The paths of an archive as a tree: each once, none through a link, none under a file."""

    def __init__(self) -> None:
        self._kinds: dict[str, str] = {}
        self._links: dict[str, Entry] = {}
        self._folders: set[str] = set()

    def add(self, entry: Entry) -> None:
        key = _folded(entry.name)
        held = self._kinds.get(key)
        if held is not None and not (held == entry.kind == "folder"):
            raise Refused("collision", f"{one_line(entry.name)!r} is in it twice, or differs only in case")
        self._kinds[key] = entry.kind
        parts = key.split("/")
        self._folders.update("/".join(parts[:end]) for end in range(1, len(parts)))
        if entry.kind == "link":
            self._links[key] = entry

    def finish(self) -> None:
        """Checks that need all names."""
        for folder in self._folders:
            if self._kinds.get(folder, "folder") != "folder":
                raise Refused("bad_link", f"{one_line(folder)!r} is used as a folder and is none")
        for entry in self._links.values():
            self._inside(entry)

    def _inside(self, entry: Entry) -> None:
        link = entry.link
        base = entry.name.split("/")[:-1]
        parts = [part for part in link.split("/") if part not in ("", ".")]
        ups = sum(part == ".." for part in parts)
        bad = not link or link.startswith(("/", "~")) or "\\" in link or "\0" in link or ups > len(base)
        if bad or ".." in parts[ups:] or any(_KEEPS_OUT.search(part) for part in parts):
            raise Refused("bad_link", f"the link {one_line(entry.name)!r} leads out of the folder")
        target = base[: len(base) - ups] + parts[ups:]
        for end in range(1, len(target) + 1):
            if self._kinds.get(_folded("/".join(target[:end]))) == "link":
                raise Refused("bad_link", f"the link {one_line(entry.name)!r} leads through another link")


_KEEPS_OUT = re.compile(r"[\x00-\x1f\x7f:]")


def _folded(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold()


def safe_name(name: str) -> str:
    """A member's name as a path below the target. Raises Refused for what leads, or may be read to lead, elsewhere."""
    shown = one_line(name)
    if (
        not name
        or "\0" in name
        or any(unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp", "Co") for char in name)
    ):
        raise Refused("bad_name", f"the name {shown!r} is empty or holds characters that do not show")
    readings = [name]
    while "%" in readings[-1] and len(readings) < 4:
        readings.append(unquote(readings[-1]))
    if not readings[-1].isascii():
        readings += [unicodedata.normalize("NFKC", reading.translate(_SLASHES)) for reading in readings]
    if _OVERLONG.search(name) or any(map(_leads_out, set(readings))):
        raise Refused("traversal", f"the name {shown!r} leads out of the folder")
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if not parts:
        return "."
    if (
        len(parts) > _PARTS
        or len(name.encode()) > _PATH_BYTES
        or any(len(part.encode()) > _NAME_BYTES for part in parts)
    ):
        raise Refused("bad_name", f"the name {shown!r} is too long or too deep")
    for part in parts:
        if _RESERVED.fullmatch(part) or part != part.rstrip(". ") or part != part.lstrip(" ") or ":" in part:
            raise Refused("bad_name", f"the name {shown!r} means something else on other systems")
    return "/".join(parts)


def _leads_out(name: str) -> bool:
    flat = name.replace("\\", "/")
    parts = [part.strip() for part in flat.split("/")]
    return (
        "\\" in name
        or "\0" in name
        or flat.startswith(("/", "~"))
        or flat[1:2] == ":"
        or any(len(part) > 1 and not part.strip(".") for part in parts)
    )

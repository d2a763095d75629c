"""What can be said about a file without changing it: its facts, and how it differs from another."""

from __future__ import annotations

import codecs
import difflib
import hashlib
import io
import os
import stat
import time
from collections.abc import Iterator
from typing import BinaryIO

from ..safety.paths import Scope
from ..types.base import Value
from .relocate import Spot, look

_CHUNK = 1 << 20
_READ_BYTES = 512 << 20
_COMPARED_BYTES = 8 << 20
_COMPARED_PAIRS = 4_000_000
_BOMS = (
    (codecs.BOM_UTF8, "UTF-8 with a mark"),
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)


class TooDifferent(Value, frozen=True, kw_only=True):
    """Two files that cannot be compared line by line, and why."""

    reason: str


def facts(scope: Scope, place: Spot) -> str:
    """Lines about a file, a folder or a link."""
    found = look(scope, place)
    changed = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(found.st_mtime))
    rest = f"mode {stat.S_IMODE(found.st_mode):04o}, changed {changed}"
    if stat.S_ISLNK(found.st_mode):
        return f"{place.shown}: link to {os.readlink(scope.root / place.shown)}, {rest}"
    if stat.S_ISDIR(found.st_mode):
        folder = scope.open_folder(place.shown)
        try:
            return f"{place.shown}/: folder, {len(os.listdir(folder))} entries, {rest}"
        finally:
            os.close(folder)
    with scope.open_read(place.shown) as file:
        return f"{place.shown}: file, {found.st_size} bytes, {rest}\n{_content(file, found.st_size)}"


def _content(file: BinaryIO, size: int) -> str:
    """The digest of a file, and what kind of text it is if it is one."""
    if size > _READ_BYTES:
        return f"not read: larger than {_READ_BYTES >> 20} MB"
    digest = hashlib.sha256()
    decoder = codecs.getincrementaldecoder("utf-8")()
    lines, crlf, binary, utf8, last, start = 0, 0, False, True, b"", b""
    while chunk := file.read(_CHUNK):
        start = start or chunk[:4]
        digest.update(chunk)
        lines += chunk.count(b"\n")
        crlf += chunk.count(b"\r\n") + (last == b"\r" and chunk[:1] == b"\n")
        binary = binary or b"\0" in chunk
        last = chunk[-1:]
        if utf8:
            try:
                decoder.decode(chunk)
            except UnicodeDecodeError:
                utf8 = False
    lines += last not in (b"", b"\n")
    marked = next((name for bom, name in _BOMS if start.startswith(bom)), "")
    encoding = marked or ("UTF-8" if utf8 else "not UTF-8, perhaps Latin-1")
    if not start:
        kind = "empty"
    elif binary and not marked:
        kind = "binary"
    else:
        ends = "CRLF" if crlf and crlf >= lines - 1 else "mixed line ends" if crlf else "LF"
        kind = f"text: {encoding}, {lines} lines, {ends}"
    return f"{kind}\nsha256 {digest.hexdigest()}"


def difference(scope: Scope, old: str, new: str, context: int) -> str | TooDifferent:
    """A unified diff; empty when the files are equal."""
    with scope.open_read(old) as before, scope.open_read(new) as behind:
        texts = [file.read(_COMPARED_BYTES + 1) for file in (before, behind)]
    if texts[0] == texts[1] and len(texts[0]) <= _COMPARED_BYTES:
        return ""
    if max(map(len, texts)) > _COMPARED_BYTES:
        return TooDifferent(reason=f"one is larger than {_COMPARED_BYTES >> 20} MB; file_info shows their digests")
    if any(b"\0" in text for text in texts):
        return TooDifferent(reason="they differ, and at least one is binary")
    lines = [list(io.StringIO(text.decode("utf-8", "replace"), newline="\n")) for text in texts]
    same = _equal_start(*lines)
    rest = [one[max(0, same - context) :] for one in lines]
    tail = _equal_start(rest[0][::-1], rest[1][::-1])
    cut = max(0, min(tail, len(rest[0]), len(rest[1])) - context)
    rest = [one[: len(one) - cut] for one in rest]
    if len(rest[0]) * len(rest[1]) > _COMPARED_PAIRS and not _mostly_unique(rest):
        return TooDifferent(reason=f"too many lines differ from line {same + 1} on; compare parts of them")
    return "\n".join(_diff(rest, old, new, max(0, same - context), context))


def _diff(lines: list[list[str]], old: str, new: str, skipped: int, context: int) -> Iterator[str]:
    yield f"--- {old}"
    yield f"+++ {new}"
    matcher = difflib.SequenceMatcher(None, lines[0], lines[1])
    for group in matcher.get_grouped_opcodes(context):
        first, last = group[0], group[-1]
        yield (f"@@ -{skipped + first[1] + 1},{last[2] - first[1]} +{skipped + first[3] + 1},{last[4] - first[3]} @@")
        for kind, start, end, new_start, new_end in group:
            if kind == "equal":
                yield from (_line(" ", line) for line in lines[0][start:end])
                continue
            yield from (_line("-", line) for line in lines[0][start:end])
            yield from (_line("+", line) for line in lines[1][new_start:new_end])


def _line(mark: str, line: str) -> str:
    bare = line.rstrip("\n")
    return f"{mark}{bare}" if bare != line else f"{mark}{bare}\n\\ No newline at end of file"


def _equal_start(one: list[str], other: list[str]) -> int:
    for number, (first, second) in enumerate(zip(one, other, strict=False)):
        if first != second:
            return number
    return min(len(one), len(other))


def _mostly_unique(lines: list[list[str]]) -> bool:
    """Whether comparing is quick although the files are long: few lines occur often."""
    return all(len(set(one)) * 2 > len(one) for one in lines) and max(map(len, lines)) <= 50_000

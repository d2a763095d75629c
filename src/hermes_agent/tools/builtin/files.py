"""Reading, writing and changing files of the workspace."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from typing import Annotated, BinaryIO

from ...safety.paths import Scope, digest, digest_of
from ...types.base import Value
from ...types.errors import NotFound
from ...types.text import clean, one_line
from ...types.tools import ToolContext, ToolResult
from ..edit import Edited, Miss, replace, undone
from ..failures import failed, file_failure
from ..inspection import TooDifferent, difference, facts
from ..relocate import TRASH, Spot, discard, exists, is_empty, look, movable, move, spot
from ..tool import tool

_BLOB = "blob:"
_LINE_BYTES = 4_000
_SHOWN_BYTES = 200_000
_COUNTED_BYTES = 64 << 20
_SNIFFED = 8_192
_ENTRIES = 500
_UTF8_BOM = b"\xef\xbb\xbf"
_UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")
_CHANGED = "it was changed since this call began; read it again before you decide"


@tool(capabilities=("files.read",), effect="none")
def read_file(
    path: Annotated[str, "file, or blob:DIGEST of a cut output"],
    context: ToolContext,
    offset: Annotated[int, "first line"] = 1,
    limit: Annotated[int, "number of lines"] = 500,
) -> ToolResult:
    """Read a text file. The first line of the result says which lines follow and how many there are."""
    if offset < 1 or limit < 1:
        return failed("bad_argument", "offset and limit count from 1")
    scope = Scope(context.workspace)
    try:
        if path.startswith(_BLOB):
            with context.blobs.path(path.removeprefix(_BLOB)).open("rb") as file:
                return _read(file, path, offset, limit)
        with scope.open_read(path) as file:
            return _read(file, path, offset, limit)
    except NotFound as error:
        return failed("not_found", error.explain())
    except OSError as error:
        return file_failure(error, path, scope)


@tool(capabilities=("files.write",), effect="idempotent", replaces=("path",))
def write_file(path: str, content: str, context: ToolContext) -> ToolResult:
    """Write a whole file; missing folders are made. To change a part of one use patch."""
    scope = Scope(context.workspace)
    data = clean(content).encode()
    try:
        target = scope.resolve(path)
        done = "replaced" if target.exists() else "created"
        if context.rerun and (held := digest(target)) != context.before.get(path):
            if held == digest_of(data):
                return ToolResult(text=f"{path} was already written before the interruption")
            return failed("changed", f"{path} was not written: {_CHANGED}")
        with scope.open_write(path) as file:
            file.write(data)
    except OSError as error:
        return file_failure(error, path, scope)
    lines = data.count(b"\n") + (not data.endswith(b"\n") and bool(data))
    return ToolResult(text=f"{done} {path}: {lines} lines, {len(data)} bytes")


@tool(capabilities=("files.read", "files.write"), effect="idempotent", replaces=("path",))
def patch(
    path: str,
    old_string: Annotated[str, "text to replace, with enough around it to be unique"],
    new_string: str,
    context: ToolContext,
    replace_all: bool = False,
) -> ToolResult:
    """Replace text in a file. Differences in indentation and line ends are forgiven."""
    scope = Scope(context.workspace)
    try:
        with scope.open_read(path) as file:
            data = file.read()
        if context.rerun and digest_of(data) != context.before.get(path):
            if undone(data, clean(old_string), clean(new_string), replace_all, context.before.get(path, "")):
                return ToolResult(text=f"{path} was already patched before the interruption")
            return failed("changed", f"{path} was not patched: {_CHANGED}")
        outcome = replace(data, clean(old_string), clean(new_string), replace_all)
        match outcome:
            case Miss():
                return failed(outcome.error, f"{path} was not patched: {outcome.reason}")
            case Edited():
                with scope.open_write(path) as file:
                    file.write(outcome.data)
                return ToolResult(text=f"patched {path}: {outcome.report}")
    except OSError as error:
        return file_failure(error, path, scope)


@tool(capabilities=("files.read",), effect="none")
def list_files(context: ToolContext, path: str = ".", depth: Annotated[int, "levels to show"] = 1) -> ToolResult:
    """List a folder: folders end in '/', files show their bytes."""
    if not 1 <= depth <= 20:
        return failed("bad_argument", "depth is between 1 and 20")
    scope = Scope(context.workspace)
    try:
        found: list[str] = []
        for entry in _entries(scope, path, depth):
            if len(found) == _ENTRIES:
                found.append(f"[more than {_ENTRIES} entries; list a folder below, or use search_files]")
                break
            found.append(entry)
    except OSError as error:
        return file_failure(error, path, scope)
    return ToolResult(text=clean("\n".join(found)) or "(empty)")


@tool(capabilities=("files.write",), effect="idempotent", replaces=("source", "destination"))
def move_file(
    source: str,
    destination: Annotated[str, "new path, or a folder that exists"],
    context: ToolContext,
    overwrite: Annotated[bool, "what is there goes to the trash"] = False,
) -> ToolResult:
    """Move or rename a file or folder. Missing folders are made."""
    scope = Scope(context.workspace)
    shown = source
    try:
        old, new = movable(scope, source), movable(scope, destination)
        if new.folders[:1] == (TRASH,) or new == Spot((), TRASH):
            return failed("bad_argument", "use delete_file to put something in the trash")
        if context.rerun and not exists(scope, old) and exists(scope, new):
            return ToolResult(text=f"{source} was already moved before the interruption")
        kind = look(scope, old).st_mode
        shown = destination
        if exists(scope, new) and stat.S_ISDIR(look(scope, new).st_mode) and new != old:
            new = Spot((*new.folders, new.name), old.name)
        note = ""
        if overwrite and new != old and exists(scope, new):
            if stat.S_ISDIR(look(scope, new).st_mode) or stat.S_ISDIR(kind):
                return failed("exists", f"{new.shown} exists; a folder is not replaced: delete_file it first")
            note = f"; the one that was there is kept as {discard(scope, new)}"
        move(scope, old, new)
    except FileExistsError:
        return failed("exists", f"{destination} exists; choose another name, or set overwrite=true")
    except OSError as error:
        return file_failure(error, shown, scope)
    return ToolResult(text=clean(f"moved {source} to {new.shown}{note}"))


@tool(capabilities=("files.write",), effect="idempotent", replaces=("path",))
def delete_file(path: str, context: ToolContext, recursive: Annotated[bool, "folders"] = False) -> ToolResult:
    """Delete a file, or a folder with recursive=true. It goes to the trash, from where move_file brings it back."""
    scope = Scope(context.workspace)
    try:
        place = movable(scope, path)
        if context.rerun and not exists(scope, place):
            return ToolResult(text=f"{path} was already deleted before the interruption")
        if context.rerun and digest(scope.root / place.shown) != context.before.get(path):
            return failed("changed", f"{path} was not deleted: {_CHANGED}")
        if stat.S_ISDIR(look(scope, place).st_mode) and not recursive and not is_empty(scope, place):
            return failed("not_empty", f"{path} is a folder with files in it; set recursive=true to delete it all")
        kept = discard(scope, place)
    except OSError as error:
        return file_failure(error, path, scope)
    return ToolResult(text=clean(f"deleted {path}; move_file(source={kept!r}) brings it back"))


@tool(capabilities=("files.read",), effect="none")
def file_info(path: str, context: ToolContext) -> ToolResult:
    """Type, size, mode, time, encoding, line count and SHA-256 of a file."""
    scope = Scope(context.workspace)
    try:
        return ToolResult(text=clean(facts(scope, spot(scope, path))))
    except OSError as error:
        return file_failure(error, path, scope)


@tool(capabilities=("files.read",), effect="none", rare=True)
def compare_files(old: str, new: str, context: ToolContext, context_lines: int = 3) -> ToolResult:
    """Unified diff of two text files."""
    if not 0 <= context_lines <= 100:
        return failed("bad_argument", "context_lines is between 0 and 100")
    scope = Scope(context.workspace)
    try:
        found = difference(scope, old, new, context_lines)
    except OSError as error:
        return file_failure(error, str(error.filename or old), scope)
    if isinstance(found, TooDifferent):
        return failed("too_different", f"{one_line(old)} and {one_line(new)}: {found.reason}")
    return ToolResult(text=clean(found) or "the files are equal")


class Passage(Value, frozen=True, kw_only=True):
    """Lines of a file: the ones asked for, how many there are, and what is special about them."""

    lines: tuple[bytes, ...]
    total: int
    counted: bool
    crlf: bool


def _read(file: BinaryIO, path: str, offset: int, limit: int) -> ToolResult:
    start = file.read(_SNIFFED)
    size = os.fstat(file.fileno()).st_size
    if start.startswith(_UTF16_BOMS):
        return failed("encoding", f"{path} is UTF-16; convert it: iconv -f UTF-16 -t UTF-8")
    if b"\0" in start:
        return failed("binary", f"{path} is no text ({size} bytes); inspect it with a command such as file or xxd")
    file.seek(len(_UTF8_BOM) if start.startswith(_UTF8_BOM) else 0)
    passage = _passage(file, offset, limit)
    if offset > max(passage.total, 1):
        return failed("bad_argument", f"{path} has only {passage.total} lines")
    raw = b"\n".join(passage.lines)
    try:
        text, note = raw.decode(), ""
    except UnicodeDecodeError:
        text, note = raw.decode("latin-1"), ", not UTF-8: read as Latin-1"
    last = offset + len(passage.lines) - 1
    total = passage.total if passage.counted else f"more than {passage.total}"
    ends = ", CRLF line ends" if passage.crlf else ""
    span = f"lines {offset}-{last} of {total}" if passage.lines else "empty"
    return ToolResult(text=f"[{one_line(path)}: {span}{ends}{note}]\n{text}")


def _passage(file: BinaryIO, offset: int, limit: int) -> Passage:
    """The lines asked for; the others are only counted, and not for ever."""
    lines: list[bytes] = []
    number, shown, crlf, counted = 0, 0, False, True
    for line, missing in _lines(file):
        number += 1
        if offset <= number < offset + limit and shown < _SHOWN_BYTES:
            crlf = crlf or line.endswith(b"\r")
            more = f" [… {missing} or more bytes]" if missing >= _COUNTED_BYTES else f" [… {missing} more bytes]"
            lines.append(_cut(line) + more.encode() if missing else line.removesuffix(b"\r"))
            shown += len(line)
        counted = missing < _COUNTED_BYTES and (number < offset + limit or file.tell() < _COUNTED_BYTES)
        if not counted:
            break
    return Passage(lines=tuple(lines), total=number, counted=counted, crlf=crlf)


def _lines(file: BinaryIO) -> Iterator[tuple[bytes, int]]:
    """Each line, cut to a bearable length, and how many bytes of it were cut off; of an endless one not all."""
    while line := file.readline(_LINE_BYTES):
        missing = 0
        rest = line
        while not rest.endswith(b"\n") and missing < _COUNTED_BYTES and (rest := file.readline(1 << 20)):
            missing += len(rest.removesuffix(b"\n"))
        yield line.removesuffix(b"\n"), missing


def _cut(line: bytes) -> bytes:
    """Without the part of a character that the cut left at its end."""
    for back in range(1, 4):
        if line[-back:][:1] >= b"\xc0":
            return line[:-back]
    return line


def _entries(scope: Scope, path: str, depth: int, prefix: str = "") -> Iterator[str]:
    folder = scope.open_folder(path)
    try:
        names = sorted(os.listdir(folder))
        described = [(name, *_described(name, folder)) for name in names]
    finally:
        os.close(folder)
    for name, text, is_folder in described:
        yield prefix + text
        if is_folder and depth > 1 and name != ".git":
            try:
                yield from _entries(scope, f"{path}/{name}", depth - 1, f"{prefix}{name}/")
            except OSError as error:
                yield f"{prefix}{name}/ [{error.strerror}]"


def _described(name: str, folder: int) -> tuple[str, bool]:
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return f"{name} [gone]", False
    if stat.S_ISDIR(found.st_mode):
        return f"{name}/", True
    if stat.S_ISLNK(found.st_mode):
        return f"{name} -> {os.readlink(name, dir_fd=folder)}", False
    return (f"{name} {found.st_size}" if stat.S_ISREG(found.st_mode) else f"{name} [special file]"), False

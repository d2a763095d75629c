"""Listing, unpacking and making archives of the workspace."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from typing import Annotated, BinaryIO

from ...safety.paths import Scope, open_regular
from ...types.text import clean, one_line
from ...types.tools import ToolContext, ToolResult
from ..archive_names import Entry, Refused
from ..archives import MOST_BYTES, MOST_ENTRIES, check, damage_told, members, stem
from ..failures import failed, file_failure
from ..tool import tool

_SHOWN = 300
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_TAR_MODES = {
    ".tar": "w", ".tar.gz": "w:gz", ".tgz": "w:gz", ".tar.bz2": "w:bz2", ".tbz2": "w:bz2",
    ".tar.xz": "w:xz", ".txz": "w:xz",
}  # fmt: skip


@tool(capabilities=("files.read",), effect="none", rare=True)
def archive_list(path: str, context: ToolContext) -> ToolResult:
    """List a zip, tar, tar.gz, tar.bz2, tar.xz or gz archive."""
    scope = Scope(context.workspace)
    entries: list[Entry] = []
    note = ""
    try:
        with scope.open_read(path) as file:
            try:
                entries = check(file, path)
            except Refused as refusal:
                note = f"archive_extract would refuse it: {refusal}"
                file.seek(0)
                entries = _first(file, path)
                if not entries:
                    return failed(refusal.error, f"{one_line(path)}: {refusal}")
    except OSError as error:
        return file_failure(error, path, scope)
    lines = [note or f"{len(entries)} entries, {sum(entry.size for entry in entries)} bytes unpacked"]
    lines += [_line(entry) for entry in entries[:_SHOWN]]
    if len(entries) > _SHOWN:
        lines.append(f"[{len(entries) - _SHOWN} more]")
    return ToolResult(text=clean("\n".join(lines)), origin=path)


@tool(capabilities=("files.read", "files.write"), effect="idempotent", timeout=120, rare=True)
def archive_extract(
    path: str,
    context: ToolContext,
    folder: Annotated[str, "new folder; the archive's name if left out"] = "",
) -> ToolResult:
    """Unpack an archive into a new folder, all of it or nothing. Archives that are bombs or lead out are refused."""
    scope = Scope(context.workspace)
    target = folder or os.path.join(os.path.dirname(path), stem(path))
    try:
        if os.path.lexists(scope.resolve(target)):
            if context.rerun:
                return ToolResult(text=f"{target} was already unpacked before the interruption")
            return failed("exists", f"{one_line(target)!r} is there already; name a new folder")
        with scope.open_read(path) as file:
            entries = check(file, path)
            file.seek(0)
            _unpack(scope, file, path, target, context.idempotency_key)
    except Refused as refusal:
        return failed(refusal.error, f"{one_line(path)} was not unpacked, nothing was written: {refusal}")
    except OSError as error:
        return file_failure(error, error.filename if isinstance(error.filename, str) else path, scope)
    files = sum(entry.kind != "folder" for entry in entries)
    return ToolResult(
        text=f"unpacked {files} files, {sum(entry.size for entry in entries)} bytes to {target}", origin=path
    )


@tool(capabilities=("files.read", "files.write"), effect="idempotent", timeout=120, replaces=("path",), rare=True)
def archive_create(
    path: Annotated[str, "archive to write; its suffix says which kind"],
    sources: Annotated[list[str], "files and folders"],
    context: ToolContext,
) -> ToolResult:
    """Pack files into a zip, tar, tar.gz, tar.bz2, tar.xz or gz archive. Links are left out."""
    scope = Scope(context.workspace)
    lowered = path.lower()
    suffix = next(
        (known for known in (*_TAR_MODES, ".zip", ".gz") if lowered.endswith(known) and not _longer(lowered, known)), ""
    )
    if not suffix:
        return failed("bad_argument", "the name must end in .zip, .tar, .tar.gz, .tar.bz2, .tar.xz or .gz")
    if not sources:
        return failed("bad_argument", "sources is empty; name the files and folders to pack")
    current = path
    try:
        found = _Found(scope, scope.resolve(path).relative_to(scope.root).as_posix())
        with scope.open_write(path) as file:
            for current in sources:
                found.check(current)
            current = path
            _pack(file, suffix, found, sources)
    except Refused as refusal:
        return failed(refusal.error, f"{one_line(path)} was not written: {refusal}")
    except OSError as error:
        return file_failure(error, current, scope)
    left = f"; {found.links} links left out" if found.links else ""
    return ToolResult(text=f"packed {found.count} files, {found.bytes} bytes into {path}{left}")


def _longer(name: str, suffix: str) -> bool:
    return suffix == ".gz" and name.endswith(".tar.gz")


def _first(file: BinaryIO, path: str) -> list[Entry]:
    """The entries before the one that is refused."""
    entries: list[Entry] = []
    with contextlib.suppress(Refused), damage_told():
        for entry, _ in members(file, path):
            entries.append(entry)
            if len(entries) > _SHOWN:
                break
    return entries


def _line(entry: Entry) -> str:
    name = one_line(entry.name, 300)
    match entry.kind:
        case "folder":
            return f"{name}/"
        case "link" | "copy":
            return f"{name} -> {one_line(entry.link, 300)}"
        case _:
            return f"{name} {entry.size}"


def _unpack(scope: Scope, file: BinaryIO, path: str, target: str, key: str) -> None:
    """Write everything to a folder beside the target, then give it its name in one step."""
    parent, name = os.path.split(scope.resolve(target).relative_to(scope.root).as_posix())
    with _parents(scope, parent) as above:
        mark = hashlib.blake2b(f"{key}\0{target}".encode(), digest_size=8).hexdigest()
        temporary = f".{mark}.unpacking"
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(temporary, dir_fd=above)
        os.mkdir(temporary, 0o755, dir_fd=above)
        try:
            root = os.open(temporary, _FOLDER, dir_fd=above)
            try:
                with damage_told():
                    _write_all(root, file, path)
                os.fsync(root)
            finally:
                os.close(root)
            os.rename(temporary, name, src_dir_fd=above, dst_dir_fd=above)
            os.fsync(above)
        except BaseException:
            with contextlib.suppress(OSError):
                shutil.rmtree(temporary, dir_fd=above)
            raise


@contextlib.contextmanager
def _parents(scope: Scope, parent: str) -> Iterator[int]:
    """The folder above the target; missing ones are made, and taken away again when unpacking fails."""
    made: list[str] = []
    held = ""
    for part in parent.split("/") if parent else []:
        held = f"{held}/{part}" if held else part
        if not os.path.lexists(scope.root / held):
            os.mkdir(scope.resolve(held))
            made.append(held)
    above = scope.open_folder(parent or ".")
    try:
        yield above
    except BaseException:
        for folder in reversed(made):
            with contextlib.suppress(OSError):
                os.rmdir(scope.resolve(folder))
        raise
    finally:
        os.close(above)


def _write_all(root: int, file: BinaryIO, path: str) -> None:
    links: list[Entry] = []
    for entry, content in members(file, path):
        match entry.kind:
            case "folder":
                os.close(_walk(root, entry.name))
            case "link":
                links.append(entry)
            case "copy":
                with _open_below(root, entry.link) as source:
                    _write(root, entry, source, os.fstat(source.fileno()).st_size)
            case _:
                if content is not None:
                    _write(root, entry, content, entry.size)
    for entry in links:
        folder, _, name = entry.name.rpartition("/")
        fd = _walk(root, folder)
        try:
            os.symlink(entry.link, name, dir_fd=fd)
        finally:
            os.close(fd)


def _write(root: int, entry: Entry, content: BinaryIO, size: int) -> None:
    """One file, never longer than it was said to be."""
    folder, _, name = entry.name.rpartition("/")
    fd = _walk(root, folder)
    try:
        with os.fdopen(os.open(name, _NEW, 0o755 if entry.executable else 0o644, dir_fd=fd), "wb") as file:
            left = size
            while chunk := content.read(min(1 << 20, left + 1)):
                left -= len(chunk)
                if left < 0:
                    raise Refused("damaged", f"{one_line(entry.name)!r} is longer than the archive says")
                file.write(chunk)
        if left:
            raise Refused("damaged", f"{one_line(entry.name)!r} is shorter than the archive says")
    finally:
        os.close(fd)


def _walk(root: int, folder: str) -> int:
    """A folder below the root, made where it is missing; no link is followed."""
    fd = os.dup(root)
    try:
        for part in folder.split("/") if folder else []:
            with contextlib.suppress(FileExistsError):
                os.mkdir(part, 0o755, dir_fd=fd)
            below = os.open(part, _FOLDER, dir_fd=fd)
            os.close(fd)
            fd = below
    except BaseException:
        os.close(fd)
        raise
    return fd


def _open_below(root: int, name: str) -> BinaryIO:
    folder, _, last = name.rpartition("/")
    fd = _walk(root, folder)
    try:
        return open_regular(last, fd, name)
    except OSError as error:
        raise Refused("bad_link", f"{one_line(name)!r} is linked to before it is there") from error
    finally:
        os.close(fd)


class _Found:
    """The files to pack, counted."""

    def __init__(self, scope: Scope, itself: str) -> None:
        self._scope = scope
        self._itself = itself
        self.count = 0
        self.bytes = 0
        self.links = 0

    def check(self, source: str) -> None:
        """Fails early for a source that is missing or out of bounds."""
        os.stat(self._scope.resolve(source))

    def files(self, source: str) -> Iterator[tuple[str, BinaryIO, os.stat_result]]:
        """Every regular file of a source, with its path as seen from the workspace."""
        real = self._scope.resolve(source)
        top = real.relative_to(self._scope.root).as_posix()
        if not stat.S_ISDIR(os.stat(real).st_mode):
            with self._scope.open_read(source) as file:
                yield self._counted(top, file)
            return
        root = self._scope.open_folder(source)
        try:
            for folder, folders, names, fd in os.fwalk(".", dir_fd=root, follow_symlinks=False):
                folders.sort()
                below = "" if folder == "." else folder.removeprefix("./") + "/"
                for name in sorted(names):
                    shown = f"{'' if top == '.' else top + '/'}{below}{name}"
                    held = os.stat(name, dir_fd=fd, follow_symlinks=False)
                    if stat.S_ISLNK(held.st_mode):
                        self.links += 1
                    elif stat.S_ISREG(held.st_mode) and shown != self._itself and not name.endswith(".tmp"):
                        with open_regular(name, fd, shown) as file:
                            yield self._counted(shown, file)
        finally:
            os.close(root)

    def _counted(self, name: str, file: BinaryIO) -> tuple[str, BinaryIO, os.stat_result]:
        held = os.fstat(file.fileno())
        self.count += 1
        self.bytes += held.st_size
        if self.count > MOST_ENTRIES or self.bytes > MOST_BYTES:
            raise Refused("too_large", f"more than {MOST_ENTRIES} files or {MOST_BYTES >> 20} MiB; pack a part of it")
        return name, file, held


def _pack(file: BinaryIO, suffix: str, found: _Found, sources: list[str]) -> None:
    every = (one for source in sources for one in found.files(source))
    if suffix == ".zip":
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as archive:
            for name, content, held in every:
                info = zipfile.ZipInfo(name)
                info.external_attr = (stat.S_IFREG | (0o755 if held.st_mode & 0o100 else 0o644)) << 16
                info.compress_type = zipfile.ZIP_DEFLATED
                with archive.open(info, "w", force_zip64=held.st_size > 1 << 30) as member:
                    shutil.copyfileobj(content, member, 1 << 20)
        return
    if suffix == ".gz":
        _pack_one(file, list(sources), every)
        return
    with tarfile.open(fileobj=file, mode=_TAR_MODES[suffix]) as packed:  # type: ignore[call-overload]
        for name, content, held in every:
            header = tarfile.TarInfo(name)
            header.size, header.mtime = held.st_size, int(held.st_mtime)
            header.mode = 0o755 if held.st_mode & 0o100 else 0o644
            packed.addfile(header, content)


def _pack_one(file: BinaryIO, sources: list[str], every: Iterator[tuple[str, BinaryIO, os.stat_result]]) -> None:
    if len(sources) > 1:
        raise Refused("bad_argument", "a .gz holds one file; use .tar.gz for several")
    for index, (_, content, _) in enumerate(every):
        if index:
            raise Refused("bad_argument", "a .gz holds one file; use .tar.gz for a folder")
        stream = zlib.compressobj(wbits=31)
        while chunk := content.read(1 << 20):
            file.write(stream.compress(chunk))
        file.write(stream.flush())

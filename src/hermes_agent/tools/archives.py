"""What is in an archive, checked before anything is written.

Sizes that an archive declares are not believed: compressed streams are unpacked once through a meter that stops at the
first sign of a bomb, zip members must not share their bytes, and archives in archives are looked into.
"""

from __future__ import annotations

import bz2
import contextlib
import io
import lzma
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO, BinaryIO, Protocol, cast

from ..types.text import one_line
from .archive_names import Entry, Names, Refused, safe_name

MOST_ENTRIES = 10_000
MOST_BYTES = 512 << 20
_RATIO = 200
_RATIO_FROM = 4 << 20
_LEVELS = 3
_NESTED_BYTES = 8 << 20
_XZ_MEMORY = 96 << 20
_CHUNK = 64 << 10
_SUFFIXES = (".tar.gz", ".tar.bz2", ".tar.xz", ".tgz", ".tbz2", ".txz", ".zip", ".tar", ".gz")


def stem(path: str) -> str:
    """The name of an archive without its suffix: the folder it is unpacked to."""
    name = path.rstrip("/").rpartition("/")[2]
    for suffix in _SUFFIXES:
        if name.lower().endswith(suffix) and len(name) > len(suffix):
            return name[: -len(suffix)]
    return name + ".unpacked"


@contextlib.contextmanager
def damage_told() -> Iterator[None]:
    """Whatever the readers of the formats raise while content is read, as a refusal."""
    try:
        yield
    except (
        tarfile.TarError,
        zipfile.BadZipFile,
        zlib.error,
        lzma.LZMAError,
        EOFError,
        ValueError,
        OverflowError,
    ) as error:
        raise Refused("damaged", f"the archive is damaged: {one_line(str(error))}") from error
    except (NotImplementedError, RuntimeError) as error:
        raise Refused("unsupported", f"the archive cannot be read: {one_line(str(error))}") from error
    except OSError as error:
        if error.errno is None:
            raise Refused("damaged", f"the archive is damaged: {one_line(str(error))}") from error
        raise


def members(file: BinaryIO, name: str) -> Iterator[tuple[Entry, BinaryIO | None]]:
    """Every member with its content, in order. Raises Refused at the first one that must not be unpacked.

    Use it inside `damage_told`: content is read by the caller.
    """
    yield from _members(file, name)


def check(file: BinaryIO, name: str) -> list[Entry]:
    """Every member of an archive that may be unpacked. Raises Refused otherwise; reads all of it, writes nothing."""
    entries: list[Entry] = []
    names = Names()
    budget = _Budget()
    with damage_told():
        for entry, content in members(file, name):
            names.add(entry)
            budget.add(entry.size)
            entries.append(entry)
            if content is not None:
                _look_inside(content, entry.name, 1, budget)
    names.finish()
    return entries


class _Budget:
    """How much may still come out of an archive and of those inside it."""

    def __init__(self) -> None:
        self.entries = 0
        self.bytes = 0
        self.nested = 0

    def add(self, size: int) -> None:
        self.entries += 1
        self.bytes += size
        if self.entries > MOST_ENTRIES:
            raise Refused("too_many", f"it holds more than {MOST_ENTRIES} entries")
        if self.bytes > MOST_BYTES:
            raise Refused("too_large", f"it would take more than {MOST_BYTES >> 20} MiB")


def _members(file: BinaryIO, name: str) -> Iterator[tuple[Entry, BinaryIO | None]]:
    head = file.read(6)
    file.seek(0)
    if head[:4] in (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08"):
        yield from _zip_members(file)
        return
    if head[:2] == b"\x1f\x8b" or head[:3] == b"BZh" or head == b"\xfd7zXZ\x00":
        stream = io.BufferedReader(_Metered(file, head), _CHUNK)
        if _is_tar(stream.peek(512)):
            yield from _tar_members(stream)
        elif head[:2] == b"\x1f\x8b":
            yield from _single(file, head, stem(name))
        else:
            raise Refused("unsupported", "only .gz may hold a single file; this is neither that nor a tar archive")
        return
    if _is_tar(_peek(file)):
        yield from _tar_members(file)
        return
    raise Refused("unsupported", "it is no zip, tar, tar.gz, tar.bz2, tar.xz or gz archive")


def _single(file: BinaryIO, head: bytes, name: str) -> Iterator[tuple[Entry, BinaryIO | None]]:
    """A gzip file that holds one file: unpacked once to learn its size, and again for its content."""
    file.seek(0)
    measured = _Metered(file, head)
    buffer = bytearray(_CHUNK)
    while measured.readinto(buffer):
        continue
    file.seek(0)
    content = io.BufferedReader(_Metered(file, head), _CHUNK)
    yield Entry(safe_name(name), "file", measured.produced), content


def _peek(file: BinaryIO) -> bytes:
    block = file.read(512)
    file.seek(0)
    return block


def _is_tar(block: bytes) -> bool:
    if len(block) < 512:
        return False
    try:
        tarfile.TarInfo.frombuf(block[:512], "utf-8", "surrogateescape")
    except tarfile.HeaderError:
        return False
    return True


def _tar_members(stream: BinaryIO) -> Iterator[tuple[Entry, BinaryIO | None]]:
    limited = _Limited(stream)
    with tarfile.open(fileobj=cast("IO[bytes]", limited), mode="r|", errorlevel=2) as archive:
        for info in archive:
            if info.issparse():
                raise Refused("unsupported", f"{one_line(info.name)!r} is a sparse file")
            name = safe_name(info.name)
            if info.isdir():
                if name != ".":
                    yield Entry(name, "folder"), None
            elif info.isreg():
                if info.size > MOST_BYTES:
                    raise Refused("too_large", f"{one_line(name)!r} alone would take more than {MOST_BYTES >> 20} MiB")
                content = archive.extractfile(info)
                yield Entry(name, "file", info.size, executable=bool(info.mode & 0o100)), _binary(content)
            elif info.issym():
                yield Entry(name, "link", link=info.linkname), None
            elif info.islnk():
                yield Entry(name, "copy", link=safe_name(info.linkname)), None
            else:
                raise Refused("special_file", f"{one_line(name)!r} is a device or a pipe")
            archive.members = []  # type: ignore[attr-defined]


def _binary(content: object) -> BinaryIO:
    if content is None:
        raise Refused("damaged", "a member has no content")
    return content  # type: ignore[return-value]


def _zip_members(file: BinaryIO) -> Iterator[tuple[Entry, BinaryIO | None]]:
    with zipfile.ZipFile(file) as archive:
        infos = archive.infolist()
        if len(infos) > MOST_ENTRIES:
            raise Refused("too_many", f"it holds more than {MOST_ENTRIES} entries")
        _check_zip(infos)
        for info in infos:
            name = safe_name(info.orig_filename)
            mode = info.external_attr >> 16 if info.create_system == 3 else 0
            if info.flag_bits & 0x1:
                raise Refused("encrypted", f"{one_line(name)!r} is encrypted")
            if info.is_dir():
                if name != ".":
                    yield Entry(name, "folder"), None
                continue
            if stat.S_ISLNK(mode):
                if info.file_size > 4096:
                    raise Refused("bad_link", f"the link {one_line(name)!r} is too long")
                yield Entry(name, "link", link=archive.read(info).decode("utf-8", "replace")), None
                continue
            if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
                raise Refused("special_file", f"{one_line(name)!r} is a device or a pipe")
            with archive.open(info) as content:
                yield Entry(name, "file", info.file_size, executable=bool(mode & 0o100)), _binary(content)


def _check_zip(infos: list[zipfile.ZipInfo]) -> None:
    """Declared sizes within bounds, and no two members made of the same bytes."""
    end = 0
    for info in sorted(infos, key=lambda one: one.header_offset):
        if info.header_offset < end:
            raise Refused("bomb", "its members share their bytes")
        end = info.header_offset + 30 + len(info.orig_filename) + info.compress_size
        if info.file_size > _RATIO_FROM and info.file_size > _RATIO * max(info.compress_size, 1):
            raise Refused("bomb", f"{one_line(info.orig_filename)!r} unpacks to more than {_RATIO} times its size")
    if sum(info.file_size for info in infos) > MOST_BYTES:
        raise Refused("too_large", f"it would take more than {MOST_BYTES >> 20} MiB")


class _Engine(Protocol):
    """What unpacks one compressed stream, a piece at a time."""

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    @property
    def needs_input(self) -> bool: ...

    def decompress(self, data: bytes, max_length: int = -1) -> bytes: ...


class _Metered(io.RawIOBase):
    """A compressed stream, unpacked. Stops when more comes out than any honest archive gives."""

    def __init__(self, file: BinaryIO, head: bytes) -> None:
        self._file = file
        self._head = head
        self._engine = _engine(head)
        self._consumed = 0
        self.produced = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview | bytearray) -> int:  # type: ignore[override]
        data = self._next(len(buffer))
        buffer[: len(data)] = data
        self.produced += len(data)
        if self.produced > MOST_BYTES:
            raise Refused("too_large", f"it would take more than {MOST_BYTES >> 20} MiB")
        if self.produced > _RATIO_FROM and self.produced > _RATIO * max(self._consumed, 1):
            raise Refused("bomb", f"it unpacks to more than {_RATIO} times its size")
        return len(data)

    def _next(self, limit: int) -> bytes:
        while True:
            if self._engine.eof:
                rest = self._engine.unused_data.lstrip(b"\0") or self._file.read(_CHUNK).lstrip(b"\0")
                if not rest:
                    return b""
                if not rest.startswith(self._head[:2]):
                    raise Refused("damaged", "something else follows the compressed data")
                self._consumed += len(rest)
                self._engine, given = _engine(self._head), rest
            elif self._engine.needs_input:
                given = self._file.read(_CHUNK)
                self._consumed += len(given)
                if not given:
                    raise Refused("damaged", "the archive ends too early")
            else:
                given = b""
            data = self._engine.decompress(given, limit)
            if data:
                return data


def _engine(head: bytes) -> _Engine:
    if head[:2] == b"\x1f\x8b":
        return _Gzip()
    return bz2.BZ2Decompressor() if head[:3] == b"BZh" else lzma.LZMADecompressor(memlimit=_XZ_MEMORY)


class _Gzip:
    """zlib's stream with the manners of the other two: it keeps the input that it has not used."""

    def __init__(self) -> None:
        self._stream = zlib.decompressobj(wbits=31)

    @property
    def eof(self) -> bool:
        return self._stream.eof

    @property
    def unused_data(self) -> bytes:
        return self._stream.unused_data

    @property
    def needs_input(self) -> bool:
        return not self._stream.unconsumed_tail

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        return self._stream.decompress(self._stream.unconsumed_tail + data, max_length)


class _Limited:
    """A stream for tarfile that gives no more than the whole archive may hold, headers and all."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._left = MOST_BYTES + (64 << 20)

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(size if 0 <= size <= self._left else self._left + 1)
        self._left -= len(data)
        if self._left < 0:
            raise Refused("too_large", f"it would take more than {MOST_BYTES >> 20} MiB")
        return data


def _look_inside(content: BinaryIO, name: str, level: int, budget: _Budget) -> None:
    """Count what archives inside an archive would unpack to, since the next step is often to unpack those."""
    head = content.read(6)
    if not _looks_packed(head, name) or budget.nested > 4 * _NESTED_BYTES:
        return
    if level > _LEVELS:
        raise Refused("bomb", "it holds archives in archives in archives")
    data = head + content.read(_NESTED_BYTES)
    budget.nested += len(data)
    if len(data) > _NESTED_BYTES:
        return
    try:
        for entry, inner in _members(io.BytesIO(data), name):
            budget.add(entry.size)
            if inner is not None:
                _look_inside(inner, entry.name, level + 1, budget)
    except Refused as error:
        if error.error in ("bomb", "too_large", "too_many"):
            raise Refused(error.error, f"inside {one_line(name)!r}: {error}") from error
    except (
        tarfile.TarError,
        zipfile.BadZipFile,
        zlib.error,
        lzma.LZMAError,
        EOFError,
        ValueError,
        OSError,
        RuntimeError,
    ):
        return


def _looks_packed(head: bytes, name: str) -> bool:
    packed = head[:4] in (b"PK\x03\x04", b"PK\x05\x06") or head[:2] == b"\x1f\x8b" or head[:3] == b"BZh"
    return packed or head == b"\xfd7zXZ\x00" or name.lower().endswith(".tar")

"""Amazon's binary event stream: framed messages with typed headers and two checksums."""

from __future__ import annotations

import struct
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from zlib import crc32

from ...types.base import Value
from ...types.errors import ModelError, ModelFailure

CONTENT_TYPE = "application/vnd.amazon.eventstream"
Header = bool | int | str | bytes

_PRELUDE = struct.Struct(">III")
_CHECKSUM = struct.Struct(">I")
_OVERHEAD = _PRELUDE.size + _CHECKSUM.size
_LONGEST_HEADERS = 128 * 1024
_LONGEST_FRAME = 24 * 1024 * 1024 + _LONGEST_HEADERS + _OVERHEAD
_LONGEST_STREAM = 256 * 1024 * 1024
_LENGTH = struct.Struct(">H")
_NUMBERS = {2: struct.Struct(">b"), 3: struct.Struct(">h"), 4: struct.Struct(">i"), 5: struct.Struct(">q")}
_TRUE, _FALSE, _BYTES, _STRING, _TIMESTAMP, _UUID = 0, 1, 6, 7, 8, 9


class Frame(Value, frozen=True, kw_only=True):
    """One message of the stream. Times are milliseconds, a UUID its 16 bytes."""

    headers: dict[str, Header]
    payload: bytes

    def word(self, name: str) -> str:
        """The text of a header; empty where there is none."""
        value = self.headers.get(name)
        return value if isinstance(value, str) else ""


class FrameReader:
    """Takes bytes however they were cut and gives the frames they complete. Raises ModelError for what is none."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._read = 0

    def feed(self, data: bytes) -> Iterator[Frame]:
        """The frames that are complete with `data`. Nothing is given out before both of its checksums are right."""
        self._buffer += data
        self._read += len(data)
        if self._read > _LONGEST_STREAM:
            raise _broken("is longer than any answer")
        start = 0
        try:
            while (length := self._complete(start)) is not None:
                frame = _frame(bytes(memoryview(self._buffer)[start : start + length]))
                start += length
                yield frame
        finally:
            del self._buffer[:start]

    def finish(self) -> None:
        """Say that no more comes."""
        if self._buffer:
            raise _broken("broke off inside a message")

    def _complete(self, start: int) -> int | None:
        """The length of the frame at `start`; None while bytes of it are missing."""
        there = len(self._buffer) - start
        if there < _PRELUDE.size:
            return None
        length, headers, checksum = _PRELUDE.unpack_from(self._buffer, start)
        if crc32(memoryview(self._buffer)[start : start + 8]) != checksum:
            raise _broken("has a wrong checksum")
        if not _OVERHEAD + headers <= length <= _LONGEST_FRAME or headers > _LONGEST_HEADERS:
            raise _broken("has a message of impossible length")
        return length if there >= length else None


async def frames(chunks: AsyncIterator[bytes]) -> AsyncGenerator[Frame, None]:
    """The frames of a response. One that ends inside a frame is an error."""
    reader = FrameReader()
    async for chunk in chunks:
        for frame in reader.feed(chunk):
            yield frame
    reader.finish()


def _frame(data: bytes) -> Frame:
    (checksum,) = _CHECKSUM.unpack_from(data, len(data) - _CHECKSUM.size)
    if crc32(memoryview(data)[: -_CHECKSUM.size]) != checksum:
        raise _broken("has a wrong checksum")
    _, length, _ = _PRELUDE.unpack_from(data)
    body = _PRELUDE.size + length
    try:
        headers = dict(_headers(data, _PRELUDE.size, body))
    except (struct.error, UnicodeDecodeError, ValueError) as error:
        raise _broken("has headers that cannot be read") from error
    return Frame(headers=headers, payload=data[body : -_CHECKSUM.size])


def _headers(data: bytes, place: int, end: int) -> Iterator[tuple[str, Header]]:
    while place < end:
        name_end = place + 1 + data[place]
        name = data[place + 1 : name_end].decode()
        value, place = _value(data, name_end + 1, data[name_end])
        if place > end:
            raise ValueError(f"the header {name!r} is longer than all headers")
        yield name, value


def _value(data: bytes, place: int, kind: int) -> tuple[Header, int]:
    """The value at a place and the place behind it."""
    if kind in (_TRUE, _FALSE):
        return kind == _TRUE, place
    if kind in (_BYTES, _STRING):
        (length,) = _LENGTH.unpack_from(data, place)
        place += _LENGTH.size
        raw = data[place : place + length]
        return raw if kind == _BYTES else raw.decode(), place + length
    if kind == _UUID:
        return data[place : place + 16], place + 16
    number = _NUMBERS[5] if kind == _TIMESTAMP else _NUMBERS.get(kind)
    if number is None:
        raise ValueError(f"there is no kind {kind} of header")
    return number.unpack_from(data, place)[0], place + number.size


def _broken(why: str) -> ModelError:
    return ModelError(ModelFailure.MALFORMED, f"the event stream {why}")

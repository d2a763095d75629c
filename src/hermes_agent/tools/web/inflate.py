"""Compressed bodies, opened without believing how small they say they are."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any

from .failure import WebFailure

_STEP = 256 * 1024
_FREE = 1 << 20
_RATIO = 200


class Inflating:
    """Opens one body piece by piece. More than `_RATIO` bytes out of one byte, beyond the first megabyte, is a bomb."""

    def __init__(self, encoding: str) -> None:
        self._encoding = encoding.strip().lower()
        if self._encoding not in ("", "identity", "gzip", "x-gzip", "deflate"):
            raise WebFailure("encoding", f"the server answered in the encoding {self._encoding[:40]!r}, unasked")
        self._opener: Any = None
        self._taken = 0
        self._given = 0

    def open(self, data: bytes) -> Iterator[bytes]:
        """What `data` holds, in pieces of bearable size."""
        if self._encoding in ("", "identity"):
            yield data
            return
        self._taken += len(data)
        while data:
            if self._opener is None:
                self._opener = self._begin(data)
            elif self._opener.eof:
                return
            try:
                piece = self._opener.decompress(data, _STEP)
            except zlib.error as error:
                raise WebFailure("encoding", "the body is not compressed as the server says") from error
            self._given += len(piece)
            if self._given > _FREE and self._given > _RATIO * self._taken:
                raise WebFailure("decompression_bomb", f"the body grows more than {_RATIO}-fold; it was not opened")
            data = self._opener.unconsumed_tail
            if piece:
                yield piece

    def _begin(self, data: bytes) -> Any:
        """`deflate` means zlib's format, but some servers send the bare stream."""
        if self._encoding == "deflate":
            return zlib.decompressobj() if data[0] & 0x0F == 8 else zlib.decompressobj(-zlib.MAX_WBITS)
        return zlib.decompressobj(16 + zlib.MAX_WBITS)

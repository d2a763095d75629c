"""The binary framing `application/vnd.amazon.eventstream`: lengths, typed headers, payload, two checksums."""

from __future__ import annotations

import struct
from zlib import crc32

_STRING = 7


def message(headers: dict[str, str], payload: bytes) -> bytes:
    packed = b"".join(map(_header, headers, headers.values()))
    prelude = struct.pack(">II", 16 + len(packed) + len(payload), len(packed))
    whole = prelude + struct.pack(">I", crc32(prelude)) + packed + payload
    return whole + struct.pack(">I", crc32(whole))


def _header(name: str, value: str) -> bytes:
    return b"%c%b%c%b%b" % (len(name), name.encode(), _STRING, struct.pack(">H", len(value)), value.encode())

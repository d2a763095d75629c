"""What a file is, by its first bytes and then by its name, and text files in an encoding the engine reads."""

from __future__ import annotations

import codecs
import shutil
from pathlib import Path
from typing import BinaryIO

from .refusal import Refused

CSV, JSON, PARQUET, WORKBOOK, SQLITE = "csv", "json", "parquet", "workbook", "sqlite"
_SNIFFED = 65_536
_CHUNK = 1 << 20
_TEXT_BYTES = 4 << 30
_SQLITE_MAGIC = b"SQLite format 3\0"
_COMPRESSED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_JSON_NAMES = (".json", ".jsonl", ".ndjson", ".geojson")


def kind_of(file: BinaryIO, name: str) -> str:
    """Which of the formats a file has."""
    start = _start(file)
    if start.startswith(b"PAR1"):
        return PARQUET
    if start.startswith(_SQLITE_MAGIC):
        return SQLITE
    if start.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):
        return WORKBOOK
    if not start:
        raise Refused("empty", f"{name} is empty")
    plain = name.lower().removesuffix(".gz").removesuffix(".zst")
    if compression_of(file):
        return JSON if plain.endswith(_JSON_NAMES) else CSV
    if b"\0" in start and not start.startswith(tuple(bom for bom, _ in _BOMS)):
        raise Refused("not_a_table", f"{name} holds NUL bytes: it is none of CSV, JSON, Excel, Parquet and SQLite")
    return JSON if plain.endswith(_JSON_NAMES) else CSV


def compression_of(file: BinaryIO) -> str:
    """How a file is compressed; empty when it is not."""
    start = _start(file)
    return next((name for magic, name in _COMPRESSED.items() if start.startswith(magic)), "")


def encoding_of(file: BinaryIO) -> str:
    """The encoding of a text file; empty when it is UTF-8 and can be read as it is."""
    start = _start(file)
    for bom, name in _BOMS:
        if start.startswith(bom):
            return name if name != "utf-8-sig" else ""
    decoder = codecs.getincrementaldecoder("utf-8")()
    file.seek(0)
    try:
        while chunk := file.read(_CHUNK):
            decoder.decode(chunk)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return "cp1252"
    finally:
        file.seek(0)
    return ""


def as_utf8(file: BinaryIO, encoding: str, target: Path) -> Path:
    """A copy of a text file in UTF-8. Bytes that the encoding does not have become replacement characters."""
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    file.seek(0)
    written = 0
    with target.open("w", encoding="utf-8", errors="replace", newline="") as copy:
        while chunk := file.read(_CHUNK):
            written += copy.write(decoder.decode(chunk))
            if written > _TEXT_BYTES:
                raise Refused("too_large", f"the file is larger than {_TEXT_BYTES >> 30} GB")
        copy.write(decoder.decode(b"", final=True))
    return target


def copied(file: BinaryIO, target: Path, most: int) -> Path:
    """A copy of a file of at most `most` bytes."""
    file.seek(0, 2)
    if file.tell() > most:
        raise Refused("too_large", f"the file is larger than {most >> 20} MB")
    file.seek(0)
    with target.open("wb") as copy:
        shutil.copyfileobj(file, copy, _CHUNK)
    return target


def _start(file: BinaryIO) -> bytes:
    file.seek(0)
    start = file.read(_SNIFFED)
    file.seek(0)
    return start

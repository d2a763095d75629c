"""Large outputs without the secrets in them: redaction happens before anything reaches the disk for good."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from ..safety.redact import Redactor
from ..store.blobs import BlobFolder

_PIECE = 1_000_000
_LONGEST_KEY = 64_000
_KEY_BEGINS, _KEY_ENDS = b"-----BEGIN ", b"-----END "


class RedactedBlobs:
    """A session's blobs. What is put in is redacted first, piece by piece where it comes as a file."""

    def __init__(self, blobs: BlobFolder, redactor: Redactor) -> None:
        self._blobs = blobs
        self._redactor = redactor

    def put(self, data: bytes) -> str:
        """Store `data` without secrets; returns the digest of what was stored."""
        return self._blobs.put(self._redacted(data))

    def put_file(self, source: Path) -> str:
        """Move a finished file in without secrets; returns the digest of what was stored."""
        cleaned = source.with_name(source.name + ".redacted")
        with source.open("rb") as raw, cleaned.open("wb") as file:
            for piece in _pieces(raw):
                file.write(self._redacted(piece))
        source.unlink()
        return self._blobs.put_file(cleaned)

    def get(self, digest: str) -> bytes:
        """The content behind a digest."""
        return self._blobs.get(digest)

    def path(self, digest: str) -> Path:
        """The file behind a digest."""
        return self._blobs.path(digest)

    def _redacted(self, data: bytes) -> bytes:
        text = data.decode("utf-8", "surrogateescape")
        redacted = self._redactor.redact(text)
        return data if redacted == text else redacted.encode("utf-8", "surrogateescape")


def _pieces(raw: BinaryIO) -> Iterator[bytes]:
    """A file in pieces that cut no secret in two: at line ends, else at blanks, and never inside a private key."""
    held = b""
    while chunk := raw.read(_PIECE):
        held += chunk
        cut = _cut(held)
        yield held[:cut]
        held = held[cut:]
    yield held


def _cut(held: bytes) -> int:
    cut = held.rfind(b"\n") + 1 or held.rfind(b" ") + 1
    begins = held.rfind(_KEY_BEGINS, 0, cut)
    if begins >= 0 and held.find(_KEY_ENDS, begins, cut) < 0 and len(held) - begins < _LONGEST_KEY:
        return begins
    return cut if cut or len(held) < 4 * _PIECE else len(held)

"""Large outputs without the secrets in them: redaction happens before anything reaches the disk for good."""

from __future__ import annotations

from pathlib import Path

from ..safety.redact import Redactor
from ..store.blobs import BlobFolder


class RedactedBlobs:
    """A session's blobs. What is put in is redacted first, line by line where it comes as a file."""

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
            for line in iter(lambda: raw.readline(1_000_000), b""):
                file.write(self._redacted(line))
        source.unlink()
        return self._blobs.put_file(cleaned)

    def get(self, digest: str) -> bytes:
        """The content behind a digest."""
        return self._blobs.get(digest)

    def path(self, digest: str) -> Path:
        """The file behind a digest."""
        return self._blobs.path(digest)

    def _redacted(self, data: bytes) -> bytes:
        text = data.decode("latin-1")
        redacted = self._redactor.redact(text)
        return data if redacted == text else redacted.encode("latin-1")

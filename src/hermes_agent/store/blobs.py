"""Large texts outside the tables, by the digest of their content.

Each session has a folder of its own, so that deleting the session deletes them without counting references.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

from ..types.errors import NotFound

_DIGEST = re.compile(r"[0-9a-f]{12,64}")


class BlobFolder:
    """Content-addressed files. A file is written whole under a temporary name and then renamed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def put_file(self, source: Path) -> str:
        """Move a finished file in; returns its digest."""
        with source.open("rb") as file:
            digest = hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
        self.folder.mkdir(parents=True, exist_ok=True)
        source.replace(self._place(digest))
        return digest

    def put(self, data: bytes) -> str:
        """Store `data`; returns its digest."""
        digest = hashlib.blake2b(data, digest_size=16).hexdigest()
        target = self._place(digest)
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            temporary = target.with_name(f"{digest}.{os.getpid()}.tmp")
            with temporary.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(target)
        return digest

    def get(self, digest: str) -> bytes:
        """The content behind a digest, or behind the beginning of one."""
        return self.path(digest).read_bytes()

    def path(self, digest: str) -> Path:
        """The file behind a digest, or behind its first twelve or more characters."""
        if _DIGEST.fullmatch(digest):
            found = sorted(self.folder.glob(f"{digest}*"))
            if len(found) == 1:
                return found[0]
        raise NotFound(f"there is no stored output {digest!r}")

    def _place(self, digest: str) -> Path:
        return self.folder / digest

"""Every version of the memory files, who made it, and how to go back."""

from __future__ import annotations

import contextlib
import hashlib
import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import msgspec

from ..types.base import Value

MOST_CHANGES = 200
_LOG = "log.jsonl"
_Version = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{16}$")]


class Kind(StrEnum):
    """The two files: notes about the work and its surroundings, and who the user is."""

    MEMORY = "memory"
    USER = "user"

    @property
    def file(self) -> str:
        """Its name under `memories/`."""
        return f"{self.name}.md"

    @property
    def limit(self) -> int:
        """How many characters it may hold."""
        return 2200 if self is Kind.MEMORY else 1375


class Who(StrEnum):
    """Who changed a file; told apart for ever."""

    USER = "user"
    FOREGROUND = "foreground-agent"
    REVIEW = "background-review"


class Author(Value, frozen=True, kw_only=True):
    """On whose behalf a file is changed."""

    who: Who
    run_id: str = ""


class Step(Value, frozen=True, kw_only=True):
    """One change: from which version to which, by whom. `undoes` is the `seq` of the change that it took back."""

    seq: int
    at: float
    kind: Kind
    action: str
    before: _Version
    version: _Version
    who: Who
    run_id: str = ""
    note: str = ""
    undoes: int = 0


class Late(Value, frozen=True, kw_only=True):
    """A replaced file that somebody wrote to afterwards: the version it had, and what it holds now."""

    file: Path
    version: str
    data: bytes


def version_of(data: bytes) -> str:
    """The version that a file with this content has; no file and an empty one are the same."""
    return hashlib.blake2b(data, digest_size=8).hexdigest()


class History:
    """The folder of versions and the log of changes. The caller holds the lock of the memory."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def steps(self) -> list[Step]:
        """All changes that are kept, oldest first. A line that cannot be read is passed over."""
        found: list[Step] = []
        with contextlib.suppress(FileNotFoundError):
            for line in (self._folder / _LOG).read_bytes().splitlines():
                with contextlib.suppress(msgspec.MsgspecError, UnicodeDecodeError):
                    found.append(msgspec.json.decode(line, type=Step))
        return found

    def last(self, kind: Kind) -> Step | None:
        """The newest change of a file."""
        return next((step for step in reversed(self.steps()) if step.kind is kind), None)

    def keep(self, kind: Kind, data: bytes) -> str:
        """Keep a version."""
        version = version_of(data)
        place = self._place(kind, version)
        if self.content(kind, version) is None:
            self._write(place, data)
        return version

    def content(self, kind: Kind, version: str) -> bytes | None:
        """A version as it was; None when it is not kept any more, or was tampered with."""
        try:
            data = self._place(kind, version).read_bytes()
        except OSError:
            return b"" if version == version_of(b"") else None
        return data if version_of(data) == version else None

    def add(self, step: Step) -> Step:
        """Note a change under the next number, and drop what is older than the number that is kept."""
        steps = self.steps()
        numbered = msgspec.structs.replace(step, seq=steps[-1].seq + 1 if steps else 1)
        kept = [*steps, numbered][-MOST_CHANGES:]
        self._write(self._folder / _LOG, b"".join(msgspec.json.encode(one) + b"\n" for one in kept))
        for gone in [*steps, numbered][:-MOST_CHANGES]:
            if not any(one.kind is gone.kind and gone.before in (one.before, one.version) for one in kept):
                self._place(gone.kind, gone.before).unlink(missing_ok=True)
        return numbered

    def drop(self, step: Step) -> None:
        """Take back the note of a change that did not take place."""
        kept = [one for one in self.steps() if one.seq != step.seq]
        self._write(self._folder / _LOG, b"".join(msgspec.json.encode(one) + b"\n" for one in kept))

    def displaced(self, kind: Kind, version: str) -> Path:
        """Where the file itself is put that held this version, because an editor may still write to it."""
        return self._folder / f"{kind.name}.replaced.{version}"

    def late(self, kind: Kind) -> Late | None:
        """What somebody wrote to a file after it had been replaced."""
        for file in self._folder.glob(f"{kind.name}.replaced.*"):
            version = file.name.rpartition(".")[2]
            with contextlib.suppress(OSError):
                data = file.read_bytes()
                if data and version_of(data) != version:
                    return Late(file=file, version=version, data=data)
        return None

    def forget_displaced(self, kind: Kind, but: Path) -> None:
        """Nobody writes any more to files that were replaced before the last one."""
        for file in self._folder.glob(f"{kind.name}.replaced.*"):
            if file != but:
                file.unlink(missing_ok=True)

    def _place(self, kind: Kind, version: str) -> Path:
        return self._folder / f"{kind.name}-{version}.md"

    def _write(self, place: Path, data: bytes) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = self._folder / f".{os.urandom(8).hex()}.tmp"
        try:
            draft.touch(mode=0o600)
            draft.write_bytes(data)
            draft.replace(place)
        finally:
            draft.unlink(missing_ok=True)

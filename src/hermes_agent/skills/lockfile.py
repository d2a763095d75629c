"""What was installed from where: the address, the commit, and a digest of every file, in one file a person can read."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TypeVar

import msgspec

from ..types.base import Value
from ..types.errors import ConfigError, StoreUnwritable
from .skill import Files

_LARGEST = 10_000_000
_Read = TypeVar("_Read")


class Locked(Value, frozen=True, kw_only=True):
    """One installed skill. `ref` is the branch or tag it follows, empty for the default one; `commit` is empty for a
    plain folder. `version` is the digest of the whole tree, `files` those of each file. A pinned one is not updated."""

    url: str
    path: str
    ref: str = ""
    commit: str = ""
    version: str
    files: dict[str, str]
    pinned: bool = False
    at: float


class Lock(Value, frozen=True, kw_only=True):
    """The whole lock file."""

    format: int = 1
    skills: dict[str, Locked] = {}


def digests(files: Files) -> dict[str, str]:
    """The SHA-256 of every file."""
    return {path: hashlib.sha256(content).hexdigest() for path, content in sorted(files.items())}


def read_lock(folder: Path) -> Lock:
    """The lock file of a shelf; empty where there is none."""
    return read_json(folder / "lock.json", Lock, Lock())


def write_lock(folder: Path, lock: Lock) -> None:
    """Replace the lock file."""
    ordered = msgspec.structs.replace(lock, skills=dict(sorted(lock.skills.items())))
    write_json(folder / "lock.json", ordered)


def read_json(path: Path, kind: type[_Read], otherwise: _Read) -> _Read:
    """A file of ours with this type; `otherwise` where it is not there."""
    try:
        with path.open("rb") as file:
            data = file.read(_LARGEST + 1)
        return msgspec.json.decode(data, type=kind)
    except FileNotFoundError:
        return otherwise
    except (OSError, ValueError, msgspec.MsgspecError) as error:
        raise ConfigError(
            f"{path} cannot be read: {error}", remedy="restore it from a backup, or move it away and install again"
        ) from error


def write_json(path: Path, value: object) -> None:
    """A file of ours, written whole or not at all."""
    text = msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"
    fresh = path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with fresh.open("wb") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    except OSError as error:
        fresh.unlink(missing_ok=True)
        raise StoreUnwritable(f"cannot write {path}: {error.strerror}") from error

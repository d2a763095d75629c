"""Whole skills put on a shelf at once: a folder is complete or not there, and what it replaces is kept."""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from ..types.errors import HermesError, StoreUnwritable
from .skill import Files

if TYPE_CHECKING:
    from filelock import BaseFileLock

ARCHIVE = ".archive"
_STAGED = ".staged"
_HALF = ".half-"
_PATIENCE = 60.0


@asynccontextmanager
async def alone(root: Path) -> AsyncIterator[None]:
    """One change of a shelf at a time, whichever process or machine makes it; what a crash left is finished first."""
    from filelock import Timeout

    lock = _lock(root)
    limit = time.monotonic() + _PATIENCE
    while True:
        try:
            lock.acquire(timeout=0)
            break
        except Timeout:
            if time.monotonic() > limit:
                raise HermesError(
                    f"another process has been changing {root} for more than {_PATIENCE:g} s",
                    remedy="try again when it is done",
                ) from None
            await asyncio.sleep(0.01)
        except OSError as error:
            raise StoreUnwritable(f"cannot write in {root}: {error.strerror}") from error
    try:
        _mend(root)
        yield
    finally:
        lock.release()


def _lock(root: Path) -> BaseFileLock:
    from filelock import FileLock

    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        return FileLock(root / ".lock", mode=root.stat().st_mode & 0o666)
    except OSError as error:
        raise StoreUnwritable(f"cannot write in {root}: {error.strerror}") from error


def place(root: Path, name: str, files: Files, before: str = "") -> None:
    """Put a skill on a shelf. One of that name goes to the archive, under its version `before`. Call it alone.

    The new folder is staged whole before the old one moves: after a crash between the two moves `alone` finishes.
    """
    try:
        staged = root / _STAGED / name
        shutil.rmtree(staged, ignore_errors=True)
        write(root, staged, files)
        if os.path.lexists(root / name):
            archive(root, name, before)
        staged.rename(root / name)
    except OSError as error:
        raise StoreUnwritable(f"cannot write {root / name}: {error.strerror}") from error


def archive(root: Path, name: str, version: str) -> Path:
    """Take a skill off a shelf; it is kept in the archive beside it."""
    return retire(root, root / name, f"{name}-{version}" if version else name)


def retire(root: Path, folder: Path, name: str) -> Path:
    """Move a folder of a shelf to its archive, under this name or one with a number where that is taken."""
    wanted = root / ARCHIVE / name
    kept, number = wanted, 1
    while os.path.lexists(kept):
        kept, number = wanted.with_name(f"{wanted.name}.{number}"), number + 1
    make(kept.parent, root)
    folder.rename(kept)
    return kept


def make(folder: Path, root: Path) -> None:
    """A folder below a shelf, open to whom the shelf is: several people may have to write there."""
    if not folder.is_dir():
        make(folder.parent, root)
        folder.mkdir(exist_ok=True)
        folder.chmod(root.stat().st_mode & 0o7777)


def write(root: Path, folder: Path, files: Files) -> None:
    """A new folder below a shelf with these files, there whole or not at all."""
    half = folder.with_name(f"{_HALF}{uuid4().hex}")
    make(half, root)
    mode = root.stat().st_mode & 0o666
    for path, content in files.items():
        target = half / path
        make(target.parent, root)
        with target.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        target.chmod(mode)
    half.rename(folder)


def _mend(root: Path) -> None:
    """Finish what a crash left: a staged skill whose place is empty was about to be moved there."""
    if not (root / _STAGED).is_dir():
        return
    for staged in sorted((root / _STAGED).iterdir()):
        if staged.name.startswith(_HALF) or os.path.lexists(root / staged.name):
            shutil.rmtree(staged, ignore_errors=True)
        else:
            staged.rename(root / staged.name)

"""Single files of skills: read and written without following a link, and taken away without losing a late edit."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from ..safety.exchange import Overtaken, added, content

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def removed(work: int, temporary: str, folder: int, base: str, old: bytes) -> None:
    """Move a file away; one that is not what it should be goes back, unless a newer one took its place by then."""
    try:
        os.rename(base, temporary, src_dir_fd=folder, dst_dir_fd=work)
    except FileNotFoundError as error:
        raise Overtaken(base) from error
    if content(work, temporary) != old:
        with contextlib.suppress(Overtaken):
            added(work, temporary, folder, base)
        raise Overtaken(base)


def read(path: Path) -> bytes | None:
    with contextlib.suppress(OSError), opened(path.parent) as folder:
        return content(folder, path.name)
    return None


@contextlib.contextmanager
def opened(folder: Path) -> Iterator[int]:
    fd = os.open(folder, _FOLDER)
    try:
        yield fd
    finally:
        os.close(fd)


def sync(folder: Path) -> None:
    with opened(folder) as fd:
        os.fsync(fd)


def write(path: Path, data: bytes, mode: int) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    with os.fdopen(fd, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(fd)


def mode_of(folder: int, name: str) -> int:
    try:
        held = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except OSError:
        return 0
    return stat.S_IMODE(held) if stat.S_ISREG(held) else 0

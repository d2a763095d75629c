"""Files that change places in one step, and are looked at afterwards: nothing that somebody wrote meanwhile is lost."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

from ..safety.paths import open_regular
from ..types.errors import PermissionRefused

NO_REPLACE, EXCHANGE = 1, 2
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_CANNOT = (errno.ENOSYS, errno.EINVAL, errno.ENOTTY)
_SWAPS = 1000


class Overtaken(Exception):
    """A file holds something else than expected. It was left as it is, or is again."""


def added(work: int, temporary: str, folder: int, base: str) -> None:
    try:
        if not renamed(work, temporary, folder, base, NO_REPLACE):
            os.link(temporary, base, src_dir_fd=work, dst_dir_fd=folder)
            os.unlink(temporary, dir_fd=work)
    except FileExistsError as error:
        raise Overtaken(base) from error


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


def swapped(work: int, temporary: str, folder: int, base: str, old: bytes) -> None:
    """A new file in the place of one that holds `old`."""
    if content(folder, base) != old:
        raise Overtaken(base)
    exchanged(work, temporary, folder, base, old)


def exchanged(work: int, temporary: str, folder: int, base: str, old: bytes) -> None:
    """Exchange first and look then: whatever came out that is not `old` goes back in, however late it was saved."""
    ours = _state(work, temporary)
    try:
        done = renamed(work, temporary, folder, base, EXCHANGE)
    except FileNotFoundError as error:
        raise Overtaken(base) from error
    if not done:
        if content(folder, base) != old:
            raise Overtaken(base)
        os.rename(temporary, base, src_dir_fd=work, dst_dir_fd=folder)
        return
    if content(work, temporary) != old:
        _swap_back(work, temporary, folder, base, ours)
        raise Overtaken(base)


State = tuple[int, bytes | None]


def _swap_back(work: int, temporary: str, folder: int, base: str, ours: State) -> None:
    """Exchange until what comes out is what we last put in, unchanged: anything else is newer than what went in."""
    inside = ours
    for _ in range(_SWAPS):
        theirs = _state(work, temporary)
        try:
            renamed(work, temporary, folder, base, EXCHANGE)
        except FileNotFoundError:
            with contextlib.suppress(Overtaken):
                added(work, temporary, folder, base)
            return
        if _state(work, temporary) == inside:
            return
        inside = theirs


def _state(folder: int, name: str) -> State:
    """Which file it is, and what it holds."""
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False).st_ino, content(folder, name)
    except OSError:
        return 0, None


def content(folder: int, name: str) -> bytes | None:
    """What a regular file holds; None for anything else, and for nothing."""
    try:
        with open_regular(name, folder) as file:
            return file.read()
    except (OSError, PermissionRefused):
        return None


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


def renamed(source: int, name: str, folder: int, target: str, flag: int) -> bool:
    """Whether the system did it in one step; False where it cannot."""
    if sys.platform != "linux":
        return False
    import ctypes

    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if call is None:
        return False
    if call(source, os.fsencode(name), folder, os.fsencode(target), flag) == 0:
        return True
    code = ctypes.get_errno()
    if code in _CANNOT:
        return False
    raise OSError(code, os.strerror(code), target)

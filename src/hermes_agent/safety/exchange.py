"""Replace a file only if it still holds what was read, also beside programs that know nothing of our locks.

A person's editor takes no lock. Between reading a file and renaming another over it, the editor may save, and the
rename would lose what it saved. Where the system can exchange two names in one step (Linux), we exchange and then look
at what came out: if it is not what was expected, it goes back in. Elsewhere the file is looked at once more just before
the rename.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
from pathlib import Path

from ..types.errors import PermissionRefused
from .paths import open_regular

NO_REPLACE, EXCHANGE = 1, 2
_CANNOT = (errno.ENOSYS, errno.EINVAL, errno.ENOTTY)
_SWAPS = 1000
_State = tuple[int, bytes | None]
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


class Overtaken(Exception):
    """The file holds something else than expected. It was left as it is, or is again."""


def replace_if(path: Path, data: bytes, expected: bytes | None, *, displaced: Path | None = None) -> None:
    """Put `data` in the place of a regular file that holds `expected`; None means that there must be no file.

    Raises Overtaken when there is something else, which then stays. The mode of a file that was there is kept; a new
    one is its owner's alone. `displaced` is a place on the same file system where the replaced file itself is put: a
    program that had it open may still write to it, and `expected` no longer being in there tells.
    """
    folder = os.open(path.parent, _FOLDER)
    temporary = f".{path.name}.{os.urandom(8).hex()}.tmp"
    try:
        _written(folder, temporary, data, _mode(folder, path.name))
        try:
            came_out = _placed(folder, temporary, path.name, expected)
            if displaced is not None and came_out:
                os.rename(temporary, displaced, src_dir_fd=folder)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary, dir_fd=folder)
        os.fsync(folder)
    finally:
        os.close(folder)


def leftovers(path: Path) -> list[Path]:
    """Files that a process left beside `path` when it was killed inside `replace_if`. Whoever holds the lock that
    writers share may remove them."""
    return sorted(path.parent.glob(f".{path.name}.*.tmp"))


def _mode(folder: int, name: str) -> int:
    try:
        held = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return 0o600
    return stat.S_IMODE(held.st_mode) if stat.S_ISREG(held.st_mode) else 0o600


def _written(folder: int, name: str, data: bytes, mode: int) -> None:
    fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=folder)
    with os.fdopen(fd, "wb") as file:
        file.write(data)
        file.flush()
        os.fchmod(fd, mode)
        os.fsync(fd)


def _placed(folder: int, temporary: str, name: str, expected: bytes | None) -> bool:
    """Put `temporary` under `name`; whether `temporary` is now the file that was replaced."""
    if expected is not None:
        return swapped(folder, temporary, folder, name, expected)
    added(folder, temporary, folder, name)
    return False


def added(work: int, temporary: str, folder: int, name: str) -> None:
    """Give the file `temporary` of the open folder `work` a name in `folder` that is free; Overtaken if it is not."""
    try:
        if not renamed(work, temporary, folder, name, NO_REPLACE):
            os.link(temporary, name, src_dir_fd=work, dst_dir_fd=folder)
            os.unlink(temporary, dir_fd=work)
    except FileExistsError as error:
        raise Overtaken(name) from error


def swapped(work: int, temporary: str, folder: int, name: str, old: bytes) -> bool:
    """A new file in the place of one that holds `old`; whether `temporary` is now the one that was replaced."""
    if content(folder, name) != old:
        raise Overtaken(name)
    return exchanged(work, temporary, folder, name, old)


def exchanged(work: int, temporary: str, folder: int, name: str, old: bytes) -> bool:
    """Exchange first and look then: whatever came out that is not `old` goes back in, however late it was saved."""
    ours = _state(work, temporary)
    try:
        done = renamed(work, temporary, folder, name, EXCHANGE)
    except FileNotFoundError as error:
        raise Overtaken(name) from error
    if not done:
        if content(folder, name) != old:
            raise Overtaken(name)
        os.rename(temporary, name, src_dir_fd=work, dst_dir_fd=folder)
        return False
    if content(work, temporary) != old:
        _swap_back(work, temporary, folder, name, ours)
        raise Overtaken(name)
    return True


def _swap_back(work: int, temporary: str, folder: int, name: str, ours: _State) -> None:
    """Exchange until what comes out is what we last put in, unchanged: anything else is newer than what went in.

    A name that is gone was taken away by the other program, which is about to make it anew: ours to give back only as
    long as it is free."""
    inside = ours
    for _ in range(_SWAPS):
        theirs = _state(work, temporary)
        try:
            renamed(work, temporary, folder, name, EXCHANGE)
        except FileNotFoundError:
            with contextlib.suppress(Overtaken):
                added(work, temporary, folder, name)
                return
            continue
        if _state(work, temporary) == inside:
            return
        inside = theirs


def _state(folder: int, name: str) -> _State:
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


def renamed(source: int, name: str, folder: int, target: str, flag: int) -> bool:
    """Rename between two open folders with a flag of the system; False where it cannot do that in one step."""
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

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
from pathlib import Path

from ..types.errors import PermissionRefused
from .paths import open_regular

_NO_REPLACE, _EXCHANGE = 1, 2
_CANNOT = (errno.ENOSYS, errno.EINVAL, errno.ENOTTY)
_SWAPS = 1000
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
            came_out = _placed(folder, temporary, path.name, data, expected)
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


def _placed(folder: int, temporary: str, name: str, data: bytes, expected: bytes | None) -> bool:
    """Put `temporary` under `name`; whether `temporary` is now the file that was replaced."""
    if expected is None:
        try:
            if not _renamed(folder, temporary, name, _NO_REPLACE):
                os.link(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        except FileExistsError as error:
            raise Overtaken(name) from error
        return False
    if _held(folder, name) != expected:
        raise Overtaken(name)
    try:
        if not _renamed(folder, temporary, name, _EXCHANGE):
            os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
            return False
    except FileNotFoundError as error:
        raise Overtaken(name) from error
    out = _held(folder, temporary)
    if out != expected:
        _put_back(folder, temporary, name, out, data)
        raise Overtaken(name)
    return True


def _put_back(folder: int, temporary: str, name: str, theirs: bytes | None, ours: bytes) -> None:
    """Exchange until what comes out is what we had put in: whatever else comes out is newer than what went in.

    A name that is gone was taken away by the other program, which is about to make it anew: ours to give back only as
    long as it is free."""
    inside: bytes | None = ours
    for _ in range(_SWAPS):
        try:
            _renamed(folder, temporary, name, _EXCHANGE)
        except FileNotFoundError:
            with contextlib.suppress(FileExistsError):
                _renamed(folder, temporary, name, _NO_REPLACE)
                return
            continue
        out = _held(folder, temporary)
        if out == inside:
            return
        inside, theirs = theirs, out


def _held(folder: int, name: str) -> bytes | None:
    """What a regular file holds; None for anything else, and for nothing."""
    try:
        with open_regular(name, folder) as file:
            return file.read()
    except (OSError, PermissionRefused):
        return None


def _renamed(folder: int, name: str, target: str, flag: int) -> bool:
    """Whether the system did it in one step; False where it cannot."""
    import ctypes

    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if call is None:
        return False
    if call(folder, os.fsencode(name), folder, os.fsencode(target), flag) == 0:
        return True
    code = ctypes.get_errno()
    if code in _CANNOT:
        return False
    raise OSError(code, os.strerror(code), target)

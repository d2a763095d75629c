"""Moves files and folders of the workspace without ever overwriting one, and deletes them so that they can come back.

What is deleted goes to `.hermes-trash/TIME/ITS/OLD/PATH` in the workspace. The last component of a path is never
followed: a link is moved or deleted itself, not what it leads to.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import shutil
import stat
import time
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

from ..safety.paths import Scope, open_regular
from ..types.errors import PermissionRefused

TRASH = ".hermes-trash"
_KEPT_ENTRIES = 200
_KEPT_SECONDS = 30 * 86_400
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NO_REPLACE = 1
_STAY = "use a path inside the workspace"


class Spot(NamedTuple):
    """Where something is: the folders from the root on, and its name in the last of them."""

    folders: tuple[str, ...]
    name: str

    @property
    def shown(self) -> str:
        """The path as seen from the workspace."""
        return "/".join((*self.folders, self.name))


def spot(scope: Scope, path: str) -> Spot:
    """The place that a path names. Links on the way are followed as far as they stay inside; its end is not."""
    parent, _, name = path.rstrip("/").rpartition("/")
    if name in ("", ".", "..") or "\0" in path:
        raise PermissionRefused(f"{path!r} names no file or folder in the workspace", remedy=_STAY)
    real = scope.resolve(parent or ("/" if path.startswith("/") else "."))
    return Spot(real.relative_to(scope.root).parts, name)


def movable(scope: Scope, path: str) -> Spot:
    """A place whose content may be taken away: not git's own."""
    found = spot(scope, path)
    if any(_plain(part) == ".git" for part in (*found.folders, found.name)):
        raise PermissionRefused(f"{path!r} belongs to git", remedy="change it with git commands")
    return found


def look(scope: Scope, place: Spot) -> os.stat_result:
    """What is there. Special files are refused."""
    with _opened(scope, place.folders) as folder:
        found = os.stat(place.name, dir_fd=folder, follow_symlinks=False)
    if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode) or stat.S_ISLNK(found.st_mode)):
        raise PermissionRefused(
            f"{place.shown!r} is a special file", remedy="only files, folders and links can be used"
        )
    return found


def exists(scope: Scope, place: Spot) -> bool:
    """Whether something is there, be it a link that leads nowhere."""
    try:
        look(scope, place)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def is_empty(scope: Scope, place: Spot) -> bool:
    """Whether a folder has nothing in it."""
    with _opened(scope, (*place.folders, place.name)) as folder:
        return not os.listdir(folder)


def move(scope: Scope, source: Spot, target: Spot) -> None:
    """Move in one step; missing folders are made. Raises FileExistsError rather than replace anything."""
    look(scope, source)
    with _opened(scope, source.folders) as before, _opened(scope, target.folders, create=True) as behind:
        try:
            _rename(before, source.name, behind, target.name)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            _carry(before, source.name, behind, target.name)


def discard(scope: Scope, place: Spot) -> str:
    """Move something to the trash; returns where it is now. What is in the trash for long makes room."""
    if TRASH in map(_plain, (*place.folders, place.name)):
        raise PermissionRefused(f"{place.shown!r} is in the trash already", remedy="it is emptied by itself")
    folder = f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{os.urandom(3).hex()}"
    kept = Spot((TRASH, folder, *place.folders), place.name)
    move(scope, place, kept)
    with contextlib.suppress(OSError):
        _hide(scope)
        _purge(scope)
    return kept.shown


def _hide(scope: Scope) -> None:
    """Keep the trash out of the user's repository."""
    with _opened(scope, (TRASH,)) as folder:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with contextlib.suppress(FileExistsError), os.fdopen(os.open(".gitignore", flags, dir_fd=folder), "w") as file:
            file.write("*\n")


def _purge(scope: Scope) -> None:
    """Remove what is beyond the number or the age that is kept, oldest first."""
    oldest = time.strftime("%Y%m%d-%H%M%S", time.gmtime(time.time() - _KEPT_SECONDS))
    with _opened(scope, (TRASH,)) as folder:
        entries = sorted(name for name in os.listdir(folder) if name[:1].isdigit())
        for name in entries[:-_KEPT_ENTRIES] + [name for name in entries[-_KEPT_ENTRIES:] if name < oldest]:
            shutil.rmtree(name, dir_fd=folder, ignore_errors=True)


@contextlib.contextmanager
def _opened(scope: Scope, folders: tuple[str, ...], *, create: bool = False) -> Iterator[int]:
    """A folder, opened part by part with every link refused."""
    fd = os.open(scope.root, _FOLDER)
    try:
        for part in folders:
            if create:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, dir_fd=fd)
            below = os.open(part, _FOLDER, dir_fd=fd)
            os.close(fd)
            fd = below
        yield fd
    finally:
        os.close(fd)


def _rename(before: int, name: str, behind: int, target: str) -> None:
    """Rename unless the target exists, in one step where the system can."""
    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if call is not None:
        if call(before, os.fsencode(name), behind, os.fsencode(target), _NO_REPLACE) == 0:
            return
        code = ctypes.get_errno()
        if code not in (errno.ENOSYS, errno.EINVAL):
            raise OSError(code, os.strerror(code), target)
    with contextlib.suppress(FileNotFoundError):
        os.stat(target, dir_fd=behind, follow_symlinks=False)
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target)
    os.rename(name, target, src_dir_fd=before, dst_dir_fd=behind)


def _carry(before: int, name: str, behind: int, target: str) -> None:
    """Move a file to another file system: a complete copy first, then the original goes."""
    temporary = f".{os.urandom(8).hex()}.tmp"
    with open_regular(name, before) as source:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        mode = stat.S_IMODE(os.fstat(source.fileno()).st_mode)
        try:
            with os.fdopen(os.open(temporary, flags, mode, dir_fd=behind), "wb") as copy:
                shutil.copyfileobj(source, copy, 1 << 20)
                copy.flush()
                os.fsync(copy.fileno())
            _rename(behind, temporary, behind, target)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary, dir_fd=behind)
            raise
    os.unlink(name, dir_fd=before)


def _plain(name: str) -> str:
    """A name without what some file systems overlook: case and invisible characters."""
    return "".join(char for char in name if unicodedata.category(char) != "Cf").casefold().rstrip(". ")

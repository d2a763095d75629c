"""Files of one folder and no others, also while somebody swaps its parts for links.

A path is resolved first and then opened component by component with every link refused, so that whatever was
swapped in between is met as a link and refused, never followed.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from ..types.errors import PermissionRefused

ABSENT = "absent"
UNREADABLE = "unreadable"
_NAME_BYTES = 255
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_STAY = "use a path inside the workspace"
_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class Scope:
    """A folder and everything in it. Links may be used as long as they lead nowhere else."""

    def __init__(self, root: Path) -> None:
        self.root = Path(os.path.realpath(root))

    def resolve(self, path: str) -> Path:
        """The real path behind `path`, existing or not. Raises PermissionRefused for what is not a file of ours."""
        _check_text(path)
        try:
            real = Path(os.path.realpath(self.root / path))
        except (OSError, ValueError) as error:
            raise PermissionRefused(f"{path!r} is no usable path", remedy=_STAY) from error
        if not real.is_relative_to(self.root):
            raise PermissionRefused(f"{path!r} is outside the workspace", remedy=_STAY)
        with contextlib.suppress(OSError):
            _check_kind(path, os.lstat(real).st_mode)
        return real

    def relative(self, path: str) -> str:
        """`path` as seen from the root, for showing."""
        return self.resolve(path).relative_to(self.root).as_posix()

    def open_folder(self, path: str) -> int:
        """A descriptor of a folder; the caller closes it."""
        parts = self.resolve(path).relative_to(self.root).parts
        return self._walk(path, parts)

    def open_read(self, path: str) -> BinaryIO:
        """A regular file, open for reading. Never waits for a pipe, never reads a device."""
        parts = self.resolve(path).relative_to(self.root).parts
        if not parts:
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        with self._folder(path, parts[:-1]) as folder:
            return open_regular(parts[-1], folder, path)

    @contextlib.contextmanager
    def open_write(self, path: str) -> Iterator[BinaryIO]:
        """A file that takes the place of `path` in one step when the block ends well, and vanishes when it does not.

        Missing folders are made; the mode of a file that was there is kept. Readers see the old or the new content.
        """
        parts = self.resolve(path).relative_to(self.root).parts
        if not parts:
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        with self._folder(path, parts[:-1], create=True) as folder:
            name = parts[-1]
            held = _replaceable(name, folder, path)
            temporary = f".{os.urandom(8).hex()}.tmp"
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            fd = os.open(temporary, flags, 0o666, dir_fd=folder)
            try:
                with os.fdopen(fd, "wb") as file:
                    yield file
                    file.flush()
                    _keep_mode(file.fileno(), held)
                    os.fsync(file.fileno())
                _replaceable(name, folder, path)
                os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(temporary, dir_fd=folder)
                raise
            os.fsync(folder)

    @contextlib.contextmanager
    def _folder(self, path: str, parts: tuple[str, ...], *, create: bool = False) -> Iterator[int]:
        fd = self._walk(path, parts, create=create)
        try:
            yield fd
        finally:
            os.close(fd)

    def _walk(self, path: str, parts: tuple[str, ...], *, create: bool = False) -> int:
        fd = os.open(self.root, _FOLDER)
        try:
            for part in parts:
                if create:
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(part, dir_fd=fd)
                below = _open(part, _FOLDER, fd, path)
                os.close(fd)
                fd = below
        except BaseException:
            os.close(fd)
            raise
        return fd


def open_regular(name: str, folder: int, shown: str = "") -> BinaryIO:
    """A regular file of an open folder, for reading. Links and special files are refused."""
    path = shown or name
    _check_kind(path, os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    fd = _open(name, _FILE, folder, path)
    try:
        mode = os.fstat(fd).st_mode
        _check_kind(path, mode)
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        return os.fdopen(fd, "rb")
    except BaseException:
        os.close(fd)
        raise


def digest(path: Path) -> str:
    """What a file holds, as a digest: `absent` when there is none, `unreadable` for a folder or a special file."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return UNREADABLE
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return UNREADABLE
            return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
    except (FileNotFoundError, NotADirectoryError):
        return ABSENT
    except OSError:
        return UNREADABLE


def digest_of(data: bytes) -> str:
    """The digest that a file with this content has."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def _check_text(path: str) -> None:
    if not path:
        raise PermissionRefused("the path is empty", remedy=_STAY)
    if "\0" in path:
        raise PermissionRefused("a path cannot hold a NUL character", remedy=_STAY)
    if path == "~" or path.startswith("~/"):
        raise PermissionRefused("'~' is not expanded", remedy=_STAY)
    try:
        longest = max(len(os.fsencode(part)) for part in path.split("/"))
    except UnicodeEncodeError as error:
        raise PermissionRefused("the path is not valid text", remedy=_STAY) from error
    if longest > _NAME_BYTES:
        raise PermissionRefused(f"a name in the path is longer than {_NAME_BYTES} bytes", remedy="use shorter names")


def _check_kind(path: str, mode: int) -> None:
    kind = _KINDS.get(stat.S_IFMT(mode))
    if kind:
        raise PermissionRefused(f"{path!r} is {kind}", remedy="only regular files and folders can be used")


def _open(name: str, flags: int, folder: int, path: str) -> int:
    """Open one component; a link that was not there when the path was resolved is an attempt to lead us astray."""
    try:
        return os.open(name, flags, dir_fd=folder)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR) and _is_link(name, folder):
            raise PermissionRefused(
                f"{path!r} turned into a link while it was opened", remedy="call again if that was intended"
            ) from error
        if error.errno == errno.ENXIO:
            raise PermissionRefused(f"{path!r} is a pipe or a socket", remedy=_STAY) from error
        raise OSError(error.errno, os.strerror(error.errno or 0), path) from error


def _is_link(name: str, folder: int) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except OSError:
        return False


def _replaceable(name: str, folder: int, path: str) -> os.stat_result | None:
    """The file that will be replaced, if there is one. A folder or a special file is not replaced."""
    try:
        held = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(held.st_mode):
        raise PermissionRefused(
            f"{path!r} turned into a link while it was opened", remedy="call again if that was intended"
        )
    _check_kind(path, held.st_mode)
    if stat.S_ISDIR(held.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    return held


def _keep_mode(fd: int, held: os.stat_result | None) -> None:
    if held is None:
        return
    ours = os.fstat(fd)
    if (ours.st_uid, ours.st_gid) != (held.st_uid, held.st_gid):
        with contextlib.suppress(OSError):
            os.fchown(fd, held.st_uid, held.st_gid)
    os.fchmod(fd, stat.S_IMODE(held.st_mode))

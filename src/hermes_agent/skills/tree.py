"""The folders of the user's skills on disk, changed file by file beside editors that know nothing of our locks.

A person's editor takes no lock, so a file is never simply renamed over: the new one and the old one change places in
one step, and then we look at what came out. If it is not what was expected, it goes back in and the caller is told.
Files that came out stay in `.work` for a while: an editor that had one open may still write to it, and what it wrote is
found there. Where the system cannot exchange names, the file is looked at once more just before the rename.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from ..safety.exchange import EXCHANGE, Overtaken, added, content, renamed, swapped
from ..safety.paths import digest_of
from ..types.base import Value
from .skill import MAIN, Files
from .swap import mode_of, opened, read, removed, sync, write

ARCHIVE = ".archive"
WORK = ".work"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_SOON, _LATEST = 5.0, 7 * 86_400.0
_GRAIN = 100_000_000


class Aside(Value, frozen=True, kw_only=True):
    """A file that changed places with a new one: whose it was, and what both held (as digests)."""

    id: str
    name: str
    path: str
    version: str
    old: str
    new: str
    at: float


class SkillFolders:
    """One folder with a folder for each skill. Whoever changes something holds the lock of the home."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.work = root / WORK
        self.archive = root / ARCHIVE
        self._unchanged: set[tuple[str, int, int, int]] = set()

    def make(self, name: str, files: Files) -> None:
        """A new skill, there as a whole or not at all."""
        made = self._fresh()
        made.mkdir(parents=True)
        try:
            for path, data in files.items():
                target = made / path
                target.parent.mkdir(parents=True, exist_ok=True)
                write(target, data, _mode_for(path, data))
            sync(made)
            try:
                os.rename(made, self.root / name)
            except OSError as error:
                if error.errno in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR):
                    raise Overtaken(name) from error
                raise
        finally:
            shutil.rmtree(made, ignore_errors=True)
        sync(self.root)

    def change(self, name: str, before: Files, after: Files, version: str) -> None:
        """Turn `before`, which is `version`, into `after`: support files first, the Markdown next, removals last.

        Raises Overtaken when a file does not hold what `before` says; whatever was changed until then is taken back.
        """
        paths = [path for path in {**after, **before} if before.get(path) != after.get(path)]
        order = sorted(paths, key=lambda path: (path not in after, path == MAIN, path))
        done: list[str] = []
        try:
            for path in order:
                self._exchange(name, path, before.get(path), after.get(path), version)
                done.append(path)
        except (Overtaken, OSError):
            for path in reversed(done):
                with contextlib.suppress(Overtaken, OSError):
                    self._exchange(name, path, after.get(path), before.get(path), version)
            raise

    def put_away(self, name: str, version: str, expected: Files) -> Path:
        """Move a skill into the archive; back again, and Overtaken, when it is not what was expected."""
        from .format import SkillProblem, read_folder

        self.archive.mkdir(parents=True, exist_ok=True)
        target = self.archive / f"{name}-{version}"
        number = 1
        while target.exists():
            number += 1
            target = self.archive / f"{name}-{version}.{number}"
        os.rename(self.root / name, target)
        try:
            same = read_folder(target) == expected
        except SkillProblem:
            same = False
        if not same:
            os.rename(target, self.root / name)
            raise Overtaken(name)
        sync(self.root)
        return target

    def take_back(self, folder: Path, name: str) -> None:
        """Move a skill out of the archive."""
        try:
            os.rename(folder, self.root / name)
        except OSError as error:
            if error.errno in (errno.EEXIST, errno.ENOTEMPTY):
                raise Overtaken(name) from error
            raise
        sync(self.root)

    def archived(self) -> Iterator[tuple[str, str, Path]]:
        """Every archived skill: its name, its version, and where it lies; the last one put away first."""
        with contextlib.suppress(OSError):
            folders = [path for path in self.archive.iterdir() if path.is_dir() and not path.is_symlink()]
            for path in sorted(folders, key=lambda path: (-path.stat().st_ctime_ns, path.name)):
                name, _, version = path.name.partition(".")[0].rpartition("-")
                if name:
                    yield name, version, path

    def any_late(self) -> bool:
        """Whether a replaced file was written to, as far as looking tells: cheap, and no lock is needed."""
        try:
            with os.scandir(self.work) as entries:
                states = [(one.name, one.stat(follow_symlinks=False)) for one in entries if one.name[-5:] != ".json"]
        except OSError:
            return False
        now = time.time_ns()
        current = {(name, held.st_mtime_ns, held.st_ctime_ns, held.st_size) for name, held in states}
        self._unchanged &= current
        for state in current - self._unchanged:
            name, written, touched, _ = state
            began = _began(name)
            if written < began - _GRAIN and touched < began + _GRAIN:
                self._unchanged.add(state)
            elif self._differs(name):
                return True
            elif now - max(written, touched) > _GRAIN:
                self._unchanged.add(state)
        return False

    def _differs(self, name: str) -> bool:
        aside, data = self._aside(self.work / f"{name}.json"), read(self.work / name)
        return aside is not None and data is not None and digest_of(data) not in (aside.old, aside.new)

    def _aside(self, note: Path) -> Aside | None:
        try:
            aside = msgspec.json.decode(note.read_bytes(), type=Aside)
        except (OSError, msgspec.MsgspecError):
            return None
        parts = (aside.id, aside.name, *aside.path.split("/"))
        return aside if note.stem == aside.id and not {"", ".", ".."} & set(parts) else None

    def written_late(self) -> list[tuple[Aside, bytes]]:
        """Files that were written to after they had been replaced; those that nobody can write to are dropped."""
        try:
            listed = sorted(self.work.iterdir())
        except OSError:
            return []
        notes = [path for path in listed if path.suffix == ".json"]
        self._clear(path for path in listed if path.suffix != ".json" and not Path(f"{path}.json").exists())
        found = []
        for note in notes:
            aside = self._aside(note)
            if aside is None:
                note.unlink(missing_ok=True)
                continue
            file = self.work / aside.id
            data = read(file)
            if data is not None and digest_of(data) not in (aside.old, aside.new):
                found.append((aside, data))
            elif data is None or _idle(file, aside.at):
                self.drop(aside)
        return found

    def _clear(self, orphans: Iterable[Path]) -> None:
        """Remove what a crash left long ago."""
        for path in orphans:
            if time.time_ns() - _began(path.name) > _LATEST * 1e9:
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink(missing_ok=True)

    def put_back(self, aside: Aside) -> bool:
        """Give a file that was written late its place again, the file itself, so that its writer goes on writing to
        what is in use. False when the place does not hold what it was replaced with."""
        try:
            with self._parent(aside.name, aside.path) as (folder, base), opened(self.work) as work:
                held = content(folder, base)
                if held is None or digest_of(held) != aside.new:
                    return False
                if not renamed(work, aside.id, folder, base, EXCHANGE):
                    os.rename(aside.id, base, src_dir_fd=work, dst_dir_fd=folder)
                elif (out := content(work, aside.id)) is None or digest_of(out) != aside.new:
                    renamed(work, aside.id, folder, base, EXCHANGE)
                    return False
                os.fsync(folder)
        except OSError:
            return False
        self.drop(aside)
        return True

    def drop(self, aside: Aside) -> None:
        """Nothing more can come of this one."""
        (self.work / aside.id).unlink(missing_ok=True)
        (self.work / f"{aside.id}.json").unlink(missing_ok=True)

    def _exchange(self, name: str, path: str, old: bytes | None, new: bytes | None, version: str) -> None:
        """One file: `old` becomes `new`; None stands for no file."""
        temporary = self._fresh()
        temporary.parent.mkdir(parents=True, exist_ok=True)
        aside = Aside(
            id=temporary.name,
            name=name,
            path=path,
            version=version,
            old="" if old is None else digest_of(old),
            new="" if new is None else digest_of(new),
            at=time.time(),
        )
        (self.work / f"{aside.id}.json").write_bytes(msgspec.json.encode(aside))
        with self._parent(name, path, create=new is not None) as (folder, base), opened(self.work) as work:
            if new is not None:
                write(temporary, new, mode_of(folder, base) or _mode_for(path, new))
            if old is None:
                added(work, aside.id, folder, base)
            elif new is None:
                removed(work, aside.id, folder, base, old)
            else:
                swapped(work, aside.id, folder, base, old)
            os.fsync(folder)
        if old is None:
            self.drop(aside)
        if new is None:
            self._tidy(name, path)

    def _tidy(self, name: str, path: str) -> None:
        """Remove the folders that a removed file leaves empty."""
        for parent in list(Path(path).parents)[:-1]:
            with contextlib.suppress(OSError):
                (self.root / name / parent).rmdir()

    def _fresh(self) -> Path:
        return self.work / f"{time.time_ns():x}-{os.urandom(6).hex()}"

    @contextlib.contextmanager
    def _parent(self, name: str, path: str, *, create: bool = False) -> Iterator[tuple[int, str]]:
        """The folder of a file, opened step by step without following any link, and the file's own name in it."""
        parts = (name, *path.split("/"))
        fd = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for number, part in enumerate(parts[:-1]):
                if create and number:
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(part, dir_fd=fd)
                below = os.open(part, _FOLDER, dir_fd=fd)
                os.close(fd)
                fd = below
            yield fd, parts[-1]
        finally:
            os.close(fd)


def _began(name: str) -> int:
    """When something was put into `.work`, as its name says; what is not named so was never put there by us."""
    try:
        return int(name.partition("-")[0], 16)
    except ValueError:
        return time.time_ns()


def _idle(file: Path, since: float) -> bool:
    """Whether nobody has a replaced file open and none can be about to; where the system cannot tell, time decides."""
    age = time.time() - since
    if age < _SOON:
        return False
    if age > _LATEST or sys.platform != "linux":
        return age > _LATEST
    import fcntl

    try:
        with file.open("rb+") as opened:
            fcntl.fcntl(opened, fcntl.F_SETLEASE, fcntl.F_WRLCK)
            fcntl.fcntl(opened, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except OSError as error:
        return error.errno == errno.ENOENT
    return True


def _mode_for(path: str, data: bytes) -> int:
    return 0o777 if path.startswith("scripts/") and data.startswith(b"#!") else 0o666

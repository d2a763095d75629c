"""Skill folders as they lie on a shelf, read once for each state they are in.

Reading, parsing and scanning a folder costs milliseconds; looking whether it changed costs microseconds. What was found
is kept by the identity, size and times of its files, in memory and in one file of the home. A state so young that a
change within the clock's grain could hide in it is not believed.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from functools import cached_property, lru_cache
from pathlib import Path

import msgspec

from ..types.base import Value
from .skill import MAIN, Files, Skill

KEPT = ".seen"
_GRAIN = 2.0
_MOST_FILES = 400
_MOST_VERDICTS = 4096
_UNREAD = "binary"
_VERDICTS: dict[bytes, tuple[str, str]] = {}
Mark = tuple[tuple[str, int, int, int, int, int], ...]


class Seen(Value, frozen=True, kw_only=True):
    """A folder in one state. `problem` when it is no usable skill, `blocked` what the scanner keeps it out for,
    `flagged` what a person should know, `executable` when it brings something that runs."""

    mark: Mark
    skill: Skill
    version: str = ""
    problem: str = ""
    blocked: str = ""
    flagged: str = ""
    paths: tuple[str, ...] = ()
    executable: bool = False


class _Kept(Value, frozen=True, kw_only=True):
    """What one process leaves for the next."""

    rules: str
    folders: dict[str, Seen]


class Shelves:
    """Reads skill folders. `kept` is the file in which what was found outlives the process."""

    def __init__(self, kept: Path) -> None:
        self._kept = kept
        self._rules = ""
        self._changed = False

    def names(self, root: Path) -> list[str]:
        """The skills on a shelf; hidden folders and files are none."""
        try:
            with os.scandir(root) as entries:
                found = [
                    one.name
                    for one in entries
                    if not one.name.startswith(".") and (one.is_symlink() or one.is_dir(follow_symlinks=False))
                ]
        except OSError:
            return []
        return sorted(found)

    def look(self, folder: Path, *, scanned: bool = True) -> Seen | None:
        """What lies in a folder; None when nothing does. Whoever only wants to change it need not have it scanned."""
        mark = _mark(folder)
        if mark is None:
            return None
        seen = self._known.get(str(folder))
        if seen is not None and seen.mark == mark:
            return seen
        now = time.time_ns()
        seen = read(folder, mark, scanned=scanned)
        if not scanned:
            return seen
        youngest = max((max(entry[4], entry[5]) for entry in mark), default=0)
        if now - youngest > _GRAIN * 1e9 and _mark(folder) == mark:
            self._known[str(folder)] = seen
            self._changed = True
        else:
            self._known.pop(str(folder), None)
        return seen

    def keep(self) -> None:
        """Write what was found for the next process, if there is anything new."""
        if not self._changed:
            return
        self._changed = False
        there = {folder: seen for folder, seen in self._known.items() if os.path.isdir(folder)}
        temporary = self._kept.with_name(f"{self._kept.name}.{os.urandom(6).hex()}")
        with contextlib.suppress(OSError):
            temporary.write_bytes(msgspec.msgpack.encode(_Kept(rules=self._rules, folders=there)))
            temporary.replace(self._kept)

    @cached_property
    def _known(self) -> dict[str, Seen]:
        self._rules = _rules()
        with contextlib.suppress(OSError, msgspec.MsgspecError):
            kept = msgspec.msgpack.decode(self._kept.read_bytes(), type=_Kept)
            if kept.rules == self._rules:
                return dict(kept.folders)
        return {}


def read(folder: Path, mark: Mark = (), *, scanned: bool = True) -> Seen:
    """Read, parse and scan a folder, whatever is in it."""
    from .format import SkillProblem, read_folder, version_of
    from .screening import is_executable

    nameless = Skill(name=folder.name, description="", body="")
    try:
        files = read_folder(folder)
    except SkillProblem as error:
        return Seen(mark=mark, skill=nameless, problem=error.explain())
    paths, version = tuple(sorted(files)), version_of(files)
    try:
        skill = _parsed(files[MAIN], folder.name)
    except SkillProblem as error:
        return Seen(mark=mark, skill=nameless, version=version, problem=error.explain(), paths=paths)
    blocked, flagged = judged(files) if scanned else ("", "")
    return Seen(
        mark=mark,
        skill=skill,
        version=version,
        blocked=blocked,
        flagged=flagged,
        paths=paths,
        executable=is_executable(skill, files),
    )


@lru_cache(maxsize=512)
def _parsed(data: bytes, name: str) -> Skill:
    from .format import parse_skill

    return parse_skill(data, name)


def judged(files: Files) -> tuple[str, str]:
    """What the scanner says about a whole skill: what blocks it, and what a person should know."""
    blocked, flagged = "", ""
    for path, data in sorted(files.items()):
        against, remarks = _judged(path, data)
        blocked, flagged = blocked or against, flagged or remarks
    return blocked, flagged


def _judged(path: str, data: bytes) -> tuple[str, str]:
    """What the scanner says about one file. It is asked once about each content, as long as not too many are known."""
    import hashlib

    from ..safety.scan import Verdict
    from .screening import screen

    key = hashlib.sha256(f"{path}\0".encode("utf-8", "surrogatepass") + data).digest()
    if key not in _VERDICTS:
        found = [one for one in screen({path: data}).concerns if one.rule != _UNREAD]
        said = {Verdict.BLOCK: "", Verdict.FLAG: ""}
        for verdict in said:
            concerns = [f"{one.file} line {one.line}: {one.why}" for one in found if one.verdict is verdict]
            said[verdict] = "; ".join(list(dict.fromkeys(concerns))[:3])
        if len(_VERDICTS) >= _MOST_VERDICTS:
            _VERDICTS.clear()
        _VERDICTS[key] = said[Verdict.BLOCK], said[Verdict.FLAG]
    return _VERDICTS[key]


def _mark(folder: Path) -> Mark | None:
    """Which files there are, and in which state, as far as looking at them without reading tells."""
    try:
        top = os.lstat(folder)
    except OSError:
        return None
    entries = [_state("", top)]
    with contextlib.suppress(OSError):
        for entry in _below(str(folder), ""):
            entries.append(entry)
            if len(entries) > _MOST_FILES:
                break
    return tuple(entries)


def _below(folder: str, prefix: str, depth: int = 0) -> Iterator[tuple[str, int, int, int, int, int]]:
    with os.scandir(folder) as found:
        listed = sorted(found, key=lambda one: one.name)
    for one in listed:
        yield _state(prefix + one.name, one.stat(follow_symlinks=False))
        if depth < 16 and one.is_dir(follow_symlinks=False):
            yield from _below(one.path, f"{prefix}{one.name}/", depth + 1)


def _state(path: str, held: os.stat_result) -> tuple[str, int, int, int, int, int]:
    return (path, held.st_ino, held.st_size, held.st_mode, held.st_mtime_ns, held.st_ctime_ns)


def _rules() -> str:
    """Which rules judged: other files of the scanner or of the format are other rules."""
    import hashlib

    from ..safety import scan

    digest = hashlib.sha256()
    for folder in (Path(scan.__path__[0]), Path(__file__).parent):
        for path in sorted(folder.glob("*.py")):
            held = path.stat()
            digest.update(f"{path.name}:{held.st_size}:{held.st_mtime_ns};".encode())
    return digest.hexdigest()[:16]

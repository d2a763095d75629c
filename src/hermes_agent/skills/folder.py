"""A skill's folder as data: which paths may be in it, what lies there, and one digest over all of it."""

from __future__ import annotations

import hashlib
import os
import stat
import unicodedata
from collections.abc import Iterator
from pathlib import Path

from ..types.text import one_line
from .problem import SkillProblem
from .skill import MAIN, SUPPORT, Files

MAX_SKILL = 100_000
MAX_FILE = 1_000_000
MAX_TREE = 5_000_000
MAX_FILES = 200
_MAX_PATH, _MAX_FOLDERS = 200, 8
_NO_PART = frozenset('\\:*?"<>|')
_PASSED_OVER = frozenset(("__pycache__", "node_modules", "Thumbs.db"))


def safe_path(path: str) -> str:
    """A path that stays inside the folder it is relative to, cleaned; raises `SkillProblem`."""
    shown = one_line(path, 80)
    cleaned = unicodedata.normalize("NFC", path)
    if not all(char.isprintable() for char in cleaned):
        raise SkillProblem(f"the path '{shown}' holds characters that cannot be seen")
    if cleaned.startswith(("/", "~")) or any(char in _NO_PART for char in cleaned):
        raise SkillProblem(
            f"the path '{shown}' must be relative, with / between its parts and none of \\ : * ? \" < > |"
        )
    parts = [part for part in cleaned.split("/") if part not in ("", ".")]
    if not parts:
        raise SkillProblem("a path is empty; name a file such as references/notes.md")
    if any(part.startswith(".") or part != part.strip() or part.endswith(".") for part in parts):
        raise SkillProblem(f"the path '{shown}' has a part that is hidden, leads upwards, or ends in a dot or a space")
    cleaned = "/".join(parts)
    if len(cleaned) > _MAX_PATH or len(parts) > _MAX_FOLDERS:
        raise SkillProblem(
            f"the path '{shown}' is longer than {_MAX_PATH} characters or more than {_MAX_FOLDERS} folders deep"
        )
    return cleaned


def check_path(path: str) -> str:
    """The path of a support file, cleaned: inside one of the four folders that skills have for them."""
    cleaned = safe_path(path)
    if "/" not in cleaned or cleaned.split("/")[0] not in SUPPORT:
        folders = ", ".join(f"{folder}/" for folder in SUPPORT)
        raise SkillProblem(f"'{one_line(path, 80)}' is no support file's path", remedy=f"put it into one of {folders}")
    return cleaned


def read_folder(folder: Path) -> Files:
    """Everything in a skill's folder, by path. Links, special files, and what is too much are refused, all of it in
    one `SkillProblem`; hidden files and caches are no part of a skill and are passed over."""
    files: Files = {}
    total = 0
    for path, descriptor in _walked(folder):
        with os.fdopen(descriptor, "rb") as file:
            limit = MAX_SKILL if path == MAIN else MAX_FILE
            content = file.read(limit + 1)
        if len(content) > limit:
            raise SkillProblem(f"{path} is larger than {limit:,} bytes", remedy="split it into smaller files")
        total += len(content)
        if total > MAX_TREE:
            raise SkillProblem(
                f"the skill is larger than {MAX_TREE:,} bytes in all", remedy="remove what it can do without"
            )
        files[path] = content
    if MAIN not in files:
        raise SkillProblem(f"{folder.name} has no {MAIN}", remedy=f"write one, or rename the file to {MAIN}")
    return files


def paths_in(folder: Path) -> list[str]:
    """The paths of a skill's files without reading them, sorted."""
    found: list[str] = []
    for path, descriptor in _walked(folder):
        os.close(descriptor)
        found.append(path)
    return found


def version_of(files: Files) -> str:
    """A digest of the whole tree, the same on every machine: 16 hexadecimal characters."""
    digest = hashlib.sha256()
    for path in sorted(files):
        name = path.encode("utf-8", "surrogatepass")
        for piece in (name, files[path]):
            digest.update(len(piece).to_bytes(8, "big"))
            digest.update(piece)
    return digest.hexdigest()[:16]


def _walked(folder: Path) -> Iterator[tuple[str, int]]:
    """Each file's path and an open descriptor, sorted by path. Every step is taken from the open folder above it, so
    that a link put there meanwhile leads nowhere."""
    problems: list[str] = []
    found = 0
    try:
        top = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError as error:
        raise SkillProblem(f"{folder.name} cannot be read: {_told(folder, error)}") from error
    try:
        for path, descriptor in _below(top, "", problems):
            found += 1
            if found > MAX_FILES:
                os.close(descriptor)
                problems.append(f"the skill has more than {MAX_FILES} files")
                break
            if problems:
                os.close(descriptor)
                continue
            yield path, descriptor
    finally:
        os.close(top)
    if problems:
        raise SkillProblem(*problems)


def _below(folder: int, prefix: str, problems: list[str]) -> Iterator[tuple[str, int]]:
    with os.scandir(folder) as entries:
        names = sorted(entry.name for entry in entries)
    for name in names:
        if name.startswith(".") or name in _PASSED_OVER or name.endswith(".pyc"):
            continue
        path = prefix + name
        try:
            safe_path(path)
            descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
        except SkillProblem as error:
            problems.extend(error.problems)
            continue
        except OSError as error:
            problems.append(f"{one_line(path, 80)}: {_told_at(folder, name, error)}")
            continue
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISREG(mode):
            yield path, descriptor
            continue
        try:
            if stat.S_ISDIR(mode):
                yield from _below(descriptor, f"{path}/", problems)
            else:
                problems.append(f"{path} is no ordinary file; remove it")
        finally:
            os.close(descriptor)


def _told(folder: Path, error: OSError) -> str:
    if folder.is_symlink():
        return "it is a link, and links are not followed; put a real folder there"
    return error.strerror or type(error).__name__


def _told_at(folder: int, name: str, error: OSError) -> str:
    try:
        mode = os.lstat(name, dir_fd=folder).st_mode
    except OSError:
        return error.strerror or type(error).__name__
    if stat.S_ISLNK(mode):
        return "it is a link, and links are not followed; put the file itself there"
    return "it is no ordinary file; remove it" if not stat.S_ISREG(mode) else (error.strerror or type(error).__name__)

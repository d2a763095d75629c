"""Where skills come from: a commit of a repository, or a plain folder. Both are only read, never run."""

from __future__ import annotations

import difflib
import hashlib
import os
from pathlib import Path
from typing import Protocol

from ..types.base import Value
from ..types.errors import NotFound, UsageError
from ..types.text import one_line
from .format import MAX_SKILL, read_folder
from .git import Git, address, checked_ref, is_repository, local_folder
from .lockfile import read_json, write_json
from .repository import Repository
from .skill import MAIN, Files

_DEEPEST = 4
_MOST_FOLDERS = 5000
_MOST_NAMED = 20


class Wanted(Value, frozen=True, kw_only=True):
    """What a person wrote: the address of a source, and which skill in it."""

    url: str
    part: str = ""


class Snapshot(Protocol):
    """One state of a source that does not change while it is looked at. `commit` is empty for a plain folder."""

    url: str
    commit: str

    async def skills(self) -> dict[str, bytes]:
        """The folders that hold a skill, each with its Markdown; the empty path is the source itself."""
        ...

    async def files(self, path: str) -> Files:
        """One skill, whole."""
        ...


class CommitSnapshot:
    """A commit in a bare repository of ours."""

    def __init__(self, repository: Repository, url: str, commit: str) -> None:
        self.url = url
        self.commit = commit
        self._repository = repository

    async def skills(self) -> dict[str, bytes]:
        found = await self._repository.skills(self.commit)
        texts = await self._repository.contents(list(found.values()))
        return dict(zip(found, texts, strict=True))

    async def files(self, path: str) -> Files:
        return await self._repository.files(self.commit, path)


class FolderSnapshot:
    """A folder of this machine that is no repository."""

    commit = ""

    def __init__(self, url: str, folder: Path) -> None:
        self.url = url
        self._folder = folder

    async def skills(self) -> dict[str, bytes]:
        return self._skills()

    def _skills(self) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        seen = 0
        for place, folders, files in os.walk(self._folder):
            seen += 1 + len(folders)
            if seen > _MOST_FOLDERS:
                raise UsageError(f"{self._folder} has too many folders to look through", remedy="name the skill's own")
            inner = Path(place).relative_to(self._folder)
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            if len(inner.parts) >= _DEEPEST:
                folders.clear()
            main = Path(place, MAIN)
            if MAIN in files and not main.is_symlink():
                with main.open("rb") as file:
                    found[inner.as_posix() if inner.parts else ""] = file.read(MAX_SKILL + 1)
                folders.clear()
        return found

    async def files(self, path: str) -> Files:
        return read_folder(self._folder / path)


class Sources:
    """Fetches and keeps sources under the hub's folder, and knows which the user listed."""

    def __init__(self, folder: Path, git: Git) -> None:
        self.git = git
        self._folder = folder

    def repository(self, url: str) -> Repository:
        """The bare repository that holds what was fetched from an address."""
        name = hashlib.sha256(url.encode()).hexdigest()[:24]
        return Repository(self.git, self._folder / ".cache" / f"{name}.git")

    async def fetched(self, url: str, ref: str = "") -> Snapshot:
        """What is at an address now: its default branch, or a branch, tag or whole commit id."""
        folder = local_folder(address(url))
        if folder is not None and not is_repository(folder):
            if ref:
                raise UsageError(f"{folder} is no git repository, so it has no {ref!r}", remedy="leave --ref out")
            if not folder.is_dir():
                raise NotFound(f"{folder} is not there any more", remedy="install it from where it is now")
            return FolderSnapshot(url, folder)
        repository = self.repository(url)
        wanted = checked_ref(ref) if ref else "HEAD"
        kept = _kept_as(ref)
        await repository.fetch(url, f"+{wanted}:{kept}", depth=1)
        return CommitSnapshot(repository, url, await repository.commit_of(kept))

    async def cached(self, url: str) -> Snapshot | None:
        """What was last fetched from an address, without asking it; None where nothing was."""
        folder = local_folder(url)
        if folder is not None and folder.is_dir() and not is_repository(folder):
            return FolderSnapshot(url, folder)
        repository = self.repository(url)
        if not (repository.folder / "HEAD").exists():
            return None
        commit = await repository.commit_of(_kept_as(""))
        return CommitSnapshot(repository, url, commit) if commit else None

    def listed(self) -> list[str]:
        """The addresses the user keeps for searching."""
        return self._written()

    def keep(self, url: str) -> None:
        """Keep an address for searching."""
        write_json(self._folder / "sources.json", sorted({*self._written(), address(url)}))

    def forget(self, url: str) -> None:
        """Keep it no longer."""
        written = self._written()
        left = [one for one in written if one not in (url, _or_itself(url))]
        if left == written:
            raise NotFound(f"{one_line(url)} is not among the sources", remedy="`hermes skills search --sources`")
        write_json(self._folder / "sources.json", left)

    def _written(self) -> list[str]:
        written = read_json(self._folder / "sources.json", list[str], [])
        return [_or_itself(url) for url in written if not url.startswith("-")]


def wanted(written: str) -> Wanted:
    """`ADDRESS` or `ADDRESS#path/to/skill` or `ADDRESS#name`."""
    url, mark, part = written.rpartition("#")
    if not mark:
        return Wanted(url=address(written))
    part = part.strip("/")
    if not part.isprintable() or {"", ".", ".."} & set(part.split("/")):
        raise UsageError(f"{one_line(part, 60)!r} names no skill", remedy="write ADDRESS#path/to/skill or ADDRESS#name")
    return Wanted(url=address(url), part=part)


def chosen(paths: list[str], part: str, url: str) -> str:
    """Which of the skills of a source was meant; where that is not clear, an error that lists them."""
    if part in paths and part:
        return part
    named = [path for path in paths if path.rpartition("/")[2] == part] if part else paths
    if len(named) == 1:
        return named[0]
    if not paths:
        raise NotFound(f"there is no skill in {url}", remedy=f"a skill is a folder with a {MAIN} in it")
    shown = ", ".join((path or "(the whole of it)") for path in sorted(named or paths)[:_MOST_NAMED])
    if named:
        raise UsageError(f"{len(named)} skills could be meant: {shown}", remedy=f"write {url}#PATH")
    close = difflib.get_close_matches(part, [path.rpartition("/")[2] for path in paths], n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"there are: {shown}"
    raise NotFound(f"there is no skill {one_line(part, 60)!r} in {url}", remedy=hint)


def _kept_as(ref: str) -> str:
    return f"refs/fetched/{hashlib.sha256(ref.encode()).hexdigest()[:24]}" if ref else "refs/fetched/default"


def _or_itself(url: str) -> str:
    try:
        return address(url)
    except UsageError:
        return url

"""A team's library in a folder that several people and machines can write to."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from ..types.errors import ConfigError, HermesError, UsageError
from ..types.text import one_line
from .format import SkillProblem, read_folder, version_of
from .git import Git
from .lockfile import read_json
from .placing import ARCHIVE, alone, make, place, retire, write
from .skill import Files
from .team import Proposal, Review, Synced, checked, refuse, reviewed, split_id, unknown
from .team_shelf import base_of, settle

_PROPOSALS = ".proposals"
_DESCRIPTION = "proposal.json"


class SharedFolder:
    """The team's skills lie in `shared`, and what was synchronised of them on `shelf`. A proposal is a folder
    `.proposals/NAME/VERSION` with the base beside it."""

    def __init__(
        self, shared: Path, shelf: Path, git: Git, author: str, clock: Callable[[], float] = time.time
    ) -> None:
        self.shelf = shelf
        self._shared = shared
        self._git = git
        self._author = author
        self._clock = clock

    async def current(self, name: str) -> Files:
        return _files(self._shared / name)

    async def base(self, name: str) -> Files:
        return base_of(self.shelf, name)

    async def versions(self, name: str) -> set[str]:
        kept = (self._shared / ARCHIVE).glob(f"{name}-*")
        now = _files(self._shared / name)
        past = {one.name.removeprefix(f"{name}-")[:16] for one in kept}
        return past | ({version_of(now)} if now else set())

    async def propose(self, name: str, files: Files, base: Files | None = None, note: str = "") -> Proposal:
        version = checked(name, files)
        async with alone(self._shared):
            held = _files(self._shared / name) if base is None else base
            if version == version_of(_files(self._shared / name)):
                raise UsageError(f"the team has this version of {name} already", remedy="there is nothing to propose")
            place_of = self._shared / _PROPOSALS / name / version
            if _is_there(place_of):
                return _described(place_of)
            proposal = Proposal(
                name=name,
                version=version,
                base=version_of(held) if held else "",
                author=self._author,
                note=note,
                at=self._clock(),
            )
            whole = {_DESCRIPTION: msgspec.json.format(msgspec.json.encode(proposal), indent=2)}
            whole |= {f"files/{path}": content for path, content in files.items()}
            whole |= {f"base/{path}": content for path, content in held.items()}
            make(place_of.parent, self._shared)
            write(self._shared, place_of, whole)
            return proposal

    async def proposals(self) -> list[Proposal]:
        async with alone(self._shared):
            found = [_described_or_why(path.parent) for path in self._descriptions()]
        return sorted(found, key=lambda proposal: (proposal.at, proposal.id))

    def _descriptions(self) -> list[Path]:
        every = (self._shared / _PROPOSALS).glob(f"*/*/{_DESCRIPTION}")
        return [path for path in every if not path.parent.name.startswith(".")]

    async def review(self, proposal_id: str) -> Review:
        async with alone(self._shared):
            return await self._review(proposal_id)

    async def _review(self, proposal_id: str) -> Review:
        place_of = self._place_of(proposal_id)
        proposal = _described(place_of)
        if proposal.id != proposal_id:
            raise UsageError(f"{place_of} is not what it says", remedy="let its author propose it again")
        base = _files(place_of / "base")
        current = _files(self._shared / proposal.name)
        return await reviewed(proposal, base, current, _files(place_of / "files"), self._git)

    async def accept(self, proposal_id: str, *, own: bool = False, expect: str = "") -> str:
        async with alone(self._shared):
            review = await self._review(proposal_id)
            refuse(review, self._author, own=own, expect=expect)
            version = version_of(review.result)
            if review.result != review.current:
                before = version_of(review.current) if review.current else ""
                place(self._shared, review.proposal.name, review.result, before)
            retire(self._shared, self._place_of(proposal_id), f"accepted-{proposal_id}")
        await self.sync()
        return version

    async def reject(self, proposal_id: str) -> Proposal:
        async with alone(self._shared):
            place_of = self._place_of(proposal_id)
            proposal = _described(place_of)
            retire(self._shared, place_of, f"rejected-{proposal_id}")
            return proposal

    async def sync(self) -> Synced:
        async with alone(self._shared):
            theirs = {folder.name: _files_or_why(folder) for folder in _skill_folders(self._shared)}
        async with alone(self.shelf):
            return settle(self.shelf, self._shared.as_uri(), "", theirs)

    def _place_of(self, proposal_id: str) -> Path:
        name, version = split_id(proposal_id)
        found = self._shared / _PROPOSALS / name / version
        if found.is_symlink() or not (found / _DESCRIPTION).is_file():
            raise unknown(proposal_id)
        return found


def _described(folder: Path) -> Proposal:
    nothing = Proposal(name=folder.parent.name, version=folder.name, base="", author="", at=0.0)
    return read_json(folder / _DESCRIPTION, Proposal, nothing)


def _described_or_why(folder: Path) -> Proposal:
    """A proposal for the list: one that somebody broke must not hide the others."""
    try:
        return _described(folder)
    except ConfigError as error:
        name, version = folder.parent.name, folder.name
        return Proposal(name=name, version=version, base="", author="", note=one_line(str(error), 200), at=0.0)


def _files(folder: Path) -> Files:
    """The files of a skill; none where the folder is not there."""
    return read_folder(folder) if _is_there(folder) else {}


def _is_there(path: Path) -> bool:
    return os.path.lexists(path)


def _files_or_why(folder: Path) -> Files | HermesError:
    try:
        return read_folder(folder)
    except SkillProblem as error:
        return error


def _skill_folders(shelf: Path) -> list[Path]:
    return sorted(one for one in shelf.iterdir() if one.is_dir() and not one.name.startswith("."))

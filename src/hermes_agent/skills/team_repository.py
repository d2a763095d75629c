"""A team's library in a git repository: proposals are branches, accepting one is a merge that can be pushed only onto
exactly what was reviewed."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from ..types.errors import HermesError, NotFound, UsageError
from ..types.text import decode, one_line
from .format import SkillProblem, version_of
from .git import Entry, Git
from .placing import alone
from .repository import Repository, Tip, mains, problems_of, skill_entries
from .skill import Files
from .team import Proposal, Review, Synced, checked, refuse, reviewed, split_id, unknown
from .team_shelf import base_of, placed, settle

_HEADS = "refs/team/"
_PROPOSE, _REJECTED = "propose/", "rejected/"
_ATTEMPTS = 60
_HISTORY = 100
_REMEMBERED = 30


class SharedRepository:
    """A bare copy of the team's repository under the shelf, and the skills of its main branch on it."""

    def __init__(self, url: str, shelf: Path, git: Git, author: str, clock: Callable[[], float] = time.time) -> None:
        self.shelf = shelf
        self._url = url
        self._author = author
        self._clock = clock
        self._repository = Repository(git, shelf / ".repository")
        self._main = ""
        self._tips: dict[str, Tip] = {}
        self._read: dict[str, list[Entry]] = {}

    async def current(self, name: str) -> Files:
        async with alone(self.shelf):
            return await self._files(await self._fetched(), name)

    async def base(self, name: str) -> Files:
        return base_of(self.shelf, name)

    async def versions(self, name: str) -> set[str]:
        async with alone(self.shelf):
            return {version for _, version in await self._past(await self._fetched(), name)}

    async def propose(self, name: str, files: Files, base: Files | None = None, note: str = "") -> Proposal:
        version = checked(name, files)
        async with alone(self.shelf):
            tip = await self._fetched()
            if version == version_of(await self._files(tip, name)):
                raise UsageError(f"the team has this version of {name} already", remedy="there is nothing to propose")
            parent = tip if base is None else await self._parent(tip, name, version_of(base) if base else "")
            path = await self._path(parent, name) or await self._new_path(tip, name)
            words = one_line(note, 200) or f"Propose {name}"
            commit = await self._commit([parent] if parent else [], {path: files}, f"{words}\n\nVersion: {version}\n")
            ref = f"refs/heads/{_PROPOSE}{name}-{version}"
            await self._repository.push(self._url, {ref: commit}, {ref: ""})
            await self._fetched()
            return await self._proposal(f"{name}-{version}")

    async def proposals(self) -> list[Proposal]:
        async with alone(self.shelf):
            await self._fetched()
            found = []
            for tip in sorted(self._tips):
                with suppress(NotFound):
                    found += [await self._proposal(tip.removeprefix(_PROPOSE))] if tip.startswith(_PROPOSE) else []
        return sorted(found, key=lambda proposal: (proposal.at, proposal.id))

    async def review(self, proposal_id: str) -> Review:
        split_id(proposal_id)
        async with alone(self.shelf):
            return await self._review(proposal_id, await self._fetched())

    async def accept(self, proposal_id: str, *, own: bool = False, expect: str = "") -> str:
        name, _ = split_id(proposal_id)
        async with alone(self.shelf):
            for attempt in range(_ATTEMPTS):
                tip = await self._fetched()
                review = await self._review(proposal_id, tip)
                refuse(review, self._author, own=own, expect=expect)
                offered = self._offered(proposal_id).commit
                path = await self._path(tip, name) or await self._path(offered, name)
                message = f"Accept {proposal_id}\n\nAccepted-by: {self._author}\n"
                parents = [tip, offered] if tip else [offered]
                made = await self._commit(parents, {path: review.result}, message)
                main, ref = f"refs/heads/{self._main}", f"refs/heads/{_PROPOSE}{proposal_id}"
                if await self._repository.push(self._url, {main: made, ref: ""}, {main: tip, ref: offered}):
                    await self._settle(await self._fetched())
                    return version_of(review.result)
                await asyncio.sleep(random.uniform(0.01, 0.05 * min(attempt + 1, 10)))
        raise HermesError(f"others were quicker {_ATTEMPTS} times", remedy="try again when the repository is calmer")

    async def reject(self, proposal_id: str) -> Proposal:
        split_id(proposal_id)
        async with alone(self.shelf):
            await self._fetched()
            proposal = await self._proposal(proposal_id)
            commit = self._offered(proposal_id).commit
            kept = f"refs/heads/{_REJECTED}{proposal_id}-{commit[:8]}"
            ref = f"refs/heads/{_PROPOSE}{proposal_id}"
            if not await self._repository.push(self._url, {kept: commit, ref: ""}, {ref: commit}):
                raise unknown(proposal_id)
            return proposal

    async def sync(self) -> Synced:
        async with alone(self.shelf):
            return await self._settle(await self._fetched())

    async def _settle(self, tip: str) -> Synced:
        entries = await self._entries(tip)
        theirs: dict[str, Files | HermesError] = {}
        sound: dict[str, list[Entry]] = {}
        for path in filter(None, mains(entries)):
            name = path.rpartition("/")[2]
            mine = skill_entries(entries, path)
            problems = problems_of(mine)
            if name in sound or name in theirs:
                problems = (f"the repository has several skills called {name}",)
                sound.pop(name, None)
            if problems:
                theirs[name] = SkillProblem(*problems)
            else:
                sound[name] = mine
        objects = [entry.object for mine in sound.values() for entry in mine]
        texts = iter(await self._repository.contents(objects))
        theirs |= {name: {entry.path.decode(): next(texts) for entry in mine} for name, mine in sound.items()}
        return settle(self.shelf, self._url, tip, theirs)

    async def _fetched(self) -> str:
        """Fetch everything and return the tip of the main branch, empty while there is none. A history that was
        rewritten is refused: what this machine has would be lost in it."""
        specs = (f"+refs/heads/*:{_HEADS}*", f"^refs/heads/{_REJECTED}*")
        await self._repository.fetch(self._url, *specs, prune=True)
        self._main = self._main or await self._main_branch()
        self._tips = await self._repository.tips(_HEADS)
        tip = self._tips[self._main].commit if self._main in self._tips else ""
        last = placed(self.shelf)
        if last.url != self._url or last.commit in ("", tip):
            return tip
        if not tip or not await self._repository.is_ancestor(last.commit, tip):
            raise HermesError(
                f"the history of {self._url} was rewritten since the last synchronisation",
                remedy=f"ask who did it; to take the new one, move {self.shelf} away and synchronise again",
            )
        return tip

    async def _main_branch(self) -> str:
        words = ("ls-remote", "--symref", "--", self._url, "HEAD")
        done = await self._repository.git.run(*words, what=f"asking {self._url}")
        first = decode(done.out).partition("\t")[0]
        return first.removeprefix("ref: refs/heads/") if first.startswith("ref: refs/heads/") else "main"

    async def _review(self, proposal_id: str, tip: str) -> Review:
        proposal = await self._proposal(proposal_id)
        commit = self._offered(proposal_id).commit
        base = await self._repository.common(tip, commit) if tip else ""
        was, now, offered = [await self._files(one, proposal.name) for one in (base, tip, commit)]
        return await reviewed(proposal, was, now, offered, self._repository.git)

    def _offered(self, proposal_id: str) -> Tip:
        if f"{_PROPOSE}{proposal_id}" not in self._tips:
            raise unknown(proposal_id)
        return self._tips[f"{_PROPOSE}{proposal_id}"]

    async def _proposal(self, proposal_id: str) -> Proposal:
        name, version = split_id(proposal_id)
        tip = self._offered(proposal_id)
        base = await self._files(tip.parent, name)
        return Proposal(
            name=name,
            version=version,
            base=version_of(base) if base else "",
            author=tip.author,
            note="" if tip.subject == f"Propose {name}" else tip.subject,
            at=tip.at,
        )

    async def _past(self, tip: str, name: str) -> list[tuple[str, str]]:
        """The commits that changed a skill, newest first, with the version each made."""
        path = await self._path(tip, name)
        if not path:
            return []
        commits = await self._repository.history(tip, path, _HISTORY)
        found = [(commit, await self._files(commit, name)) for commit in commits]
        return [(commit, version_of(files)) for commit, files in found if files]

    async def _parent(self, tip: str, name: str, version: str) -> str:
        """The commit that a proposal goes on from: the newest with the version it was made from."""
        if not version or not tip:
            return tip
        past = await self._past(tip, name)
        return next((commit for commit, made in past if made == version), tip)

    async def _entries(self, commit: str) -> list[Entry]:
        """The files of a commit; a commit never changes, so each is read once."""
        if not commit:
            return []
        if commit not in self._read:
            recent = dict(list(self._read.items())[-_REMEMBERED:])
            self._read = {**recent, commit: await self._repository.entries(commit)}
        return self._read[commit]

    async def _path(self, commit: str, name: str) -> str:
        """Where a skill lies in a commit; empty where it is not in it."""
        paths = [path for path in mains(await self._entries(commit)) if path.rpartition("/")[2] == name]
        if len(paths) > 1:
            raise UsageError(f"the repository has several skills called {name}", remedy=f"keep one of {paths}")
        return paths[0] if paths else ""

    async def _new_path(self, tip: str, name: str) -> str:
        """Where a new skill goes: where the others are."""
        others = mains(await self._entries(tip))
        return f"skills/{name}" if any(path.startswith("skills/") for path in others) else name

    async def _files(self, commit: str, name: str) -> Files:
        path = await self._path(commit, name)
        if not path:
            return {}
        return await self._repository.read(skill_entries(await self._entries(commit), path))

    async def _commit(
        self, parents: Sequence[str], changes: dict[str, Files | None] | dict[str, Files], text: str
    ) -> str:
        return await self._repository.commit(parents, dict(changes), text, who=self._author, at=int(self._clock()))

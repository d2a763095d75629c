"""One library for a team: a shared folder or a git repository, changed only by proposals that somebody reviewed.

A proposal holds what its author read (the base) and what they made of it. Accepting compares the base with what the
team has now: where that moved, both changes are merged, and where they meet the proposal is refused and both are kept.
Nothing is ever overwritten that the one who accepts has not seen.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Protocol

from ..types.base import Value
from ..types.errors import ConfigError, NotFound, PermissionRefused, UsageError
from ..types.text import one_line
from .differences import unified
from .format import SkillProblem, parse_skill, version_of
from .git import Git, address, is_repository, local_folder
from .screening import Screening, refuse_blocked, screen
from .skill import MAIN, Files
from .threeway import merged

_ID = re.compile(r"([a-z0-9][a-z0-9-]{0,63})-([0-9a-f]{16})")


class Proposal(Value, frozen=True, kw_only=True):
    """A wish to change a skill of the team. `base` is the version it was made from, empty for a new skill."""

    name: str
    version: str
    base: str
    author: str
    note: str = ""
    at: float

    @property
    def id(self) -> str:
        """What it is called: it holds a digest of the content, so that what was reviewed is what is accepted."""
        return f"{self.name}-{self.version}"


class Review(Value, frozen=True, kw_only=True):
    """A proposal beside what the team has now. `result` is what accepting it would make of the skill."""

    proposal: Proposal
    current: Files
    proposed: Files
    result: Files
    conflicts: tuple[str, ...]
    screening: Screening

    @property
    def diff(self) -> str:
        """What accepting would change; where it cannot be accepted, how the proposal differs."""
        after = self.proposed if self.conflicts else self.result
        return unified(self.current, after, was="team", now="proposed" if self.conflicts else "accepted")


class Synced(Value, frozen=True, kw_only=True):
    """What a synchronisation did. `kept` are skills that were changed here and not touched, `refused` those of the team
    that were not taken, each with the reason."""

    commit: str = ""
    added: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    refused: dict[str, str] = {}


class Team(Protocol):
    """A team's library, wherever it lies. `shelf` is the folder from which its skills are read here."""

    shelf: Path

    async def current(self, name: str) -> Files:
        """A skill as the team has it, as far as is known here; none where it has none of that name."""
        ...

    async def base(self, name: str) -> Files:
        """A skill as the team had it when it was last brought here; none where it never was."""
        ...

    async def versions(self, name: str) -> set[str]:
        """The versions of a skill that the team has or had."""
        ...

    async def propose(self, name: str, files: Files, base: Files | None = None, note: str = "") -> Proposal:
        """Offer a version of a skill to the team. Without a base it was made from what the team has."""
        ...

    async def proposals(self) -> list[Proposal]:
        """Everything that waits for a review, oldest first."""
        ...

    async def review(self, proposal_id: str) -> Review:
        """A proposal and what would come of it."""
        ...

    async def accept(self, proposal_id: str, *, own: bool = False, expect: str = "") -> str:
        """Make a proposal the team's version, which is returned. `own` allows one's own; `expect` is the version that
        the reviewer saw as the result: when it would be another, nothing happens."""
        ...

    async def reject(self, proposal_id: str) -> Proposal:
        """Take a proposal off the list; its files are kept."""
        ...

    async def sync(self) -> Synced:
        """Bring this machine up to date. What was changed here is never overwritten."""
        ...


def open_team(setting: str, home: Path, git: Git, author: str) -> Team:
    """The team's library that `skills.team` names."""
    if not setting:
        raise ConfigError(
            "no team library is configured",
            remedy="`hermes config set skills.team FOLDER` or the address of a git repository",
        )
    url = address(setting)
    folder = local_folder(url)
    if folder is not None and not is_repository(folder):
        from .team_folder import SharedFolder

        return SharedFolder(folder, home / "skills-team", git, author)
    from .team_repository import SharedRepository

    return SharedRepository(url, home / "skills-team", git, author)


def split_id(proposal_id: str) -> tuple[str, str]:
    """The name and the version in a proposal's id."""
    match = _ID.fullmatch(proposal_id)
    if match is None:
        raise NotFound(f"{one_line(proposal_id, 80)!r} is no proposal", remedy="`hermes skills team proposals`")
    return match[1], match[2]


def unknown(proposal_id: str) -> NotFound:
    """There is no such proposal now."""
    return NotFound(
        f"there is no proposal {one_line(proposal_id, 80)!r}; it may have been accepted or rejected by somebody else",
        remedy="`hermes skills team proposals` lists those that wait",
    )


def checked(name: str, files: Files) -> str:
    """The version of a skill that may be proposed; a broken or blocked one is refused."""
    if MAIN not in files:
        raise SkillProblem(f"{name} has no {MAIN}")
    if parse_skill(files[MAIN], name).name != name:
        raise SkillProblem(f"the skill is not called {name}")
    refuse_blocked(name, screen(files))
    return version_of(files)


async def reviewed(proposal: Proposal, base: Files, current: Files, proposed: Files, git: Git) -> Review:
    """Hold a proposal against what the team has now."""
    if version_of(proposed) != proposal.version:
        raise UsageError(
            f"the files of {proposal.id} were changed after it was made", remedy="let its author propose it again"
        )
    merge = await merged(base, current, proposed, git)
    return Review(
        proposal=proposal,
        current=current,
        proposed=proposed,
        result=merge.files,
        conflicts=merge.conflicts,
        screening=screen(merge.files),
    )


def refuse(review: Review, author: str, *, own: bool, expect: str) -> None:
    """Raise where a proposal must not be accepted: a conflict, a broken result, one's own, or not what was seen."""
    proposal = review.proposal
    if proposal.author == author and not own:
        raise PermissionRefused(
            f"{proposal.id} is your own proposal", remedy="let somebody else accept it, or say --own"
        )
    if review.conflicts:
        raise UsageError(
            f"{proposal.id} and what the team has now change the same lines of {', '.join(review.conflicts)}; "
            "both are kept as they are",
            remedy=f"`hermes skills team sync`, put both together in {proposal.name}, propose that, reject this one",
        )
    version = checked(proposal.name, review.result)
    if expect and version != expect:
        raise UsageError(
            f"the team's {proposal.name} changed while you were looking",
            remedy=f"`hermes skills team show {proposal.id}`",
        )

"""The hub: skills of others, installed from a repository or a folder, pinned to what was read, updated after a diff.

Nothing of a skill runs when it is installed or updated. What a person agreed to is what is written: an offer holds the
files themselves, and the lock file says of each one what it must be.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from ..safety.scan import Verdict
from ..types.base import Value
from ..types.errors import HermesError, NotFound, PermissionRefused, UsageError
from ..types.text import one_line
from .differences import unified
from .format import SkillProblem, parse_skill, read_folder, version_of
from .git import Git, is_commit
from .history import text_of
from .lockfile import Lock, Locked, digests, read_lock, write_lock
from .placing import alone, archive, place
from .screening import Screening, refuse_blocked, screen
from .similarity import cosine, vector_of
from .skill import MAIN, Files
from .sources import Snapshot, Sources, chosen, wanted


class Offer(Value, frozen=True, kw_only=True):
    """A skill as it would be installed. `before` is what it would replace, `replaces` that one's version."""

    name: str
    description: str
    url: str
    path: str
    ref: str
    commit: str
    version: str
    files: Files
    screening: Screening
    before: Files = {}
    replaces: str = ""

    @property
    def diff(self) -> str:
        """What would change."""
        return unified(self.before, self.files, was="installed", now="offered")


class Drift(Value, frozen=True, kw_only=True):
    """An installed skill whose files are not those of the lock file."""

    name: str
    changed: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    problem: str = ""

    def __str__(self) -> str:
        parts = [("changed", self.changed), ("missing", self.missing), ("added", self.added)]
        said = [f"{word}: {', '.join(names)}" for word, names in parts if names]
        return "; ".join([*([self.problem] if self.problem else []), *said])


class Found(Value, frozen=True, kw_only=True):
    """A skill that a search found. `installed` is true when it is on the shelf, from this source."""

    name: str
    description: str
    url: str
    path: str
    score: float
    installed: bool


class Searched(Value, frozen=True, kw_only=True):
    """What a search found, and the sources that could not be looked in, each with the reason."""

    found: tuple[Found, ...]
    failed: dict[str, str] = {}


class Hub:
    """The shelf of skills that others made."""

    def __init__(self, folder: Path, git: Git, clock: Callable[[], float] = time.time) -> None:
        self.folder = folder
        self.sources = Sources(folder, git)
        self._clock = clock

    def installed(self) -> dict[str, Locked]:
        """What the lock file says is installed."""
        return read_lock(self.folder).skills

    async def offer(self, source: str, ref: str = "") -> Offer:
        """Look at a skill without installing it. `source` is `ADDRESS`, `ADDRESS#path` or `ADDRESS#name`."""
        asked = wanted(source)
        snapshot = await self.sources.fetched(asked.url, ref)
        path = chosen(list(await snapshot.skills()), asked.part, asked.url)
        return await self._offer(snapshot, path, ref)

    async def newer(self, name: str, ref: str | None = None) -> Offer | None:
        """What an update would bring; None when nothing changed. `ref` moves it to another branch, tag or commit."""
        locked = self._locked(name)
        follow = locked.ref if ref is None else ref
        snapshot = await self.sources.fetched(locked.url, follow)
        if locked.path not in await snapshot.skills():
            raise NotFound(
                f"{locked.url} has no skill {locked.path or name!r} any more",
                remedy=f"keep it as it is, or `hermes skills uninstall {name}`",
            )
        offer = await self._offer(snapshot, locked.path, follow)
        if offer.name != name:
            raise UsageError(
                f"{name} is called {offer.name} at its source now",
                remedy=f"`hermes skills uninstall {name}`, then install {offer.name}",
            )
        unmoved = offer.version == locked.version and follow == locked.ref
        return None if unmoved and not self.drift(name, locked) else offer

    async def _offer(self, snapshot: Snapshot, path: str, ref: str) -> Offer:
        files = await snapshot.files(path)
        if MAIN not in files:
            raise SkillProblem(f"there is no {MAIN}")
        skill = parse_skill(files[MAIN], path.rpartition("/")[2])
        before = self._on_shelf(skill.name)
        return Offer(
            name=skill.name,
            description=skill.description,
            url=snapshot.url,
            path=path,
            ref=ref,
            commit=snapshot.commit,
            version=version_of(files),
            files=files,
            screening=screen(files),
            before=before,
            replaces=version_of(before) if before else "",
        )

    async def install(
        self, offer: Offer, *, accept_flagged: bool = False, discard_edits: bool = False, pinned: bool | None = None
    ) -> Locked:
        """Write what was offered, and lock it. Refused: what the scanner blocks, or flags and nobody accepted; a name
        that is taken; an installed skill that somebody edited; and one that changed since the offer was made."""
        refuse_blocked(offer.name, offer.screening)
        if offer.screening.verdict is Verdict.FLAG and not accept_flagged:
            said = "; ".join(f"{one.file}: {one.why}" for one in offer.screening.concerns[:5])
            raise PermissionRefused(
                f"the scanner flags {offer.name}: {said}", remedy="read it, then say --accept-flagged"
            )
        async with alone(self.folder):
            lock = read_lock(self.folder)
            self._refuse_collision(offer, lock.skills.get(offer.name), discard_edits=discard_edits)
            if offer.version != offer.replaces:
                place(self.folder, offer.name, offer.files, offer.replaces)
            known = lock.skills.get(offer.name)
            locked = Locked(
                url=offer.url,
                path=offer.path,
                ref=offer.ref,
                commit=offer.commit,
                version=offer.version,
                files=digests(offer.files),
                pinned=(known.pinned if known else is_commit(offer.ref)) if pinned is None else pinned,
                at=self._clock(),
            )
            write_lock(self.folder, Lock(skills={**lock.skills, offer.name: locked}))
            return locked

    def _refuse_collision(self, offer: Offer, known: Locked | None, *, discard_edits: bool) -> None:
        name = offer.name
        there = self._on_shelf(name)
        version = version_of(there) if there else ""
        if known is None and there and version != offer.version:
            raise UsageError(
                f"{self.folder / name} is there and was not installed by the hub", remedy="move it away, then try again"
            )
        if known is not None and (known.url, known.path) != (offer.url, offer.path):
            raise UsageError(
                f"a skill called {name} is installed already, from {known.url}#{known.path}",
                remedy=f"a skill's folder bears its name, so it cannot be installed under another: "
                f"`hermes skills uninstall {name}` first",
            )
        if version != offer.replaces:
            raise UsageError(f"{name} changed while you were looking", remedy="look at the difference again")
        if known is not None and not discard_edits and (drift := self.drift(name, known)):
            raise UsageError(
                f"{name} was edited here ({drift})",
                remedy="copy the edit to a skill of your own, then say --discard-edits; it is kept in the archive",
            )

    async def uninstall(self, name: str) -> Path | None:
        """Take a skill off the shelf. Its files are kept in the archive, the path of which is returned."""
        async with alone(self.folder):
            lock = read_lock(self.folder)
            known = self._locked(name)
            kept = archive(self.folder, name, known.version) if (self.folder / name).is_dir() else None
            write_lock(self.folder, Lock(skills={key: one for key, one in lock.skills.items() if key != name}))
            return kept

    async def pin(self, name: str, *, pinned: bool) -> Locked:
        """Keep a skill at its commit, or let updates change it again."""
        async with alone(self.folder):
            fresh = msgspec.structs.replace(self._locked(name), pinned=pinned)
            lock = read_lock(self.folder)
            write_lock(self.folder, Lock(skills={**lock.skills, name: fresh}))
            return fresh

    def verify(self) -> list[Drift]:
        """Every installed skill whose files are not what was installed, and every folder that nobody installed."""
        skills = self.installed()
        found = [drift for name, locked in skills.items() if (drift := self.drift(name, locked))]
        if self.folder.is_dir():
            others = (one.name for one in self.folder.iterdir() if one.is_dir() and not one.name.startswith("."))
            found += [Drift(name=name, problem="not in the lock file") for name in others if name not in skills]
        return sorted(found, key=lambda drift: drift.name)

    def drift(self, name: str, locked: Locked) -> Drift | None:
        """How a skill's files differ from the lock; None when they do not."""
        if not (self.folder / name).is_dir():
            return Drift(name=name, problem="the folder is gone")
        try:
            now = digests(read_folder(self.folder / name))
        except SkillProblem as error:
            return Drift(name=name, problem=str(error))
        if now == locked.files:
            return None
        return Drift(
            name=name,
            changed=tuple(sorted(path for path in now if path in locked.files and now[path] != locked.files[path])),
            missing=tuple(sorted({*locked.files} - {*now})),
            added=tuple(sorted({*now} - {*locked.files})),
        )

    async def search(self, words: str, more: Sequence[str] = (), *, refresh: bool = False) -> Searched:
        """Skills that fit some words, best first: in what was fetched before, and in the sources in `more`. A source
        that cannot be reached does not keep the others from being looked in."""
        known = {locked.url for locked in self.installed().values()} | {*self.sources.listed()}
        asked = {wanted(one).url for one in more}
        installed = {(one.url, one.path) for one in self.installed().values()}
        found: list[Found] = []
        failed: dict[str, str] = {}
        for url in sorted(known | asked):
            try:
                cached = None if refresh or url in asked else await self.sources.cached(url)
                snapshot = cached if cached is not None else await self.sources.fetched(url)
                skills = await snapshot.skills()
            except HermesError as error:
                failed[url] = error.explain()
                continue
            for path, text in skills.items():
                if one := _matching(words, url, path, text, installed=(url, path) in installed):
                    found.append(one)
        found.sort(key=lambda one: (-one.score, one.name, one.url, one.path))
        return Searched(found=tuple(found), failed=failed)

    def _locked(self, name: str) -> Locked:
        skills = self.installed()
        if name not in skills:
            names = ", ".join(sorted(skills)) or "none"
            raise NotFound(f"no skill {one_line(name, 60)!r} was installed", remedy=f"installed are: {names}")
        return skills[name]

    def _on_shelf(self, name: str) -> Files:
        """The files of a skill on this shelf; none where it is not there or cannot be read."""
        try:
            return read_folder(self.folder / name) if (self.folder / name).is_dir() else {}
        except SkillProblem:
            return {}


def _matching(words: str, url: str, path: str, text: bytes, *, installed: bool) -> Found | None:
    """A skill of a source if it has to do with the words; one that cannot be read is passed over."""
    try:
        skill = parse_skill(text, path.rpartition("/")[2])
    except SkillProblem:
        return None
    about = text_of(skill)
    asked = [word for word in words.casefold().split() if word]
    literal = sum(word in f"{skill.name} {about}".casefold() for word in asked) / max(1, len(asked))
    score = round(max(literal, cosine(vector_of(words), vector_of(about))) if asked else 1.0, 3)
    if score < 0.2:
        return None
    return Found(
        name=skill.name,
        description=one_line(skill.description, 200),
        url=url,
        path=path,
        score=score,
        installed=installed,
    )

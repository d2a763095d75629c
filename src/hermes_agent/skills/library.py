"""All skills there are: what lies on the five shelves, which of several with one name is used, and how each fares."""

from __future__ import annotations

import asyncio
import difflib
import itertools
import re
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from ..config.settings import SkillSettings
from ..store.skills import SkillStats, SkillStore, Use
from ..types.base import Value
from ..types.errors import NotFound, StoreUnwritable
from ..types.tools import Label
from .history import Busy, History, locked, origin_of, place_of
from .shelf import KEPT, Seen, Shelves
from .skill import MAIN, Files, Origin, Shelf, Skill
from .tree import SkillFolders

BUNDLED = Path(__file__).parent / "bundled"
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_SWEEP = 1.0
_STRENGTH = {shelf: place for place, shelf in enumerate(Shelf)}
_FOLDERS = {Shelf.USER: "skills", Shelf.TEAM: "skills-team", Shelf.HUB: "skills-hub"}


class Held(Value, frozen=True, kw_only=True):
    """A skill on a shelf. `shadows` are the shelves whose skill of this name it hides; `problem` is why it is not used,
    `paths` are its support files, `executable` when it brings something that runs."""

    skill: Skill
    shelf: Shelf
    folder: Path
    version: str
    stats: SkillStats
    shadows: tuple[Shelf, ...] = ()
    problem: str = ""
    paths: tuple[str, ...] = ()
    executable: bool = False

    @property
    def name(self) -> str:
        """What it is called by."""
        return self.skill.name

    @property
    def origin(self) -> Origin:
        """Who made it."""
        return Origin(self.stats.origin)

    @property
    def provenance(self) -> tuple[frozenset[Label], str]:
        """What its text is labelled with, and where it comes from: whoever wrote a project wrote its skills, and that
        is a stranger."""
        foreign = self.shelf is Shelf.PROJECT
        return frozenset((Label.UNTRUSTED,)) if foreign else frozenset(), str(self.folder) if foreign else ""

    @property
    def usable(self) -> bool:
        """Whether it is offered at all."""
        return not self.problem and self.stats.enabled and self.stats.archived_at is None


class _Found(Value, frozen=True, kw_only=True):
    shelf: Shelf
    place: str
    folder: Path
    seen: Seen


class Library:
    """The skills of a home and, with a workspace, of a project. Reads the disk each time, but nothing twice."""

    def __init__(
        self,
        home: Path,
        store: SkillStore,
        settings: SkillSettings,
        notify: Callable[[str], None],
        bundled: Path = BUNDLED,
    ) -> None:
        self.home = home
        self.store = store
        self.settings = settings
        self.folders = SkillFolders(home / "skills")
        self.history = History(store, self.folders, notify)
        self._notify = notify
        self._bundled = bundled
        self._shelves = Shelves(home / "skills" / KEPT)
        self._swept = 0.0
        self._told: set[tuple[str, str]] = set()

    async def all(self, workspace: str = "") -> list[Held]:
        """The winner of each name, sorted by name; what is disabled, archived or broken is left out."""
        return [same[0] for same in _by_name(await self._present(workspace)) if same[0].usable]

    async def everything(self, workspace: str = "") -> list[Held]:
        """Every skill on every shelf, each winner before what it hides, and at the end what is in the archive."""
        return [held for same in _by_name(await self._present(workspace)) for held in same] + await self._archived()

    async def get(self, name: str, workspace: str = "") -> Held:
        """The skill that answers to a name. NotFound says which is close, or why this one is not used."""
        held = await self.look(name, workspace)
        if held is not None and held.usable:
            return held
        if held is not None:
            why = held.problem or "it is disabled"
            remedy = f"`hermes skills show {name}` tells more" if held.problem else f"`hermes skills enable {name}`"
            raise NotFound(f"the skill {name!r} is not used: {why}", remedy=remedy)
        known = await asyncio.to_thread(self._names, workspace)
        close = difflib.get_close_matches(name, known, n=3)
        hint = f"did you mean {', '.join(close)}?" if close else "`hermes skills list` shows what there is"
        raise NotFound(f"there is no skill {name[:64]!r}", remedy=hint)

    async def look(self, name: str, workspace: str = "") -> Held | None:
        """The winner of one name, also one that is disabled or broken; None when there is none."""
        return next(iter(await self.named(name, workspace)), None)

    async def named(self, name: str, workspace: str = "", *, alone: bool = False) -> list[Held]:
        """All skills of one name, the winner first. `alone` says that the caller holds the lock and wants to
        change it: then the scanner is not asked."""
        if not is_name(name):
            return []
        found = await asyncio.to_thread(lambda: list(self._found(workspace, name, scanned=not alone)))
        stats = [await self.store.find(one.place, name) for one in found]
        rows = {(row.shelf, row.name): row for row in stats if row is not None}
        return next(iter(_by_name(await self._held(found, rows, alone=alone))), [])

    async def read_file(self, name: str, path: str, workspace: str = "") -> bytes:
        """A file of a skill as it is now. NotFound names the files there are."""
        files = await self.files(await self.get(name, workspace))
        if path not in files:
            close = difflib.get_close_matches(path, files, n=1)
            listed = ", ".join(sorted(files)[:20])
            hint = f"did you mean {close[0]}?" if close else f"it has: {listed}"
            raise NotFound(f"the skill {name!r} has no file {path[:200]!r}", remedy=hint)
        return files[path]

    async def files(self, held: Held) -> Files:
        """Everything in a skill's folder. Raises SkillProblem."""
        from .format import read_folder

        return await asyncio.to_thread(read_folder, held.folder)

    async def similar(self, text: str, limit: int, workspace: str = "") -> list[tuple[Held, float]]:
        """The skills in use that are most like a text, best first."""
        from .similarity import cosine, vector_of

        wanted = vector_of(text)
        found = [(held, cosine(wanted, held.stats.embedding)) for held in await self.all(workspace)]
        ranked = sorted((one for one in found if one[1] > 0), key=lambda one: (-one[1], one[0].name))
        return ranked[: max(0, limit)]

    def folder_of(self, shelf: Shelf, workspace: str = "") -> Path:
        """Where a shelf lies. The team's and the hub's are our copies of what is kept elsewhere."""
        match shelf:
            case Shelf.PROJECT:
                return Path(workspace) / ".hermes" / "skills"
            case Shelf.BUNDLED:
                return self._bundled
            case _:
                return self.home / _FOLDERS[shelf]

    async def record_use(self, held: Held, *, run_id: str, session_id: str, how: str) -> None:
        """A run reached for a skill; what came of it is recorded when the run ends."""
        if held.stats.id and run_id:
            use = Use(run_id=run_id, skill_id=held.stats.id, session_id=session_id, version=held.version, how=how)
            await self.store.record_use(use)

    async def _present(self, workspace: str) -> list[Held]:
        found = await asyncio.to_thread(lambda: list(self._found(workspace)))
        rows = {(row.shelf, row.name): row for row in await self.store.listed()}
        held = await self._held(found, rows)
        await asyncio.to_thread(self._shelves.keep)
        return held

    def _names(self, workspace: str) -> list[str]:
        return sorted({name for shelf in self._in_use(workspace) for name in self._on(shelf, workspace)})

    def _on(self, shelf: Shelf, workspace: str) -> list[str]:
        return self._shelves.names(self.folder_of(shelf, workspace))

    def _in_use(self, workspace: str) -> list[Shelf]:
        return [shelf for shelf in Shelf if shelf is not Shelf.PROJECT or (workspace and self.settings.project)]

    def _found(self, workspace: str, name: str = "", *, scanned: bool = True) -> Iterable[_Found]:
        for shelf in self._in_use(workspace):
            root, place = self.folder_of(shelf, workspace), place_of(shelf, workspace)
            for folder in (root / one for one in ([name] if name else self._on(shelf, workspace))):
                if (seen := self._shelves.look(folder, scanned=scanned)) is not None:
                    yield _Found(shelf=shelf, place=place, folder=folder, seen=seen)

    async def _held(
        self, found: list[_Found], rows: dict[tuple[str, str], SkillStats], *, alone: bool = False
    ) -> list[Held]:
        """What was found, with its statistics. What the store does not know as it lies there is taken into the history:
        under the lock, because a skill that is just being written is nobody's version."""
        late = self._late(alone=alone)
        unknown = [one for one in found if one.seen.version and not _in_step(one, rows)]
        if late or unknown:
            try:
                if alone:
                    found = await self._adopted(found, unknown, rows)
                else:
                    async with locked(self.folders.root, 0.0):
                        found = await self._adopted(found, unknown, rows)
            except (Busy, StoreUnwritable):
                return [await self._one(each, rows.get((each.place, each.folder.name))) for each in found]
        return [await self._one(each, rows.get((each.place, each.folder.name))) for each in found]

    def _late(self, *, alone: bool) -> bool:
        """Whether to look after files that were replaced. While changes come thick and fast, now and then is enough."""
        if not alone:
            return self.folders.any_late()
        due = time.monotonic() - self._swept > _SWEEP
        self._swept = time.monotonic() if due else self._swept
        return due

    async def _adopted(
        self, found: list[_Found], unknown: list[_Found], rows: dict[tuple[str, str], SkillStats]
    ) -> list[_Found]:
        rescued = await self.history.rescue()
        again = {one.folder for one in unknown} | {self.folders.root / name for name in rescued}
        fresh = []
        for one in found:
            seen = self._shelves.look(one.folder) if one.folder in again else one.seen
            if seen is not None:
                fresh.append(_Found(shelf=one.shelf, place=one.place, folder=one.folder, seen=seen))
        wanted = [one for one in fresh if one.folder in again and one.seen.version]
        for stats in await asyncio.gather(*map(self._adopt, wanted)):
            if stats is not None:
                rows[stats.shelf, stats.name] = stats
        return fresh

    async def _adopt(self, one: _Found) -> SkillStats | None:
        from .format import SkillProblem, read_folder, version_of

        try:
            files = read_folder(one.folder)
        except SkillProblem:
            return None
        if version_of(files) != one.seen.version:
            return None
        return await self.history.adopt(one.shelf, one.place, one.folder.name, files, one.seen.version, one.seen.skill)

    async def _one(self, found: _Found, stats: SkillStats | None) -> Held:
        seen = found.seen
        if stats is None:
            origin = origin_of(found.shelf).value
            stats = SkillStats(
                id="", shelf=found.place, name=found.folder.name, origin=origin, description=seen.skill.description
            )
        problem = seen.problem
        if seen.blocked and not await self._excused(stats, seen.version):
            problem = f"the scanner blocks it: {seen.blocked}"
        if problem:
            self._tell(found, f"the skill {found.folder.name} ({found.shelf}) is not used: {problem}")
        elif seen.flagged and found.shelf is not Shelf.BUNDLED:
            self._tell(found, f"the scanner remarks on the skill {found.folder.name}: {seen.flagged}")
        return Held(
            skill=seen.skill,
            shelf=found.shelf,
            folder=found.folder,
            version=seen.version,
            stats=stats,
            problem=problem,
            paths=tuple(path for path in seen.paths if path != MAIN),
            executable=seen.executable,
        )

    async def _excused(self, stats: SkillStats, version: str) -> bool:
        """Whether the user switched the scanner off for what agents write, and an agent wrote this."""
        if self.settings.guard_agent_created or not stats.id:
            return False
        written = await self.store.written_by(stats.id, version)
        return written is not None and Origin(written.origin).by_agent

    def _tell(self, found: _Found, text: str) -> None:
        if (key := (str(found.folder), text)) not in self._told:
            self._told.add(key)
            self._notify(text)

    async def _archived(self) -> list[Held]:
        folders = await asyncio.to_thread(lambda: list(self.folders.archived()))
        if not folders:
            return []
        rows = [row for row in await self.store.listed() if row.archived_at is not None]
        shown = []
        for name, version, folder in folders:
            row = next((row for row in rows if row.name == name and row.version == version), None)
            seen = await asyncio.to_thread(self._shelves.look, folder)
            if row is None or seen is None:
                continue
            skill = seen.skill if seen.skill.description else Skill(name=name, description=row.description, body="")
            shown.append(
                Held(skill=skill, shelf=Shelf.USER, folder=folder, version=version, stats=row, paths=seen.paths)
            )
        return sorted(shown, key=lambda held: held.name)


def is_name(text: str) -> bool:
    """Whether a skill can be called so; anything else never reaches the disk."""
    return len(text) <= 64 and _NAME.fullmatch(text) is not None


def _in_step(found: _Found, rows: dict[tuple[str, str], SkillStats]) -> bool:
    row = rows.get((found.place, found.folder.name))
    return row is not None and row.version == found.seen.version and row.archived_at is None


def _by_name(present: list[Held]) -> list[list[Held]]:
    """The skills of each name, first the winner, marked with what it hides: the one on the strongest shelf. A broken
    one does not hide a whole one, a disabled one does."""
    ranked = sorted(present, key=lambda held: (held.name, bool(held.problem), _STRENGTH[held.shelf]))
    grouped = [list(same) for _, same in itertools.groupby(ranked, key=lambda held: held.name)]
    for same in grouped:
        if len(same) > 1:
            same[0] = msgspec.structs.replace(same[0], shadows=tuple(held.shelf for held in same[1:]))
    return grouped

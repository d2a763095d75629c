"""Who wrote which version of a skill: every version that is seen on disk is in the store, with its author.

Whoever changes a skill records the version before the files are touched. So a version on disk that nobody recorded was
written by a person with an editor; it is taken into the history the next time it is seen.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from ..store.skills import SkillStats, SkillStore
from ..types.errors import HermesError, NotFound, StoreUnwritable
from .skill import Author, Files, Origin, Shelf, Skill
from .tree import Aside, SkillFolders

PATIENCE = 60.0
_SHORTEST, _LONGEST = 0.001, 0.012
_RETIRED = "archive:"


class Busy(HermesError):
    """Another process is changing skills for too long."""

    remedy = "try again when it is done"


@asynccontextmanager
async def locked(root: Path, patience: float = PATIENCE) -> AsyncIterator[None]:
    """Alone with the skills of a home, among all processes and tasks. Raises Busy after `patience` seconds."""
    from filelock import FileLock, Timeout

    try:
        os.makedirs(root, mode=0o700, exist_ok=True)
        lock = FileLock(root / ".lock", thread_local=False)
        limit = time.monotonic() + patience
        while True:
            try:
                lock.acquire(timeout=0)
                break
            except Timeout:
                if time.monotonic() >= limit:
                    raise Busy(f"another process has been changing skills in {root} for {patience:g} s") from None
                await asyncio.sleep(random.uniform(_SHORTEST, _LONGEST))
    except OSError as error:
        raise StoreUnwritable(f"cannot write in {root}: {error.strerror or error}") from error
    try:
        yield
    finally:
        lock.release()


def place_of(shelf: Shelf, workspace: str = "") -> str:
    """A shelf as the store names it: every workspace has a project shelf of its own."""
    if shelf is not Shelf.PROJECT:
        return shelf.value
    import hashlib

    return f"{shelf.value}:{hashlib.sha256(str(Path(workspace).absolute()).encode()).hexdigest()[:12]}"


def origin_of(shelf: Shelf) -> Origin:
    """Who wrote what nobody recorded: people on their own shelf, else whoever keeps the shelf."""
    return Origin(shelf.value)


def text_of(skill: Skill) -> str:
    """What a skill is compared by."""
    return "\n".join((skill.name.replace("-", " "), skill.description, *skill.triggers, *skill.tags))


def described(stats: SkillStats, skill: Skill, version: str) -> SkillStats:
    """The statistics with what the Markdown says now; what cannot be read says nothing new."""
    if not skill.description:
        return msgspec.structs.replace(stats, version=version)
    from .similarity import vector_of

    return msgspec.structs.replace(
        stats,
        description=skill.description,
        trigger_conditions=skill.triggers,
        code_template=skill.template,
        parameters={slot.name: slot.default for slot in skill.slots},
        dependencies=skill.dependencies,
        success_criteria=skill.success_criteria,
        pitfalls=skill.pitfalls,
        test_parameters=tuple({"name": trial.name, **trial.parameters} for trial in skill.trials),
        tags=skill.tags,
        embedding=vector_of(text_of(skill)),
        version=version,
    )


class History:
    """Keeps the store in step with what lies on disk. Called by whoever holds the lock of the home."""

    def __init__(self, store: SkillStore, folders: SkillFolders, notify: Callable[[str], None]) -> None:
        self.store = store
        self.folders = folders
        self._notify = notify

    async def begin(self, place: str, skill: Skill, author: Author) -> SkillStats:
        """A row for a skill that is about to be made. What had its name before keeps its own history under its id."""
        await self.free(place, skill.name)
        fresh = SkillStats(id="", shelf=place, name=skill.name, origin=author.origin.value, made_by=author.run_id)
        return await self.store.describe(described(fresh, skill, ""))

    async def free(self, place: str, name: str) -> None:
        """Let go of a name, so that another skill may have it."""
        await self._retire(await self.store.find(place, name))

    async def adopt(self, shelf: Shelf, place: str, name: str, files: Files, version: str, skill: Skill) -> SkillStats:
        """Take what lies on disk into the history, if nobody recorded it, and bring the statistics up to date."""
        stats = await self.store.find(place, name)
        written = await self.store.written_by(stats.id, version) if stats else None
        if stats is not None and written is None and (stats.archived_at is not None or not stats.version):
            await self._retire(stats)
            stats = None
        elif stats is not None and stats.archived_at is not None:
            await self.store.mark(stats.id, archived_at=None)
        origin = origin_of(shelf)
        parent = stats.version if stats else ""
        if stats is None:
            stats = SkillStats(id="", shelf=place, name=name, origin=origin.value)
        stats = await self.store.describe(described(stats, skill, version))
        if written is None:
            action, note = ("edit", "changed outside") if parent else ("found", "")
            origin, note = await self._torn(stats.id, parent, files, origin, note)
            await self.store.add_version(
                stats.id, version, files, parent=parent, origin=origin.value, action=action, note=note
            )
        return stats

    async def _torn(self, skill_id: str, parent: str, files: Files, origin: Origin, note: str) -> tuple[Origin, str]:
        """A mixture of the last version that was begun and the one before it is what a crash left, no person's work."""
        versions = await self.store.versions(skill_id)
        if not versions or versions[-1].version == parent or not versions[-1].parent:
            return origin, note
        last = versions[-1]
        try:
            begun = await self.store.files(skill_id, last.version)
            before = await self.store.files(skill_id, last.parent)
        except NotFound:
            return origin, note
        mixed = all(data in (begun.get(path), before.get(path)) for path, data in files.items())
        return (Origin(last.origin), f"interrupted while it became {last.version}") if mixed else (origin, note)

    async def _retire(self, stats: SkillStats | None) -> None:
        """Let go of a name: a skill that will be made under it is another one."""
        if stats is not None:
            await self.store.rename_shelf(stats.id, f"{_RETIRED}{stats.id}")

    async def rescue(self) -> list[str]:
        """Find what an editor wrote to a file after an agent had replaced it. It becomes a version, and is put in its
        place again if the agent's is still there. Returns the names of the skills concerned."""
        late = self.folders.written_late()
        for aside, data in late:
            await self._rescue(aside, data)
        return sorted({aside.name for aside, _ in late})

    async def _rescue(self, aside: Aside, data: bytes) -> None:
        from .format import version_of

        stats = await self.store.find(Shelf.USER.value, aside.name)
        version = ""
        if stats is not None:
            try:
                files = await self.store.files(stats.id, aside.version)
            except NotFound:
                files = {}
            files = {**files, aside.path: data}
            version = version_of(files)
            if await self.store.written_by(stats.id, version) is None:
                note = f"saved in {aside.path} while it was being replaced"
                await self.store.add_version(
                    stats.id,
                    version,
                    files,
                    parent=aside.version,
                    origin=Origin.USER.value,
                    action="edit",
                    note=note,
                )
        if self.folders.put_back(aside):
            self._notify(f"your edit of the skill {aside.name} ({aside.path}) was kept; an agent's was set aside")
            return
        self.folders.drop(aside)
        if version:
            self._notify(
                f"your edit of the skill {aside.name} ({aside.path}) came while it was being replaced and is kept as"
                f" version {version}: `hermes skills restore {aside.name} {version}`"
            )

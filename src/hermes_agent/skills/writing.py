"""Steps from one state of a skill to another: announced in the history first, then made on disk.

Whoever calls this holds the lock of the home.
"""

from __future__ import annotations

import asyncio

import msgspec

from ..safety.exchange import Overtaken
from ..safety.redact import Redactor
from ..store.skills import SkillStats, SkillStore, Version
from .folder import version_of
from .history import described, place_of
from .library import Held, Library
from .rules import Refused, checked
from .shelf import judged
from .skill import MAIN, Author, Change, Files, Origin, Shelf, Skill


class Writing:
    """Makes, changes and archives skills on the user's shelf. `guard` scans what agents write; `redactor` knows what
    is a secret."""

    def __init__(self, library: Library, store: SkillStore, redactor: Redactor, *, guard: bool) -> None:
        self._library = library
        self._store = store
        self._redactor = redactor
        self._guard = guard
        self._folders = library.folders

    async def step(
        self, action: str, held: Held, before: Files, after: Files, author: Author, note: str = ""
    ) -> Change:
        """Turn a skill that is `before` into `after`, in its place or, if it is not the user's own, as a copy on the
        user's shelf."""
        if not held.stats.id:
            raise Overtaken(held.name)
        if after == before:
            return Change(ok=True, action=action, name=held.name, version=held.version, message="nothing is different")
        skill, problems = self._judged(held.name, before, after, author)
        if held.shelf is not Shelf.USER:
            return await self._copy(action, held, after, author)
        version = version_of(after)
        announced = await self._announce(held.stats.id, version, after, author, action, held.version, note)
        try:
            await asyncio.to_thread(self._folders.change, held.name, before, after, held.version)
        except (Overtaken, OSError):
            await self._store.withdraw(announced)
            raise
        await self._store.describe(described(held.stats, skill, version))
        return _done(action, held.name, version, held.version, problems)

    async def make(
        self, action: str, name: str, files: Files, author: Author, note: str = "", original: Held | None = None
    ) -> Change:
        """A new skill. The first version in the history of a copy is the original."""
        base = await self._library.files(original) if original is not None else {}
        skill, problems = self._judged(name, base, files, author)
        version = version_of(files)
        stats = await self._library.history.begin(place_of(Shelf.USER), skill, author)
        parent = ""
        if original is not None:
            parent = original.version
            owner = Author(origin=Origin(original.shelf.value), batch=author.batch)
            await self._announce(stats.id, parent, base, owner, "copy", "", note)
        await self._announce(stats.id, version, files, author, action, parent, note)
        try:
            await asyncio.to_thread(self._folders.make, name, files)
        except (Overtaken, OSError):
            await self._store.forget(stats.id)
            raise
        await self._store.mark(stats.id, version=version)
        return _done(action, name, version, parent, problems)

    async def archive(self, action: str, held: Held, author: Author) -> Change:
        """Move a skill into the archive, with an entry in its history."""
        files = await self._library.files(held)
        stats = held.stats
        if not stats.id or version_of(files) != held.version:
            raise Overtaken(held.name)
        announced = await self._announce(stats.id, held.version, files, author, action, held.version)
        try:
            await asyncio.to_thread(self._folders.put_away, held.name, held.version, files)
        except (Overtaken, OSError):
            await self._store.withdraw(announced)
            raise
        await self._store.archive(stats.id)
        message = f"archived; `hermes skills restore {held.name}` brings it back"
        done = _done(action, held.name, held.version, held.version, ())
        return msgspec.structs.replace(done, message=message)

    async def revive(self, action: str, stats: SkillStats, author: Author) -> Change:
        """Take a skill out of the archive: its folder as it lies there, or else what the history holds."""
        place, name = place_of(Shelf.USER), stats.name
        files = await self._store.files(stats.id, stats.version)
        await self._announce(stats.id, stats.version, files, author, action, stats.version)
        if stats.shelf != place:
            await self._library.history.free(place, name)
            await self._store.rename_shelf(stats.id, place)
        kept = [path for each, version, path in self._folders.archived() if (each, version) == (name, stats.version)]
        if kept:
            await asyncio.to_thread(self._folders.take_back, kept[0], name)
        else:
            await asyncio.to_thread(self._folders.make, name, files)
        await self._store.mark(stats.id, archived_at=None)
        return _done(action, name, stats.version, "", ())

    async def _copy(self, action: str, held: Held, after: Files, author: Author) -> Change:
        if self._folders.root.joinpath(held.name).exists():
            raise Refused(
                "exists",
                f"{held.name} of the shelf {held.shelf} hides a skill of yours with the same name; change its files in"
                f" {held.folder} by hand, or rename one of the two",
            )
        note = f"copied from the shelf {held.shelf}, version {held.version}"
        done = await self.make(action, held.name, after, author, note, held)
        hidden = "; in this workspace the project's own is used all the same" if held.shelf is Shelf.PROJECT else ""
        return msgspec.structs.replace(done, message=f"{note}{hidden}. {done.message}".strip())

    async def _announce(
        self, skill_id: str, version: str, files: Files, author: Author, action: str, parent: str, note: str = ""
    ) -> Version:
        return await self._store.add_version(
            skill_id,
            version,
            files,
            parent=parent,
            origin=author.origin.value,
            run_id=author.run_id,
            action=action,
            note=note,
            batch=author.batch,
        )

    def _judged(self, name: str, before: Files, files: Files, author: Author) -> tuple[Skill, tuple[str, ...]]:
        """The skill, if it may be written; what the scanner says about a person's own text is told, not refused."""
        skill = checked(name, files)
        if author.origin.by_agent:
            self._refuse_secrets(before, files)
        if author.origin.by_agent and not self._guard:
            return skill, ()
        blocked, _ = judged(files)
        if blocked and author.origin.by_agent:
            raise Refused("blocked", f"the scanner does not let this pass: {blocked}", blocked)
        return skill, (blocked,) if blocked else ()

    def _refuse_secrets(self, before: Files, after: Files) -> None:
        """A skill is sent to the model, and may be published: an agent writes no key into it. What a person wrote there
        before stays theirs."""
        from .screening import fresh_secret

        for path, data in after.items():
            if line := fresh_secret(before.get(path, b""), data, self._redactor):
                raise Refused(
                    "secret",
                    f"{path}, line {line}, holds what looks like a key or password; write down where it is kept, or"
                    " make it a parameter",
                    f"{path}, line {line}: a secret",
                )


def _done(action: str, name: str, version: str, before: str, problems: tuple[str, ...]) -> Change:
    message = f"saved, but not used as long as the scanner blocks it: {problems[0]}" if problems else ""
    return Change(
        ok=True,
        action=action,
        name=name,
        version=version,
        before=before,
        path=MAIN,
        problems=problems,
        message=message,
    )

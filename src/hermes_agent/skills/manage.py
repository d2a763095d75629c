"""Changing skills: create, edit, patch, delete, write and remove files, restore, undo, replace.

Every change is a step from one version to another, announced in the history before a file is touched, and made only if
the skill on disk is still the version that the caller read. A skill that is not the user's own is changed as a copy on
the user's shelf. Answers are values: what did not work is said in `Change.error`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec

from ..safety.exchange import Overtaken
from ..safety.redact import Redactor
from ..store.skills import SkillStore
from ..types.errors import HermesError, NotFound, StoreUnwritable
from ..types.text import one_line
from . import undoing
from .folder import version_of
from .history import Busy, locked
from .library import Held, Library, is_name
from .problem import SkillProblem
from .rules import Refused, categorised, patched, support_path
from .skill import MAIN, Author, Change, Files, Origin, Shelf
from .writing import Writing

_BY_HAND = Author(origin=Origin.USER)
Turn = Callable[[Files], Files]


class Editing:
    """Changes the skills of a home, one change at a time among all processes. `guard` scans what agents write, and
    `redactor` knows what is a secret, which they never write down.

    `expect` is the version that the caller read: agents must give it, people may leave it out."""

    def __init__(self, library: Library, store: SkillStore, *, guard: bool, redactor: Redactor | None = None) -> None:
        self._library = library
        self._store = store
        self._writing = Writing(library, store, redactor or Redactor(), guard=guard)

    async def create(
        self, name: str, content: str, author: Author, category: str = "", *, workspace: str = ""
    ) -> Change:
        """A new skill on the user's shelf. The content is a whole SKILL.md."""

        async def make() -> Change:
            files = {MAIN: categorised(content, name, category)}
            for held in await self._library.named(name, workspace, alone=True):
                if held.shelf is Shelf.USER and held.version and await self._library.files(held) == files:
                    return Change(ok=True, action="create", name=name, version=held.version, message="done already")
                raise Refused(
                    "exists",
                    f"there is a skill {name} already (shelf {held.shelf}, version {held.version}); change that one",
                )
            return await self._writing.make("create", name, files, author)

        return await self._alone("create", name, make)

    async def edit(self, name: str, content: str, author: Author, expect: str = "", *, workspace: str = "") -> Change:
        """Replace the whole SKILL.md."""
        data = content.encode("utf-8", "surrogatepass")
        return await self._change("edit", name, author, expect, workspace, lambda files: {**files, MAIN: data})

    async def patch(
        self,
        name: str,
        old: str,
        new: str,
        author: Author,
        path: str = MAIN,
        expect: str = "",
        replace_all: bool = False,
        *,
        workspace: str = "",
    ) -> Change:
        """Replace a piece of one file. It must be there exactly once, unless all of them are meant."""

        def turn(files: Files) -> Files:
            where = path if path == MAIN else support_path(path)
            return {**files, where: patched(files, where, old, new, replace_all=replace_all)}

        return await self._change("patch", name, author, expect, workspace, turn, path)

    async def write_file(
        self, name: str, path: str, content: str | bytes, author: Author, expect: str = "", *, workspace: str = ""
    ) -> Change:
        """Add or replace a support file."""
        data = content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass")

        def turn(files: Files) -> Files:
            return {**files, support_path(path): data}

        return await self._change("write_file", name, author, expect, workspace, turn, path)

    async def remove_file(
        self, name: str, path: str, author: Author, expect: str = "", *, workspace: str = ""
    ) -> Change:
        """Remove a support file; it stays in the history."""

        def turn(files: Files) -> Files:
            where = support_path(path)
            if where not in files:
                raise Refused("not_found", f"{name} has no file {where}; it has: {', '.join(sorted(files)[:20])}")
            return {each: data for each, data in files.items() if each != where}

        return await self._change("remove_file", name, author, expect, workspace, turn, path)

    async def replace(
        self, name: str, files: Files, author: Author, expect: str = "", *, workspace: str = ""
    ) -> Change:
        """Put other files in the place of all files of a skill."""
        return await self._change("replace", name, author, expect, workspace, lambda _: dict(files))

    async def delete(self, name: str, author: Author, expect: str = "", *, workspace: str = "") -> Change:
        """Move a skill of the user's shelf into the archive."""

        async def away() -> Change:
            held = await self._meant(name, author, expect, workspace)
            if held.shelf is not Shelf.USER:
                raise Refused(
                    "shelf",
                    f"{name} lies on the shelf {held.shelf} and is not deleted here; `hermes skills disable {name}`",
                )
            if expect and expect != held.version:
                raise Refused("stale", _stale(name, held.version, expect))
            return await self._writing.archive("delete", held, author)

        return await self._alone("delete", name, away)

    async def restore(self, name: str, version: str = "", author: Author = _BY_HAND) -> Change:
        """Bring an archived skill back, or an earlier version of one that is in use. A version may be given by its
        beginning."""

        async def back() -> Change:
            return await undoing.restore(self._library, self._store, self._writing, name, version, author)

        return await self._alone("restore", name, back)

    async def undo(self, batch: str) -> list[Change]:
        """Take back everything that was changed under one batch, newest first. Where somebody changed one of the skills
        since, nothing is taken back at all and the answer says which."""
        try:
            async with locked(self._library.folders.root):
                return await undoing.undo(self._library, self._store, self._writing, batch)
        except (HermesError, Overtaken, OSError) as error:
            return [_failed("undo", batch, error)]

    async def _change(
        self, action: str, name: str, author: Author, expect: str, workspace: str, turn: Turn, path: str = MAIN
    ) -> Change:
        async def step() -> Change:
            held = await self._meant(name, author, expect, workspace)
            if expect and expect != held.version:
                return await self._overtaken(action, held, expect, turn)
            before = await self._library.files(held)
            if version_of(before) != held.version:
                raise Overtaken(name)
            return await self._writing.step(action, held, before, turn(before), author)

        return msgspec.structs.replace(await self._alone(action, name, step), path=one_line(path, 200))

    async def _meant(self, name: str, author: Author, expect: str, workspace: str) -> Held:
        """The skill to change, if its files can be read and this author may change it. A broken one of the user's own
        is meant before a whole one that it would hide."""
        if author.origin.by_agent and not expect:
            raise Refused("version", f"say which version of {name} you read; skill_view gives it")
        named = await self._library.named(name, workspace, alone=True)
        if not named:
            await self._library.get(name, workspace)
        held = next((one for one in named if one.shelf is Shelf.USER and one.problem), named[0])
        if not held.version:
            raise Refused("invalid", f"{name} cannot be read: {held.problem}", held.problem)
        if held.stats.pinned and author.origin.by_agent:
            raise Refused("pinned", f"{name} is pinned by the user; agents do not change it")
        return held

    async def _overtaken(self, action: str, held: Held, expect: str, turn: Turn) -> Change:
        """The version that the caller read is not there any more. If it is gone because this very change was made, as
        it is after a crash, all is well."""
        try:
            known = await self._store.files(held.stats.id, expect)
            same = turn(known) == await self._library.files(held)
        except HermesError:
            same = False
        if not same:
            raise Refused("stale", _stale(held.name, held.version, expect))
        return Change(
            ok=True, action=action, name=held.name, version=held.version, before=expect, message="done already"
        )

    async def _alone(self, action: str, name: str, work: Callable[[], Awaitable[Change]]) -> Change:
        try:
            if not is_name(name):
                raise Refused(
                    "invalid",
                    f"{one_line(name, 64)!r} is no name of a skill: use small letters, digits and single hyphens, 64 at"
                    " most",
                    "name",
                )
            async with locked(self._library.folders.root):
                return await work()
        except (HermesError, Overtaken, OSError) as error:
            return _failed(action, name, error)


def _stale(name: str, version: str, expect: str) -> str:
    return f"{name} is at version {version}, not {expect}: somebody changed it; read it again and decide anew"


def _failed(action: str, name: str, error: Exception) -> Change:
    """What went wrong, as an answer."""
    problems: tuple[str, ...] = ()
    match error:
        case Refused():
            kind, message, problems = error.error, error.explain(), error.problems
        case SkillProblem():
            kind, message, problems = "invalid", error.explain(), error.problems
        case Overtaken():
            kind, message = "stale", f"{one_line(name, 64)} was changed at this very moment; read it again"
        case NotFound():
            kind, message = "not_found", error.explain()
        case Busy():
            kind, message = "busy", error.explain()
        case StoreUnwritable():
            kind, message = "unwritable", error.explain()
        case OSError():
            kind, message = (
                "unwritable",
                f"cannot write: {error.strerror or error} (free some space, or make it writable)",
            )
        case HermesError():
            kind, message = "failed", error.explain()
        case _:
            kind, message = "failed", str(error)
    return Change(ok=False, action=action, name=one_line(name, 64), error=kind, message=message, problems=problems)

"""What the commands about skills share: opening the library, finding a skill, completing its name, saying what came of
a change."""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

from ....app import App
from ....config.load import read_environment
from ....learning.health import Health
from ....skills.conditions import unmet
from ....skills.library import Held, Library
from ....skills.manage import Editing
from ....skills.skill import Author, Change, Origin, Shelf
from ....types.errors import HermesError, NotFound, UsageError
from ....types.text import one_line, visible
from ..console import Console, print_json
from ..opening import opened

if TYPE_CHECKING:
    from ....skills.trials import SandboxRunner

Function = TypeVar("Function", bound=Callable[..., Any])
PERSON = Author(origin=Origin.USER)
_MISTAKES = frozenset(("not_found", "invalid", "exists", "shelf", "version"))


class Desk:
    """The skills of this home and of a workspace, and what changes them."""

    def __init__(self, app: App, console: Console, workspace: str) -> None:
        settings = app.settings.skills
        self.app = app
        self.workspace = workspace
        self.store = app.store.skills
        self.library = Library(
            app.environment.home, self.store, settings, lambda text: console.note(visible(text), "yellow")
        )
        self.editing = Editing(self.library, self.store, guard=settings.guard_agent_created)

    async def find(self, name: str) -> Held:
        """The skill of this name, whatever its state, also out of the archive. NotFound names close ones."""
        held = await self.library.look(name, self.workspace)
        if held is not None:
            return held
        if name in await asyncio.to_thread(_archived_names, self.app.environment.home):
            there = [one for one in await self.library.everything(self.workspace) if one.name == name]
            if there:
                return max(there, key=lambda one: one.stats.archived_at or 0.0)
        known = await asyncio.to_thread(_names_on_disk, self.app.environment.home, Path(self.workspace))
        close = difflib.get_close_matches(name, sorted(known), n=3)
        hint = f"did you mean {', '.join(close)}?" if close else "`hermes skills list` shows what there is"
        raise NotFound(f"there is no skill {one_line(name, 64)!r}", remedy=hint)

    async def on_a_shelf(self, name: str) -> Held:
        """The same, unless it is archived."""
        held = await self.find(name)
        if held.stats.archived_at is not None:
            raise UsageError(f"{name} is archived", remedy=f"`hermes skills restore {name}` brings it back")
        return held

    async def recorded(self, name: str) -> Held:
        """The same, for what needs its row in the store."""
        held = await self.find(name)
        if not held.stats.id:
            why = held.problem or "its files could not be taken into the history"
            raise UsageError(f"the skill {name} is not on record: {why}", remedy=f"look at {held.folder}")
        return held

    def not_here(self, held: Held) -> str:
        """Why a skill is not offered in a conversation on this terminal; empty when it is."""
        known = self.app.knowledge
        return unmet(held.skill.conditions, known.circumstances("cli")) if known else ""

    def runner(self) -> SandboxRunner:
        """Where skills are tried: the configured sandbox, without network and without the home."""
        from ....skills.trials import sandboxed

        environment = self.app.environment
        return sandboxed(self.app.settings.sandbox, environment.passed_on, [environment.home])

    def health(self, clock: Callable[[], float]) -> Health:
        """Tries skills and records what comes of it."""
        runner = self.runner()
        return Health(self.library, self.store, lambda held: runner, clock)


def opened_skills(console: Console, directory: Path) -> AbstractAsyncContextManager[Desk]:
    """The skills as they are in this directory."""
    return _opened(console, str(directory.resolve()))


@asynccontextmanager
async def _opened(console: Console, workspace: str) -> AsyncIterator[Desk]:
    async with opened(console) as app:
        yield Desk(app, console, workspace)


def skill_argument(function: Function) -> Function:
    """NAME, completed by the shell."""
    return click.argument("name", shell_complete=complete_name)(function)


def archived_skill_argument(function: Function) -> Function:
    """NAME, completed with what is in the archive too."""
    return click.argument("name", shell_complete=_complete_archived)(function)


def complete_name(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of skills for the shell: the folders on the shelves, nothing is read or opened."""
    return _items(_names_on_disk(read_environment().home, Path()), incomplete)


def _complete_archived(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    home = read_environment().home
    return _items(_archived_names(home) | _names_on_disk(home, Path()), incomplete)


def _items(names: set[str], incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in sorted(names) if name.startswith(incomplete)]


def _archived_names(home: Path) -> set[str]:
    from ....skills.tree import SkillFolders

    return {name for name, _, _ in SkillFolders(home / "skills").archived()}


def _names_on_disk(home: Path, workspace: Path) -> set[str]:
    from ....skills.library import BUNDLED, is_name
    from ....skills.shelf import KEPT, Shelves

    shelves = Shelves(home / "skills" / KEPT)
    roots = (home / "skills", home / "skills-team", home / "skills-hub", workspace / ".hermes" / "skills", BUNDLED)
    return {name for root in roots for name in shelves.names(root) if is_name(name)}


def refuse(change: Change, remedy: str = "") -> None:
    """Raise where a change was not made: what the caller got wrong is a matter of usage, the rest a failure."""
    if not change.ok:
        kind = UsageError if change.error in _MISTAKES else HermesError
        raise kind(change.message or f"{change.name}: {change.error}", remedy=remedy)


def finish(console: Console, change: Change, said: str, *, as_json: bool) -> None:
    """Say what came of a change; a refusal is an error, in JSON as well."""
    refuse(change)
    if as_json:
        print_json(change)
        return
    console.say(said)
    if change.message:
        console.note(visible(change.message), "yellow" if change.problems else "dim")


def state_of(held: Held) -> list[str]:
    """In which ways a skill is not like any other, in words."""
    stats = held.stats
    states = {
        "pinned": stats.pinned,
        "disabled": not stats.enabled,
        "archived": stats.archived_at is not None,
        "problem": bool(held.problem),
        "to be rewritten": stats.needs_rewrite,
    }
    return [word for word, holds in states.items() if holds]


def is_copied(shelf: Shelf) -> bool:
    """Whether a change is made to a copy on the user's shelf."""
    return shelf in (Shelf.BUNDLED, Shelf.HUB, Shelf.TEAM)

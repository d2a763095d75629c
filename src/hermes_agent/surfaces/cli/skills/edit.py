"""`hermes skills edit`: a skill in the user's editor, saved only if nobody changed it meanwhile."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from ....skills.folder import check_path
from ....skills.format import parse_skill
from ....skills.library import Held
from ....skills.screening import screen
from ....skills.skill import MAIN, Change, Shelf
from ....types.errors import UsageError
from ....types.text import one_line, visible
from ..console import Console, print_json
from ..options import directory_option, json_option
from .drafting import Draft
from .hub import show_concerns
from .opening import PERSON, Desk, is_copied, opened_skills, refuse, skill_argument


@click.command(short_help="Change a skill in your editor.")
@skill_argument
@click.option("--file", "path", default=MAIN, metavar="PATH", help="A support file instead; a new one is made.")
@directory_option
@json_option
def command(name: str, path: str, directory: Path, as_json: bool) -> None:
    """Opens a copy in your editor ($EDITOR), checks it when you save, and puts it in place if nobody changed the skill
    meanwhile. A bundled skill, or one from the hub or the team, is copied to your own shelf, where yours is used
    instead. Your text is kept whatever the scanner says; what it blocks is not used."""
    where = path if path == MAIN else check_path(path)

    async def work() -> None:
        console = Console(quiet=as_json)
        async with opened_skills(console, directory) as desk:
            held = await _meant(desk, name)
            if is_copied(held.shelf):
                console.note(f"{name} is on the shelf {held.shelf}: what you save becomes a copy on your own", "yellow")
            before = (await desk.library.files(held)).get(where, b"")
            draft = Draft(Path(where).name, before)
            content = draft.edited(console, lambda text: _check(name, where, text))
            change = await _saved(desk, held, where, content, draft)
        draft.drop()
        if as_json:
            return print_json(change)
        return _say(console, held, change, where, content)

    asyncio.run(work())


async def _meant(desk: Desk, name: str) -> Held:
    """The skill to edit: a broken one of the user's own before a whole one that is used in its place."""
    named = await desk.library.named(name, desk.workspace)
    own = next((one for one in named if one.shelf is Shelf.USER and one.problem), None)
    held = own or await desk.on_a_shelf(name)
    if held.shelf is Shelf.PROJECT:
        raise UsageError(
            f"{name} belongs to the project in {desk.workspace}",
            remedy=f"edit {held.folder / MAIN} itself; `hermes skills validate {name}` checks it",
        )
    return held


def _check(name: str, path: str, content: bytes) -> None:
    if path == MAIN:
        parse_skill(content, name)


async def _saved(desk: Desk, held: Held, path: str, content: bytes, draft: Draft) -> Change:
    if path == MAIN:
        change = await desk.editing.edit(held.name, content.decode(), PERSON, held.version, workspace=desk.workspace)
    else:
        change = await desk.editing.write_file(held.name, path, content, PERSON, held.version, workspace=desk.workspace)
    refuse(change, draft.kept())
    return change


def _say(console: Console, held: Held, change: Change, path: str, content: bytes) -> None:
    if not change.before:
        console.note("nothing was changed")
        return
    show_concerns(console, screen({path: content}))
    console.say(f"saved {change.name}, version {change.version}")
    if change.message:
        console.note(visible(one_line(change.message, 500)), "yellow")
    way = f"archive {held.name}" if is_copied(held.shelf) else f"restore {held.name} --version {change.before}"
    console.note(f"take it back with `hermes skills {way}`")

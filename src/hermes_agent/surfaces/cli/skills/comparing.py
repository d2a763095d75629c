"""`hermes skills diff`: what differs between two versions."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from ....skills.differences import unified
from ....skills.library import Held
from ....skills.skill import Files, Shelf
from ....types.errors import NotFound, UsageError
from ....types.text import one_line
from ..console import Console, print_json
from ..options import directory_option, json_option
from .opening import Desk, opened_skills, skill_argument

_STYLES = {"+": "green", "-": "red", "@": "cyan"}


@click.command(short_help="What differs between two versions of a skill.")
@skill_argument
@click.argument("one", required=False, default="", metavar="[A]")
@click.argument("other", required=False, default="", metavar="[B]")
@directory_option
@json_option
def command(name: str, one: str, other: str, directory: Path, as_json: bool) -> None:
    """From version A of the skill NAME to version B. Without B to the version in use, without A from the one before it.
    A version may be given by its beginning, or as the shelf on which another skill of this name lies (`hermes skills
    diff NAME bundled`)."""

    async def work() -> None:
        console = Console()
        async with opened_skills(console, directory) as desk:
            held = await desk.find(name)
            was, before = await _side(desk, held, one or await _previous(desk, held))
            now, after = await _side(desk, held, other)
        diff = unified(before, after, was=was, now=now)
        if as_json:
            return print_json({"name": held.name, "from": was, "to": now, "diff": diff})
        if not diff:
            return console.say(f"{was} and {now} are the same")
        for line in diff.splitlines():
            style = _STYLES.get(line[:1], "")
            print(console.styled(line, style, console.out) if style else line, file=console.out)
        return console.out.flush()

    asyncio.run(work())


async def _side(desk: Desk, held: Held, given: str) -> tuple[str, Files]:
    """What a version is called, and its files. Nothing is the one in use."""
    if not given:
        return held.version, await desk.library.files(held)
    if given in [shelf.value for shelf in Shelf]:
        named = await desk.library.named(held.name, desk.workspace)
        found = next((one for one in named if one.shelf.value == given), None)
        if found is None:
            raise NotFound(f"there is no {held.name} on the shelf {given}", remedy="`hermes skills list --all`")
        return given, await desk.library.files(found)
    known = list(dict.fromkeys(one.version for one in await desk.store.versions(held.stats.id)))
    fitting = [one for one in known if one == given] or [one for one in known if one.startswith(given)]
    remedy = f"`hermes skills history {held.name}` lists them"
    if not fitting:
        raise NotFound(f"{held.name} has no version {one_line(given, 40)!r}", remedy=remedy)
    if len(fitting) > 1:
        raise UsageError(f"{held.name} has {len(fitting)} versions that begin with {given}", remedy=remedy)
    return fitting[0], await desk.store.files(held.stats.id, fitting[0])


async def _previous(desk: Desk, held: Held) -> str:
    """The version that was in use before the one that is."""
    versions = await desk.store.versions(held.stats.id) if held.stats.id else []
    for version in reversed(versions):
        if version.version != held.version:
            return version.version
    raise NotFound(
        f"{held.name} has only one version",
        remedy=f"give A and B; `hermes skills history {held.name}` lists what there is",
    )

"""`hermes skills publish`: push a skill of yours to a branch of a git repository."""

from __future__ import annotations

import asyncio

import click

from ....app import App
from ....skills.library import Held, Library
from ....skills.publishing import publish, refuse_to_publish
from ....skills.skill import Shelf
from ....skills.sources import Sources
from ....types.errors import NotFound
from ..console import Console, print_json
from ..opening import opened
from ..options import json_option
from .hub import git_of


@click.command(short_help="Push a skill of yours to a git repository.")
@click.argument("name")
@click.argument("address")
@click.option("--force-unvalidated", is_flag=True, help="Also one that an agent wrote and that was never validated.")
@json_option
def command(name: str, address: str, force_unvalidated: bool, as_json: bool) -> None:
    """NAME goes to the branch skill/NAME of the repository at ADDRESS, on top of what is there, never by force. It is
    scanned first, and refused where it holds a secret."""
    console = Console(quiet=as_json)

    async def work() -> None:
        async with opened(console) as app:
            held = await users_skill(app, name, console)
            files = await library_of(app, console).files(held)
            unvalidated = held.origin.by_agent and held.stats.validated != held.version
            refuse_to_publish(name, files, app.redactor, unvalidated=unvalidated and not force_unvalidated)
            git = git_of(app.environment)
            sources = Sources(app.environment.home / "skills-hub", git)
            done = await publish(name, files, address, sources, git)
        if as_json:
            print_json(done)
        elif done.changed:
            console.note(f"pushed {name} {done.version} to {done.branch} of {done.url}", "green")
        else:
            console.note(f"{done.branch} of {done.url} has this version already")

    asyncio.run(work())


def library_of(app: App, console: Console) -> Library:
    """The skills of this home."""
    return Library(app.environment.home, app.store.skills, app.settings.skills, console.note)


async def users_skill(app: App, name: str, console: Console) -> Held:
    """A skill on the user's own shelf."""
    every = await library_of(app, console).everything()
    mine = [held for held in every if held.name == name and held.shelf is Shelf.USER and held.usable]
    if not mine:
        names = ", ".join(held.name for held in every if held.shelf is Shelf.USER and held.usable)
        raise NotFound(f"you have no skill {name[:64]!r} of your own", remedy=f"yours are: {names or 'none'}")
    return mine[0]

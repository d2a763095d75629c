"""`hermes learning rollback`: make an earlier heuristic set the one in force."""

from __future__ import annotations

import asyncio

import click

from ....learning.control import Control
from ..console import Console, print_json
from ..opening import opened
from ..options import json_option


@click.command(short_help="Go back to an earlier set.")
@click.option(
    "--to", type=click.IntRange(min=0), default=None, metavar="VERSION", help="Which set; else the one before."
)
@json_option
def command(to: int | None, as_json: bool) -> None:
    """Make an earlier heuristic set the one in force. What it does not hold stops; what it held acts again.

    `hermes learning sets` lists the versions. Undo by going to the version you came from.
    """

    async def work() -> None:
        console = Console()
        async with opened(console) as app:
            changed = await Control(app.store.database, app.settings.learning).roll_back(to)
        if as_json:
            return print_json(changed)
        console.say(f"set {changed.version} is in force (it was {changed.was})")
        for name in changed.stopped:
            console.say(f"  stopped: {name}")
        for name in changed.acting_again:
            console.say(f"  acts again: {name}")
        console.note(f"undo with `hermes learning rollback --to {changed.was}`")

    asyncio.run(work())

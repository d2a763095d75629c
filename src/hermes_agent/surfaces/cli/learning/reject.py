"""`hermes learning reject`: refuse a heuristic for good."""

from __future__ import annotations

import asyncio

import click

from ....learning.control import Control
from ....types.text import visible
from ..console import Console, print_json
from ..opening import opened
from ..options import json_option


@click.command(short_help="Refuse a heuristic; it is not proposed again.")
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@json_option
def command(ids: tuple[str, ...], as_json: bool) -> None:
    """Reject the heuristics with these IDs (or beginnings of ids), waiting or acting: all of them, or none. They stop
    at once.

    Undo with `hermes learning rollback --to VERSION`, which brings back everything that acted then.
    """

    async def work() -> None:
        console = Console()
        async with opened(console) as app:
            control = Control(app.store.database, app.settings.learning)
            meant = [await app.store.heuristics.get(part) for part in ids]
            rejected = await control.reject_all([heuristic.id for heuristic in meant])
        if as_json:
            return print_json(rejected)
        for heuristic in rejected:
            console.say(f"{heuristic.id} is rejected: {visible(heuristic.text)}")

    asyncio.run(work())

"""`hermes skills overlaps`: which skills say the same."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from ..console import Console, print_json
from ..opening import opened
from ..options import directory_option, json_option
from .curate import curator_of


@click.command(short_help="Which skills say the same.")
@directory_option
@json_option
def command(directory: Path, as_json: bool) -> None:
    """Pairs of skills that are alike, whoever made them, the most alike first: duplicates from 0.9 on, overlaps from
    0.6. Found from their words alone. Changes nothing; `hermes skills curate` proposes what to do.
    """
    workspace = str(directory.resolve())

    async def work() -> None:
        console = Console()
        async with opened(console) as app:
            found = await curator_of(app, console).overlaps(workspace)
        if as_json:
            return print_json(found)
        if not found:
            return console.say("no two skills are alike")
        rows = [(one.kind.value, f"{one.score:.2f}", one.one, one.other, one.why) for one in found]
        console.table(("kind", "score", "skill", "and", "because of"), rows)

    asyncio.run(work())

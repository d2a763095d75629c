"""`hermes learning sets`: the versions of the heuristic set, and which one is in force."""

from __future__ import annotations

import asyncio

import click

from ..console import Console, ago, print_json
from ..opening import opened
from ..options import json_option


@click.command(short_help="The versions of the heuristic set.")
@click.option("-n", "--limit", type=click.IntRange(1, 10_000), default=20, show_default=True, help="How many.")
@json_option
def command(limit: int, as_json: bool) -> None:
    """Sets never change; each is made from the one before, for a reason. `*` marks the one in force."""

    async def work() -> None:
        console = Console()
        async with opened(console) as app:
            active, sets = await app.store.heuristics.sets(limit)
        if as_json:
            print_json({"active": active, "sets": sets})
            return
        rows = [
            (
                f"{'*' if one.version == active else ' '} {one.version}",
                str(one.parent) if one.version else "-",
                str(len(one.members)),
                ago(one.at) if one.version else "-",
                one.run_id or "-",
                one.cause,
            )
            for one in sets
        ]
        console.table(("version", "from", "heuristics", "made", "after run", "why"), rows)

    asyncio.run(work())

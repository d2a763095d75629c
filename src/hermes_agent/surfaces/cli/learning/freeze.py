"""`hermes learning freeze`: keep the heuristic set as it is."""

from __future__ import annotations

import asyncio

import click

from ....learning.control import Control
from ..console import Console, print_json
from ..opening import opened
from ..options import json_option


@click.command(short_help="Keep the set as it is; `--off` lets it change again.")
@click.option("--off", is_flag=True, help="Let the set change again.")
@json_option
def command(off: bool, as_json: bool) -> None:
    """Keep the heuristic set as it is: nothing is added, retired or rolled back by itself.

    What is known still acts, and evidence is still counted. A person may still approve, reject and roll back.
    """

    async def work() -> None:
        console = Console()
        async with opened(console) as app:
            new = await Control(app.store.database, app.settings.learning).freeze(frozen=not off)
            version, _ = await app.store.heuristics.sets(limit=1)
        if as_json:
            return print_json({"frozen": not off, "changed": new, "set": version})
        state = "may change" if off else "is frozen"
        console.say(f"set {version} {state}" if new else f"set {version} {state} already")

    asyncio.run(work())

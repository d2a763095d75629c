"""`hermes learning approve`: let a heuristic that waits for a person act."""

from __future__ import annotations

import asyncio

import click

from ....learning.control import Control
from ....store.heuristics import Heuristic, Stage
from ....types.text import visible
from ..console import Console, print_json
from ..opening import opened
from ..options import json_option


@click.command(short_help="Let a heuristic that waits for a person act.")
@click.argument("ids", nargs=-1, metavar="[ID]...")
@json_option
def command(ids: tuple[str, ...], as_json: bool) -> None:
    """Approve the heuristics with these IDs (or beginnings of ids): all of them, or none. Without one, list what waits.

    Undo with `hermes learning reject ID` or `hermes learning rollback`.
    """

    async def work() -> None:
        console = Console()
        async with opened(console) as app:
            control = Control(app.store.database, app.settings.learning)
            if not ids:
                waiting = await app.store.heuristics.all(stages=(Stage.AWAITING_APPROVAL,))
                return list_waiting(console, waiting, as_json)
            meant = [await app.store.heuristics.get(part) for part in ids]
            approved = await control.approve_all([heuristic.id for heuristic in meant])
        if as_json:
            return print_json(approved)
        for heuristic in approved:
            console.say(f"{heuristic.id} is {heuristic.stage.value} now: {visible(heuristic.text)}")

    asyncio.run(work())


def list_waiting(console: Console, waiting: list[Heuristic], as_json: bool) -> None:
    """What waits for a person."""
    if as_json:
        return print_json(waiting)
    if not waiting:
        return console.say("nothing waits for approval")
    rows = [(item.id, item.kind.value, item.family, f"{item.confidence:.2f}", visible(item.text)) for item in waiting]
    console.table(("id", "kind", "family", "sure", "what it says"), rows)

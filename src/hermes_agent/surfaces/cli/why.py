"""`hermes why`: the receipt of a run. What was learned and applied, what was refused, how it ended, what it cost."""

from __future__ import annotations

import asyncio

import click

from ...app import App
from ...store.runs import Run
from ...types.errors import NotFound
from .console import Console, print_json
from .opening import opened
from .options import json_option
from .why_page import Page
from .why_receipt import receipt_of


@click.command(short_help="What a run applied, read, decided and refused, why, and what it cost.")
@click.argument("run", required=False, default="")
@json_option
def command(run: str, as_json: bool) -> None:
    """The receipt of RUN: how it ended and who says so, what it cost, which learned things were applied or withheld and
    on what evidence, texts of strangers and private data that it read, every decision with its reason, and for calls
    that were held back where each value came from. RUN is a run or a session; without it, the latest run."""

    async def work() -> None:
        console = Console()
        async with opened(console) as app:
            receipt = await receipt_of(app, await _meant(app, run))
        if as_json:
            print_json(receipt)
        else:
            Page(console).show(receipt)

    asyncio.run(work())


async def _meant(app: App, name: str) -> Run:
    """The run with this id, the last one of a session, or the latest of all."""
    if name:
        try:
            return await app.store.runs.get(name)
        except NotFound as error:
            runs = await app.store.runs.of_session(name)
            if not runs:
                raise NotFound(
                    f"there is no run or session {name!r}", remedy="`hermes sessions list` shows them"
                ) from error
            return runs[-1]
    for session in await app.store.sessions.recent(1):
        runs = await app.store.runs.of_session(session.id)
        if runs:
            return runs[-1]
    raise NotFound("there are no runs yet", remedy='`hermes run "..."` makes one')

"""`hermes learning reset`: forget what was learned about a model."""

from __future__ import annotations

import asyncio
import sys

import click

from ....learning.control import Control
from ....types.errors import UsageError
from ..console import Console, print_json
from ..opening import opened
from ..options import json_option, yes_option


@click.command(short_help="Forget what was learned about a model.")
@click.option("-m", "--model", required=True, metavar="PROVIDER:MODEL", help="Which model.")
@yes_option
@json_option
def command(model: str, yes: bool, as_json: bool) -> None:
    """Forget the evidence about a model and retire what it taught, for instance after the provider changed it.

    The runs themselves stay, so that replay can still read them. The evidence cannot be brought back.
    """
    if not yes and not sys.stdin.isatty():
        raise UsageError("forgetting asks first, and there is no terminal to ask", remedy="say --yes")
    if not yes and not click.confirm(f"Forget what was learned about {model}?", default=False, err=True):
        return Console().note("nothing was forgotten")

    async def work() -> None:
        console = Console()
        async with opened(console) as app:
            retired, forgotten = await Control(app.store.database, app.settings.learning).reset(model)
        if as_json:
            return print_json({"model": model, "retired": retired, "forgotten": forgotten})
        console.say(f"{model}: {retired} heuristics retired, {forgotten} pieces of evidence forgotten")

    asyncio.run(work())

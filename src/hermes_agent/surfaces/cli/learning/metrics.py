"""`hermes learning metrics`: the figures of learning in Prometheus' text format."""

from __future__ import annotations

import asyncio
import sys

import click

from ....observability.metrics import render
from ..console import Console, print_json
from ..opening import opened
from ..options import json_option


@click.command(short_help="The figures as Prometheus reads them.")
@json_option
def command(as_json: bool) -> None:
    """Print every figure once, those of learning and of all other work, for node_exporter's textfile collector;
    docs/observability.md says how."""

    async def work() -> None:
        async with opened(Console()) as app:
            metrics = await app.figures.collect()
        if as_json:
            print_json(metrics)
            return
        sys.stdout.write(render(metrics))
        sys.stdout.flush()

    asyncio.run(work())

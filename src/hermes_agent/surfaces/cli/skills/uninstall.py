"""`hermes skills uninstall`: take an installed skill off the shelf; its files are kept in the archive."""

from __future__ import annotations

import asyncio

import click

from ..console import Console, print_json
from ..options import json_option
from .hub import open_hub


@click.command(short_help="Take an installed skill off the shelf; it is archived.")
@click.argument("name")
@json_option
def command(name: str, as_json: bool) -> None:
    """Only skills that `hermes skills install` brought; your own are archived with `hermes skills archive`."""
    kept = asyncio.run(open_hub().uninstall(name))
    if as_json:
        print_json({"name": name, "archived": str(kept) if kept else ""})
    elif kept:
        Console().note(f"{name} is uninstalled; its files are in {kept}", "green")
    else:
        Console().note(f"{name} is uninstalled; its folder was gone already", "green")

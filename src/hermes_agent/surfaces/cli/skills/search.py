"""`hermes skills search`: look for skills in what was fetched before, in listed sources and in one that is named."""

from __future__ import annotations

import asyncio

import click

from ....types.errors import UsageError
from ....types.text import visible
from ..console import Console, print_json
from ..options import json_option
from .hub import open_hub


@click.command(short_help="Look for skills in the sources you know.")
@click.argument("words", nargs=-1)
@click.option("--source", "sources", multiple=True, metavar="ADDRESS", help="Look here too, and fetch it.")
@click.option("--refresh", is_flag=True, help="Fetch every source again.")
@click.option("--add", default="", metavar="ADDRESS", help="List a source, to be looked in from now on.")
@click.option("--remove", default="", metavar="ADDRESS", help="List it no longer.")
@click.option("--sources", "listing", is_flag=True, help="Show the listed sources.")
@click.option("-n", "--limit", type=click.IntRange(min=1), default=20, show_default=True, help="How many.")
@json_option
def command(
    words: tuple[str, ...],
    sources: tuple[str, ...],
    refresh: bool,
    add: str,
    remove: str,
    listing: bool,
    limit: int,
    as_json: bool,
) -> None:
    """Best fit first. Without --source and --refresh nothing is fetched that was fetched before. No central index is
    asked: the sources are those you installed from and those you list with --add."""
    console = Console(quiet=as_json)
    hub = open_hub()
    if add or remove or listing:
        if words:
            raise UsageError("sources are listed, or words looked for", remedy="do one after the other")
        if add:
            hub.sources.keep(add)
        if remove:
            hub.sources.forget(remove)
        kept = hub.sources.listed()
        if as_json:
            print_json(kept)
        elif not kept:
            console.note("no source is listed; `hermes skills search --add ADDRESS` lists one")
        for url in [] if as_json else kept:
            console.say(url)
        return
    if not words and not sources:
        raise UsageError("say what to look for", remedy="give WORDS, or --source ADDRESS to see everything in it")
    searched = asyncio.run(hub.search(" ".join(words), sources, refresh=refresh))
    found = searched.found[:limit]
    for url, why in searched.failed.items():
        console.note(f"not looked in: {visible(url)}: {why}", "yellow")
    if as_json:
        print_json({"found": found, "failed": searched.failed})
    elif not found:
        console.note("nothing was found; `--source ADDRESS` looks in one more source, `--refresh` fetches them again")
    else:
        rows = [
            (one.name, "installed" if one.installed else "", f"{one.url}#{one.path}".rstrip("#"), one.description)
            for one in found
        ]
        console.table(("skill", "", "source", "about"), rows)

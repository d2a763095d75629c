"""`hermes skills restore`."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from ....types.errors import UsageError
from ..console import Console
from ..options import directory_option, json_option
from .opening import PERSON, archived_skill_argument, finish, opened_skills


@click.command(short_help="Bring back an archived skill or an earlier version.")
@archived_skill_argument
@click.argument("earlier", required=False, default="", metavar="[VERSION]")
@click.option("--version", default="", metavar="VERSION", help="Which version; the beginning of one is enough.")
@directory_option
@json_option
def command(name: str, earlier: str, version: str, directory: Path, as_json: bool) -> None:
    """Take the skill NAME out of the archive, or put an earlier version of one in use in its place; `hermes skills
    history NAME` lists them. The version in use stays in the history, so this can be taken back."""
    if earlier and version and earlier != version:
        raise UsageError("two versions are given", remedy="give one")
    wanted = version or earlier

    async def work() -> None:
        console = Console(quiet=as_json)
        async with opened_skills(console, directory) as desk:
            await desk.find(name)
            change = await desk.editing.restore(name, wanted, PERSON)
        finish(console, change, f"{name} is at version {change.version}", as_json=as_json)
        if change.before not in ("", change.version):
            console.note(f"take it back with `hermes skills restore {name} --version {change.before}`")
        elif not change.message:
            console.note(f"put it away again with `hermes skills archive {name}`")

    asyncio.run(work())

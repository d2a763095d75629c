"""`hermes skills archive`."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from ..console import Console
from ..options import directory_option, json_option
from .opening import PERSON, finish, opened_skills, skill_argument


@click.command(short_help="Put a skill of yours away; nothing is lost.")
@skill_argument
@directory_option
@json_option
def command(name: str, directory: Path, as_json: bool) -> None:
    """Moves the skill NAME of your own shelf into the archive, with its history. What lies on another shelf is
    disabled or uninstalled instead."""

    async def work() -> None:
        console = Console(quiet=as_json)
        async with opened_skills(console, directory) as desk:
            await desk.find(name)
            change = await desk.editing.delete(name, PERSON, workspace=desk.workspace)
        finish(console, change, f"{name} is in the archive", as_json=as_json)

    asyncio.run(work())

"""`hermes skills history`: every version, who wrote it, when, in which run."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import click

from ..console import Console, ago, print_json
from ..options import directory_option, json_option
from .opening import opened_skills, skill_argument


@click.command(short_help="Every version of a skill: who wrote it, when, in which run.")
@skill_argument
@click.option("-n", "--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="How many.")
@directory_option
@json_option
def command(name: str, limit: int, directory: Path, as_json: bool) -> None:
    """The changes of the skill NAME, newest first; `*` marks the version in use. `hermes skills diff` compares two,
    `hermes skills restore` goes back to one."""

    async def work() -> None:
        console = Console()
        async with opened_skills(console, directory) as desk:
            held = await desk.recorded(name)
            versions = (await desk.store.versions(held.stats.id))[::-1]
        if as_json:
            return print_json(versions[:limit])
        now = time.time()
        rows = [
            (
                f"{one.version}{'*' if one.version == held.version else ''}",
                ago(one.at, now),
                one.action,
                one.origin,
                one.run_id or "-",
                one.parent if one.parent and one.parent != one.version else "-",
                one.note or "-",
            )
            for one in versions[:limit]
        ]
        console.table(("version", "when", "what", "who", "run", "from", "note"), rows)
        if len(versions) > limit:
            console.note(f"{len(versions) - limit} more; --limit shows them")

    asyncio.run(work())

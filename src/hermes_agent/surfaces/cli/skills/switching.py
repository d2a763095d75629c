"""Switches of skills: offered or not, pinned or not."""

from __future__ import annotations

import asyncio
from pathlib import Path

from ..console import Console, print_json
from .opening import opened_skills
from .words import outline


def switch(name: str, directory: Path, column: str, said: str, *, on: bool, as_json: bool) -> None:
    """Set a switch of the skill that answers to a name, and say how to set it back."""

    async def work() -> None:
        console = Console(quiet=as_json)
        async with opened_skills(console, directory) as desk:
            await desk.on_a_shelf(name)
            held = await desk.recorded(name)
            before = getattr(held.stats, column)
            if before is not on:
                await desk.store.mark(held.stats.id, **{column: on})
            held = await desk.find(name)
        if as_json:
            print_json({**outline(held), "changed": before is not on})
        elif before is on:
            console.say(f"{name} is {said.partition(';')[0]} already")
        else:
            console.say(f"{name} (shelf {held.shelf}) is {said}")

    asyncio.run(work())

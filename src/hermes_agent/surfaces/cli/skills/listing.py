"""`hermes skills list`: which skills there are, and how each fares."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import click

from ....config.settings import Learning
from ....skills.library import Held
from ....skills.skill import Origin, Shelf
from ....types.base import Value
from ..console import Console, print_json
from ..options import directory_option, json_option
from .opening import Desk, opened_skills, state_of
from .words import gain, outline, rate

_HEAD = ("name", "shelf", "origin", "uses", "success", "utility", "health", "flags", "what it is for")


class Listed(Value, frozen=True, kw_only=True):
    """A skill in the list. `shadowed` when a skill of the same name on a stronger shelf is used instead, `not_here` is
    why it is not offered in this place."""

    held: Held
    shadowed: bool
    not_here: str

    @property
    def in_use(self) -> bool:
        """Whether the agent can reach it."""
        return self.held.usable and not self.shadowed


@click.command(short_help="Which skills there are, and how each fares.")
@click.option("-a", "--all", "everything", is_flag=True, help="Disabled, archived, shadowed and broken ones too.")
@click.option("--shelf", type=click.Choice([shelf.value for shelf in Shelf]), help="Only on this shelf.")
@click.option("--origin", type=click.Choice([origin.value for origin in Origin]), help="Only made by these.")
@directory_option
@json_option
def command(everything: bool, shelf: str | None, origin: str | None, directory: Path, as_json: bool) -> None:
    """The skills in use here, by name. `success` is the moving rate of its uses, `utility` what tasks gained with it
    according to the coin. Of several with one name the one on the strongest shelf is used: project, user, team, hub,
    bundled."""

    async def work() -> None:
        console = Console()
        async with opened_skills(console, directory) as desk:
            found = await _found(desk)
            off = desk.app.settings.skills.mode is Learning.OFF
        fitting = [one for one in found if _fits(one.held, shelf, origin)]
        shown = fitting if everything else [one for one in fitting if one.in_use]
        if as_json:
            print_json([{**outline(one.held), "shadowed": one.shadowed, "not_here": one.not_here} for one in shown])
            return
        if shown:
            console.table(_HEAD, [_row(one) for one in shown])
        else:
            console.note("there is no such skill" if shelf or origin else "there are no skills")
        if off:
            console.note("skills are switched off; `hermes config set skills.mode on`", "yellow")
        if left := len(fitting) - len(shown):
            console.note(f"{left} more not in use; --all shows {'it' if left == 1 else 'them'}")

    asyncio.run(work())


async def _found(desk: Desk) -> list[Listed]:
    seen: set[str] = set()
    listed = []
    for held in await desk.library.everything(desk.workspace):
        archived = held.stats.archived_at is not None
        listed.append(Listed(held=held, shadowed=not archived and held.name in seen, not_here=desk.not_here(held)))
        if not archived:
            seen.add(held.name)
    return listed


def _fits(held: Held, shelf: str | None, origin: str | None) -> bool:
    return (not shelf or held.shelf.value == shelf) and (not origin or held.stats.origin == origin)


def _row(one: Listed) -> Sequence[str]:
    held, stats = one.held, one.held.stats
    flags = state_of(held)
    flags += ["shadowed"] if one.shadowed else []
    flags += [f"hides {'+'.join(held.shadows)}"] if held.shadows else []
    flags += ["not offered here"] if one.not_here else []
    return (
        held.name,
        held.shelf.value,
        stats.origin,
        f"{stats.usage_count:,}",
        rate(stats),
        gain(stats.utility),
        stats.health_status,
        ", ".join(flags) or "-",
        held.skill.description,
    )

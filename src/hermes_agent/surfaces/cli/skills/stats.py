"""`hermes skills stats`: how skills fare, and on what evidence."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from ....skills.library import Held
from ....store.heuristics import Heuristic, Kind
from ....store.learning_views import family_names
from ....store.skills import SkillStats, Use
from ....types.base import Value
from ..console import Console, ago, print_json
from ..learning.words import evidence_in_words, where
from ..options import directory_option, json_option
from .opening import Desk, complete_name, opened_skills
from .words import figures, gain, rate

_USES = 5000
_HEAD = ("name", "uses", "success", "best", "utility", "trusted in", "health", "last used")


class InFamily(Value, frozen=True, kw_only=True):
    """The uses of a skill in one kind of task. `judged` are those of which it is known how they went."""

    family: str
    name: str
    uses: int
    judged: int
    succeeded: int
    last: float


@click.command(short_help="Uses, success, and what the coin says a skill gains.")
@click.argument("name", required=False, default="", shell_complete=complete_name)
@directory_option
@json_option
def command(name: str, directory: Path, as_json: bool) -> None:
    """Every skill in use, the most used first; or one, by kind of task. `success` is the moving rate over its uses,
    `utility` the measured difference in success between tasks that were told of it and tasks that were not, by a coin;
    `hermes learning show ID` has everything about a measurement."""

    async def work() -> None:
        console = Console()
        async with opened_skills(console, directory) as desk:
            coins = [one for one in await desk.app.store.heuristics.all() if one.kind is Kind.SKILL]
            if name:
                await _one(desk, console, await desk.recorded(name), coins, as_json=as_json)
                return
            held = await desk.library.all(desk.workspace)
        held.sort(key=lambda one: (-one.stats.usage_count, one.name))
        if as_json:
            print_json([{**figures(one.stats), "measurements": _about(coins, one.name)} for one in held])
        else:
            console.table(_HEAD, [_row(one, _about(coins, one.name)) for one in held])

    asyncio.run(work())


def _about(coins: Sequence[Heuristic], name: str) -> list[Heuristic]:
    return [one for one in coins if one.subject == name]


def _row(held: Held, coins: Sequence[Heuristic]) -> tuple[str, ...]:
    stats = held.stats
    trusted = sum(one.stage.value == "trusted" for one in coins)
    return (
        held.name,
        f"{stats.usage_count:,}",
        rate(stats),
        f"{stats.best_efficiency_score:.2f}" if stats.usage_count else "-",
        gain(stats.utility),
        f"{trusted} of {len(coins)}" if coins else "-",
        stats.health_status,
        _when(stats.last_used_at),
    )


async def _one(desk: Desk, console: Console, held: Held, coins: Sequence[Heuristic], *, as_json: bool) -> None:
    uses = await desk.store.uses(held.stats.id, _USES)
    about = _about(coins, held.name)
    ids = {use.family for use in uses} | {one.family for one in about}
    names = await desk.app.store.database.read(lambda connection: family_names(connection, ids))
    families = _families(uses, names)
    if as_json:
        print_json({"stats": figures(held.stats), "families": families, "measurements": about})
        return
    _say_figures(console, held.stats)
    if families:
        console.say("")
        console.table(("family", "uses", "succeeded", "last"), [_family_row(one) for one in families])
    if about:
        console.say("")
        rows = [
            (one.id, where(one, names), one.model, one.stage.value, evidence_in_words(one.evidence)) for one in about
        ]
        console.table(("measured", "family", "model", "stage", "evidence"), rows)


def _families(uses: Sequence[Use], names: Mapping[str, str]) -> list[InFamily]:
    by_family: dict[str, list[Use]] = {}
    for use in uses:
        by_family.setdefault(use.family, []).append(use)
    found = [
        InFamily(
            family=family,
            name=names.get(family) or family,
            uses=len(of_family),
            judged=sum(use.success is not None for use in of_family),
            succeeded=sum(use.success is True for use in of_family),
            last=max(use.at for use in of_family),
        )
        for family, of_family in by_family.items()
    ]
    return sorted(found, key=lambda one: (-one.uses, one.name))


def _family_row(one: InFamily) -> tuple[str, ...]:
    succeeded = f"{one.succeeded} of {one.judged}" if one.judged else "-"
    return one.name or "not placed", f"{one.uses:,}", succeeded, ago(one.last)


def _say_figures(console: Console, stats: SkillStats) -> None:
    lines = {
        "skill": f"{stats.name}, version {stats.version}",
        "made by": stats.origin + (f", in run {stats.made_by}" if stats.made_by else ""),
        "uses": f"{stats.usage_count:,}, last {_when(stats.last_used_at)}",
        "success": f"{rate(stats)} (moving)",
        "utility": gain(stats.utility) if stats.utility is not None else "not measured yet",
        "efficiency": f"{stats.best_efficiency_score:.2f} at best" if stats.usage_count else "",
        "health": ", ".join(filter(None, (stats.health_status, stats.health_note))),
        "tried": _when(stats.checked_at),
        "validated": stats.validated or "no version",
    }
    for key, value in lines.items():
        if value:
            console.say(f"{key:<12} {value}")


def _when(at: float | None) -> str:
    return "never" if at is None else ago(at, time.time())

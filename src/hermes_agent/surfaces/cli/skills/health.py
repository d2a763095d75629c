"""`hermes skills health`: the tests of the skills that are due, the most important first."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import click

from ....learning.health import HealthReport
from ....skills.skill import Health as Status
from ....types.errors import UsageError
from ..console import Console, print_json
from ..options import directory_option, json_option
from .opening import opened_skills
from .trying import say_report

_WEEK = 7.0


@click.command(short_help="Test the skills that are due.")
@click.option("--all", "everything", is_flag=True, help="Whether they are due or not.")
@click.option("--days", type=click.FloatRange(0, 36_500), help="Due when not tried for DAYS.  [default: check_days]")
@directory_option
@json_option
def command(everything: bool, days: float | None, directory: Path, as_json: bool) -> int:
    """Test the skills that were not tried for some days (`skills.check_days`) or were changed since: pinned ones first,
    then those of proven gain, then the most used. A broken one is marked, left out of the prompt and queued for a
    rewrite. Exit code 1 when one is broken."""
    if everything and days is not None:
        raise UsageError("--all and --days are two wishes", remedy="choose one")

    async def work() -> int:
        console = Console(quiet=as_json)
        reports: list[HealthReport] = []
        async with opened_skills(console, directory) as desk:
            since = 0.0 if everything else days if days is not None else desk.app.settings.skills.check_days or _WEEK
            health = desk.health(time.time)
            due = await health.due(since, desk.workspace)
            for number, held in enumerate(due, 1):
                console.note(f"trying {held.name} ({number} of {len(due)}): {len(held.skill.trials)} tests")
                reports.append(await health.check(held))
                if not as_json:
                    say_report(console, reports[-1])
        broken = [report.name for report in reports if report.status is Status.DEPRECATED]
        if as_json:
            print_json(reports)
        elif not reports:
            console.say("no skill is due; --all tries every one")
        else:
            _sum_up(console, reports, broken)
        return 1 if broken else 0

    return asyncio.run(work())


def _sum_up(console: Console, reports: list[HealthReport], broken: list[str]) -> None:
    healthy = sum(report.status is Status.HEALTHY for report in reports)
    rest = len(reports) - healthy - len(broken)
    console.say(f"{healthy} healthy, {len(broken)} broken, {rest} not known")
    for name in broken:
        console.note(f"`hermes skills edit {name}` mends it, `hermes skills test {name}` tries it again", "yellow")

"""`hermes skills curate`: merge duplicates, archive what is not used, and take that back."""

from __future__ import annotations

import asyncio
import sys
import time

import click

from ....app import App
from ....learning.curator import Curator
from ....learning.proposals import Action, Applied, Plan, Proposal
from ....skills.library import Library
from ....skills.manage import Editing
from ....skills.skill import Change
from ....types.errors import UsageError
from ....types.text import visible
from ..console import Console, print_json
from ..opening import opened
from ..options import json_option, yes_option

_LAST = ""


@click.command(short_help="Merge duplicates and archive what is not used.")
@click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
@click.option(
    "--undo",
    is_flag=False,
    flag_value=_LAST,
    default=None,
    metavar="[BATCH]",
    help="Take the last pass back, or the one named.",
)
@yes_option
@json_option
def command(dry_run: bool, undo: str | None, yes: bool, as_json: bool) -> int:
    """Keep the library small: propose to merge skills that say the same, and to archive those that are not used or do
    harm. Shows every line that would change, and asks before anything does.

    Only skills that the background review made and nobody else changed are touched, pinned ones never. Undo with
    `hermes skills curate --undo`; what was taken back is not proposed again.
    """
    if undo is not None and (dry_run or yes):
        raise UsageError("--undo stands alone", remedy="leave out --dry-run and --yes")

    async def work() -> int:
        console = Console()
        async with opened(console) as app:
            curator = curator_of(app, console)
            if undo is not None:
                return _say_undone(console, await curator.undo(undo), as_json=as_json)
            plan = await curator.plan()
            if dry_run or not plan.proposals:
                _say_plan(console, plan, as_json=as_json)
                return 0
            if not yes:
                _say_plan(console, plan, as_json=False)
                if not _agreed(console, plan):
                    return 1
            return _say_applied(console, await curator.apply(plan), as_json=as_json)

    return asyncio.run(work())


def curator_of(app: App, console: Console) -> Curator:
    """The curator of this home's skills."""
    settings = app.settings.skills
    library = Library(app.environment.home, app.store.skills, settings, console.note)
    editing = Editing(library, app.store.skills, guard=settings.guard_agent_created)
    return Curator(library, editing, app.store, settings, time.time)


def headline(proposal: Proposal) -> str:
    """A proposal in one line."""
    name = proposal.skill.name
    if proposal.action is Action.MERGE:
        return f"merge {', '.join(seen.name for seen in proposal.absorbed)} into {name}: {proposal.reason}"
    return f"archive {name}: {proposal.reason}"


def _say_plan(console: Console, plan: Plan, *, as_json: bool) -> None:
    if as_json:
        return print_json(
            {"proposals": [_outline(one) for one in plan.proposals], "left": plan.left, "more": plan.more}
        )
    for proposal in plan.proposals:
        console.say(f"{headline(proposal)}\n\n{proposal.diff}")
    for line in plan.left:
        console.note(visible(line))
    if plan.more:
        console.note(f"{plan.more} more changes are left for the next pass")
    if not plan.proposals:
        console.say("nothing to curate")


def _outline(proposal: Proposal) -> dict[str, object]:
    return {
        "action": proposal.action,
        "skill": proposal.skill,
        "absorbed": proposal.absorbed,
        "reason": proposal.reason,
        "diff": proposal.diff,
    }


def _agreed(console: Console, plan: Plan) -> bool:
    """Whether the person agrees. Without a terminal nobody can, and that is an error with the way around it."""
    if not sys.stdin.isatty():
        raise UsageError("this asks first, and there is no terminal to ask", remedy="say --yes, or --dry-run to look")
    count = len(plan.proposals)
    agreed = click.confirm("Do this?" if count == 1 else f"Do these {count}?", err=True)
    if not agreed:
        console.note("nothing was changed")
    return agreed


def _say_applied(console: Console, applied: Applied, *, as_json: bool) -> int:
    if as_json:
        print_json(applied)
    else:
        console.say(applied.summary)
        for line in applied.skipped:
            console.note(visible(line), "yellow")
        for name in dict.fromkeys(change.name for change in applied.changes if change.action != "delete"):
            console.note(f"`hermes skills validate {name} --run` tries what was put together")
    return 0 if applied.changes else 1


def _say_undone(console: Console, changes: list[Change], *, as_json: bool) -> int:
    well = all(change.ok for change in changes)
    if as_json:
        print_json({"undone": well, "changes": changes})
    else:
        for change in changes:
            if change.ok:
                console.say(f"{change.name} is as it was (version {change.version})")
            else:
                console.note(visible(f"{change.name}: {change.message or change.error}"), "yellow")
    return 0 if well else 1

"""`hermes skills team`: one library for several people, changed by proposals that somebody reviewed."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from ....app import App
from ....safety.scan import Verdict
from ....skills.format import version_of
from ....skills.git import identity
from ....skills.library import Held
from ....skills.skill import Files, Shelf
from ....skills.team import Proposal, Review, Team, open_team
from ....types.text import one_line, visible
from ..console import Console, ago, print_json
from ..opening import opened
from ..options import json_option, yes_option
from .hub import agreed, git_of, show_concerns, show_diff
from .publish import library_of


@click.group(short_help="Share one library of skills with others.")
def command() -> None:
    """The library is the folder or git repository that `skills.team` names. Nothing changes it but proposals that
    somebody accepted, and an edit made here is never overwritten."""


@command.command()
@click.argument("name")
@click.option("-m", "--note", default="", metavar="TEXT", help="What it is for, for whoever reviews it.")
@json_option
def propose(name: str, note: str, as_json: bool) -> None:
    """Offer a skill as you have it to the team."""
    console = Console(quiet=as_json)

    async def work() -> Proposal:
        async with opened(console) as app:
            library, team = library_of(app, console), await _team(app)
            held = await library.get(name, str(Path.cwd()))
            files = await library.files(held)
            _refuse_secrets(app, name, files)
            return await team.propose(name, files, await _base(app, team, held), one_line(note, 200))

    proposal = asyncio.run(work())
    if as_json:
        print_json({"id": proposal.id, "proposal": proposal})
    else:
        after = f"made from {proposal.base}" if proposal.base else "a new skill"
        console.note(f"proposed {proposal.id} ({after}); somebody else accepts it", "green")


@command.command()
@json_option
def proposals(as_json: bool) -> None:
    """What waits for a review."""
    console = Console(quiet=as_json)

    async def work() -> list[Proposal]:
        async with opened(console) as app:
            return await (await _team(app)).proposals()

    found = asyncio.run(work())
    if as_json:
        print_json([{"id": one.id, "proposal": one} for one in found])
    elif not found:
        console.note("nothing waits for a review")
    else:
        rows = [(one.id, ago(one.at), one.author, one.base or "new", one.note) for one in found]
        console.table(("id", "when", "by", "made from", "note"), rows)


@command.command()
@click.argument("proposal", metavar="ID")
@json_option
def show(proposal: str, as_json: bool) -> None:
    """What a proposal would change in what the team has now."""
    console = Console(quiet=as_json)

    async def work() -> Review:
        async with opened(console) as app:
            return await (await _team(app)).review(proposal)

    review = asyncio.run(work())
    if as_json:
        print_json(
            {
                "proposal": review.proposal,
                "result": version_of(review.result),
                "conflicts": review.conflicts,
                "verdict": review.screening.verdict.value,
                "concerns": review.screening.concerns,
                "diff": review.diff,
            }
        )
        return
    _describe(console, review)
    console.say(review.diff.rstrip("\n") or "(no difference)")


@command.command()
@click.argument("proposal", metavar="ID")
@click.option("--own", is_flag=True, help="Also a proposal of your own.")
@click.option("--accept-flagged", is_flag=True, help="Also one that the scanner remarks on.")
@yes_option
@json_option
def accept(proposal: str, own: bool, accept_flagged: bool, yes: bool, as_json: bool) -> int:
    """Make a proposal the team's version, after showing what it changes. Where the team's version moved meanwhile, both
    changes are merged; where they meet, nothing happens and both are kept."""
    console = Console(quiet=as_json)

    async def work() -> int:
        async with opened(console) as app:
            team = await _team(app)
            review = await team.review(proposal)
            _describe(console, review)
            show_diff(console, review.diff)
            expect = "" if review.conflicts else version_of(review.result)
            flagged = review.screening.verdict is Verdict.FLAG
            if not review.conflicts and not (
                agreed("Accept it although it is flagged?", "--accept-flagged", yes=accept_flagged or not flagged)
                and agreed("Accept it?", "--yes", yes=yes)
            ):
                console.note("nothing was changed")
                return 1
            version = await team.accept(proposal, own=own, expect=expect)
        if as_json:
            print_json({"id": proposal, "version": version})
        console.note(f"the team's {review.proposal.name} is now {version}", "green")
        return 0

    return asyncio.run(work())


@command.command()
@click.argument("proposal", metavar="ID")
@json_option
def reject(proposal: str, as_json: bool) -> None:
    """Take a proposal off the list. Its files are kept."""
    console = Console(quiet=as_json)

    async def work() -> Proposal:
        async with opened(console) as app:
            return await (await _team(app)).reject(proposal)

    rejected = asyncio.run(work())
    if as_json:
        print_json({"id": rejected.id, "proposal": rejected})
    console.note(f"{rejected.id} is rejected")


@command.command()
@json_option
def sync(as_json: bool) -> int:
    """Bring the team's skills here. What was edited here is kept, and said."""
    console = Console(quiet=as_json)

    async def work() -> int:
        async with opened(console) as app:
            synced = await (await _team(app)).sync()
        if as_json:
            print_json(synced)
        for word, names in (("added", synced.added), ("updated", synced.updated), ("archived", synced.removed)):
            if names:
                console.note(f"{word}: {', '.join(names)}", "green")
        for name in synced.kept:
            console.note(f"kept, because it was edited here: {name}; `hermes skills team propose {name}`", "yellow")
        for name, why in synced.refused.items():
            console.note(f"not taken: {visible(name)}: {one_line(why, 300)}", "red")
        if not any((synced.added, synced.updated, synced.removed, synced.kept, synced.refused)):
            console.note("everything is up to date")
        return 1 if synced.refused else 0

    return asyncio.run(work())


async def _team(app: App) -> Team:
    git = git_of(app.environment)
    return open_team(app.settings.skills.team, app.environment.home, git, await identity(git))


async def _base(app: App, team: Team, held: Held) -> Files:
    """What a skill was made from: the newest of its versions that the team knows, else what was last brought here."""
    if held.shelf is not Shelf.TEAM and held.stats.id:
        theirs = await team.versions(held.name)
        past = sorted(await app.store.skills.versions(held.stats.id), key=lambda version: -version.seq)
        for version in past:
            if version.version in theirs and version.version != held.version:
                return await app.store.skills.files(held.stats.id, version.version)
    return await team.base(held.name)


def _refuse_secrets(app: App, name: str, files: Files) -> None:
    from ....skills.publishing import refuse_to_publish

    refuse_to_publish(name, files, app.redactor)


def _describe(console: Console, review: Review) -> None:
    one = review.proposal
    console.note(f"{one.id} by {visible(one.author)}, {ago(one.at)}{': ' + one.note if one.note else ''}", "bold")
    show_concerns(console, review.screening)
    for path in review.conflicts:
        console.note(f"both changed the same lines: {visible(path)}", "red")

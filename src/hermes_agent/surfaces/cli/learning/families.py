"""`hermes learning families`: the kinds of tasks that learning keeps apart; merge, rename, split."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence

import click

from ....app import App
from ....store.families import Families, Family, FamilyLine, Merged, Split, clean_name
from ....types.errors import NotFound, UsageError
from ..console import Console, ago, print_json
from ..opening import opened
from ..options import json_option, yes_option

_MOST_TEXTS = 200


@click.group(invoke_without_command=True, short_help="The kinds of tasks; merge, rename and split them.")
@click.option("-n", "--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="How many.")
@json_option
@click.pass_context
def command(context: click.Context, limit: int, as_json: bool) -> None:
    """The families of tasks, last used first. What is learned in one family acts in that family.

    A family comes from `--family NAME`, or is found from the wording of the request. FAMILY below is an id, a name, or
    a unique beginning of either.
    """
    if context.invoked_subcommand is not None:
        return

    async def work() -> None:
        console = Console()
        async with opened(console) as app:
            found = await Families(app.store.database).lines(limit)
        if as_json:
            print_json(found)
        elif not found:
            console.note("there are no families yet; they come with the first runs that are learned from")
        else:
            head = ("id", "name", "tasks", "success", "used", "active heuristics")
            console.table(head, [_row(line) for line in found])

    asyncio.run(work())


@command.command()
@click.argument("family", metavar="FAMILY")
@click.argument("name")
@json_option
def rename(family: str, name: str, as_json: bool) -> None:
    """Call a family NAME. Its id stays, and so does everything learned; renaming it back undoes this."""

    async def work() -> None:
        console = Console()
        async with opened(console) as app:
            families = Families(app.store.database)
            before = await families.get(family)
            after = await families.rename(before.id, name)
        if as_json:
            print_json({"id": after.id, "was": before.name, "name": after.name})
        else:
            console.note(f"{before.name} is now called {after.name}", "green")

    asyncio.run(work())


@command.command()
@click.argument("source", metavar="FAMILY")
@click.argument("target", metavar="INTO")
@yes_option
@json_option
def merge(source: str, target: str, yes: bool, as_json: bool) -> int:
    """Make FAMILY a part of INTO: its runs count there from now on.

    The heuristics of FAMILY retire and its evidence is deleted, for what was counted under two meanings cannot be added
    up; INTO keeps its own. `split` gives the runs a family of their own again; the evidence does not come back, nor do
    the heuristics, unless you go back to the earlier set (`hermes learning rollback`).
    """

    async def work() -> int:
        console = Console()
        async with opened(console) as app:
            families = Families(app.store.database)
            one, other = await families.get(source), await families.get(target)
            if one.id == other.id:
                raise UsageError(f"{one.name!r} cannot be merged with itself", remedy="name two families")
            warning = [
                f"{_said(one)} becomes a part of {_said(other)}",
                f"the heuristics of {one.name} retire and its evidence is deleted; {other.name} keeps its own",
            ]
            if not yes and not _agreed(console, warning, "Merge?"):
                return 1
            merged = await families.merge(one.id, other.id)
        if as_json:
            print_json(merged)
        else:
            _say_merged(console, merged, one, other)
        return 0

    return asyncio.run(work())


@command.command()
@click.argument("family", metavar="FAMILY")
@click.option("--runs", required=True, metavar="ID,ID", help="The runs that make the new family: whole ids.")
@click.option("--name", required=True, help="What the new family is called.")
@yes_option
@json_option
def split(family: str, runs: str, name: str, yes: bool, as_json: bool) -> int:
    """Give some runs of FAMILY a family of their own, called NAME.

    The new family starts without heuristics and evidence. The evidence that its runs left in FAMILY stays there as it
    was. Merging the two again undoes this, except for what the new family has learned by then.
    """
    run_ids = list(dict.fromkeys(part.strip() for part in runs.split(",") if part.strip()))
    wanted = clean_name(name)

    async def work() -> int:
        console = Console()
        async with opened(console) as app:
            families = Families(app.store.database)
            old = await families.get(family)
            count = "1 run" if len(run_ids) == 1 else f"{len(run_ids)} runs"
            warning = [
                f"{count} of {_said(old)} will be the family {wanted}, which starts without evidence",
                f"the evidence and the heuristics of {old.name} stay as they are",
            ]
            if not yes and not _agreed(console, warning, "Split?"):
                return 1
            done = await families.split(old.id, run_ids, wanted, await _centroid(app, run_ids))
        if as_json:
            print_json(_outline(done))
        else:
            console.note(f"{done.family.name} has {count}; the evidence of {old.name} stays as it was", "green")
        return 0

    return asyncio.run(work())


async def _centroid(app: App, run_ids: Sequence[str]) -> dict[int, float]:
    """The centroid of the runs' requests, as far as they are still stored."""
    from ....learning.families import centroid_of

    texts = []
    for run_id in run_ids[:_MOST_TEXTS]:
        try:
            texts.append((await app.store.traces.of_run(run_id)).request)
        except NotFound:
            continue
    return centroid_of(texts)


def _outline(done: Split) -> dict[str, object]:
    return {"source": done.source, "id": done.family.id, "name": done.family.name, "runs": done.runs}


def _row(line: FamilyLine) -> tuple[str, ...]:
    rate = "-" if line.success_rate is None else f"{line.success_rate:.0%} of {line.judged}"
    return line.id, line.name, str(line.tasks), rate, ago(line.last_used), str(line.active_heuristics)


def _said(family: Family) -> str:
    return f"{family.name} ({family.tasks} task{'' if family.tasks == 1 else 's'})"


def _agreed(console: Console, warning: Sequence[str], question: str) -> bool:
    """Whether the person agrees. Without a terminal nobody can, and that is an error with the way around it."""
    for line in warning:
        console.note(line, "yellow")
    if not sys.stdin.isatty():
        raise UsageError("this asks first, and there is no terminal to ask", remedy="say --yes")
    agreed = click.confirm(question, err=True)
    if not agreed:
        console.note("nothing was changed")
    return agreed


def _say_merged(console: Console, merged: Merged, source: Family, target: Family) -> None:
    count = len(merged.retired)
    console.note(
        f"{merged.lessons} lesson{'' if merged.lessons == 1 else 's'} of {source.name} are now of {target.name};"
        f" {count} heuristic{'' if count == 1 else 's'} retired, {merged.cells} cells of evidence deleted;"
        f" set {merged.version} is in force",
        "green",
    )
    if 0 < len(merged.runs) <= 20:
        runs = ",".join(merged.runs)
        console.note(f"to split them off again: hermes learning families split {target.id} --runs {runs} --name NAME")

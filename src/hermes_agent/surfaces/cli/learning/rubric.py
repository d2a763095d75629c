"""`hermes learning rubric`: how learnable a task is, before it is scheduled."""

from __future__ import annotations

import asyncio

import click

from ....learning.rubric import Band, History, Rubric, Verdict, history_of, rubric_of
from ....types.errors import UsageError
from ....types.text import visible
from ..console import Console, print_json
from ..opening import opened
from ..options import json_option

_STYLES = {Band.HIGH: "green", Band.MEDIUM: "yellow", Band.LOW: "red"}
_SAID = {
    Verdict.LEARNABLE: "learnable: expect it to get better with every run",
    Verdict.PARTLY: "partly learnable: some of it will get better",
    Verdict.NOT_LEARNABLE: "not learnable: runs of it have little to teach",
}


@click.command(short_help="How learnable a task is, before it is scheduled.")
@click.argument("task", metavar="TASK")
@json_option
def command(task: str, as_json: bool) -> None:
    """Score TASK for repeatability, clarity, tool diversity and error scenarios, each from 0 to 1: high from 0.8 on,
    low up to 0.3. The scores come from its words and from past runs of its kind; nothing is run, and no model is asked.
    The words are English ones; in another language only past runs count."""
    if not task.strip():
        raise UsageError("there is no task to score", remedy='hermes learning rubric "Each day download …"')

    async def work() -> None:
        console = Console()
        async with opened(console) as app:
            history = await app.store.database.read(lambda connection: history_of(connection, task))
        found = rubric_of(task, history)
        if as_json:
            print_json(found)
        else:
            _print(console, found)

    asyncio.run(work())


def _print(console: Console, found: Rubric) -> None:
    for one in found.scores:
        band = console.styled(f"{one.band.value:<6}", _STYLES[one.band], console.out)
        print(f"{one.name:<16} {one.score:.2f}  {band}  {visible('; '.join(one.why))}", file=console.out)
    console.say(f"{'total':<16} {found.total:.2f}  {_SAID[found.verdict]}")
    if found.history is not None:
        console.say(_past(found.history))
    for advice in found.advice:
        console.say(f"- {advice}")


def _past(history: History) -> str:
    text = f"kind of task: {history.name}, {history.runs} run{'' if history.runs == 1 else 's'}"
    if history.looked_at:
        text += f"; of the last {history.looked_at}: {history.successes} succeeded, {history.recovered} after an error"
    return text + (f"; often failed: {', '.join(history.pitfalls)}" if history.pitfalls else "")

"""`hermes judge`: say whether a run succeeded, so that it can be learned from."""

from __future__ import annotations

import asyncio
from typing import Any

import click

from ...app import App
from ...store.judging import Judgement, judge_and_learn
from ...types.text import one_line
from ...types.trace import Judge, RunStatus
from .console import Console, print_json
from .opening import opened
from .options import json_option

_WORDS = {RunStatus.DONE: "good", RunStatus.FAILED: "bad"}


@click.command(short_help="Say whether a run succeeded.")
@click.argument("run")
@click.argument("verdict", type=click.Choice(["good", "bad"]))
@click.option("--reason", default="", metavar="TEXT", help="Why.")
@json_option
def command(run: str, verdict: str, reason: str, as_json: bool) -> None:
    """Say that RUN was good or bad. RUN is an id, a part of one, or `last`.

    What counts is what was said last: judging again takes a judgement back.
    """

    async def work() -> None:
        console = Console()
        async with opened(console) as app:
            made = await judged(app, (await app.store.runs.get(run)).id, good=verdict == "good", reason=reason)
        if as_json:
            print_json({**_document(made), "contradicts": made.contradicts})
        else:
            show_judgement(made, console)

    asyncio.run(work())


async def judged(app: App, run_id: str, *, good: bool, reason: str) -> Judgement:
    """The user's judgement about a run, stored without secrets and learned from."""
    why = app.redactor.redact(reason)
    return await judge_and_learn(app.store, app.advisor.learn, run_id, success=good, by=Judge.USER, reason=why)


def show_judgement(made: Judgement, console: Console) -> None:
    """What counts now, and what counted before where that was something else."""
    word = _WORDS[made.after.status]
    if not made.changed:
        console.note(f"run {made.run_id} counts as {word} already")
        return
    console.note(f"run {made.run_id} counts as {word}", "green" if word == "good" else "yellow")
    if made.contradicts:
        before = made.before
        said = f" ({one_line(before.reason, 120)})" if before.reason else ""
        console.note(
            f"the {before.judged_by.value} had said {_WORDS[before.status]}{said}; the last judgement counts", "yellow"
        )
    if made.not_learned:
        console.note(f"it could not be learned from: {made.not_learned}", "yellow")


def _document(made: Judgement) -> dict[str, Any]:
    return {"run": made.run_id, "before": made.before, "after": made.after, "not_learned": made.not_learned}

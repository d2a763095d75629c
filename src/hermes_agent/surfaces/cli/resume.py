"""`hermes resume`: take over runs whose driver is gone, by hand."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import click

from ...app import App, Parts
from ...models.client import ModelClient
from ...runtime.engine import Deliver, Finished
from ...safety.approvals import Approver
from ...store.runs import Run
from ...types.base import Value
from ...types.errors import HermesError, SessionBusy, UsageError
from ...types.trace import RunStatus
from .answers import EXIT_CODES, report, show_answer
from .asking import approver_for
from .console import Console, ago, print_json
from .driving import driver_of, in_words
from .opening import opened
from .options import json_option, model_options, yes_option
from .progress import Progress
from .stopping import CtrlC


class Wish(Value, frozen=True, kw_only=True):
    """What the user asked for on the command line."""

    run: str = ""
    only_list: bool = False
    model: str = ""
    base_url: str = ""
    yes: bool = False
    as_json: bool = False


@click.command(short_help="Go on with runs that were interrupted.")
@click.argument("run", required=False, default="")
@click.option("--list", "only_list", is_flag=True, help="Only say which runs are interrupted.")
@model_options
@yes_option
@json_option
def command(**given: Any) -> int:
    """Take over interrupted runs and finish them: all of them, or RUN. Answers that may not have been seen are shown.

    A run goes on with the model it began with, unless --model names another.
    """
    return asyncio.run(_resume(Wish(**given)))


async def _resume(wish: Wish) -> int:
    console = Console()
    progress = Progress(console, stream=not wish.as_json and console.out.isatty())
    models: dict[str, ModelClient] = {}
    sinks = () if wish.as_json else (progress,)
    async with opened(console, Parts(sinks=sinks, models=models)) as app:
        runs = [await _one(app, wish.run)] if wish.run else await app.engine.abandoned()
        if wish.only_list:
            await _list(app, runs, console, as_json=wish.as_json)
            return 0
        unseen = [] if wish.run else await app.engine.redeliver(_shower(app, wish, console, progress))
        if not runs and not unseen and not wish.as_json:
            console.note("nothing is interrupted")
        if wish.model or wish.base_url:
            for name in {run.model for run in runs}:
                models[name] = app.clients_for(wish.model or name, wish.base_url)[0]
        reports = [report(one, await app.store.journal.run_events(one.run_id)) for one in unseen]
        return await _finish(app, runs, wish, console, progress, reports)


async def _one(app: App, name: str) -> Run:
    """The run that was meant, if it is interrupted; an error that says what it is otherwise."""
    run = await app.store.runs.get(name)
    if run.status is not RunStatus.OPEN:
        raise UsageError(
            f"run {run.id} is {run.status.value}; there is nothing to resume",
            remedy=f"`hermes sessions show {run.session_id}` has its answer",
        )
    if run.agent != app.parts.agent:
        raise UsageError(
            f"run {run.id} belongs to the agent {run.agent!r} of another program",
            remedy="start that program again; it resumes its own runs",
        )
    if run.id not in {one.id for one in await app.engine.abandoned()}:
        raise _busy(run)
    return run


def _busy(run: Run) -> SessionBusy:
    return SessionBusy(
        f"run {run.id} is being driven by {in_words(run)}",
        remedy="wait for it, or end that process; its runs can then be resumed",
    )


def _shower(app: App, wish: Wish, console: Console, progress: Progress) -> Deliver:
    """What shows an answer; as JSON it is part of the one document at the end."""

    async def show(finished: Finished) -> None:
        if not wish.as_json:
            await show_answer(app, finished, console, progress)

    return show


async def _finish(
    app: App, runs: list[Run], wish: Wish, console: Console, progress: Progress, unseen: list[dict[str, Any]]
) -> int:
    approver = approver_for(console, yes=wish.yes)
    driven = ""
    CtrlC(lambda: app.engine.interrupt(driven), console)
    reports: list[dict[str, Any]] = []
    failures: list[dict[str, str]] = []
    codes = [0]
    for run in runs:
        driven = run.session_id
        if not wish.as_json:
            console.note(f"resuming run {run.id} of session {run.session_id}", "yellow")
        try:
            finished = await _finish_one(app, run, approver, _shower(app, wish, console, progress))
        except HermesError as error:
            codes.append(error.exit_code)
            failures.append({"run": run.id, "error": str(error), "remedy": error.advice})
            if not wish.as_json:
                console.note(f"run {run.id} cannot go on", "red")
                console.fail(error)
            continue
        codes.append(EXIT_CODES[finished.result.status])
        reports.append(report(finished, await app.store.journal.run_events(run.id)))
    if wish.as_json:
        print_json({"resumed": reports, "failed": failures, "unseen": unseen})
    return max(codes)


async def _finish_one(app: App, run: Run, approver: Approver, deliver: Deliver) -> Finished:
    finished = await app.engine.resume_run(run, approver, deliver)
    if finished is None:
        raise _busy(await app.store.runs.get(run.id))
    return finished


async def _list(app: App, runs: list[Run], console: Console, *, as_json: bool) -> None:
    rows = [await _row(app, run) for run in runs]
    if as_json:
        print_json(rows)
    elif not rows:
        console.note("nothing is interrupted")
    else:
        console.table(
            ("run", "session", "begun", "model", "request"),
            [
                (row["run"], row["session"], ago(row["started_at"], time.time()), row["model"], row["title"])
                for row in rows
            ],
        )


async def _row(app: App, run: Run) -> dict[str, Any]:
    session = await app.store.sessions.get(run.session_id)
    return {
        "run": run.id,
        "session": run.session_id,
        "title": session.title,
        "model": run.model,
        "started_at": run.started_at,
        "last_driver": driver_of(run),
    }

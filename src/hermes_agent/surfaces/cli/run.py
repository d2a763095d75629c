"""`hermes run`: one task, from message to answer."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import click

from ...app import App, Parts, build
from ...config.load import read_environment
from ...config.settings import Resume
from ...runtime.engine import Finished
from ...store.traces import tool_records
from ...types.base import Value
from ...types.errors import HermesError, UsageError
from ...types.events import ModelCalled, Recorded
from ...types.trace import CallStatus, RunStatus
from .asking import approver_for
from .console import Console, print_json
from .progress import Progress
from .stopping import INTERRUPTED, stop_on_ctrl_c

EXIT_CODES = {RunStatus.DONE: 0, RunStatus.FAILED: 1, RunStatus.INTERRUPTED: INTERRUPTED, RunStatus.OPEN: 1}


class Task(Value, frozen=True, kw_only=True):
    """What the user asked for on the command line."""

    text: str
    session: str = ""
    model: str = ""
    base_url: str = ""
    directory: Path = Path(".")
    yes: bool = False
    as_json: bool = False
    quiet: bool = False


@click.command(short_help="Do one task in the current directory.")
@click.argument("text", required=False, default="")
@click.option("-s", "--session", default="", metavar="ID", help="Go on with this session (`last` is the newest).")
@click.option("-m", "--model", default="", metavar="PROVIDER:MODEL", help="Which model answers.  [env: HERMES_MODEL]")
@click.option("--base-url", default="", metavar="URL", help="OpenAI-compatible endpoint.  [env: OPENAI_BASE_URL]")
@click.option(
    "-C",
    "--directory",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=".",
    help="Work in this directory instead of the current one.",
)
@click.option("-y", "--yes", is_flag=True, help="Answer yes to everything that would be asked.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of text.")
@click.option("-q", "--quiet", is_flag=True, help="Print the answer and nothing else.")
def command(**given: Any) -> int:
    """Do one task with the current directory as workspace, and print the answer.

    TEXT may come from standard input: `echo "list the files" | hermes run`.
    """
    task = Task(**given)
    text = task.text
    if text in ("", "-"):
        text = "" if sys.stdin.isatty() else sys.stdin.read()
    if not text.strip():
        raise UsageError("there is nothing to do", remedy='say what: hermes run "TEXT"')
    return asyncio.run(_run(task, text))


async def _run(task: Task, text: str) -> int:
    console = Console()
    show = not (task.as_json or task.quiet)
    progress = Progress(console, stream=show and sys.stdout.isatty())
    app = build(read_environment(), Parts(sinks=(progress,) if show else ()), console.note)
    try:
        return await _answer(app, task, text, console, progress)
    finally:
        await app.close()


async def _answer(app: App, task: Task, text: str, console: Console, progress: Progress) -> int:
    options = {"model": app.model_name(task.model), "base_url": task.base_url}
    if task.yes:
        options["consent"] = "all"
    app.client_for(options["model"], task.base_url)
    approver = approver_for(console, yes=task.yes)
    session = await app.session(task.session, title=text, surface="cli", workspace=task.directory)
    redacted = app.redactor.redact(text)
    if redacted != text:
        console.note("a secret in your message was replaced before it was stored", "yellow")
    message = await app.engine.submit(session, redacted, options=options)
    stop_on_ctrl_c(lambda: app.engine.interrupt(session.id), console)
    resuming = asyncio.ensure_future(resume_others(app, session.id, console)) if _resumes(app) else None

    async def deliver(finished: Finished) -> None:
        await show_answer(app, finished, console, progress, as_json=task.as_json)

    finished = await app.engine.answer(session, message, approver, deliver)
    if resuming is not None:
        await resuming
    return EXIT_CODES[finished.result.status]


def _resumes(app: App) -> bool:
    return app.settings.runtime.resume is Resume.AUTO


async def resume_others(app: App, session_id: str, console: Console) -> None:
    """Finish what a crash interrupted in other sessions; this session's own is taken up by its driver."""
    for run in await app.engine.abandoned():
        if run.session_id == session_id:
            continue
        console.note(f"resuming run {run.id}, which was interrupted", "yellow")
        try:
            finished = await app.engine.resume_run(run, approver_for(console, yes=False), _quietly)
        except HermesError as error:
            console.note(f"run {run.id} cannot go on: {error.explain()}", "yellow")
            continue
        if finished is not None:
            console.note(f"run {run.id} of session {run.session_id}: {finished.result.status.value}", "yellow")


async def _quietly(finished: Finished) -> None:
    """The answer of a run of another session waits there: `hermes sessions show`."""


async def show_answer(app: App, finished: Finished, console: Console, progress: Progress, *, as_json: bool) -> None:
    """Print how a run ended, as text or as JSON."""
    events = await app.store.journal.run_events(finished.run_id)
    if as_json:
        print_json(report(finished, events))
        return
    progress.end_text()
    answer = finished.result.answer
    if answer and not progress.streamed.get(finished.run_id):
        console.out.write(answer + "\n")
        console.out.flush()
    if finished.result.status is not RunStatus.DONE:
        console.note(f"{finished.result.status.value}: {finished.result.outcome.reason}", "red")
    for record in tool_records(events):
        if record.status is CallStatus.IN_DOUBT:
            console.note(f"in doubt: {record.tool} may or may not have had its effect; check before repeating", "red")


def report(finished: Finished, events: list[Recorded]) -> dict[str, Any]:
    """A finished run as JSON: session, run, answer, outcome, calls, usage."""
    usage = [entry.event.usage for entry in events if isinstance(entry.event, ModelCalled)]
    records = tool_records(events)
    return {
        "session": finished.session_id,
        "run": finished.run_id,
        "answer": finished.result.answer,
        "outcome": finished.result.outcome,
        "resumed": finished.resumed,
        "calls": records,
        "in_doubt": [record.call_id for record in records if record.status is CallStatus.IN_DOUBT],
        "usage": {
            "model_calls": len(usage),
            "input_tokens": sum(one.input for one in usage),
            "output_tokens": sum(one.output for one in usage),
            "cached_tokens": sum(one.cached for one in usage),
        },
    }

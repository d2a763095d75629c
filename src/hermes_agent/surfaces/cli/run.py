"""`hermes run`: one task, from message to answer."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from pathlib import Path
from typing import Any

import click

from ...app import App, Parts
from ...harness.options import examine_options
from ...runtime.engine import Finished
from ...safety.approvals import AlwaysYes
from ...store.forks import own_events
from ...store.sessions import Session
from ...types.base import Value
from ...types.errors import UsageError
from .answers import EXIT_CODES, report, show_answer
from .asking import someone_or_nobody
from .checking import CheckNotice, check_of, check_report, exit_code
from .console import Console, print_json
from .driving import say_when_waiting
from .news import tell_all_news
from .opening import check_workspace, opened
from .options import directory_option, json_option, model_options, yes_option
from .progress import Progress
from .resuming import resume_others
from .stopping import INTERRUPTED, CtrlC
from .why_learning import learned_line


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
    images: tuple[Path, ...] = ()
    check: str | None = None
    reset: str | None = None
    family: str | None = None
    pin: int | None = None
    seed: int | None = None

    def options(self, model: str) -> dict[str, Any]:
        """What a resume, a check and a replay of this run will need."""
        options = {"model": model, "base_url": self.base_url, **({"consent": "all"} if self.yes else {})}
        said = {name: getattr(self, name) for name in ("check", "reset", "family", "pin", "seed")}
        return {**options, **{name: value for name, value in said.items() if value is not None}}


@click.command(short_help="Do one task in the current directory.")
@click.argument("text", required=False, default="")
@click.option("-s", "--session", default="", metavar="ID", help="Go on with this session (`last` is the newest).")
@model_options
@directory_option
@yes_option
@json_option
@click.option(
    "-i",
    "--image",
    "images",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A picture to look at; may be given several times.",
)
@click.option("-q", "--quiet", is_flag=True, help="Print the answer and nothing else.")
@click.option("--check", metavar="CMD", help="Command that says whether it worked: exit 0 is success, else failure.")
@click.option("--reset", metavar="CMD", help="Command that restores the workspace, remembered for replay.")
@click.option("--family", metavar="NAME", help="What kind of task this is; learning keeps kinds apart.")
@click.option("--pin", type=int, metavar="SET", help="Use this version of the heuristic set instead of the active one.")
@click.option("--seed", type=int, metavar="N", help="Draw every coin of learning from this number.")
def command(**given: Any) -> int:
    """Do one task with the current directory as workspace, and print the answer.

    TEXT may come from standard input: `echo "list the files" | hermes run`.

    With --check the exit code is 0 only when the check passed.
    """
    task = Task(**given)
    text = task.text
    if text in ("", "-"):
        text = "" if sys.stdin is None or sys.stdin.isatty() else sys.stdin.buffer.read().decode("utf-8", "replace")
    if not text.strip():
        raise UsageError("there is nothing to do", remedy='say what: hermes run "TEXT"')
    return asyncio.run(_run(task, text))


async def _run(task: Task, text: str) -> int:
    console = Console(quiet=task.quiet)
    show = not (task.as_json or task.quiet)
    progress = Progress(console, stream=show and sys.stdout.isatty())
    async with opened(console, Parts(sinks=(progress, CheckNotice(console)) if show else ())) as app:
        model = app.model_name(task.model)
        app.clients_for(model, task.base_url)
        await examine_options(task.options(model), app.store, app.redactor)
        session = await app.session(
            task.session, title=app.redactor.redact(text), surface="cli", workspace=task.directory
        )
        if task.session:
            check_workspace(session, task.directory, console)
        redacted = app.redactor.redact(text)
        if redacted != text:
            console.note("a secret in your message was replaced before it was stored", "yellow")
        options = {**task.options(model), "images": app.pictures(session.id, task.images)}
        message = await app.engine.submit(session, redacted, options=options)
        try:
            return await _answer(app, task, session, message, console, progress)
        except asyncio.CancelledError:
            await app.store.inbox.withdraw(message)
            return INTERRUPTED


async def _answer(app: App, task: Task, session: Session, message: str, console: Console, progress: Progress) -> int:
    """See the message through; meanwhile finish what was interrupted in other sessions."""
    show = not (task.as_json or task.quiet)
    stop = CtrlC(lambda: app.engine.interrupt(session.id), console)
    person = someone_or_nobody(Console())
    waiting = asyncio.ensure_future(say_when_waiting(app, session.id, console))
    resuming = asyncio.ensure_future(resume_others(app, session.id, person, console, progress))
    shown: set[str] = set()

    async def deliver(finished: Finished) -> None:
        shown.add(finished.run_id)
        ours = (await app.store.inbox.receipt(message)).run_id == finished.run_id
        if not ours and not (show and sys.stdout.isatty()):
            status = finished.result.status.value
            console.note(f"run {finished.run_id}, which this session had to finish first, is {status}", "yellow")
            return
        events = await app.store.journal.run_events(finished.run_id)
        if task.as_json:
            print_json({**report(finished, events), **check_report(check_of(events))})
        else:
            await show_answer(app, finished, console, progress)
            if learned := learned_line(own_events(events), f"hermes why {finished.run_id}"):
                console.note(learned)

    try:
        finished = await app.engine.answer(session, message, AlwaysYes() if task.yes else person, deliver)
    finally:
        waiting.cancel()
    if finished.run_id not in shown:
        await deliver(finished)
    if show:
        await tell_all_news(app, console)
    found = check_of(await app.store.journal.run_events(finished.run_id))
    stop.answered = exit_code(EXIT_CODES[finished.result.status], found)
    if not resuming.done():
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(resuming), 1)
    if not resuming.done():
        console.note("still finishing an interrupted run; Ctrl-C leaves it for the next start", "yellow")
    await resuming
    return stop.answered

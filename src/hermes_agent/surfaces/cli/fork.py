"""`hermes fork`: begin a run again from one of its steps, with something changed."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import click
import msgspec

from ...app import App, Parts
from ...runtime.engine import Finished
from ...runtime.fork import Change, Forked, Forker, ForkPoint
from ...store.runs import Run
from ...types.base import Value
from ...types.errors import NotFound, SessionBusy
from ...types.events import AnyEvent, CallFinished, Recovered
from ...types.text import one_line
from .answers import EXIT_CODES, report, show_answer
from .asking import approver_for
from .console import Console, print_json
from .opening import opened
from .options import json_option, model_options, yes_option
from .progress import Progress, shown
from .stopping import CtrlC


class Wish(Value, frozen=True, kw_only=True):
    """What the user asked for on the command line."""

    run: str
    at: int | None = None
    only_list: bool = False
    model: str = ""
    base_url: str = ""
    pin: int | None = None
    say: str | None = None
    seed: int | None = None
    directory: Path | None = None
    yes: bool = False
    as_json: bool = False


class _Shown:
    """Progress without the remark that a run was taken up after a crash: a fork is taken up because that was asked."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def text(self, run_id: str, delta: str) -> None:
        self._progress.text(run_id, delta)

    def event(self, run_id: str, event: AnyEvent) -> None:
        if not isinstance(event, Recovered):
            self._progress.event(run_id, event)


@click.command(short_help="Begin a run again from one of its steps, with something changed.")
@click.argument("run")
@click.option(
    "--at",
    type=click.IntRange(min=0),
    metavar="STEP",
    help="Keep the run up to this step; 0 keeps the request alone.  [default: the last step that called a tool]",
)
@click.option("--steps", "--list", "only_list", is_flag=True, help="Only list the steps of the run.")
@model_options
@click.option("--set", "pin", type=click.IntRange(min=0), metavar="V", help="Decide with this heuristic set.")
@click.option(
    "--say",
    metavar="TEXT",
    help="At step 0: instead of the request. Later: said at that step, instead of what you said.",
)
@click.option("--seed", type=int, metavar="N", help="Draw the coins of learning from this number.")
@click.option(
    "-C",
    "--directory",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="Work in this directory instead of the original's.",
)
@yes_option
@json_option
def command(**given: Any) -> int:
    """Copy RUN up to a step into a new session, and go on from there: with another model, another heuristic set or
    other words. RUN is a run, a session (its last run) or `last`.

    Calls up to that step are not made again; their results are copied. What the fork does from there is real, and files
    are as they are now: use --directory with a copy of the folder to leave the original's alone.
    """
    return asyncio.run(_fork(Wish(**given)))


async def meant_run(app: App, name: str) -> Run:
    """The run with this id, or the last one of a session."""
    try:
        return await app.store.runs.get(name)
    except NotFound as error:
        try:
            session = await app.store.sessions.get(name)
        except NotFound:
            raise NotFound(str(error).replace("no run", "no run or session"), remedy=error.advice) from error
        runs = await app.store.runs.of_session(session.id)
        if not runs:
            raise NotFound(f"session {session.id} has no runs yet") from error
        return runs[-1]


async def _fork(wish: Wish) -> int:
    console = Console()
    progress = Progress(console, stream=not wish.as_json and sys.stdout.isatty())
    async with opened(console, Parts(sinks=() if wish.as_json else (_Shown(progress),))) as app:
        run = await meant_run(app, wish.run)
        forker = Forker(app.store, app.parts.agent, "cli")
        if wish.only_list:
            _list(console, run, await forker.points(run), as_json=wish.as_json)
            return 0
        model = app.model_name(wish.model) if wish.model else run.model
        if wish.model or wish.base_url:
            app.clients_for(model, wish.base_url)
        forked = await forker.fork(run, _change(app, wish, model, console))
        if not wish.as_json:
            _say_forked(console, run, forked, app.parts.agent)
        return await _go_on(app, wish, forked, console, progress)


def _change(app: App, wish: Wish, model: str, console: Console) -> Change:
    say = None if wish.say is None else app.redactor.redact(wish.say)
    if say != wish.say:
        console.note("a secret in your message was replaced before it was stored", "yellow")
    return Change(
        step=wish.at,
        model=model if wish.model else "",
        base_url=wish.base_url,
        pin=wish.pin,
        seed=wish.seed,
        say=say,
        workspace=str(wish.directory.resolve()) if wish.directory else "",
        consent=wish.yes,
    )


def _say_forked(console: Console, run: Run, forked: Forked, agent: str) -> None:
    console.note(f"forked run {run.id} at step {forked.origin.step}: session {forked.session.id}, run {forked.run.id}")
    if run.agent != agent:
        console.note(f"the run belongs to the agent {run.agent!r} of a program, whose own tools are not here", "yellow")


async def _go_on(app: App, wish: Wish, forked: Forked, console: Console, progress: Progress) -> int:
    """Drive the fork to its end, like `hermes run`."""
    CtrlC(lambda: app.engine.interrupt(forked.session.id), console)

    async def deliver(finished: Finished) -> None:
        if wish.as_json:
            told = report(finished, await app.store.journal.run_events(finished.run_id))
            print_json({**told, "resumed": False, "forked_from": forked.origin})
        else:
            await show_answer(app, finished, console, progress)

    finished = await app.engine.resume_run(forked.run, approver_for(Console(), yes=wish.yes), deliver)
    if finished is None:
        raise SessionBusy(
            f"another process took up the fork, run {forked.run.id}",
            remedy=f"`hermes sessions show {forked.session.id}` has its answer when it is done",
        )
    return EXIT_CODES[finished.result.status]


def _list(console: Console, run: Run, points: list[ForkPoint], *, as_json: bool) -> None:
    if as_json:
        steps = [{**msgspec.to_builtins(point), "line": _line(point)} for point in points]
        print_json({"run": run.id, "session": run.session_id, "steps": steps})
        return
    rows = [("0", "", "(the request alone)")]
    rows += [(str(point.step), _ends(point.results), _line(point)) for point in points]
    console.table(("step", "ended", "what the model did"), rows)


def _ends(results: tuple[CallFinished, ...]) -> str:
    return ", ".join(dict.fromkeys(result.status.value for result in results))


def _line(point: ForkPoint) -> str:
    calls = ", ".join(shown(call) for call in point.answer.calls)
    if point.final:
        return one_line(f"answered (no fork from here): {point.answer.text}", 200)
    return one_line(calls or point.answer.text, 200)

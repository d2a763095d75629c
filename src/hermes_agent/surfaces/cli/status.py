"""`hermes status`: what is running, waiting and interrupted in this home."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from ...app import App
from ...harness.state import RunState
from ...store.runs import Run
from ...tools.sandbox.background import Background
from ...tools.sandbox.identity import Life
from ...types.base import Value
from ...types.errors import NotFound
from ...types.events import ProcessSpawned
from ...types.plan import ActivePlan
from ...types.text import one_line
from ...types.tools import Spawned
from ...version import __version__
from .console import Console, ago, amount, print_json
from .driving import Driver, driver_of, is_interrupted
from .opening import opened
from .options import json_option


class OpenRun(Value, frozen=True, kw_only=True):
    """A run under way, with the plan its journal tells."""

    run: str
    session: str
    agent: str
    model: str
    request: str
    since: float
    driver: Driver | None
    plan: ActivePlan


class WaitingMessage(Value, frozen=True, kw_only=True):
    """A message that no run has taken yet."""

    session: str
    mode: str
    text: str
    at: float


class AliveProcess(Value, frozen=True, kw_only=True):
    """A background command that still runs."""

    session: str
    process: str
    pid: int
    command: str


class Status(Value, frozen=True, kw_only=True):
    """Everything `hermes status` tells."""

    version: str
    home: str
    database: str
    database_bytes: int
    open_runs: tuple[OpenRun, ...]
    interrupted_runs: tuple[OpenRun, ...]
    waiting: tuple[WaitingMessage, ...]
    processes: tuple[AliveProcess, ...]


@click.command(short_help="What is running, waiting and interrupted.")
@json_option
def command(as_json: bool) -> None:
    """What is running, waiting and interrupted in this home."""

    async def work() -> None:
        console = Console()
        async with opened(console) as app:
            status = await read_status(app)
        if as_json:
            print_json(status)
        else:
            show_status(status, console)

    asyncio.run(work())


async def read_status(app: App) -> Status:
    """The state of this home, read from the store."""
    backend = app.store.database.backend
    found = await app.store.runs.open_everywhere()
    return Status(
        version=__version__,
        home=str(app.environment.home),
        database=backend.name,
        database_bytes=backend.size(),
        open_runs=tuple([await _open_run(app, run) for run, expired in found if not is_interrupted(run, expired)]),
        interrupted_runs=tuple([await _open_run(app, run) for run, expired in found if is_interrupted(run, expired)]),
        waiting=tuple(
            WaitingMessage(session=session_id, mode=message.mode.value, text=one_line(message.text, 200), at=at)
            for session_id, message, at in await app.store.inbox.waiting_everywhere()
        ),
        processes=tuple(await _processes(app)),
    )


def show_status(status: Status, console: Console) -> None:
    """The same for people."""
    console.say(f"hermes {status.version}   home {status.home}")
    console.say(f"database {status.database}, {amount(status.database_bytes)}")
    console.say(f"running: {_runs(status.open_runs)}")
    console.say(f"interrupted: {_runs(status.interrupted_runs)}")
    if status.interrupted_runs:
        console.say("  `hermes resume` goes on with them; so does the next `hermes run` or `hermes chat`")
    waiting = [f"\n  {one.session}  {one.mode}, {ago(one.at)}: {one_line(one.text, 60)}" for one in status.waiting]
    console.say(f"waiting messages: {''.join(waiting) or 'none'}")
    alive = [
        f"\n  {one.session}  {one.process}, pid {one.pid}: {one_line(one.command, 60)}" for one in status.processes
    ]
    console.say(f"background processes: {''.join(alive) or 'none'}")


def _runs(runs: tuple[OpenRun, ...]) -> str:
    return "".join(_run(one) for one in runs) or "none"


def _run(one: OpenRun) -> str:
    driver = f"pid {one.driver.pid} on {one.driver.host}" if one.driver else "an unknown process"
    pending = ", ".join(one.plan.pending) or "nothing"
    agent = "" if one.agent == "hermes" else f", agent {one.agent}"
    return (
        f"\n  {one.run}  session {one.session}{agent}, driven by {driver}, begun {ago(one.since)}"
        f"\n    {one_line(one.request, 80)}"
        f"\n    step {one.plan.step}, pending: {pending}, retries left: {one.plan.retries_left}"
    )


async def _open_run(app: App, run: Run) -> OpenRun:
    state = RunState(app.settings.limits.retries, await app.store.journal.run_events(run.id))
    return OpenRun(
        run=run.id,
        session=run.session_id,
        agent=run.agent,
        model=run.model,
        request=one_line(state.request, 200),
        since=run.started_at,
        driver=driver_of(run),
        plan=state.plan(),
    )


async def _processes(app: App) -> list[AliveProcess]:
    """Background commands whose folder says that they have not ended, checked against the journal and the machine."""
    alive = []
    for folder in sorted((app.store.home / "processes").glob("*")):
        if not any(not log.with_suffix(".exit").exists() for log in folder.glob("p*.log")):
            continue
        alive += await _alive_in(app, folder)
    return alive


async def _alive_in(app: App, folder: Path) -> list[AliveProcess]:
    try:
        events = await app.store.sessions.export(folder.name)
    except NotFound:
        return []
    spawned = [entry.event for entry in events if isinstance(entry.event, ProcessSpawned) and entry.event.background]
    return [
        AliveProcess(session=folder.name, process=one.process, pid=one.identity.pid, command=one.command)
        for one in spawned
        if Background(_spawned(one)).life() is Life.ALIVE
    ]


def _spawned(event: ProcessSpawned) -> Spawned:
    return Spawned(
        process=event.process, identity=event.identity, background=True, command=event.command, log=event.log
    )

"""`hermes chat`: talk with the agent in this terminal."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import click

from ...app import App, Parts
from ...safety.approvals import AlwaysYes, Approver
from ...types.base import Value
from ...version import __version__
from .asking import someone_or_nobody
from .chat_commands import SlashCommands
from .chat_lines import talk_in_lines
from .chat_room import Room, Seat
from .console import Console
from .news import tell_all_news
from .opening import opened
from .options import directory_option, model_options, yes_option
from .progress import Progress
from .resuming import resume_others
from .stopping import INTERRUPTED, CtrlC, leave_at_once
from .transcript import Reader

_REMEMBERED = 500


class Start(Value, frozen=True, kw_only=True):
    """What the user asked for on the command line."""

    session: str = ""
    model: str = ""
    base_url: str = ""
    directory: Path = Path(".")
    yes: bool = False


@click.command(short_help="Talk with the agent in this terminal.")
@click.option("-s", "--session", default="", metavar="ID", help="Go on with this session (`last` is the newest).")
@model_options
@directory_option
@yes_option
def command(**given: Any) -> int:
    """Talk with the agent. `/help` lists what else can be said.

    Without a terminal each line of standard input is a message, and the answers go to standard output.
    """
    start = Start(**given)
    on_screen = sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()
    return asyncio.run(_on_screen(start) if on_screen else _in_lines(start))


async def _in_lines(start: Start) -> int:
    console = Console()
    progress = Progress(console, stream=sys.stdout.isatty())
    async with opened(console, Parts(sinks=(progress,))) as app:
        room = _room(app, start, console, progress)
        person = someone_or_nobody(console)
        room.approver = AlwaysYes() if start.yes else person
        await _enter(room, start)
        CtrlC(lambda: room.session is not None and app.engine.interrupt(room.session.id), console)
        try:
            return await _with_others(room, person, talk_in_lines(room, SlashCommands(room)))
        except asyncio.CancelledError:
            return INTERRUPTED


async def _on_screen(start: Start) -> int:
    from .chat_screen import Screen, Streamed, open_terminal

    with open_terminal():
        async with AsyncExitStack() as stack:
            console = Console()
            streamed = Streamed(console)
            progress = Progress(console, stream=True, page=streamed)
            app = await stack.enter_async_context(opened(console, Parts(sinks=(progress,))))
            room = _room(app, start, console, progress)
            history = list(reversed(await app.store.inbox.texts(_REMEMBERED)))
            screen = Screen(room, SlashCommands(room), streamed, history)
            room.approver = AlwaysYes() if start.yes else screen
            console.note(f"hermes {__version__} · {room.seat.model} · {start.directory.resolve()}")
            await _enter(room, start)
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, leave_at_once)
            code = await _with_others(room, screen, screen.talk())
            if not room.busy:
                return code
            console.note("leaving; the next start goes on with the turn", "yellow")
            stack.pop_all()
    leave_at_once(code)


def _room(app: App, start: Start, console: Console, progress: Progress) -> Room:
    model = app.model_name(start.model)
    app.clients_for(model, start.base_url)
    seat = Seat(model=model, base_url=start.base_url, directory=start.directory, yes=start.yes)
    return Room(app, seat, console, progress)


async def _enter(room: Room, start: Start) -> None:
    """Say what waits for the user, and go on where the session was: its last exchange is shown."""
    await tell_all_news(room.app, room.console)
    await room.checkpoints.tell()
    if not start.session:
        return
    session = await room.app.store.sessions.get(start.session)
    reader = Reader(room.console)
    if room.console.out.isatty():
        runs = await room.app.store.runs.of_session(session.id)
        reader.session(session)
        for run in runs[-1:]:
            reader.events(await room.app.store.journal.run_events(run.id))
    await room.open(session)


async def _with_others(room: Room, person: Approver, talk: Coroutine[Any, Any, int]) -> int:
    """Talk, while the room answers and what was interrupted elsewhere is finished."""
    session_id = room.session.id if room.session else ""
    beside = [
        asyncio.ensure_future(room.work()),
        asyncio.ensure_future(resume_others(room.app, session_id, person, room.console, room.progress)),
    ]
    talking = asyncio.ensure_future(talk)
    try:
        await asyncio.wait([talking, beside[0]], return_when=asyncio.FIRST_COMPLETED)
        if not talking.done():
            await beside[0]
        return await talking
    finally:
        for task in [talking, *([] if room.busy else beside)]:
            task.cancel()

"""What most commands do first: open the agent, and close it whatever happens."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from ...app import App, Parts, build
from ...config.load import read_environment
from ...store.sessions import Session
from ...types.errors import UsageError
from .console import Console
from .leaving import finish_background


@asynccontextmanager
async def opened(console: Console, parts: Parts | None = None) -> AsyncIterator[App]:
    """The agent of this home, which only its user may read. Closed at the end, when what it does in
    the background is finished or the user skipped it. Notices of the store go to stderr."""
    environment = read_environment()
    with suppress(OSError):  # what is wrong with the home is said by the store, with the remedy
        environment.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    app = build(environment, parts, console.note)
    try:
        yield app
    finally:
        await finish_background(app, console)
        await app.close()


def check_workspace(session: Session, directory: Path, console: Console) -> None:
    """A session works where it began. Say so when that is elsewhere; refuse when the folder is gone."""
    if not Path(session.workspace).is_dir():
        raise UsageError(
            f"session {session.id} works in {session.workspace}, which is not there any more",
            remedy="make the folder again, or begin a new session without --session",
        )
    if Path(session.workspace) != directory.resolve():
        console.note(f"this session works in {session.workspace}", "yellow")

"""What background work changed since the user was last told, one line each."""

from __future__ import annotations

from ...app import App
from ...types.errors import HermesError
from ...types.text import visible
from .console import Console


async def tell_news(app: App, console: Console) -> None:
    """Say it once, on stderr. Nothing that goes wrong here concerns what the user asked for: it is only logged."""
    if app.growth is None:
        return
    try:
        lines = await app.growth.news()
    except HermesError as error:
        app.log.note("news_failed", reason=app.redactor.redact(str(error)))
        return
    for line in lines:
        console.note(visible(line), "cyan")


async def tell_all_news(app: App, console: Console) -> None:
    """The same at the start of a command or behind its answer, when a process before this one may have left work that
    nobody closed."""
    if app.growth is None:
        return
    from .reviewed import settle

    try:
        await settle(app)
    except HermesError as error:
        app.log.note("news_failed", reason=app.redactor.redact(str(error)))
    await tell_news(app, console)

"""The page's server: everything put together, started, and ended cleanly."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from ...app import App
from ...observability.metrics import CONTENT_TYPE
from ...store.database import Database
from ...types.errors import HermesError
from ...version import __version__
from .answers import answer, refused
from .cost_page import CostPage
from .gate import Access, Gate
from .health_page import HealthPage
from .heuristics_page import HeuristicsPage
from .learning_page import LearningPage
from .live import EventStream, Live
from .replay_page import ReplayPage
from .scrape import Scrape
from .sessions_page import SessionsPage
from .skills_page import SkillsPage
from .studies_page import StudiesPage

STATIC = Path(__file__).parent / "static"
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".LICENSE": "text/plain; charset=utf-8",
}
_LAST_SECONDS = 3


class Dashboard:
    """The page of one agent. `aside` is a second way to the database, so that what counts for long holds nobody up."""

    def __init__(self, app: App, access: Access, workspace: str) -> None:
        self._app = app
        self._access = access
        self._aside = Database(app.store.database.backend)
        self.live = Live(app.store.database)
        self.scrape = Scrape(app.figures.collect, lambda: self.live.listeners)
        self._learning = LearningPage(app.store.database, self._aside)
        self._replay = ReplayPage(app, self._aside, self.live.tell)
        self._files = {str(path.relative_to(STATIC)): path for path in STATIC.rglob("*") if path.suffix in _TYPES}
        self._pages = (
            self._learning,
            self._replay,
            HeuristicsPage(app),
            SkillsPage(app, workspace),
            StudiesPage(app.environment.home),
            SessionsPage(app),
            CostPage(self._aside, app.environment.home),
            HealthPage(app),
        )

    def asgi(self) -> ASGIApp:
        """The application behind its gate."""
        routes = [
            Route("/", self._index),
            Route("/static/{name:path}", self._file),
            Route("/api/hello", self._hello),
            Route("/api/live", self._listen),
            Route("/metrics", self._metrics),
        ]
        for page in self._pages:
            routes += page.routes()
        handlers: dict[Any, Any] = {
            HermesError: lambda request, error: refused(error),
            404: lambda request, error: answer(
                {"error": "there is nothing here", "remedy": "load the page again"}, 404
            ),
            405: lambda request, error: answer({"error": "that is not served", "remedy": "load the page again"}, 405),
            Exception: self._unexpected,
        }
        return Gate(Starlette(routes=routes, exception_handlers=handlers), self._access)

    async def close(self) -> None:
        """Let go of listeners, jobs and the second way to the database."""
        await self.live.close()
        await self._replay.close()
        await self._learning.days.close()
        await self.scrape.close()
        await asyncio.to_thread(self._aside.close)

    async def _index(self, request: Request) -> Response:
        return self._served("index.html")

    async def _file(self, request: Request) -> Response:
        return self._served(request.path_params["name"])

    def _served(self, name: str) -> Response:
        """A file by its name in the list of all there are: a path is never put together."""
        path = self._files.get(name)
        if path is None:
            return answer({"error": "there is nothing here", "remedy": "load the page again"}, 404)
        return Response(path.read_bytes(), media_type=_TYPES[path.suffix])

    async def _hello(self, request: Request) -> Response:
        """What the page needs to begin: the word for changes, and where it is."""
        return answer(
            {
                "csrf": self._access.csrf,
                "version": __version__,
                "home": str(self._app.environment.home),
                "database": self._app.store.database.backend.name,
            }
        )

    async def _listen(self, request: Request) -> Any:
        if self.live.full():
            return answer({"error": "too many pages are open", "remedy": "close some of them"}, 503)
        return EventStream(self.live)

    async def _metrics(self, request: Request) -> Response:
        return Response(await self.scrape.page(), media_type=CONTENT_TYPE)

    def _unexpected(self, request: Request, error: Exception) -> Response:
        self._app.log.note("dashboard_failed", path=request.url.path, reason=f"{type(error).__name__}: {error}"[:300])
        return answer({"error": "something went wrong here", "remedy": "`hermes logs` has the reason"}, 500)


async def serve(dashboard: Dashboard, listening: socket.socket, ready: Callable[[], None]) -> None:
    """Serve until the process is told to end (Ctrl-C, TERM). `ready` is called when requests are answered."""
    import uvicorn

    config = uvicorn.Config(
        dashboard.asgi(),
        loop="asyncio",
        http="h11",
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="critical",
        access_log=False,
        server_header=False,
        date_header=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=_LAST_SECONDS,
        limit_concurrency=200,
        h11_max_incomplete_event_size=16 * 1024,
    )
    server = uvicorn.Server(config)
    setattr(server, "capture_signals", contextlib.nullcontext)  # noqa: B010 - signals end our work first, then the server
    ending = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ending.set)
    task = asyncio.create_task(server.serve(sockets=[listening]))
    try:
        dashboard.scrape.refresh()
        ready()
        stopped = asyncio.create_task(ending.wait())
        await asyncio.wait((task, stopped), return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
    finally:
        await dashboard.close()
        server.should_exit = True
        await task
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)

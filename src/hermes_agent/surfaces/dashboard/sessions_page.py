"""Sessions: listed, searched, read step by step, and why a run did what it did."""

from __future__ import annotations

import io
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ...app import App
from ...store.dashboard_views import events_after, runs_of_session, sessions_named, sessions_page
from ...store.database import Connection
from ...types.errors import UsageError
from ..cli.why_receipt import receipt_of
from .answers import answer, number_of, text_of
from .steps import steps_of

SESSIONS = 50
FOUND = 50
RUNS = 50
STEPS = 200


class SessionsPage:
    """Reads; changes nothing."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._store = app.store

    def routes(self) -> list[Route]:
        """Where it answers."""
        return [
            Route("/api/sessions", self.listed),
            Route("/api/search", self.search),
            Route("/api/sessions/{id}", self.one),
            Route("/api/runs/{id}/steps", self.steps),
            Route("/api/runs/{id}/why", self.why),
        ]

    async def listed(self, request: Request) -> Response:
        """The sessions used last, or before a moment."""
        before = _moment(text_of(request, "before"))
        found = await self._store.database.read(lambda connection: sessions_page(connection, before, SESSIONS))
        more = found[-1].updated_at if len(found) == SESSIONS else None
        return answer({"rows": found, "before": more})

    async def search(self, request: Request) -> Response:
        """Where all words were said or answered."""
        found = await self._store.sessions.search(text_of(request, "q"), FOUND)
        ids = sorted({one.session_id for one in found})
        titles = await self._store.database.read(lambda connection: sessions_named(connection, ids))
        return answer([{**_plain(one), "title": titles.get(one.session_id, "")} for one in found])

    async def one(self, request: Request) -> Response:
        """A session and its latest runs."""
        session = await self._store.sessions.get(request.path_params["id"])
        before = number_of(request, "before", 0, 0, 2**53)

        def unit(connection: Connection) -> list[dict[str, Any]]:
            lines = runs_of_session(connection, session.id, before, RUNS)
            return [
                {
                    "id": line.run.id,
                    "status": line.run.status,
                    "model": line.run.model,
                    "steps": line.run.seq,
                    "started_at": line.run.started_at,
                    "finished_at": line.run.finished_at,
                }
                for line in lines
            ]

        return answer({"session": session, "runs": await self._store.database.read(unit)})

    async def steps(self, request: Request) -> Response:
        """A part of a run's journal, behind a place."""
        run = await self._store.runs.get(request.path_params["id"])
        after = number_of(request, "after", 0, 0, 2**53)
        events = await self._store.database.read(lambda connection: events_after(connection, run.id, after, STEPS))
        more = events[-1].seq if events and events[-1].seq < run.seq else None
        return answer({"run": run.id, "session": run.session_id, "steps": steps_of(events), "after": more})

    async def why(self, request: Request) -> Response:
        """The receipt of a run, as `hermes why` tells it."""
        from ..cli.console import Console
        from ..cli.why_page import Page

        run = await self._store.runs.get(request.path_params["id"])
        receipt = await receipt_of(self._app, run)
        console = Console()
        console.out = said = io.StringIO()
        Page(console).show(receipt)
        return answer({"run": run.id, "session": run.session_id, "text": said.getvalue()})


def _moment(text: str) -> float:
    """Seconds since 1970; 0 is now."""
    try:
        value = float(text or 0)
    except ValueError as error:
        raise UsageError("that is no moment", remedy="load the page again") from error
    if not 0 <= value <= 1e12:
        raise UsageError("that is no moment", remedy="load the page again")
    return value


def _plain(value: Any) -> dict[str, Any]:
    return {name: getattr(value, name) for name in value.__struct_fields__}

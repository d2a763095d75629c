"""Whether everything is as it should be: the checks of `hermes doctor` that are quick, and the rest on demand."""

from __future__ import annotations

import asyncio

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ...app import App
from ...types.errors import HermesError
from ..cli.checkup import (
    Check,
    State,
    check_config,
    check_database,
    check_extras,
    check_home,
    check_journal,
    check_model,
    check_program,
    check_sandbox,
    failed,
    good,
)
from ..cli.console import amount
from .answers import answer, body_of

_SESSIONS = 20


class HealthPage:
    """Looks, and changes nothing."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._whole: asyncio.Task[list[Check]] | None = None

    def routes(self) -> list[Route]:
        """Where it answers."""
        return [
            Route("/api/health", self.quick),
            Route("/api/health/database", self.database, methods=["POST"]),
        ]

    async def quick(self, request: Request) -> Response:
        """What can be told at once."""
        checks = await asyncio.to_thread(self._installation)
        checks += await self._runs()
        checks += await self._skills()
        return answer({"ok": all(one.state is not State.FAIL for one in checks), "checks": checks})

    async def database(self, request: Request) -> Response:
        """The engine's own check of its files: reads all of them, so only when asked for, and once at a time."""
        await body_of(request, dict[str, None])
        if self._whole is None or self._whole.done():
            self._whole = asyncio.create_task(asyncio.to_thread(self._files))
        return answer({"checks": await asyncio.shield(self._whole)})

    def _files(self) -> list[Check]:
        app = self._app
        return list(check_database(app.store.database.backend, app.settings, app.environment.home))

    def _installation(self) -> list[Check]:
        app = self._app
        home = app.environment.home
        size = amount(app.store.database.backend.size())
        checks: list[Check] = [*check_program(), *check_home(home), check_config(home)]
        checks.append(good("database", f"{app.store.database.backend.name}, {size}"))
        checks += check_model(app.environment, app.settings)
        checks.append(check_sandbox(app.sandbox, app.settings))
        checks += check_extras()
        return checks

    async def _runs(self) -> list[Check]:
        app = self._app
        try:
            checks = list(await check_journal(app.store, _SESSIONS))
            runs = await app.engine.abandoned()
        except HermesError as error:
            return [failed("runs", error)]
        if not runs:
            return [*checks, good("runs", "none is interrupted")]
        text = f"{len(runs)} interrupted: {', '.join(run.id for run in runs[:5])}"
        return [*checks, Check(name="runs", state=State.WARN, text=text, remedy="`hermes resume` goes on with them")]

    async def _skills(self) -> list[Check]:
        if self._app.knowledge is None:
            return []
        held = await self._app.knowledge.library.everything()
        wrong: list[Check] = []
        for one in held:
            if one.stats.archived_at is not None:
                continue
            why = one.problem or (one.stats.health_note if one.stats.health_status == "deprecated" else "")
            if why:
                remedy = f"`hermes skills show {one.name}`, then `hermes skills edit {one.name}`"
                wrong.append(Check(name=f"skill {one.name}", state=State.WARN, text=why, remedy=remedy))
        return wrong[:_SESSIONS] or [good("skills", f"{len(held)}, none of them known to be broken")]

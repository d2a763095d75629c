"""What the models were asked and what it cost, by day, model or session."""

from __future__ import annotations

import asyncio
import time
from itertools import groupby
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ...store.database import Database
from ...store.usage import UsageBy, UsageReport
from ...types.errors import UsageError
from ..cli.usage import UsageLine, line_of
from .answers import answer, number_of, text_of

ROWS = 100
_DAY = 86_400.0
_FRESH_SECONDS = 10.0
_REMEMBERED = 12


class CostPage:
    """Sums over the calls of some days. What was summed up a moment ago is not summed up again."""

    def __init__(self, aside: Database, home: Path) -> None:
        self._report = UsageReport(aside)
        self._home = home
        self._known: dict[tuple[str, int], tuple[float, asyncio.Task[dict[str, Any]]]] = {}

    def routes(self) -> list[Route]:
        """Where it answers."""
        return [Route("/api/cost", self.cost)]

    async def cost(self, request: Request) -> Response:
        """Sums by day, model or provider; of sessions those that used the most."""
        by = text_of(request, "by") or UsageBy.DAY.value
        if by not in {one.value for one in UsageBy}:
            raise UsageError(f"{by!r} is nothing to tell usage apart by", remedy=f"choose one of {', '.join(UsageBy)}")
        days = number_of(request, "days", 30, 1, 366)
        now = time.monotonic()
        at, task = self._known.get((by, days), (0.0, None))
        if task is None or now - at > _FRESH_SECONDS or (task.done() and task.exception()):
            while len(self._known) >= _REMEMBERED:
                del self._known[next(iter(self._known))]
            task = asyncio.create_task(self._sums(UsageBy(by), days))
            self._known.pop((by, days), None)
            self._known[(by, days)] = (now, task)
        return answer(await asyncio.shield(task))

    async def _sums(self, by: UsageBy, days: int) -> dict[str, Any]:
        parts = await self._report.sums(by, time.time() - days * _DAY)
        lines = [line_of(key, list(of_key), self._home) for key, of_key in groupby(parts, lambda part: part.key)]
        total = line_of("total", parts, self._home)
        shown = sorted(lines, key=_weight, reverse=True)[:ROWS] if by is UsageBy.SESSION else lines
        return {"by": by.value, "days": days, "rows": shown, "total": total, "left_out": len(lines) - len(shown)}


def _weight(line: UsageLine) -> float:
    return line.used.input + line.used.output

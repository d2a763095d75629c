"""How learning goes: day by day and run by run, with the moments of learning."""

from __future__ import annotations

import asyncio
import bisect
import time
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ...learning.curves import Measured, measured, references
from ...store.dashboard_views import family_choices, latencies, model_choices
from ...store.database import Connection, Database
from ...store.heuristics import EVERY_FAMILY
from ...store.learning_views import Mark, RunPoint, census, drift, marks, recent_runs
from .answers import answer, number_of, text_of
from .days import DAY, Days

FAMILIES = 300
MODELS = 100
MARKS = 200
LATENCIES = 500
_LONGEST_RANGE = 366


class LearningPage:
    """Reads; changes nothing. `aside` is a second way to the database for what may take a moment."""

    def __init__(self, database: Database, aside: Database) -> None:
        self._database = database
        self._aside = aside
        self.days = Days(aside)

    def routes(self) -> list[Route]:
        """Where it answers."""
        return [
            Route("/api/places", self.places),
            Route("/api/learning", self.learning),
            Route("/api/curve", self.curve),
        ]

    async def places(self, request: Request) -> Response:
        """The families and models to choose from, and the state of the set."""

        def unit(connection: Connection) -> dict[str, Any]:
            state = census(connection)
            return {
                "families": family_choices(connection, FAMILIES),
                "models": model_choices(connection, MODELS),
                "references": list(references()),
                "set_version": state.set_version,
                "frozen": state.frozen,
                "rollbacks": state.rollbacks,
                "stages": _by_stage(state.heuristics),
            }

        return answer(await self._database.read(unit))

    async def learning(self, request: Request) -> Response:
        """Success, entropy, variance, drift and feedback latency by day, and the moments of learning."""
        family, model = text_of(request, "family"), text_of(request, "model")
        days = number_of(request, "days", 30, 1, _LONGEST_RANGE)
        since = (time.time() // DAY - (days - 1)) * DAY
        counted = await self.days.read(family, model, days)

        def unit(connection: Connection) -> dict[str, Any]:
            families = (family, EVERY_FAMILY) if family else ()
            return {
                "drift": drift_by_day(connection, family, model, since),
                "latencies": latencies(connection, family, model, since, LATENCIES),
                "marks": marks(connection, families=families, model=model, since=since, limit=MARKS),
            }

        found = await self._database.read(unit)
        return answer({"days": counted.points, "pending": counted.pending, "last": counted.last, **found})

    async def curve(self, request: Request) -> Response:
        """The last runs as a curve, with the fit and the moments of learning among them."""
        family, model = text_of(request, "family"), text_of(request, "model")
        last = number_of(request, "last", 500, 10, 2000)
        window = number_of(request, "window", 20, 2, 200)

        def unit(connection: Connection) -> tuple[list[RunPoint], list[Mark]]:
            runs = recent_runs(connection, family=family, model=model, limit=last)
            if not runs:
                return [], []
            families = (family, EVERY_FAMILY) if family else ()
            return runs, marks(connection, families=families, model=model, since=runs[0].at, limit=MARKS)

        runs, learned = await self._aside.read(unit)
        curves = await asyncio.to_thread(measured, runs, window)
        times = [run.at for run in runs]
        domain = references().get(text_of(request, "reference"))
        return answer(
            {
                "runs": len(runs),
                "from": times[0] if times else None,
                "to": times[-1] if times else None,
                **_curves(curves),
                "marks": [(bisect.bisect_left(times, mark.at), mark) for mark in learned],
                "reference": [(n, domain.curve.at(n)) for n in range(len(runs))] if domain else None,
            }
        )


def _by_stage(heuristics: dict[tuple[str, str], int]) -> dict[str, int]:
    found: dict[str, int] = {}
    for (stage, _), count in heuristics.items():
        found[stage] = found.get(stage, 0) + count
    return found


def drift_by_day(connection: Connection, family: str, model: str, since: float) -> list[dict[str, int]]:
    """Changes of heuristics by day, over the families and models that are looked at."""
    days: dict[int, dict[str, int]] = {}
    for one in drift(connection, family=family, model=model, since=since):
        day = days.setdefault(one.day, {"day": one.day, "added": 0, "changed": 0, "retired": 0, "rolled_back": 0})
        for name in ("added", "changed", "retired", "rolled_back"):
            day[name] += getattr(one, name)
    return [days[day] for day in sorted(days)]


def _curves(curves: Measured) -> dict[str, Any]:
    """The moving means and the fit, without the single points."""
    return {
        "window": curves.window,
        "trend": curves.trend,
        "entropy": curves.entropy,
        "series": {
            one.name: {
                "window": one.window,
                "fit": one.fit,
                "fitted": [(n, one.fit.curve.at(n)) for n, _ in one.window] if one.fit else None,
            }
            for one in (curves.success, curves.seconds, curves.recovery, curves.reuse)
        },
    }

"""`/metrics`: the figures as Prometheus reads them, counted beside the scrape.

Counting all runs takes a part of a second with a million of them, so a scrape gets the page that was made last and has
the next one made. While it is scraped, the page is never older than one interval and says how old it is.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence

from ...learning.figures import learning_figures
from ...observability.metrics import Metric, MetricType, Sample, render
from ...store.database import Connection, Database

FRESH_SECONDS = 10.0
Figures = Callable[[Connection], Sequence[Metric]]


class Scrape:
    """Keeps the page."""

    def __init__(
        self,
        database: Database,
        listeners: Callable[[], int],
        figures: Sequence[Figures] = (learning_figures,),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database = database
        self._listeners = listeners
        self._figures = tuple(figures)
        self._clock = clock
        self._page = ""
        self._made = 0.0
        self._asked = 0.0
        self._interval = 0.0
        self._task: asyncio.Task[None] | None = None

    async def page(self) -> str:
        """The figures. Waits only the first time."""
        now = self._clock()
        self._interval, self._asked = (now - self._asked if self._asked else 0.0), now
        if not self._page or now - self._made > FRESH_SECONDS:
            task = self.refresh()
            if not self._page:
                await asyncio.shield(task)
        age = self._clock() - self._made
        return self._page + render(_own(age, self._listeners()))

    def refresh(self) -> asyncio.Task[None]:
        """Make the page anew, once at a time."""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._make())
        return self._task

    async def close(self) -> None:
        """Give up the page that is being made."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _make(self) -> None:
        metrics = await self._database.read(lambda connection: [one for part in self._figures for one in part(connection)])
        self._page, self._made = render(metrics), self._clock()


def _own(age: float, listeners: int) -> list[Metric]:
    return [
        Metric(
            name="hermes_figures_age_seconds",
            type=MetricType.GAUGE,
            help="How long ago the figures on this page were counted.",
            samples=(Sample(value=round(age, 3)),),
        ),
        Metric(
            name="hermes_dashboard_listeners",
            type=MetricType.GAUGE,
            help="Open pages that are told what happens.",
            samples=(Sample(value=listeners),),
        ),
    ]

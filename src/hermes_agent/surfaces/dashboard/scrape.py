"""`/metrics`: the figures as Prometheus reads them, counted beside the scrape.

Counting all runs takes a part of a second with a million of them. A scrape waits a moment for new figures; where that
is not enough it gets those that were counted last, with their age, and the new ones are there for the next scrape.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence

from ...observability.metrics import Metric, MetricType, Sample, render

FRESH_SECONDS = 5.0
_PATIENCE = 0.01
Collect = Callable[[], Awaitable[Sequence[Metric]]]


class Scrape:
    """Keeps the page that was made last."""

    def __init__(
        self,
        collect: Collect,
        listeners: Callable[[], int],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._collect = collect
        self._listeners = listeners
        self._clock = clock
        self._page = ""
        self._made = 0.0
        self._task: asyncio.Task[None] | None = None

    async def page(self) -> str:
        """The figures. The first time they are waited for."""
        if not self._page or self._clock() - self._made > FRESH_SECONDS:
            task = self.refresh()
            await asyncio.wait((task,), timeout=_PATIENCE if self._page else None)
            if task.done():
                task.result()
        return self._page + render(_own(self._clock() - self._made, self._listeners()))

    def refresh(self) -> asyncio.Task[None]:
        """Count anew, once at a time."""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._make())
        return self._task

    async def close(self) -> None:
        """Give up what is being counted."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _make(self) -> None:
        self._page = render(await self._collect())
        self._made = self._clock()


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

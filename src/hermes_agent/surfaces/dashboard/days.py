"""Day by day, however many runs there are: each day is counted once, on a connection of its own, and remembered.

A page that asks gets what is counted by then and how many days are still to come.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from functools import partial

from ...store.dashboard_views import DayPoint, day_of, first_and_last_lesson, judged_until
from ...store.database import Database
from ...types.base import Value

DAY = 86_400
PLACES = 12
_PATIENCE = 0.3
_TODAY_SECONDS = 10.0
_PAST_SECONDS = 300.0


class Counted(Value, frozen=True, kw_only=True):
    """The days with runs, oldest first, and how many are not counted yet."""

    points: tuple[DayPoint, ...]
    pending: int
    last: float | None


class _Entry(Value, frozen=True, kw_only=True):
    point: DayPoint | None
    at: float
    known: tuple[int, int]


Place = tuple[str, str]


class Days:
    """What is known of the days of the places that were asked for last."""

    def __init__(self, database: Database, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock
        self._places: OrderedDict[Place, dict[int, _Entry]] = OrderedDict()
        self._tasks: dict[Place, asyncio.Task[None]] = {}
        self._known = (0, 0)

    async def read(self, family: str, model: str, days: int) -> Counted:
        """The last `days` days of a family, a model, both or all."""
        reach = await self._database.read(first_and_last_lesson)
        if reach is None:
            return Counted(points=(), pending=0, last=None)
        self._known = await self._database.read(judged_until)
        now = self._clock()
        last = int(min(now, reach[1])) // DAY * DAY
        first = max(int(now) // DAY * DAY - (days - 1) * DAY, int(reach[0]) // DAY * DAY)
        wanted = list(range(last, first - 1, -DAY))
        place = (family, model)
        entries = self._places.setdefault(place, {})
        self._places.move_to_end(place)
        while len(self._places) > PLACES:
            self._places.popitem(last=False)
        if any(self._stale(entries.get(day), day) for day in wanted):
            await self._count(place, entries, wanted)
        points = [entry.point for day in reversed(wanted) if (entry := entries.get(day)) and entry.point]
        return Counted(points=tuple(points), pending=sum(day not in entries for day in wanted), last=reach[1])

    async def close(self) -> None:
        """Give up what is being counted."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _count(self, place: Place, entries: dict[int, _Entry], wanted: list[int]) -> None:
        """Count in the background, and wait a moment for it."""
        task = self._tasks.get(place)
        if task is None or task.done():
            task = self._tasks[place] = asyncio.create_task(self._fill(place, entries, wanted))
            task.add_done_callback(
                lambda done: self._tasks.pop(place, None) if self._tasks.get(place) is done else None
            )
        await asyncio.wait((task,), timeout=_PATIENCE)
        if task.done() and not task.cancelled():
            task.result()

    async def _fill(self, place: Place, entries: dict[int, _Entry], wanted: list[int]) -> None:
        for day in wanted:
            if self._stale(entries.get(day), day):
                known = self._known
                point = await self._database.read(partial(day_of, day=day, family=place[0], model=place[1]))
                entries[day] = _Entry(point=point, at=self._clock(), known=known)

    def _stale(self, entry: _Entry | None, day: int) -> bool:
        """A day under way changes all the time; a past one only when somebody judged late or a family was changed."""
        if entry is None:
            return True
        age = self._clock() - entry.at
        if entry.at < day + DAY + 600:
            return age > _TODAY_SECONDS
        return entry.known != self._known and age > _PAST_SECONDS

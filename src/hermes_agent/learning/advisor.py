"""The advisor of the product: asked before every decision, taught after every run.

It keeps one view of the active set in memory and asks the database only whether that is still the one in force, so that
advice costs the same with one stored trace and with a million.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence

import msgspec

from ..config.settings import LearningSettings
from ..safety.scan import Kind as ScanKind
from ..safety.scan import Verdict as ScanVerdict
from ..safety.scan import scan
from ..store.database import Connection
from ..store.families import clean_name, read_families
from ..store.heuristics import Heuristic, active_set, read_heuristics, read_set, value_of
from ..store.open import Store
from ..types.advice import Advice, Failure, Moment, Ruling, Situation
from ..types.base import Value
from ..types.trace import Trace
from .corrections import judge_correction
from .families import Book
from .learner import Learner
from .lessons import strangers_texts
from .standing import Standing
from .watching import inferred

_SCANNED = 20_000
_KEPT_RUNS = 64
_CATCH_UP = 20
_DAY = 86_400.0


class _View(Value, frozen=True, kw_only=True):
    """A heuristic set as it is asked, by model."""

    version: int
    heuristics: Mapping[str, tuple[Heuristic, ...]]


class LearnedAdvisor:
    """Advice from what was learned. `notify` hears of rollbacks and of what waits for a person."""

    def __init__(self, store: Store, settings: LearningSettings, notify: Callable[[str], None]) -> None:
        self._store = store
        self._settings = settings
        self._notify = notify
        self.learner = Learner(store.database, store.owner, settings)
        self._view = _View(version=-1, heuristics={})
        self._book = Book(())
        self._families = -1
        self._standing: dict[str, Standing] = {}
        self._caught_up = False

    async def advise(self, situation: Situation) -> Advice:
        """Hints, plan and decisions for a request."""
        if not self._caught_up:
            self._caught_up = True
            await self._catch_up(situation.run_id)
        await judge_correction(self._store, self.learn, situation.run_id, situation.request)
        standing, family, version = await self._stand(situation, situation.pin)
        items, hints, behind, plan = standing.opening()
        return Advice(
            hints=tuple(hints),
            behind=tuple(behind),
            plan=plan,
            plan_reason="a workflow learned from earlier runs" if plan else "",
            items=tuple(items),
            family=family,
            version=version,
        )

    async def resume(self, situation: Situation, version: int) -> None:
        """Stand where the interrupted run stood."""
        await self._stand(situation, version)

    async def _stand(self, situation: Situation, pin: int | None) -> tuple[Standing, str, int]:
        def unit(connection: Connection) -> tuple[_View, str, bool]:
            view = self._current(connection, pin)
            family = self._family(connection, situation)
            return view, family, _widened(connection, family, situation.model)

        view, family, widened = await self._store.database.read(unit)
        placed = msgspec.structs.replace(situation, family=family)
        heuristics = view.heuristics.get(situation.model, ())
        standing = Standing(placed, heuristics, self._settings.explore, widened=widened)
        self._standing[situation.run_id] = standing
        while len(self._standing) > _KEPT_RUNS:
            del self._standing[next(iter(self._standing))]
        return standing, family, view.version

    def _current(self, connection: Connection, pin: int | None) -> _View:
        if pin is not None:
            return _viewed(connection, read_set(connection, pin).version, read_set(connection, pin).members)
        if value_of(connection, "active_set") != self._view.version:
            found = active_set(connection)
            self._view = _viewed(connection, found.version, found.members)
        return self._view

    def _family(self, connection: Connection, situation: Situation) -> str:
        if situation.family:
            return clean_name(situation.family)
        counter = value_of(connection, "families")
        if counter != self._families:
            self._book, self._families = Book(read_families(connection)), counter
        return self._book.place(situation.request).family_id

    def review(self, moment: Moment) -> Ruling:
        """Advice about one call."""
        standing = self._standing.get(moment.situation.run_id)
        return standing.review(moment) if standing else Ruling()

    def weigh_retry(self, failure: Failure, situation: Situation) -> Ruling:
        """Advice about trying again."""
        standing = self._standing.get(situation.run_id)
        return standing.weigh_retry(failure) if standing else Ruling()

    def repair(self, failure: Failure, situation: Situation) -> Ruling:
        """Advice after a failure."""
        standing = self._standing.get(situation.run_id)
        return standing.repair(failure) if standing else Ruling()

    async def learn(self, trace: Trace) -> None:
        """Fold a run into what is known. Nothing is learned from a run in which a stranger's text gave instructions."""
        self._standing.pop(trace.run_id, None)
        family = trace.family
        if not family:
            situation = Situation(request=trace.request, model=trace.model)
            family = await self._store.database.read(lambda connection: self._family(connection, situation))
        texts = strangers_texts(trace)
        tainted = bool(texts) and await asyncio.to_thread(instructs, texts)
        learned = await self.learner.learn(trace, family, tainted=tainted)
        for notice in learned.notices:
            self._notify(notice)

    async def _catch_up(self, but: str) -> None:
        """Learn from runs that ended while their process died before it could learn from them."""

        def unit(connection: Connection) -> list[str]:
            rows = connection.run(
                "SELECT o.run_id FROM outcomes o WHERE o.at > ? AND o.run_id <> ? AND NOT EXISTS"
                " (SELECT 1 FROM lessons l WHERE l.run_id = o.run_id) ORDER BY o.at LIMIT ?",
                (connection.now() - _DAY, but, _CATCH_UP),
            )
            return [row[0] for row in rows]

        for run_id in await self._store.database.read(unit):
            await self.learn(await self._store.traces.own_of_run(run_id))


def _viewed(connection: Connection, version: int, members: Sequence[str]) -> _View:
    by_model: dict[str, list[Heuristic]] = {}
    for heuristic in read_heuristics(connection, members).values():
        by_model.setdefault(heuristic.model, []).append(heuristic)
    ordered = {model: tuple(sorted(found, key=lambda item: item.id)) for model, found in by_model.items()}
    return _View(version=version, heuristics=ordered)


def _widened(connection: Connection, family: str, model: str) -> bool:
    """Whether the guard holds half of the runs of a family out."""
    rows = connection.run(
        "SELECT payload FROM watches WHERE family IN (?, ?) AND model = ?", (family, inferred(family), model)
    )
    return any('"notified":true' in row[0] for row in rows)


def instructs(texts: Sequence[str]) -> bool:
    """Whether a stranger's text tries to give orders; what cannot be told counts as if it did."""
    left = _SCANNED
    for text in texts:
        if left <= 0:
            return True
        if scan(text[:left], ScanKind.CONTEXT).verdict is ScanVerdict.BLOCK:
            return True
        left -= len(text)
    return False

"""The advisor of the product: asked before every decision, taught after every run.

It keeps one view of the active set in memory and asks the database only whether that is still the one in force, so that
advice costs the same with one stored trace and with a million.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import msgspec

from ..config.settings import LearningSettings
from ..store.database import Connection
from ..store.families import clean_name
from ..store.heuristics import EVERY_FAMILY, Heuristic, Stage, changed_since, read_heuristics, read_set, values_of
from ..store.lessons import in_batches
from ..store.open import Store
from ..types.advice import Advice, Failure, Moment, Ruling, Situation
from ..types.base import Value
from ..types.errors import HermesError
from ..types.trace import Trace
from .families import Book
from .guard import FamilyGuard
from .learner import Learner
from .lessons import strangers_texts
from .recommending import NoOffers, Offers, Proposing, recommended, unproposed
from .standing import Standing
from .watching import inferred

_SCANNED = 48_000
_KEPT_RUNS = 64
_CATCH_UP = 20
_LOOKED_BACK = 1000
_DAY = 86_400.0
_IN_A_FAMILY = ('%"family":"%', '%"family":""%')
"""What a stored event that names a family holds, and does not hold; quotes inside texts are escaped."""


class _View(Value, frozen=True, kw_only=True):
    """A heuristic set as it is asked, by model and family; `audit` is the last change of a heuristic it knows."""

    version: int
    audit: int = 0
    members: Mapping[str, Heuristic] = {}
    placed: Mapping[tuple[str, str], tuple[Heuristic, ...]] = {}

    def of(self, model: str, family: str) -> list[Heuristic]:
        """What can act in a family, in the order of the ids."""
        here = [*self.placed.get((model, family), ()), *self.placed.get((model, EVERY_FAMILY), ())]
        return sorted(here, key=lambda heuristic: heuristic.id)


class _Stand(Value, frozen=True, kw_only=True):
    """What one read brings: where a run stands, and whether its message might correct the run before it."""

    standing: Standing
    family: str
    version: int
    may_correct: bool
    fresh: bool = False


class LearnedAdvisor:
    """Advice from what was learned. `notify` hears of rollbacks and of what waits for a person."""

    def __init__(
        self, store: Store, settings: LearningSettings, notify: Callable[[str], None], offers: Offers | None = None
    ) -> None:
        self._store = store
        self._settings = settings
        self._notify = notify
        self.learner = Learner(store.database, store.owner, settings)
        self._view = _View(version=-1)
        self._book = Book(())
        self._families = -1
        self._standing: dict[str, Standing] = {}
        self._offers = offers or NoOffers()
        self._proposing = Proposing(store.database, settings)
        self.after_learning: Callable[[Trace], Awaitable[None]] | None = None
        self._caught_up = False

    async def advise(self, situation: Situation) -> Advice:
        """Hints, plan and decisions for a request."""
        if not self._caught_up:
            self._caught_up = True
            await self._catch_up(situation.run_id)
        stand = await self._stand(situation, situation.pin)
        if stand.may_correct and await self._corrected(situation):
            stand = await self._stand(situation, situation.pin)
        items, hints, behind, plan = stand.standing.opening()
        return Advice(
            hints=tuple(hints),
            behind=tuple(behind),
            plan=plan,
            plan_reason="a workflow learned from earlier runs" if plan else "",
            items=tuple(items),
            family=stand.family,
            version=stand.version,
        )

    async def _corrected(self, situation: Situation) -> bool:
        """Whether the message corrects the run before it, which is learned from anew then."""
        from .corrections import judge_correction

        found = await judge_correction(self._store, self.learn, situation.run_id, situation.request)
        return found is not None and found.changed

    async def resume(self, situation: Situation, version: int) -> None:
        """Stand where the interrupted run stood."""
        await self._stand(situation, version)

    async def _stand(self, situation: Situation, pin: int | None) -> _Stand:
        offers = await self._offers.offers(situation)

        def unit(connection: Connection) -> _Stand:
            counters = values_of(connection)
            view = self._current(connection, pin, counters)
            family = self._family(connection, situation, counters)
            placed = msgspec.structs.replace(situation, family=family)
            widened = pin is None and _widened(connection, family, situation.model)
            known = view.of(situation.model, family)
            if pin is not None:
                known = _as_it_began(connection, view.version, known)
            fresh = unproposed(_all_of(connection, placed), offers) if pin is None and offers else []
            standing = Standing(placed, recommended(known, offers), self._settings.explore, widened=widened)
            may_correct = _follows(connection, situation.run_id)
            return _Stand(
                standing=standing, family=family, version=view.version, may_correct=may_correct, fresh=bool(fresh)
            )

        stand = await self._store.database.read(unit)
        if stand.fresh:
            placed = msgspec.structs.replace(situation, family=stand.family)
            if await self._proposing.propose(placed, offers):
                stand = await self._store.database.read(unit)
        self._standing[situation.run_id] = stand.standing
        while len(self._standing) > _KEPT_RUNS:
            del self._standing[next(iter(self._standing))]
        return stand

    def _current(self, connection: Connection, pin: int | None, counters: Mapping[str, int]) -> _View:
        if pin is not None:
            return _viewed(connection, pin, counters["audit"], {})
        version, audit, view = counters["active_set"], counters["audit"], self._view
        if (version, audit) == (view.version, view.audit):
            return view
        known = bool(view.members) and audit > view.audit
        stale = set(changed_since(connection, view.audit)) if known else view.members.keys()
        if version == view.version and not stale & view.members.keys():
            self._view = msgspec.structs.replace(view, audit=audit)
        else:
            kept = {name: one for name, one in view.members.items() if name not in stale}
            self._view = _viewed(connection, version, audit, kept)
        return self._view

    def _family(self, connection: Connection, situation: Situation, counters: Mapping[str, int]) -> str:
        if counters["families"] != self._families:
            self._book.refresh(connection)
            self._families = counters["families"]
        if situation.family:
            return self._book.named(clean_name(situation.family))
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
        situation = Situation(request=trace.request, model=trace.model, family=trace.family)
        family = await self._store.database.read(
            lambda connection: self._family(connection, situation, values_of(connection))
        )
        texts = strangers_texts(trace)
        tainted = bool(texts) and await asyncio.to_thread(instructs, texts)
        learned = await self.learner.learn(trace, family, tainted=tainted)
        for notice in learned.notices:
            self._notify(notice)
        if self.after_learning is not None:
            await self.after_learning(msgspec.structs.replace(trace, family=family))

    async def _catch_up(self, but: str) -> None:
        """Learn from runs that ended while their process died before it could learn from them: those that were advised
        in a family. Where learning was off none was named. One whose journal is damaged costs nobody else advice."""

        def unit(connection: Connection) -> list[str]:
            rows = connection.run(
                "SELECT o.run_id FROM (SELECT run_id, at FROM outcomes WHERE at > ? ORDER BY at DESC LIMIT ?) o"
                " WHERE o.run_id <> ? AND NOT EXISTS (SELECT 1 FROM lessons l WHERE l.run_id = o.run_id)"
                " AND EXISTS (SELECT 1 FROM events e WHERE e.run_id = o.run_id AND e.kind = 'advice_given'"
                " AND e.payload LIKE ? AND e.payload NOT LIKE ?) ORDER BY o.at LIMIT ?",
                (connection.now() - _DAY, _LOOKED_BACK, but, *_IN_A_FAMILY, _CATCH_UP),
            )
            return [row[0] for row in rows]

        for run_id in await self._store.database.read(unit):
            with contextlib.suppress(HermesError):
                await self.learn(await self._store.traces.own_of_run(run_id))


def _viewed(connection: Connection, version: int, audit: int, kept: Mapping[str, Heuristic]) -> _View:
    """A set as it is now. Of its members, those in `kept` are not read again."""
    members = read_set(connection, version).members
    fresh = read_heuristics(connection, [name for name in members if name not in kept])
    known = {name: found for name in members if (found := kept.get(name) or fresh.get(name)) is not None}
    placed: dict[tuple[str, str], list[Heuristic]] = {}
    for heuristic in known.values():
        placed.setdefault((heuristic.model, heuristic.family), []).append(heuristic)
    return _View(
        version=version, audit=audit, members=known, placed={place: tuple(found) for place, found in placed.items()}
    )


def _all_of(connection: Connection, situation: Situation) -> list[Heuristic]:
    """What is known of the skills of a family, also what does not act."""
    rows = connection.run(
        "SELECT id FROM heuristics WHERE kind = 'skill' AND model = ? AND family = ?",
        (situation.model, situation.family),
    )
    return list(read_heuristics(connection, [row[0] for row in rows]).values()) if rows else []


def _as_it_began(connection: Connection, version: int, known: Sequence[Heuristic]) -> list[Heuristic]:
    """Members of a set as they were when it came into force, their stage and what their chance hangs on: an audit knows
    nothing of what followed."""
    began = read_set(connection, version).at
    then: dict[str, tuple[Stage, dict[str, Any]]] = {}
    for part in in_batches([heuristic.id for heuristic in known], 500):
        rows = connection.run(
            "SELECT heuristic_id, became, evidence FROM heuristic_audit WHERE heuristic_id IN"
            f" ({', '.join('?' * len(part))}) AND became IN ('probation', 'trusted') AND at <= ? ORDER BY seq",
            (*part, began),
        )
        then.update({row[0]: (Stage(row[1]), msgspec.json.decode(row[2])) for row in rows})
    return [
        msgspec.structs.replace(item, stage=then[item.id][0], evidence=then[item.id][1]) if item.id in then else item
        for item in known
    ]


def _follows(connection: Connection, run_id: str) -> bool:
    """Whether the run before this one in its session has an outcome that a message could correct."""
    rows = connection.run(
        "SELECT 1 FROM runs r JOIN runs p ON p.session_id = r.session_id AND p.ordinal = r.ordinal - 1"
        " JOIN outcomes o ON o.run_id = p.id WHERE r.id = ? AND p.status <> 'open' AND o.judged_by = 'inferred'"
        " AND o.status IN ('done', 'failed')",
        (run_id,),
    )
    return bool(rows)


def _widened(connection: Connection, family: str, model: str) -> bool:
    """Whether the guard holds half of the runs of a family out."""
    rows = connection.run(
        "SELECT payload FROM watches WHERE family IN (?, ?) AND model = ?", (family, inferred(family), model)
    )
    return any(msgspec.json.decode(row[0], type=FamilyGuard).notified for row in rows)


def instructs(texts: Sequence[str]) -> bool:
    """Whether a stranger's text tries to give orders; what cannot be told counts as if it did."""
    from ..safety.scan import Kind as ScanKind
    from ..safety.scan import Verdict as ScanVerdict
    from ..safety.scan import scan

    left = _SCANNED
    for text in texts:
        if left <= 0:
            return True
        if scan(text[:left], ScanKind.CONTEXT).verdict is ScanVerdict.BLOCK:
            return True
        left -= len(text)
    return left < 0

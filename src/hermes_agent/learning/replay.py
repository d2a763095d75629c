"""Replay: how past runs would have gone under another set of heuristics, as far as what was logged can tell.

Every decision gets a label that depends on the chances alone, never on how the coin fell: that keeps the estimates
free of selection. A coin that fell as the target would have it stands also for those that fell the other way, so such
a run is weighted, not copied. The estimate is SNIPS: weights are the target's chance of what happened over the logged
one, divided by their sum.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from enum import IntEnum

from ..store.database import Database
from ..store.heuristics import EVERY_FAMILY, Heuristic, Kind
from ..types.base import Value
from ..types.trace import AdviceItem
from .estimates import Comparison, Effect, Strata, Sums, Verdict, effect_of, verdict_of
from .life import ON_TASKS
from .past import Logged, Past, Window
from .standing import HELD_OUT, ON_PROBATION, acting_chance

_ALIKE = 1e-5
_AFTER_FAILURE = (Kind.FUTILE_RETRY, Kind.REPAIR)
_KEPT_FOR_RERUN = 500


class Label(IntEnum):
    """How a decision, or a whole run, can be judged: by copying, by doing it again, by weighing, or not at all. A run
    is judged as its weakest decision."""

    SAME = 0
    REEXECUTED = 1
    WEIGHTED = 2
    UNSUPPORTED = 3


class Target(Value, frozen=True, kw_only=True):
    """The policy that is asked about: the chance with which each heuristic acts where it applies.

    With `only` set, that heuristic alone is decided anew and everything else as it was: then the answer is about it
    and nothing else. Otherwise a heuristic that is not in `acting` never acts.
    """

    words: str
    acting: dict[str, float]
    heuristics: tuple[Heuristic, ...] = ()
    only: str = ""


def set_target(version: int, members: Iterable[Heuristic], explore: float) -> Target:
    """A heuristic set as it would act now."""
    known = tuple(members)
    acting = {member.id: acting_chance(member, explore) for member in known}
    return Target(words=f"with set {version}", acting=acting, heuristics=known)


def without_target(heuristic: Heuristic) -> Target:
    """Everything as it was, but this heuristic never acts."""
    return Target(words=f"without {heuristic.id}", acting={}, heuristics=(heuristic,), only=heuristic.id)


def with_target(heuristic: Heuristic, explore: float) -> Target:
    """Everything as it was, and this heuristic acts wherever it applies; one that does not act yet by a fair coin."""
    acting = {heuristic.id: acting_chance(heuristic, explore) if heuristic.stage.acts else ON_PROBATION}
    return Target(words=f"with {heuristic.id}", acting=acting, heuristics=(heuristic,), only=heuristic.id)


class Decision(Value, frozen=True, kw_only=True):
    """One decision of a run under the target. `weight` is the target's chance of what happened over the logged one."""

    id: str
    label: Label
    weight: float = 1.0


def decide(item: AdviceItem, target: Target) -> Decision:
    """How the target would have decided where `item` was decided.

    Without a coin (a propensity of one) something else than chance decided, such as the limit of two coins a run; a
    target that has the heuristic would have decided by the same rule.
    """
    logged = item.propensity
    if target.only and item.id != target.only:
        return Decision(id=item.id, label=Label.SAME)
    if not 0 < logged <= 1:
        return Decision(id=item.id, label=Label.UNSUPPORTED, weight=0.0)
    acts = target.acting.get(item.id, 0.0)
    chance = acts if item.applied else 1 - acts
    if abs(chance - logged) < _ALIKE or (logged == 1 and acts > 0):
        return Decision(id=item.id, label=Label.SAME)
    if logged == 1:
        return Decision(id=item.id, label=Label.UNSUPPORTED, weight=0.0)
    return Decision(id=item.id, label=Label.WEIGHTED, weight=chance / logged)


def decide_all(items: Iterable[AdviceItem], target: Target) -> list[Decision]:
    """All decisions of a run. A heuristic has one coin a run, however often it was asked; those that share the holdout
    have one together, so a target that parts them asks for something that never happened."""
    first: dict[str, AdviceItem] = {}
    for item in items:
        first.setdefault(item.id, item)
    decisions = {id: decide(item, target) for id, item in first.items()}
    together = shared(first.values())
    changed = [item.id for item in together if decisions[item.id].label is not Label.SAME]
    if len(together) < 2 or not changed:
        return list(decisions.values())
    acting = {target.acting.get(id, 0.0) for id in changed}
    if len(changed) == len(together) and len(acting) == 1:
        for id in changed[1:]:
            decisions[id] = Decision(id=id, label=decisions[id].label)
    else:
        for id in changed:
            decisions[id] = Decision(id=id, label=Label.UNSUPPORTED, weight=0.0)
    return list(decisions.values())


def shared(items: Iterable[AdviceItem]) -> list[AdviceItem]:
    """The items that the holdout's one coin decided."""
    return [
        item
        for item in items
        if item.kind in ON_TASKS
        and abs((item.propensity if item.applied else 1 - item.propensity) - (1 - HELD_OUT)) < _ALIKE
    ]


def applies(heuristic: Heuristic, run: Logged) -> bool:
    """Whether a heuristic would have been asked in a run. Most are told at the start, to every run of their family on
    their model; those about failures wait for such a failure, and a skill for a request that it fits. What a retry
    mended is not named, so it counts as one."""
    if heuristic.model != run.model or heuristic.family not in (run.family, EVERY_FAMILY):
        return False
    if heuristic.kind is Kind.SKILL:
        return any(item.id == heuristic.id for item in run.items)
    if heuristic.kind not in _AFTER_FAILURE:
        return True
    error = heuristic.subject.partition(":")[2]
    return any(
        seen.tool == heuristic.tool and (seen.tries > 1 if seen.worked else error in ("", seen.error))
        for seen in run.observations
    )


class HeuristicReplay(Value, frozen=True, kw_only=True):
    """One heuristic over all runs in which it was or would have been decided. `verdict` rests on what a verifier or
    the user said; `inferred` is shown beside it and decides nothing."""

    id: str
    labels: dict[str, int]
    verdict: Verdict
    effect: Effect
    inferred: Effect
    acting: float | None = None

    @property
    def unsupported(self) -> float:
        """The share of its decisions about which nothing can be said."""
        return self.labels["unsupported"] / (sum(self.labels.values()) or 1)


class Report(Value, frozen=True, kw_only=True):
    """A replay. `runs` were read, of which `left_out` say nothing: nobody knows how they went, or a stranger's text
    gave instructions in them. The labels are of the others."""

    target: str
    runs: int
    left_out: int
    labels: dict[str, int]
    verdict: Verdict
    judged: Comparison
    inferred: Comparison
    heuristics: tuple[HeuristicReplay, ...]


class _Tally:
    """One heuristic's decisions, while runs are read."""

    __slots__ = ("labels", "off", "on")

    def __init__(self) -> None:
        self.labels = [0, 0, 0, 0]
        self.on, self.off = (Sums(), Sums()), (Sums(), Sums())


class Replay:
    """Judges runs one after the other. `members` gives the heuristics of a set version: where one was a member and left
    no trace in a run, the advisor had looked and it did not apply, or was over the limit of coins."""

    def __init__(self, target: Target, members: Mapping[int, frozenset[str]]) -> None:
        self.target = target
        self.differing: deque[Logged] = deque(maxlen=_KEPT_FOR_RERUN)
        self._members = members
        self._runs, self._left_out = 0, 0
        self._labels = [0, 0, 0, 0]
        self._strata = (Strata(), Strata())
        self._tallies: dict[str, _Tally] = {}
        self._asked: dict[tuple[str, str], list[Heuristic]] = {}
        for heuristic in target.heuristics:
            if target.acting.get(heuristic.id):
                self._asked.setdefault((heuristic.model, heuristic.family), []).append(heuristic)

    def add(self, run: Logged) -> Label | None:
        """Judge one run; None when it says nothing."""
        self._runs += 1
        if run.success is None or run.tainted:
            self._left_out += 1
            return None
        decisions = self._decisions(run)
        label, weight = _weakest(decisions), math.prod(decision.weight for decision in decisions)
        self._labels[label] += 1
        strata = self._strata[run.judged]
        if label is Label.SAME:
            strata.same.add(1.0, run.success)
            return label
        self.differing.append(run)
        if label is Label.WEIGHTED:
            strata.weighted.add(weight, run.success)
        return label

    def reexecuted(self, run: Logged, success: bool) -> None:
        """A run of `differing` was done again under the target: its outcome is known now, not estimated."""
        decisions = [decision for decision in self._decided(run) if decision.label is not Label.SAME]
        label, weight = _weakest(decisions), math.prod(decision.weight for decision in decisions)
        was = bool(run.success)
        self._labels[label] -= 1
        self._labels[Label.REEXECUTED] += 1
        for decision in decisions:
            labels = self._tallies[decision.id].labels
            labels[decision.label] -= 1
            labels[Label.REEXECUTED] += 1
        strata = self._strata[run.judged]
        if label is Label.WEIGHTED:
            strata.weighted.add(weight, was, times=-1)
        strata.again.add(1.0, was)
        strata.gains += success - was
        strata.gains2 += success != was

    def report(self) -> Report:
        """What the runs so far say."""
        judged = self._strata[True].compare()
        rows = [self._row(id, tally) for id, tally in self._tallies.items()]
        rows += [self._row(id, _Tally()) for id in self.target.acting if id not in self._tallies]
        return Report(
            target=self.target.words,
            runs=self._runs,
            left_out=self._left_out,
            labels=_named(self._labels),
            verdict=verdict_of(judged),
            judged=judged,
            inferred=self._strata[False].compare(),
            heuristics=tuple(sorted(rows, key=lambda row: (-sum(row.labels.values()), row.id))),
        )

    def _row(self, id: str, tally: _Tally) -> HeuristicReplay:
        effect = effect_of(tally.on[True], tally.off[True])
        return HeuristicReplay(
            id=id,
            labels=_named(tally.labels),
            verdict=verdict_of(effect),
            effect=effect,
            inferred=effect_of(tally.on[False], tally.off[False]),
            acting=self.target.acting.get(id, 0.0) if self.target.only in ("", id) else None,
        )

    def _decisions(self, run: Logged) -> list[Decision]:
        """The run's decisions, counted for their heuristics."""
        decisions = self._decided(run)
        for decision in decisions:
            tally = self._tallies.get(decision.id) or self._tallies.setdefault(decision.id, _Tally())
            tally.labels[decision.label] += 1
        counted = {item.id for item in together} if len(together := shared(run.items)) > 1 else set()
        for item in run.items:
            if item.id not in counted and 0 < item.propensity < 1:
                counted.add(item.id)
                tally = self._tallies[item.id]
                side = tally.on if item.applied else tally.off
                side[run.judged].add(1 / item.propensity, bool(run.success))
        return decisions

    def _decided(self, run: Logged) -> list[Decision]:
        decisions = decide_all(run.items, self.target)
        if not self._asked:
            return decisions
        met = {decision.id for decision in decisions} | self._members.get(run.set_version, frozenset())
        own = self._asked.get((run.model, run.family), ())
        everywhere = self._asked.get((run.model, EVERY_FAMILY), ()) if run.family != EVERY_FAMILY else ()
        taken = {_said(heuristic) for heuristic in own} if everywhere else set()
        for heuristic in (*own, *(other for other in everywhere if _said(other) not in taken)):
            if heuristic.id not in met and applies(heuristic, run):
                decisions.append(Decision(id=heuristic.id, label=Label.UNSUPPORTED, weight=0.0))
        return decisions


def _said(heuristic: Heuristic) -> tuple[Kind, str, tuple[str, ...]]:
    """What a family's own heuristic and a general one have in common: then the general one is silent."""
    return heuristic.kind, heuristic.subject, heuristic.condition


def _weakest(decisions: Iterable[Decision]) -> Label:
    return max((decision.label for decision in decisions), default=Label.SAME)


def _named(counts: list[int]) -> dict[str, int]:
    return {label.name.lower(): counts[label] for label in Label}


async def replayed(
    database: Database, target: Target, window: Window, on_progress: Callable[[int], None] = lambda runs: None
) -> Replay:
    """Judge all stored lessons of a window; `on_progress` hears how many were read. Those that arrive meanwhile are
    left for the next time."""
    past = Past(database, window)
    replay = Replay(target, past.members)
    runs = 0
    async for batch in past.batches():
        for run in batch:
            replay.add(run)
        runs += len(batch)
        on_progress(runs)
    return replay

"""The life of a heuristic: candidate, probation, trusted, retired; with a person's approval where much is at stake.

What stands on calls is tested before it acts, because its evidence comes from runs without it: it is trusted as soon
as the sequential test has spoken, and stays under test by exploration. A mere ranking of tools acts on probation until
then. What can only be judged by whole tasks is tried on half of the runs first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import assert_never

import msgspec

from ..store.heuristics import AuditEntry, CellKey, Heuristic, Kind, Stage
from ..types.base import Value
from ..types.errors import UsageError
from ..types.trace import AdviceItem
from .cells import Cells, TaskCell, ToolCell, WideCell, wide_key
from .evidence import ACT
from .findings import Finding, Wish

ON_TASKS = frozenset({Kind.WORKFLOW, Kind.SKILL})
"""Kinds that are judged by the success of tasks, with a coin from the start."""


class Rules(Value, frozen=True, kw_only=True):
    """What the user decided about learning: what waits for a person, how many may be tried at once, and whether the set
    may change at all."""

    approve: tuple[str, ...] = ()
    probation: int = 10
    frozen: bool = False


class Occasion(Value, frozen=True, kw_only=True):
    """What a change is recorded with."""

    run_id: str
    at: float


class Register:
    """The heuristics of one model in the families at hand. Collects changes; the caller writes them."""

    def __init__(self, known: Iterable[Heuristic], rules: Rules, occasion: Occasion, on_probation: int) -> None:
        self.known = {heuristic.id: heuristic for heuristic in known}
        self.changed: dict[str, None] = {}
        self.audit: list[AuditEntry] = []
        self.rolled_back = False
        self._rules = rules
        self._occasion = occasion
        self._on_probation = on_probation

    def apply(self, findings: Sequence[Finding], cells: Cells) -> None:
        """Do what the evidence asks for, as far as the rules allow."""
        for finding in findings:
            if finding.wish is Wish.STOP:
                self.stop(cells, finding.cause, _about(finding))
            elif finding.wish is Wish.LOOK:
                self._look(finding)
            else:
                self._propose(finding, cells)

    def _look(self, finding: Finding) -> None:
        """Let what stands on a cell be left aside more often, or as usual again."""
        place = (finding.family, finding.subject, finding.condition)
        for heuristic in list(self.known.values()):
            about = (heuristic.family, heuristic.subject, heuristic.condition)
            if heuristic.stage.acts and about == place and heuristic.kind not in (Kind.FUTILE_RETRY, Kind.REPAIR):
                shown = {**heuristic.evidence, **finding.evidence, **finding.detail}
                changed = msgspec.structs.replace(heuristic, evidence=shown, updated_at=self._occasion.at)
                self._record(changed, heuristic.stage.value, finding.cause)

    def _propose(self, finding: Finding, cells: Cells) -> None:
        known = self.known.get(finding.id)
        if known is not None and known.stage is Stage.PROBATION and known.kind not in ON_TASKS:
            if finding.wish is Wish.ACT and not finding.tentative and not self._rules.frozen:
                self.move(_with_figures(known, finding), Stage.TRUSTED, finding.cause)
            return
        if known is not None and (known.stage.acts or known.stage in (Stage.REJECTED, Stage.AWAITING_APPROVAL)):
            return
        stage = self._stage(finding)
        if known is not None and known.stage is stage:
            if known.source == "learned":
                self.move(_with_figures(known, finding), stage, finding.cause)
            return
        heuristic = Heuristic(
            id=finding.id,
            kind=finding.kind,
            model=finding.model,
            family=finding.family,
            subject=finding.subject,
            condition=finding.condition,
            better=finding.better,
            text=finding.text,
            detail=finding.detail,
            stage=known.stage if known else Stage.CANDIDATE,
            confidence=finding.confidence,
            evidence=finding.evidence,
            created_at=known.created_at if known else self._occasion.at,
            applied_at=known.applied_at if known else None,
        )
        if known is None:
            self._record(heuristic, "", finding.cause)
        self.move(heuristic, stage, finding.cause)
        if stage.acts:
            mark(cells, heuristic, acting=True)
            self._supersede(heuristic)

    def _supersede(self, newer: Heuristic) -> None:
        """Two pieces of advice about the same thing would contradict each other: the older one goes."""
        place = (newer.family, newer.subject, newer.condition)
        for older in list(self.known.values()):
            same = (older.family, older.subject, older.condition) == place and _group(older.kind) == _group(newer.kind)
            if same and older.id != newer.id and older.stage.acts:
                self.move(older, Stage.RETIRED, f"superseded by {newer.id}")

    def _stage(self, finding: Finding) -> Stage:
        if finding.wish is Wish.NOTE or self._rules.frozen:
            return Stage.CANDIDATE
        approve = self._rules.approve
        if finding.kind.value in approve or (finding.once and "once" in approve and _steers(finding.kind)):
            return Stage.AWAITING_APPROVAL
        if finding.vouched:
            return Stage.TRUSTED
        return Stage.PROBATION if finding.tentative else self._first_stage(finding.kind)

    def _first_stage(self, kind: Kind) -> Stage:
        if kind not in ON_TASKS:
            return Stage.TRUSTED
        return Stage.PROBATION if self._on_probation < self._rules.probation else Stage.CANDIDATE

    def approved(self, heuristic: Heuristic, cause: str, cells: Cells) -> None:
        """A person let it act."""
        stage = self._first_stage(heuristic.kind)
        if not stage.acts:
            raise UsageError(
                f"{self._rules.probation} are on probation already",
                remedy="reject one of them (`hermes learning show --stage probation`), or raise learning.probation",
            )
        self.move(heuristic, stage, cause)
        mark(cells, self.known[heuristic.id], acting=True)
        self._supersede(self.known[heuristic.id])

    def stop(self, cells: Cells, cause: str, meant: Callable[[Heuristic], bool], to: Stage = Stage.RETIRED) -> None:
        """Retire what is meant; its evidence starts afresh. A frozen set keeps what it has."""
        if self._rules.frozen:
            return
        for heuristic in list(self.known.values()):
            if meant(heuristic) and heuristic.stage not in (Stage.RETIRED, Stage.REJECTED, to):
                acted = heuristic.stage.acts
                self.move(heuristic, to, cause)
                if acted:
                    self.release(heuristic, cells)

    def release(self, heuristic: Heuristic, cells: Cells) -> None:
        """Let the evidence behind what acts no longer start afresh, unless something else that acts stands on it."""
        others = (known for known in self.known.values() if known.stage.acts and known.id != heuristic.id)
        if cell_of(heuristic) not in {cell_of(known) for known in others}:
            mark(cells, heuristic, acting=False)

    def roll_back(self, cells: Cells, cause: str, good: set[str]) -> None:
        """Retire what acts here and is not among the good ones."""
        self.rolled_back = not self._rules.frozen
        self.stop(cells, cause, lambda known: known.stage.acts and known.id not in good)

    def judge(self, items: Sequence[AdviceItem], cells: Cells, *, success: bool) -> None:
        """Take a judged task into account for everything whose coin was flipped in it."""
        for item in {item.id: item for item in reversed(items)}.values():
            heuristic = self.known.get(item.id)
            if heuristic is None or not heuristic.stage.acts or not 0 < item.propensity < 1:
                continue
            key = (heuristic.model, heuristic.family, f"task:{heuristic.id}", "")
            chance = item.propensity if item.applied else 1 - item.propensity
            evidence = cells.get(key, TaskCell).evidence.seen(on=item.applied, success=success, propensity=chance)
            cells.put(key, TaskCell(evidence=evidence))
            shown = {**heuristic.evidence, "tasks": evidence.tasks, "effect": evidence.effect()}
            shown |= {"e_helps": round(evidence.e_helps(), 3), "e_harms": round(evidence.e_harms(), 3)}
            heuristic = msgspec.structs.replace(heuristic, evidence=shown)
            if evidence.e_harms() >= ACT:
                self.known[heuristic.id] = heuristic
                self.stop(cells, "tasks go worse with it", partial(_is, heuristic.id))
            elif heuristic.stage is Stage.PROBATION and evidence.e_helps() >= ACT and not self._rules.frozen:
                self.move(heuristic, Stage.TRUSTED, "tasks go better with it")

    def promote_waiting(self) -> None:
        """Let candidates that wait for a place on probation have it, oldest first."""
        waiting = [h for h in self.known.values() if h.stage is Stage.CANDIDATE and h.kind in ON_TASKS]
        for heuristic in sorted(waiting, key=lambda found: found.created_at):
            if self._rules.frozen or self._on_probation >= self._rules.probation:
                return
            if heuristic.source == "learned" and heuristic.kind.value not in self._rules.approve:
                self.move(heuristic, Stage.PROBATION, "a place on probation became free")

    def move(self, heuristic: Heuristic, stage: Stage, cause: str) -> None:
        """Change the stage, and write down why."""
        was = heuristic.stage
        if was is not stage:
            if heuristic.kind in ON_TASKS:
                self._on_probation += (stage is Stage.PROBATION) - (was is Stage.PROBATION)
            heuristic = msgspec.structs.replace(heuristic, stage=stage, updated_at=self._occasion.at)
            self._record(heuristic, was.value, cause)
        self.known[heuristic.id] = heuristic
        self.changed[heuristic.id] = None

    def _record(self, heuristic: Heuristic, was: str, cause: str) -> None:
        self.known[heuristic.id] = heuristic
        self.changed[heuristic.id] = None
        self.audit.append(
            AuditEntry(
                seq=0,
                heuristic_id=heuristic.id,
                kind=heuristic.kind.value,
                model=heuristic.model,
                family=heuristic.family,
                was=was,
                became=heuristic.stage.value,
                cause=cause,
                run_id=self._occasion.run_id,
                evidence=heuristic.evidence,
                set_version=0,
                at=self._occasion.at,
            )
        )


def _steers(kind: Kind) -> bool:
    """Whether it keeps a call from being made, so that approval matters for an effect that happens once."""
    return kind in (Kind.AVOID_TOOL, Kind.PREFER_TOOL, Kind.SKIP_STEP, Kind.MOVE_STEP, Kind.REPAIR)


def _with_figures(heuristic: Heuristic, finding: Finding) -> Heuristic:
    shown = {**heuristic.evidence, **finding.evidence}
    return msgspec.structs.replace(heuristic, text=finding.text, evidence=shown, confidence=finding.confidence)


def _group(kind: Kind) -> str:
    return "against" if kind in (Kind.AVOID_TOOL, Kind.HINT) else kind.value


def _about(finding: Finding) -> Callable[[Heuristic], bool]:
    place = (finding.kind, finding.family, finding.subject, finding.condition)
    return lambda known: (known.kind, known.family, known.subject, known.condition) == place


def _is(wanted: str, known: Heuristic) -> bool:
    return known.id == wanted


def mark(cells: Cells, heuristic: Heuristic, *, acting: bool) -> None:
    """Tell the cells behind a heuristic that it acts, or that it was given up and its evidence starts afresh."""
    place = cell_of(heuristic)
    if place is None:
        return
    if place == wide_key(heuristic.model, heuristic.subject):
        cells.put(place, msgspec.structs.replace(cells.get(place, WideCell), acting=acting))
        return
    cell = cells.get(place, ToolCell)
    if cell.acting is not acting:
        cells.put(place, msgspec.structs.replace(cell, acting=True) if acting else cell.given_up())


def cell_of(heuristic: Heuristic) -> CellKey | None:
    """Where the evidence behind a heuristic lies; None for what stands on tasks alone."""
    model, family, tool = heuristic.model, heuristic.family, heuristic.subject
    match heuristic.kind:
        case Kind.AVOID_TOOL | Kind.HINT:
            return (model, family, f"tool:{tool}", " & ".join(heuristic.condition))
        case Kind.PREFER_TOOL:
            return (model, family, f"tool:{tool}", "")
        case Kind.FUTILE_RETRY:
            return (model, family, f"retry:{tool}", "")
        case Kind.REPAIR:
            return (model, family, f"repair:{tool}", f"{heuristic.better}>{heuristic.detail.get('change', '')}")
        case Kind.SKIP_STEP | Kind.MOVE_STEP:
            return (model, family, f"step:{tool}", "".join(heuristic.condition).removeprefix("after="))
        case Kind.WORKFLOW | Kind.SKILL:
            return None
        case _:
            assert_never(heuristic.kind)

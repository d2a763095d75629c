"""Plans: steps that keep failing where they stand, and sequences of tools that lead to success."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import msgspec

from ..store.heuristics import CellKey, Kind
from ..store.lessons import Lesson, PlanStep
from .cells import CONFIRMING_SESSIONS, CONFIRMING_TRACES, Cells, IndexCell, PlanCell, ToolCell
from .evidence import RESTORE
from .findings import Finding, Wish, confidence_of, counted, hope, may_act
from .ranking import best_instead

_FIRST_WEIGHT = 1.0
_OTHERS = 2
_LONGEST = 20


def fold_steps(lesson: Lesson, cells: Cells) -> Iterator[Finding]:
    """Count each step at its place, and say where one keeps failing. Only runs with other steps that work tell."""
    working = {step.tool for step in lesson.steps if step.worked}
    seen: set[tuple[str, str]] = set()
    for step in lesson.steps[:_LONGEST]:
        if (step.tool, step.after) in seen:
            continue
        seen.add((step.tool, step.after))
        ended = any(other.worked for other in lesson.steps if (other.tool, other.after) == (step.tool, step.after))
        index_key = (lesson.model, lesson.family, f"steps:{step.tool}", "")
        index = cells.get(index_key, IndexCell).with_condition(step.after)
        cells.put(index_key, index)
        if step.after not in index.conditions:
            continue
        key = _key(lesson, step.tool, step.after)
        cell = cells.get(key, ToolCell)
        after = cell.observed(worked=ended, session=lesson.session_id, confirms=not ended)
        cells.put(key, after)
        yield from hope(step.tool, (f"after={step.after}",), key, cell, after)
        if step.after and (len(working - {step.tool}) >= _OTHERS or _was_moved(lesson, step.tool, index, cells)):
            yield from _failing(lesson, step, cells)


def _key(lesson: Lesson, tool: str, after: str) -> CellKey:
    return (lesson.model, lesson.family, f"step:{tool}", after)


def _failing(lesson: Lesson, step: PlanStep, cells: Cells) -> Iterator[Finding]:
    """What to do about a step that keeps failing where it stands: do it where it works, try it sooner, or leave it out.
    Where it was moved and fails again, a few traces are enough: it has failed in two places."""
    index = cells.get((lesson.model, lesson.family, f"steps:{step.tool}", ""), IndexCell)
    place = index.conditions[step.after]
    weight = _FIRST_WEIGHT / (place * (place + 1))
    key = _key(lesson, step.tool, step.after)
    cell = cells.get(key, ToolCell)
    evidence = cell.evidence
    total = evidence.failed + evidence.worked
    told = f"`{step.tool}` failed {evidence.failed} of {total} times right after `{step.after}`"
    elsewhere = _place_that_works(lesson, step, index, cells)
    moved = _was_moved(lesson, step.tool, index, cells)
    sooner = not elsewhere and not moved and _may_go_sooner(lesson, step, cells)
    found = Finding(
        wish=Wish.ACT,
        kind=Kind.MOVE_STEP if elsewhere or sooner else Kind.SKIP_STEP,
        model=lesson.model,
        family=lesson.family,
        subject=step.tool,
        condition=(f"after={step.after}",),
        better=elsewhere,
        detail={"before": step.after} if sooner else {},
        text=told,
        cause=told,
        key=key,
        confidence=confidence_of(cell, weight),
        evidence=counted(cell, weight),
        once=cells.get((lesson.model, lesson.family, f"index:{step.tool}", ""), IndexCell).once,
    )
    if cell.acting and evidence.e_restored() >= RESTORE:
        for kind in (Kind.SKIP_STEP, Kind.MOVE_STEP):
            yield msgspec.structs.replace(
                found, wish=Wish.STOP, kind=kind, better="", cause=f"`{step.tool}` works again after `{step.after}`"
            )
    elif cell.acting or best_instead(lesson, step.tool, cells):
        return
    elif may_act(cell, weight) or (moved and cell.confirmed and not evidence.worked):
        yield found


def _was_moved(lesson: Lesson, tool: str, index: IndexCell, cells: Cells) -> bool:
    """Whether something is done already about this step at one of its places."""
    return any(cells.get(_key(lesson, tool, after), ToolCell).acting for after in index.conditions)


def _place_that_works(lesson: Lesson, step: PlanStep, index: IndexCell, cells: Cells) -> str:
    """Another step after which this one works; empty when none is known."""
    for after in index.conditions:
        evidence = cells.get(_key(lesson, step.tool, after), ToolCell).evidence
        if after != step.after and evidence.worked >= _OTHERS and evidence.worked > 2 * evidence.failed:
            return after
    return ""


def _may_go_sooner(lesson: Lesson, step: PlanStep, cells: Cells) -> bool:
    """Whether the step could be done one place sooner: nobody has seen it fail there. To try that costs nothing where
    it fails anyway, and a task that needs the step is not lost by leaving it out."""
    before = next((other.after for other in lesson.steps if other.tool == step.after), None)
    if before is None:
        return False
    evidence = cells.get(_key(lesson, step.tool, before), ToolCell).evidence
    return evidence.failed < CONFIRMING_TRACES


def fold_plan(lesson: Lesson, cells: Cells) -> Iterator[Finding]:
    """Remember the sequence of a successful run; one that comes back in several sessions is proposed as a workflow."""
    steps = [step for step in lesson.steps if step.worked]
    if lesson.success is not True or not 2 <= len(steps) <= _LONGEST:
        return
    name = hashlib.blake2b(lesson.plan.encode(), digest_size=8).hexdigest()
    key = (lesson.model, lesson.family, f"plan:{name}", "")
    cell = cells.get(key, PlanCell)
    sessions = cell.sessions
    if lesson.session_id not in sessions and len(sessions) < CONFIRMING_SESSIONS:
        sessions = (*sessions, lesson.session_id)
    ready = cell.traces + 1 >= CONFIRMING_TRACES and len(sessions) >= CONFIRMING_SESSIONS
    fresh = ready and not cell.proposed
    cell = PlanCell(traces=cell.traces + 1, sessions=sessions, proposed=ready, steps=_merged(cell, steps))
    cells.put(key, cell)
    if not fresh:
        return
    told = f"{cell.traces} successful runs did: {lesson.plan}"
    yield Finding(
        wish=Wish.ACT,
        kind=Kind.WORKFLOW,
        model=lesson.model,
        family=lesson.family,
        subject=f"plan:{name}",
        detail={"steps": [_line(step, same) for step, (_, same) in zip(steps, cell.steps, strict=True)]},
        text=lesson.plan,
        cause=told,
        key=key,
        evidence={"traces": cell.traces, "sessions": len(sessions)},
    )


def _merged(cell: PlanCell, steps: list[PlanStep]) -> tuple[tuple[str, dict[str, str | None]], ...]:
    """Arguments that are the same in every run stay; the others become slots."""
    fresh = tuple((step.tool, {name: _digest(value) for name, value in step.arguments.items()}) for step in steps)
    if not cell.steps:
        return fresh
    merged = []
    for (tool, known), (_, now) in zip(cell.steps, fresh, strict=True):
        names = sorted(set(known) | set(now))
        merged.append((tool, {name: now.get(name) if known.get(name) == now.get(name) else None for name in names}))
    return tuple(merged)


def _digest(value: str) -> str | None:
    return None if value == "…" else hashlib.blake2b(value.encode(), digest_size=8).hexdigest()


def _line(step: PlanStep, same: dict[str, str | None]) -> str:
    """A step as a person and a model read it; a slot is the argument's name in braces."""
    shown = (
        f"{name}={step.arguments[name]}" if same[name] and name in step.arguments else f"{name}={{{name}}}"
        for name in same
    )
    return f"{step.tool} {' '.join(shown)}".strip()

"""One lesson folded into the evidence. Pure: cells in, cells and findings out, in time proportional to the lesson.

Tools: every observation counts for the family as a whole and for each feature of the call; pairs of features are looked
at only where single ones leave a tool's failures unexplained. The whole family has half of the weight, so it is heard
first; a feature speaks for itself when the family as a whole does not.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import msgspec

from ..store.heuristics import ANY_REPEAT, ANY_TOOL, EVERY_FAMILY, CellKey, Kind
from ..store.lessons import Lesson, Observation
from .cells import Cells, IndexCell, ToolCell, WideCell, hidden, index_key, tool_key, wide_key
from .context import is_about_arguments
from .evidence import RESTORE, Rate, chance_better
from .findings import Finding, Wish, confidence_of, counted, hope, may_act, where
from .plans import fold_plan, fold_steps
from .ranking import best_instead, rate_of, used_instead
from .recovery import fold_mending, fold_retry

_FAMILY_WEIGHT = 0.5
_SINGLE_WEIGHT = 0.4
_PAIR_WEIGHT = 0.1
_NOTED = 5.0
_SURE = 0.99
_FAILING = 0.95
_UNSURE = 0.7
_UNEXPLAINED = 5
_MOST_PAIRED = 6
_WIDE_FAMILIES = 3
_ENOUGH, _AGAIN = 3, 2
_HALF_THE_TIME = Rate(good=500.0, all=1000.0)


def fold(lesson: Lesson, cells: Cells) -> list[Finding]:
    """Take a lesson into account; returns what the evidence now asks for."""
    if lesson.tainted:
        return []
    cells.fetch(_keys(lesson))
    cells.fetch(_keys_behind(lesson, cells))
    findings: list[Finding] = []
    for mending in lesson.mendings:
        findings += fold_mending(lesson, mending, cells)
    for observation in lesson.observations:
        if observation.worked or not is_about_arguments(observation.error):
            findings += _observed(lesson, observation, cells)
        if observation.tries > 1:
            findings += fold_retry(lesson, observation, cells)
    for tool in dict.fromkeys(observation.tool for observation in lesson.observations):
        findings += _preferred(lesson, tool, cells)
        findings += _preferred_everywhere(lesson, tool, cells)
    findings += fold_steps(lesson, cells)
    findings += fold_plan(lesson, cells)
    return findings


def _keys(lesson: Lesson) -> Iterator[CellKey]:
    """What a lesson surely needs, so that it is read in one go."""
    model, family = lesson.model, lesson.family
    for seen in lesson.observations:
        yield index_key(lesson, seen.tool)
        yield from rate_keys(lesson, seen.tool)
        yield from (tool_key(lesson, seen.tool, feature) for feature in seen.features)
        if seen.tries > 1 and seen.error:
            yield (model, EVERY_FAMILY, f"retries:{seen.error}", "")
            yield (model, EVERY_FAMILY, f"retry:{ANY_TOOL}:{seen.error}", "")
            yield (model, EVERY_FAMILY, f"retry:{ANY_REPEAT}", "")
            yield from ((model, place, f"retry:{seen.tool}:{seen.error}", "") for place in (family, EVERY_FAMILY))
    for mending in lesson.mendings:
        yield from rate_keys(lesson, mending.then)
        yield (model, family, f"repairs:{mending.tool}:{mending.error}", "")
        yield (model, family, f"repair:{mending.tool}:{mending.error}", f"{mending.then}>{mending.change}")
    for step in lesson.steps:
        yield (model, family, f"steps:{step.tool}", "")
        yield (model, family, f"step:{step.tool}", step.after)


def _keys_behind(lesson: Lesson, cells: Cells) -> Iterator[CellKey]:
    """What the first cells point to: tools used in place of others, pairs of features, and other places of a step."""
    for tool in dict.fromkeys(seen.tool for seen in lesson.observations):
        index = cells.get(index_key(lesson, tool), IndexCell)
        wide = cells.get(wide_key(lesson.model, tool), WideCell)
        for other in {**wide.instead, **index.instead}:
            yield index_key(lesson, other)
            yield from rate_keys(lesson, other)
    for seen in lesson.observations:
        index = cells.get(index_key(lesson, seen.tool), IndexCell)
        for one, other in combinations(seen.features, 2) if index.looks_at_pairs else ():
            if hidden(pair := f"{one} & {other}") in index.pairs:
                yield tool_key(lesson, seen.tool, pair)
    for tool in dict.fromkeys(step.tool for step in lesson.steps if step.after):
        places = cells.get((lesson.model, lesson.family, f"steps:{tool}", ""), IndexCell)
        yield from ((lesson.model, lesson.family, f"step:{tool}", after) for after in places.conditions)


def rate_keys(lesson: Lesson, tool: str) -> Iterator[CellKey]:
    """What the rate of a tool is made of (`ranking.rate_of`)."""
    yield tool_key(lesson, tool)
    yield wide_key(lesson.model, tool)
    yield (lesson.model, lesson.family, f"prior:{tool}", "")
    yield (lesson.model, EVERY_FAMILY, f"prior:{tool}", "")


def _observed(lesson: Lesson, seen: Observation, cells: Cells) -> list[Finding]:
    index = cells.get(index_key(lesson, seen.tool), IndexCell)
    for feature in seen.features:
        index = index.with_condition(feature)
    singles = [feature for feature in seen.features if hidden(feature) in index.conditions]
    pairs: list[str] = []
    if index.looks_at_pairs:
        for one, other in combinations(singles[:_MOST_PAIRED], 2):
            index = index.with_condition(f"{one} & {other}", pair=True)
        pairs = [pair for one, other in combinations(singles, 2) if hidden(pair := f"{one} & {other}") in index.pairs]
        cells.fetch(tool_key(lesson, seen.tool, pair) for pair in pairs)
    hopes: list[Finding] = []
    for condition in ("", *singles, *pairs):
        key = tool_key(lesson, seen.tool, condition)
        cell = cells.get(key, ToolCell)
        after = cell.observed(worked=seen.worked, session=lesson.session_id, confirms=not seen.worked)
        cells.put(key, after)
        hopes += hope(seen.tool, _parts(condition), key, cell, after)
    wide = cells.get(wide_key(lesson.model, seen.tool), WideCell)
    cells.put(wide_key(lesson.model, seen.tool), wide.seen(lesson.family, worked=seen.worked))
    index = msgspec.structs.replace(index, once=index.once or seen.once)
    index = _unexplained(lesson, seen, index, cells)
    cells.put(index_key(lesson, seen.tool), index)
    return [*hopes, *_avoided(lesson, seen, index, [*singles, *pairs], cells)]


def _unexplained(lesson: Lesson, seen: Observation, index: IndexCell, cells: Cells) -> IndexCell:
    """Begin to look at pairs where a tool fails often, works often, and no single feature tells when."""
    if index.looks_at_pairs or seen.worked:
        return index
    evidence = cells.get(tool_key(lesson, seen.tool), ToolCell).evidence
    if min(evidence.worked, evidence.failed) < _UNEXPLAINED:
        return index
    told = (cells.get(tool_key(lesson, seen.tool, feature), ToolCell) for feature in seen.features)
    if any(cell.evidence.failed >= _UNEXPLAINED and not cell.evidence.worked for cell in told):
        return index
    return msgspec.structs.replace(index, looks_at_pairs=True)


def weight_of(condition: str, index: IndexCell) -> float:
    """The weight a condition was given when it first appeared."""
    if not condition:
        return _FAMILY_WEIGHT
    condition = hidden(condition)
    if condition in index.conditions:
        place = index.conditions[condition]
        return _SINGLE_WEIGHT / (place * (place + 1))
    place = index.pairs[condition]
    return _PAIR_WEIGHT / (place * (place + 1))


def _avoided(
    lesson: Lesson, seen: Observation, index: IndexCell, conditions: list[str], cells: Cells
) -> Iterator[Finding]:
    whole = cells.get(tool_key(lesson, seen.tool), ToolCell)
    for condition in ("", *conditions):
        key = tool_key(lesson, seen.tool, condition)
        cell, weight = cells.get(key, ToolCell), weight_of(condition, index)
        if cell.acting and cell.evidence.e_restored() >= RESTORE:
            yield from _works_again(lesson, seen, condition, cells)
        elif seen.worked or not cell.confirmed or (condition and may_act(whole, _FAMILY_WEIGHT)):
            continue
        elif may_act(cell, weight):
            yield _against(lesson, seen, condition, Wish.ACT, cells)
        elif cell.strength(weight) >= _NOTED:
            yield _against(lesson, seen, condition, Wish.NOTE, cells)


def _against(lesson: Lesson, seen: Observation, condition: str, wish: Wish, cells: Cells) -> Finding:
    """A tool that does not work here. Without a better one the finding is only told, never enforced."""
    index = cells.get(index_key(lesson, seen.tool), IndexCell)
    key = tool_key(lesson, seen.tool, condition)
    cell, weight = cells.get(key, ToolCell), weight_of(condition, index)
    parts = _parts(condition)
    better = best_instead(lesson, seen.tool, cells)
    if wish is Wish.ACT:
        cells.put(index_key(lesson, seen.tool), msgspec.structs.replace(index, chosen=better))
    evidence = cell.evidence
    told = f"`{seen.tool}` failed {evidence.failed} of {evidence.failed + evidence.worked} times"
    return Finding(
        wish=wish,
        kind=Kind.AVOID_TOOL if better else Kind.HINT,
        model=lesson.model,
        family=lesson.family,
        subject=seen.tool,
        condition=parts,
        better=better,
        text=f"{told} {where(lesson.family, parts)}",
        cause=f"{told} ({where(lesson.family, parts)})",
        key=key,
        confidence=confidence_of(cell, weight),
        evidence=counted(cell, weight),
        once=index.once,
    )


def _parts(condition: str) -> tuple[str, ...]:
    return tuple(condition.split(" & ")) if condition else ()


def _works_again(lesson: Lesson, seen: Observation, condition: str, cells: Cells) -> Iterator[Finding]:
    key = tool_key(lesson, seen.tool, condition)
    cell = cells.get(key, ToolCell)
    parts = _parts(condition)
    if not condition:
        wide = cells.get(wide_key(lesson.model, seen.tool), WideCell)
        cells.put(wide_key(lesson.model, seen.tool), wide.restored(lesson.family, _ENOUGH))
    for kind in (Kind.AVOID_TOOL, Kind.HINT, *((Kind.PREFER_TOOL,) if not condition else ())):
        yield Finding(
            wish=Wish.STOP,
            kind=kind,
            model=lesson.model,
            family=lesson.family,
            subject=seen.tool,
            condition=parts,
            cause=f"`{seen.tool}` works again",
            key=key,
            evidence=counted(cell),
        )


def _preferred(lesson: Lesson, tool: str, cells: Cells) -> Iterator[Finding]:
    """Rank a tool against what was used in its place: recent rates, drawn to what is known elsewhere."""
    key = tool_key(lesson, tool)
    cell = cells.get(key, ToolCell)
    better = best_instead(lesson, tool, cells)
    if not cell.confirmed or cell.evidence.e_restored() >= RESTORE or _explained(lesson, tool, cells):
        return
    if not better:
        yield from _failing(lesson, tool, cells)
        return
    chance = chance_better(rate_of(lesson, better, cells), rate_of(lesson, tool, cells))
    if chance < _SURE:
        yield from _failing(lesson, tool, cells)
    if chance < _UNSURE:
        return
    if chance >= _SURE:
        index = cells.get(index_key(lesson, tool), IndexCell)
        cells.put(index_key(lesson, tool), msgspec.structs.replace(index, chosen=better))
    other = cells.get(tool_key(lesson, better), ToolCell).evidence
    mine = cell.evidence
    told = (
        f"`{better}` worked {other.worked} of {other.worked + other.failed} times, "
        f"`{tool}` {mine.worked} of {mine.worked + mine.failed}"
    )
    yield Finding(
        wish=Wish.ACT if chance >= _SURE else Wish.NOTE,
        kind=Kind.PREFER_TOOL,
        model=lesson.model,
        family=lesson.family,
        subject=tool,
        better=better,
        text=told,
        cause=told,
        key=key,
        confidence=chance,
        evidence={**counted(cell), "chance_better": round(chance, 4)},
        tentative=True,
        once=cells.get(index_key(lesson, tool), IndexCell).once,
    )


def _failing(lesson: Lesson, tool: str, cells: Cells) -> Iterator[Finding]:
    """A tool that most likely fails here while nothing is surely better: worth telling, no more. It may be that a
    better one was never reached."""
    key = tool_key(lesson, tool)
    cell = cells.get(key, ToolCell)
    chance = chance_better(_HALF_THE_TIME, cell.recent)
    if cell.acting or chance < _FAILING:
        return
    told = f"`{tool}` failed {cell.evidence.failed} of {cell.evidence.failed + cell.evidence.worked} times"
    yield Finding(
        wish=Wish.ACT,
        kind=Kind.HINT,
        model=lesson.model,
        family=lesson.family,
        subject=tool,
        text=f"{told} {where(lesson.family, ())}",
        cause=told,
        key=key,
        confidence=chance,
        evidence={**counted(cell), "chance_worse": round(chance, 4)},
        tentative=True,
        once=cells.get(index_key(lesson, tool), IndexCell).once,
    )


def _explained(lesson: Lesson, tool: str, cells: Cells) -> bool:
    """Whether one feature tells when a tool fails that works otherwise: then the tool as a whole is not to blame."""
    if cells.get(tool_key(lesson, tool), ToolCell).evidence.worked < _ENOUGH:
        return False
    features = {feature for seen in lesson.observations if seen.tool == tool for feature in seen.features}
    told = (cells.get(tool_key(lesson, tool, feature), ToolCell).evidence for feature in features)
    return any(evidence.failed >= _ENOUGH and not evidence.worked for evidence in told)


def _preferred_everywhere(lesson: Lesson, tool: str, cells: Cells) -> Iterator[Finding]:
    """A tool that fails in several families and works in none is put behind the others in a new family, too. Each
    family counts from its second failing trace on: as soon as it knows better, it stops trying."""
    key = wide_key(lesson.model, tool)
    wide = cells.get(key, WideCell)
    if not wide.acting and (len(wide.families) < _WIDE_FAMILIES or not wide.instead):
        return
    failing = [name for name, (good, bad) in wide.families.items() if bad >= _AGAIN and good * 3 <= bad]
    working = [name for name, (good, bad) in wide.families.items() if good >= _ENOUGH and good >= bad]
    better = _better_everywhere(lesson, tool, cells)
    told = f"`{tool}` fails in {len(failing)} kinds of tasks and works in {len(working)}"
    found = Finding(
        wish=Wish.ACT,
        kind=Kind.PREFER_TOOL,
        model=lesson.model,
        family=EVERY_FAMILY,
        subject=tool,
        better=better,
        text=told,
        cause=told,
        key=key,
        confidence=_SURE,
        evidence={"families_failing": len(failing), "families_working": len(working)},
        tentative=True,
    )
    if wide.acting and working:
        yield msgspec.structs.replace(found, wish=Wish.STOP, better="")
    elif not wide.acting and better and len(failing) >= _WIDE_FAMILIES and not working:
        yield found


def _better_everywhere(lesson: Lesson, tool: str, cells: Cells) -> str:
    """What did a tool's job elsewhere and works in general; empty when nothing is known to."""
    rates = {name: cells.get(wide_key(lesson.model, name), WideCell).rate for name in used_instead(lesson, tool, cells)}
    usable = [name for name, rate in rates.items() if rate.good >= _ENOUGH - 0.5 and rate.good >= 0.8 * rate.all]
    return max(usable, key=lambda name: (rates[name].good, name), default="")

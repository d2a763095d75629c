"""What happens after a failure: which retries are futile, and what mends it."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from ..store.heuristics import ANY_REPEAT, ANY_TOOL, EVERY_FAMILY, Kind
from ..store.lessons import Lesson, Mending, Observation
from .cells import Cells, IndexCell, ToolCell, WideCell, hidden, index_key, wide_key
from .evidence import RESTORE
from .findings import Finding, Wish, confidence_of, counted, may_act

_RETRY_WEIGHTS = (0.1, 0.1, 0.4, 0.4)
_SEVERAL_TOOLS = 3


def fold_mending(lesson: Lesson, mending: Mending, cells: Cells) -> Iterator[Finding]:
    """After this failure that was done: an alternative to the tool, and perhaps a repair worth telling."""
    if mending.then != mending.tool:
        index = cells.get(index_key(lesson, mending.tool), IndexCell)
        cells.put(index_key(lesson, mending.tool), index.used_instead(mending.then, worked=mending.worked))
        wide = cells.get(wide_key(lesson.model, mending.tool), WideCell)
        cells.put(wide_key(lesson.model, mending.tool), wide.used_instead(mending.then, worked=mending.worked))
    if mending.change == "other arguments" or mending.change.startswith("another "):
        return
    place = (lesson.model, lesson.family, f"repairs:{mending.tool}:{mending.error}", "")
    done = f"{mending.then}>{mending.change}"
    index = cells.get(place, IndexCell).with_condition(done)
    cells.put(place, index)
    rank = index.conditions.get(hidden(done))
    if rank is None:
        return
    key = (lesson.model, lesson.family, f"repair:{mending.tool}:{mending.error}", done)
    cell = cells.get(key, ToolCell)
    # The test is against "it fails at least half the time", so here a repair that worked counts as a failure of that.
    cell = cell.observed(worked=not mending.worked, session=lesson.session_id, confirms=mending.worked)
    cells.put(key, cell)
    weight = 1 / (rank * (rank + 1))
    evidence = cell.evidence
    found = Finding(
        wish=Wish.ACT,
        kind=Kind.REPAIR,
        model=lesson.model,
        family=lesson.family,
        subject=f"{mending.tool}:{mending.error}",
        better=mending.then,
        detail={"change": mending.change},
        text=f"after `{mending.tool}` failed with {mending.error}, this worked {evidence.failed} of "
        f"{evidence.failed + evidence.worked} times",
        cause="it worked after this failure",
        key=key,
        confidence=confidence_of(cell, weight),
        evidence={**counted(cell, weight), "worked": evidence.failed, "failed": evidence.worked},
    )
    if cell.acting and cell.evidence.e_restored() >= RESTORE:
        yield msgspec.structs.replace(found, wish=Wish.STOP, cause="it stopped working")
    elif not cell.acting and may_act(cell, weight):
        yield found


def fold_retry(lesson: Lesson, seen: Observation, cells: Cells) -> Iterator[Finding]:
    """Whether trying the same again helped: for this tool and failure in this family, in all families, for this kind of
    failure whatever the tool, and for whatever the model itself repeats, once several tools have shown it."""
    if not seen.error:
        return
    tool = f"{seen.tool}:{seen.error}"
    place = (lesson.model, EVERY_FAMILY, f"retries:{seen.error}", "")
    index = cells.get(place, IndexCell).with_condition(seen.tool)
    cells.put(place, index)
    places = [
        (lesson.family, tool, _RETRY_WEIGHTS[0]),
        (EVERY_FAMILY, tool, _RETRY_WEIGHTS[1]),
        (EVERY_FAMILY, f"{ANY_TOOL}:{seen.error}", _RETRY_WEIGHTS[2]),
    ]
    if seen.repeats:
        places.append((EVERY_FAMILY, ANY_REPEAT, _RETRY_WEIGHTS[3]))
    for family, subject, weight in places:
        key = (lesson.model, family, f"retry:{subject}", "")
        cell = cells.get(key, ToolCell)
        cell = cell.observed(worked=seen.worked, session=lesson.session_id, confirms=not seen.worked)
        cells.put(key, cell)
        evidence = cell.evidence
        called = f"`{seen.tool}`" if subject == tool else "a call"
        after = "it failed" if subject == ANY_REPEAT else seen.error
        told = f"trying {called} again after {after} helped {evidence.worked} of "
        told += f"{evidence.worked + evidence.failed} times"
        found = Finding(
            wish=Wish.ACT,
            kind=Kind.FUTILE_RETRY,
            model=lesson.model,
            family=family,
            subject=subject,
            text=told,
            cause=told,
            key=key,
            confidence=confidence_of(cell, weight),
            evidence=counted(cell, weight),
        )
        if cell.acting and cell.evidence.e_restored() >= RESTORE:
            yield msgspec.structs.replace(found, wish=Wish.STOP, cause="trying again helps again")
        elif cell.acting or seen.worked or not may_act(cell, weight):
            continue
        elif subject == tool or len(index.conditions) >= _SEVERAL_TOOLS:
            yield found

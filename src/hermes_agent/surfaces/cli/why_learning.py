"""What learning had to do with a run: what was applied or withheld, on what evidence, and what came of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import msgspec

from ...store.database import Connection
from ...store.families import resolved
from ...store.heuristics import AuditEntry, Heuristic, Stage, read_heuristics
from ...store.learning_views import family_names
from ...store.lessons import lesson_of
from ...store.open import Store
from ...types.base import Value
from ...types.events import AdviceGiven, CallFinished, Decided, Fragment, PlanChanged, Recorded, RunStarted
from ...types.tools import ToolCall
from ...types.trace import AdviceItem, CallStatus

_HISTORY = 100
_FUTILE = "known to be futile here"
"""How the harness ends its reason for a retry that learning advised against."""
_REPAIR = "repair"


class AdviceLine(Value, frozen=True, kw_only=True):
    """One learned thing that could act. `propensity` is the chance of what happened; `call` is empty when it was about
    the whole request."""

    id: str
    kind: str
    text: str
    applied: bool
    propensity: float
    call: str
    tool: str


class Backing(Value, frozen=True, kw_only=True):
    """What a learned thing stands on: where it stands now, and the change that had made it act when the run began.

    `stage` is "gone" when it was taken out since. `acts_since` is None where no such change is on record."""

    id: str
    stage: str
    confidence: float
    evidence: dict[str, Any]
    source: str
    acts_since: float | None = None
    cause: str = ""
    after_run: str = ""
    evidence_then: dict[str, Any] = {}


class Steered(Value, frozen=True, kw_only=True):
    """A call that was advised against; `insisted` when the model made it all the same."""

    call: str
    tool: str
    reason: str
    insisted: bool


class Told(Value, frozen=True, kw_only=True):
    """Something about a failed call: a retry that was left out as futile, or the repair that was told."""

    call: str
    tool: str
    text: str


class Replanned(Value, frozen=True, kw_only=True):
    """A plan, from the moment it was made or changed."""

    steps: tuple[str, ...]
    reason: str


class Part(Value, frozen=True, kw_only=True):
    """The part that learning had in a run. `family_from` is "caller" or "wording"; `taught` says what the run itself
    was good for: "learned", "outcome only", "nothing", or "not learned from"."""

    family: str
    family_name: str
    family_from: str
    set_version: int
    pinned: bool
    seed: int | None
    taught: str
    hints: tuple[str, ...] = ()
    behind: tuple[str, ...] = ()
    advice: tuple[AdviceLine, ...] = ()
    backing: tuple[Backing, ...] = ()
    steered: tuple[Steered, ...] = ()
    futile: tuple[Told, ...] = ()
    repairs: tuple[Told, ...] = ()
    plans: tuple[Replanned, ...] = ()


async def part_of(store: Store, run_id: str, events: Sequence[Recorded], calls: Mapping[str, ToolCall]) -> Part:
    """What the journal says, with what the store knows about it now. Reads by id only."""
    found = _told_by(events, calls)
    ids = tuple(dict.fromkeys(line.id for line in found.advice))
    begun = next((entry.at for entry in events if isinstance(entry.event, AdviceGiven)), 0.0)

    def unit(connection: Connection) -> tuple[str, str, dict[str, Heuristic]]:
        name = found.family
        if name:
            name = family_names(connection, [resolved(connection, name)]).popitem()[1]
        return name, _taught(connection, run_id), read_heuristics(connection, ids)

    name, taught, known = await store.database.read(unit)
    backing = [_backing(one, known.get(one), await store.heuristics.audit(one, limit=_HISTORY), begun) for one in ids]
    return msgspec.structs.replace(found, family_name=name, taught=taught, backing=tuple(backing))


def counted(events: Sequence[Recorded]) -> tuple[int, int]:
    """How many learned things were applied in a run, and how many were withheld by their coin."""
    items = {item.id: item.applied for entry in events for item in _items(entry)}
    applied = sum(items.values())
    return applied, len(items) - applied


def learned_line(events: Sequence[Recorded], more: str) -> str:
    """The short form of a receipt; empty where nothing learned could act."""
    applied, withheld = counted(events)
    return f"learned: {applied} applied, {withheld} withheld; {more}" if applied or withheld else ""


def _items(entry: Recorded) -> tuple[AdviceItem, ...]:
    return entry.event.items if isinstance(entry.event, AdviceGiven) else ()


def _told_by(events: Sequence[Recorded], calls: Mapping[str, ToolCall]) -> Part:
    """What the journal alone says."""
    given = [entry.event for entry in events if isinstance(entry.event, AdviceGiven)]
    options = next((entry.event.options for entry in events if isinstance(entry.event, RunStarted)), {})
    family = next((one.family for one in reversed(given) if one.family), "")
    return Part(
        family=family,
        family_name=family,
        family_from=("caller" if options.get("family") else "wording") if family else "",
        set_version=next((one.set_version for one in reversed(given) if one.set_version), 0),
        pinned=options.get("pin") is not None,
        seed=options.get("seed"),
        taught="",
        hints=tuple(dict.fromkeys(hint for one in given for hint in one.hints)),
        behind=tuple(dict.fromkeys(tool for one in given for tool in one.behind)),
        advice=tuple(_line(item, calls) for entry in events for item in _items(entry)),
        steered=tuple(_steered(events, calls)),
        futile=tuple(_futile(events, calls)),
        repairs=tuple(_repairs(events, calls)),
        plans=tuple(
            Replanned(steps=entry.event.plan.pending, reason=entry.event.reason)
            for entry in events
            if isinstance(entry.event, PlanChanged)
        ),
    )


def _tool(call_id: str, calls: Mapping[str, ToolCall]) -> str:
    return calls[call_id].name if call_id in calls else ""


def _line(item: AdviceItem, calls: Mapping[str, ToolCall]) -> AdviceLine:
    return AdviceLine(
        id=item.id,
        kind=item.kind,
        text=item.text,
        applied=item.applied,
        propensity=item.propensity,
        call=item.call_id,
        tool=_tool(item.call_id, calls),
    )


def _steered(events: Sequence[Recorded], calls: Mapping[str, ToolCall]) -> Iterator[Steered]:
    """Each call that was advised against. Insisting is the same call made again, by another id."""
    decided = [entry.event for entry in events if isinstance(entry.event, Decided)]
    insisted = [calls[one.call_id] for one in decided if one.choice == "override" and one.call_id in calls]
    for entry in events:
        event = entry.event
        if isinstance(event, CallFinished) and event.status is CallStatus.STEERED:
            call = calls.get(event.call_id)
            again = call is not None and any(
                (other.name, other.arguments) == (call.name, call.arguments) for other in insisted
            )
            yield Steered(call=event.call_id, tool=event.tool, reason=plain_error(event.text), insisted=again)


def _futile(events: Sequence[Recorded], calls: Mapping[str, ToolCall]) -> Iterator[Told]:
    for entry in events:
        event = entry.event
        if isinstance(event, Decided) and event.subject == "failure" and event.reason.endswith(_FUTILE):
            yield Told(call=event.call_id, tool=_tool(event.call_id, calls), text=event.reason)


def _repairs(events: Sequence[Recorded], calls: Mapping[str, ToolCall]) -> Iterator[Told]:
    """What the model was told right behind a failure."""
    for entry, following in pairwise(events):
        applied = [item for item in _items(entry) if item.applied and item.kind == _REPAIR]
        if applied and isinstance(following.event, Fragment):
            call = applied[0].call_id
            yield Told(call=call, tool=_tool(call, calls), text=following.event.text)


def plain_error(text: str) -> str:
    """The message in a failed call's text."""
    try:
        return str(msgspec.json.decode(text)["error"])
    except (msgspec.MsgspecError, KeyError, TypeError):
        return text


def _taught(connection: Connection, run_id: str) -> str:
    lesson = lesson_of(connection, run_id)
    if lesson is None:
        return "not learned from"
    if lesson.tainted:
        return "nothing" if lesson.success is None else "outcome only"
    return "learned"


def _backing(name: str, found: Heuristic | None, history: Sequence[AuditEntry], begun: float) -> Backing:
    """`history` is newest first."""
    made = next((entry for entry in history if entry.at <= begun and _began_to_act(entry)), None)
    since = None if made is None else made.at
    cause, after, then = (made.cause, made.run_id, made.evidence) if made else ("", "", {})
    return Backing(
        id=name,
        stage=found.stage.value if found else "gone",
        confidence=found.confidence if found else 0.0,
        evidence=found.evidence if found else {},
        source=found.source if found else "",
        acts_since=since,
        cause=cause,
        after_run=after,
        evidence_then=then,
    )


def _began_to_act(entry: AuditEntry) -> bool:
    acting = {stage.value for stage in Stage if stage.acts}
    return entry.became in acting and entry.was not in acting

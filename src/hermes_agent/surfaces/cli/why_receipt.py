"""The receipt of a run: what was learned and applied, what it read, decided and was refused, and what it cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from ...app import App
from ...store.database import Connection
from ...store.families import resolved
from ...store.forks import own_events
from ...store.learning_views import Best, best_of
from ...store.open import Store
from ...store.runs import Run
from ...store.traces import trace_of
from ...types.base import Value
from ...types.events import AssistantMessage, CallFinished, CallIntended, Decided, Recorded, UserMessage
from ...types.tools import Label, ToolCall
from .why_ending import Cost, Ending, cost_of, ending_of
from .why_learning import Part, part_of

if TYPE_CHECKING:
    from ...learning.observe import Observed


class Read(Value, frozen=True, kw_only=True):
    """A result with a label: whose text it is, and where it came from. `earlier` when a former request read it."""

    call: str
    tool: str
    origin: str
    labels: tuple[str, ...]
    earlier: bool


class Trail(Value, frozen=True, kw_only=True):
    """One value of a doubtful call and where it was seen: the user's words, results by call, or nowhere."""

    value: str
    seen_in: tuple[str, ...]


class Decision(Value, frozen=True, kw_only=True):
    """Something the harness decided in this run."""

    subject: str
    choice: str
    reason: str
    call: str
    tool: str
    trail: tuple[Trail, ...]


class Refusal(Value, frozen=True, kw_only=True):
    """Something a tool tried that it had not declared, and was kept from."""

    call: str
    tool: str
    text: str


class Receipt(Value, frozen=True, kw_only=True):
    """Everything `hermes why` says about a run. `worth` is None while it is not over."""

    run: str
    session: str
    request: str
    model: str
    ending: Ending
    cost: Cost
    learning: Part
    worth: Observed | None
    read: tuple[Read, ...]
    decisions: tuple[Decision, ...]
    refusals: tuple[Refusal, ...]


async def receipt_of(app: App, run: Run) -> Receipt:
    """A run's receipt, from its journal, the conversation of its session, and what learning knows now."""
    told = await app.store.journal.transcript(run.session_id)
    events = await app.store.journal.run_events(run.id)
    calls = _calls(events)
    reads = [
        _read(entry.event, earlier=entry.run_id != run.id)
        for entry in told
        if isinstance(entry.event, CallFinished) and entry.event.labels
    ]
    decisions = [
        _decision(entry.event, calls.get(entry.event.call_id), _before(told, run.id, entry.event.call_id))
        for entry in events
        if isinstance(entry.event, Decided)
    ]
    return Receipt(
        run=run.id,
        session=run.session_id,
        request=next((entry.event.text for entry in events if isinstance(entry.event, UserMessage)), ""),
        model=run.model,
        ending=ending_of(events),
        cost=cost_of(run, events, app.environment.home),
        learning=await part_of(app.store, run.id, events, calls),
        worth=await _worth(app.store, run, events),
        read=tuple(reads),
        decisions=tuple(decisions),
        refusals=tuple(_refusals(events)),
    )


async def _worth(store: Store, run: Run, events: Sequence[Recorded]) -> Observed | None:
    """What a run's own steps were worth, against the best that its family had done before it."""
    if run.finished_at is None:
        return None
    from ...learning.observe import observe

    trace = trace_of(own_events(events), run.session_id)

    def unit(connection: Connection) -> Best:
        rows = connection.run("SELECT family, seq FROM lessons WHERE run_id = ?", (run.id,))
        family, place = rows[0] if rows else (resolved(connection, trace.family), None)
        return best_of(connection, family, trace.model, place) if family else Best()

    return observe(trace, await store.database.read(unit))


def _calls(events: Sequence[Recorded]) -> dict[str, ToolCall]:
    """Every call of a run by its id, also those that tools made."""
    calls: dict[str, ToolCall] = {}
    for entry in events:
        if isinstance(entry.event, AssistantMessage):
            calls.update((call.id, call.meant()) for call in entry.event.calls)
        elif isinstance(entry.event, CallIntended) and entry.event.parent:
            intent = entry.event
            calls[intent.call_id] = ToolCall(id=intent.call_id, name=intent.tool, arguments=intent.arguments)
    return calls


def _refusals(events: Sequence[Recorded]) -> Iterator[Refusal]:
    for entry in events:
        event = entry.event
        if isinstance(event, CallFinished):
            yield from (Refusal(call=event.call_id, tool=event.tool, text=text) for text in event.refusals)


def _read(event: CallFinished, *, earlier: bool) -> Read:
    labels = tuple(label.value for label in event.labels)
    return Read(call=event.call_id, tool=event.tool, origin=event.origin, labels=labels, earlier=earlier)


def _before(told: Sequence[Recorded], run_id: str, call_id: str) -> list[Recorded]:
    """What was said before a call had its result."""

    def earlier(entry: Recorded) -> bool:
        event = entry.event
        return not (entry.run_id == run_id and isinstance(event, CallFinished) and event.call_id == call_id)

    return list(takewhile(earlier, told))


def _decision(event: Decided, call: ToolCall | None, told: Sequence[Recorded]) -> Decision:
    trail = tuple(_trails(call, told)) if call is not None and event.subject == "taint" else ()
    return Decision(
        subject=event.subject,
        choice=event.choice,
        reason=event.reason,
        call=event.call_id,
        tool=call.name if call else "",
        trail=trail,
    )


def _trails(call: ToolCall, told: Sequence[Recorded]) -> Iterator[Trail]:
    for value in _texts(call.arguments):
        seen = [place for entry in told if (place := _place(entry.event)) and value.casefold() in _said(entry.event)]
        yield Trail(value=value, seen_in=tuple(dict.fromkeys(seen)))


def _texts(value: Any) -> Iterator[str]:
    match value:
        case dict():
            for part in value.values():
                yield from _texts(part)
        case list() | tuple():
            for part in value:
                yield from _texts(part)
        case str() if value.strip():
            yield value.strip()
        case _:
            return


def _place(event: Any) -> str:
    match event:
        case UserMessage():
            return "your words"
        case CallFinished() as done:
            whose = "a stranger's text" if Label.UNTRUSTED in done.labels else "a result"
            return f"{whose}: {done.tool} ({done.origin or done.call_id})"
        case _:
            return ""


def _said(event: Any) -> str:
    return str(event.text).casefold()

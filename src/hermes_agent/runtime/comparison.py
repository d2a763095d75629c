"""Two runs side by side: what was decided in each, which calls they share, and where they part.

Decisions are compared without what differs from run to run by chance, such as the ids of calls: two runs that are
pinned to the same set and seed must make the same ones.
"""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Iterator, Sequence
from enum import StrEnum

import msgspec

from ..store.forks import ForkedFrom, origin_of
from ..store.runs import Run
from ..store.traces import tool_records, trace_of
from ..types.base import Value
from ..types.events import (
    AdviceGiven,
    AssistantMessage,
    CallFinished,
    Decided,
    ModelCalled,
    PlanChanged,
    Recorded,
    RunFinished,
    RunStarted,
    Usage,
    UserMessage,
)
from ..types.tools import ToolCall
from ..types.trace import CallStatus, Outcome, RunStatus

_KINDS = {"failure": "retry", "permission": "permission", "taint": "permission", "advice": "steer"}
_NOT_OF_THE_RUN = ("learning", "effort")


class DecisionLine(Value, frozen=True, kw_only=True):
    """One decision of a run: `kind` is advice, steer, retry, permission or plan; `subject` the heuristic, the tool or
    the plan it is about; `choice` what was decided. `call` is the call it concerns as step.place, empty for none.
    """

    kind: str
    subject: str
    choice: str
    call: str = ""
    text: str = ""


class Call(Value, frozen=True, kw_only=True):
    """A call as two runs are compared by: its tool and arguments, and in which step it was made with which end."""

    step: int
    call: ToolCall
    digest: str
    status: CallStatus | None
    error: str = ""


class Side(Value, frozen=True, kw_only=True):
    """One of the two runs. `said` is what the user said while it ran."""

    run: str
    session: str
    request: str
    said: tuple[str, ...]
    model: str
    family: str
    set_version: int
    pin: int | None
    seed: int | None
    forked_from: ForkedFrom | None
    status: RunStatus
    outcome: Outcome
    answer: str
    steps: int
    calls: int
    errors: int
    model_calls: int
    usage: Usage
    seconds: float
    decisions: tuple[DecisionLine, ...]


class Match(StrEnum):
    """How the calls of a row are to each other."""

    SAME = "same"
    CHANGED = "changed"
    LEFT = "left"
    RIGHT = "right"


class Row(Value, frozen=True, kw_only=True):
    """A call of each run, or of one where the other has none. The same call may have ended differently."""

    match: Match
    left: Call | None = None
    right: Call | None = None


class Comparison(Value, frozen=True, kw_only=True):
    """Two runs, their calls in rows, the first difference in words, and the decisions that only one of them made.

    `pinned` when both were pinned to the same set and seed: then `same_decisions` must be true, or something that was
    learned is not what decided."""

    left: Side
    right: Side
    rows: tuple[Row, ...]
    parts: str
    pinned: bool
    same_decisions: bool
    only_left: tuple[DecisionLine, ...]
    only_right: tuple[DecisionLine, ...]


def decisions_of(events: Sequence[Recorded]) -> tuple[DecisionLine, ...]:
    """Everything that was decided in a run, in order: what learning could do and whether the coin let it, steered and
    insisted calls, retries, permissions, changes of the plan."""
    return tuple(_lines(events))


def _lines(events: Sequence[Recorded]) -> Iterator[DecisionLine]:
    places: dict[str, str] = {}
    tools: dict[str, str] = {}
    step = 0
    for entry in _in_causal_order(events):
        match entry.event:
            case AssistantMessage(calls=calls):
                step += 1
                places.update((call.id, f"{step}.{place}") for place, call in enumerate(calls, 1))
                tools.update((call.id, call.meant().name) for call in calls)
            case AdviceGiven(items=items):
                for item in items:
                    choice = "applied" if item.applied else "withheld"
                    place = places.get(item.call_id, "")
                    yield DecisionLine(kind="advice", subject=item.id, choice=choice, call=place, text=item.text)
            case CallFinished(status=CallStatus.STEERED) as done:
                place = places.get(done.call_id, "")
                yield DecisionLine(kind="steer", subject=done.tool, choice="steered", call=place, text=done.text)
            case Decided() as decided if decided.subject not in _NOT_OF_THE_RUN:
                yield DecisionLine(
                    kind=_KINDS.get(decided.subject, decided.subject),
                    subject=tools.get(decided.call_id, decided.subject),
                    choice=decided.choice,
                    call=places.get(decided.call_id, ""),
                    text=decided.reason,
                )
            case PlanChanged(plan=plan, reason=reason):
                yield DecisionLine(kind="plan", subject="plan", choice=" → ".join(plan.pending), text=reason)
            case _:
                continue


def _in_causal_order(events: Sequence[Recorded]) -> list[Recorded]:
    """Events with those of calls that ran at the same time in the order in which the calls were asked for: which of
    them ended first is chance."""
    order: dict[str, int] = {}
    keyed: list[tuple[int, int, Recorded]] = []
    step = 0
    for entry in events:
        event = entry.event
        if isinstance(event, AssistantMessage):
            step += 1
            order.update((call.id, place) for place, call in enumerate(event.calls, 1))
            keyed.append((step, 0, entry))
        else:
            keyed.append((step, order.get(_call_of(entry), 0), entry))
    return [entry for _, _, entry in sorted(keyed, key=lambda one: one[:2])]


def _call_of(entry: Recorded) -> str:
    match entry.event:
        case CallFinished(call_id=call_id) | Decided(call_id=call_id):
            return call_id
        case AdviceGiven(items=items) if items:
            return items[0].call_id
        case _:
            return ""


def calls_of(events: Sequence[Recorded]) -> list[Call]:
    """The calls that the model asked for, in order."""
    ends = {record.call_id: record for record in tool_records(events)}
    found: list[Call] = []
    step = 0
    for entry in events:
        if not isinstance(entry.event, AssistantMessage):
            continue
        step += 1
        for asked in entry.event.calls:
            call, end = asked.meant(), ends.get(asked.id)
            found.append(
                Call(
                    step=step,
                    call=call,
                    digest=_digest(call),
                    status=end.status if end else None,
                    error=end.error if end else "",
                )
            )
    return found


def _digest(call: ToolCall) -> str:
    raw = msgspec.json.encode([call.name, call.arguments, call.problem], order="deterministic")
    return hashlib.blake2b(raw, digest_size=8).hexdigest()


def aligned(left: Sequence[Call], right: Sequence[Call]) -> list[Row]:
    """Calls beside each other: the same tool with the same arguments on one row."""
    matcher = difflib.SequenceMatcher(None, [one.digest for one in left], [one.digest for one in right], autojunk=False)
    rows: list[Row] = []
    for tag, start, end, from_, to in matcher.get_opcodes():
        ours, theirs = left[start:end], right[from_:to]
        for place in range(max(len(ours), len(theirs))):
            one = ours[place] if place < len(ours) else None
            other = theirs[place] if place < len(theirs) else None
            if tag == "equal":
                match = Match.SAME
            else:
                match = Match.LEFT if other is None else Match.RIGHT if one is None else Match.CHANGED
            rows.append(Row(match=match, left=one, right=other))
    return rows


def side_of(run: Run, events: Sequence[Recorded]) -> Side:
    """One run for a comparison."""
    trace = trace_of(events, run.session_id)
    options = next((entry.event.options for entry in events if isinstance(entry.event, RunStarted)), {})
    ended = next((entry.event for entry in events if isinstance(entry.event, RunFinished)), None)
    asked = [entry.event.usage for entry in events if isinstance(entry.event, ModelCalled)]
    calls = calls_of(events)
    return Side(
        run=run.id,
        session=run.session_id,
        request=trace.request,
        said=tuple(entry.event.text for entry in events if isinstance(entry.event, UserMessage))[1:],
        model=run.model,
        family=trace.family,
        set_version=trace.advised_by,
        pin=options.get("pin"),
        seed=options.get("seed"),
        forked_from=origin_of(options),
        status=run.status,
        outcome=trace.outcome,
        answer=ended.answer if ended else "",
        steps=sum(isinstance(entry.event, AssistantMessage) for entry in events),
        calls=len(calls),
        errors=sum(one.status in (CallStatus.ERROR, CallStatus.TIMEOUT) for one in calls),
        model_calls=len(asked),
        usage=Usage(
            input=sum(one.input for one in asked),
            output=sum(one.output for one in asked),
            cached=sum(one.cached for one in asked),
        ),
        seconds=trace.summary.total_time,
        decisions=decisions_of(events),
    )


def compare(left: tuple[Run, Sequence[Recorded]], right: tuple[Run, Sequence[Recorded]]) -> Comparison:
    """Two runs with their events as one comparison."""
    one, other = side_of(*left), side_of(*right)
    rows = aligned(calls_of(left[1]), calls_of(right[1]))
    only_left, only_right = _differing(one.decisions, other.decisions)
    return Comparison(
        left=one,
        right=other,
        rows=tuple(rows),
        parts=_parting(one, other, rows),
        pinned=one.pin is not None and (one.pin, one.seed) == (other.pin, other.seed) and one.seed is not None,
        same_decisions=not only_left and not only_right,
        only_left=tuple(only_left),
        only_right=tuple(only_right),
    )


def _differing(
    left: Sequence[DecisionLine], right: Sequence[DecisionLine]
) -> tuple[list[DecisionLine], list[DecisionLine]]:
    matcher = difflib.SequenceMatcher(None, [_key(one) for one in left], [_key(one) for one in right], autojunk=False)
    changed = [code for code in matcher.get_opcodes() if code[0] != "equal"]
    only_left = [line for _, start, end, _, _ in changed for line in left[start:end]]
    return only_left, [line for _, _, _, start, end in changed for line in right[start:end]]


def _key(line: DecisionLine) -> tuple[str, str, str, str]:
    return line.kind, line.subject, line.choice, line.call


def _parting(left: Side, right: Side, rows: Sequence[Row]) -> str:
    """The first difference, in words; empty when there is none."""
    if left.request != right.request:
        return "at the request"
    for row in rows:
        if row.match is not Match.SAME:
            step = min(one.step for one in (row.left, row.right) if one is not None)
            return f"at step {step}: another call" if row.match is Match.CHANGED else f"at step {step}: a call more"
        assert row.left is not None and row.right is not None
        if row.left.step != row.right.step:
            return f"at step {min(row.left.step, row.right.step)}: the same call in another step"
        if (row.left.status, row.left.error) != (row.right.status, row.right.error):
            return f"at step {row.left.step}: the same call ended differently"
    if left.status is not right.status:
        return "at the end: another status"
    return "at the answer" if left.answer != right.answer else ""

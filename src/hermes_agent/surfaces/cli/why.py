"""`hermes why`: what a run read, what it decided and why, and where the values of a doubtful call came from."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Any

import click

from ...app import App
from ...store.runs import Run
from ...types.base import Value
from ...types.errors import NotFound
from ...types.events import AssistantMessage, CallFinished, CallIntended, Decided, Recorded, UserMessage
from ...types.text import one_line, visible
from ...types.tools import Label, ToolCall
from .console import Console, print_json
from .opening import opened
from .options import json_option


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


class Explanation(Value, frozen=True, kw_only=True):
    """Everything `hermes why` says about a run."""

    run: str
    session: str
    request: str
    read: tuple[Read, ...]
    decisions: tuple[Decision, ...]


@click.command(short_help="What a run read, decided and refused, and why.")
@click.argument("run", required=False, default="")
@json_option
def command(run: str, as_json: bool) -> None:
    """Explain RUN: texts of strangers and private data that it read, every decision with its reason, and for calls that
    were held back where each value came from. RUN is a run or a session; without it, the latest run."""

    async def work() -> None:
        console = Console()
        async with opened(console) as app:
            found = await _meant(app, run)
            told = await app.store.journal.transcript(found.session_id)
            explanation = explain(found, await app.store.journal.run_events(found.id), told)
        if as_json:
            print_json(explanation)
        else:
            _print(console, explanation)

    asyncio.run(work())


async def _meant(app: App, name: str) -> Run:
    """The run with this id, the last one of a session, or the latest of all."""
    if name:
        try:
            return await app.store.runs.get(name)
        except NotFound as error:
            runs = await app.store.runs.of_session(name)
            if not runs:
                raise NotFound(
                    f"there is no run or session {name!r}", remedy="`hermes sessions list` shows them"
                ) from error
            return runs[-1]
    for session in await app.store.sessions.recent(1):
        runs = await app.store.runs.of_session(session.id)
        if runs:
            return runs[-1]
    raise NotFound("there are no runs yet", remedy='`hermes run "..."` makes one')


def explain(run: Run, events: Sequence[Recorded], told: Sequence[Recorded]) -> Explanation:
    """A run's explanation, from its journal and the conversation of its session."""
    calls: dict[str, ToolCall] = {}
    for entry in events:
        if isinstance(entry.event, AssistantMessage):
            calls.update((call.id, call.meant()) for call in entry.event.calls)
        elif isinstance(entry.event, CallIntended) and entry.event.parent:
            intent = entry.event
            calls[intent.call_id] = ToolCall(id=intent.call_id, name=intent.tool, arguments=intent.arguments)
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
    request = next((entry.event.text for entry in events if isinstance(entry.event, UserMessage)), "")
    return Explanation(
        run=run.id, session=run.session_id, request=request, read=tuple(reads), decisions=tuple(decisions)
    )


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


def _print(console: Console, explanation: Explanation) -> None:
    say = console.say
    say(f"run {explanation.run} of session {explanation.session}")
    say(f"request: {one_line(visible(explanation.request), 200)}")
    say("")
    if explanation.read:
        rows = [
            (
                ", ".join(read.labels),
                read.tool,
                read.origin or "-",
                f"{read.call}{' (earlier)' if read.earlier else ''}",
            )
            for read in explanation.read
        ]
        console.table(("label", "tool", "from", "call"), [tuple(map(visible, row)) for row in rows])
    else:
        say("it read no strangers' text and no private data")
    say("")
    if not explanation.decisions:
        say("nothing had to be decided: no call was held back, retried or given up")
    for decision in explanation.decisions:
        about = f" {decision.tool}" if decision.tool else ""
        say(visible(f"{decision.choice}{about} ({decision.subject}): {decision.reason}"))
        for trail in decision.trail:
            seen = "; ".join(trail.seen_in) or "nowhere before: the model made it up or put it together"
            say(visible(f"    {one_line(trail.value, 60)!r} is in {seen}"))

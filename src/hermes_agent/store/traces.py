"""Runs read back for people and for learning: tool history, steps, summary, trace."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..types.errors import NotFound
from ..types.events import (
    AdviceGiven,
    AssistantMessage,
    CallFinished,
    CallIntended,
    Judged,
    ModelCalled,
    Recorded,
    RunFinished,
    RunStarted,
    UserMessage,
)
from ..types.tools import Effect, ToolCall
from ..types.trace import (
    AdviceItem,
    CallStatus,
    ExecutionSummary,
    Outcome,
    RunStatus,
    Step,
    StepType,
    ToolRecord,
    Trace,
)
from .database import Connection, Database
from .forks import own_events
from .journal import read_run


class Traces:
    """Finished and running executions, by run and by session."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def of_run(self, run_id: str) -> Trace:
        """The trace of one run."""

        return await self._of_run(run_id, list)

    async def own_of_run(self, run_id: str) -> Trace:
        """What a run did itself: a fork without what it copied. For learning, which counts a call once."""
        return await self._of_run(run_id, own_events)

    async def _of_run(self, run_id: str, part: Callable[[Sequence[Recorded]], list[Recorded]]) -> Trace:
        def unit(connection: Connection) -> Trace:
            rows = connection.run(
                "SELECT s.id, s.surface FROM runs r JOIN sessions s ON s.id = r.session_id WHERE r.id = ?", (run_id,)
            )
            if not rows:
                raise NotFound(f"there is no run {run_id!r}", remedy="`hermes sessions list` shows what there is")
            return trace_of(part(read_run(connection, run_id)), *rows[0])

        return await self._database.read(unit)

    async def tool_history(self, session_id: str) -> list[ToolRecord]:
        """Every finished call of a session, oldest first."""

        def unit(connection: Connection) -> list[ToolRecord]:
            rows = connection.run("SELECT id FROM runs WHERE session_id = ? ORDER BY ordinal", (session_id,))
            return [record for (run_id,) in rows for record in tool_records(read_run(connection, run_id))]

        return await self._database.read(unit)


def tool_records(events: Sequence[Recorded]) -> list[ToolRecord]:
    """The finished calls among a run's events, in the order they finished."""
    asked: dict[str, ToolCall] = {}
    intents: dict[str, CallIntended] = {}
    records = []
    for entry in events:
        match entry.event:
            case AssistantMessage(calls=calls):
                asked.update((call.id, call.meant()) for call in calls)
            case CallIntended(call_id=call_id) as intent:
                intents[call_id] = intent
                if intent.parent:
                    asked[call_id] = ToolCall(id=call_id, name=intent.tool, arguments=intent.arguments)
            case CallFinished() as done:
                call, begun = asked.get(done.call_id), intents.get(done.call_id)
                records.append(
                    ToolRecord(
                        tool=done.tool,
                        input=call.arguments if call else {},
                        output=done.text,
                        duration=done.duration_ms / 1000,
                        status=done.status,
                        error=done.error,
                        latency_ms=done.duration_ms,
                        run_id=entry.run_id,
                        call_id=done.call_id,
                        effect=begun.effect if begun else Effect.NONE,
                        attempts=done.attempts,
                        digest=begun.digest if begun else "",
                        labels=done.labels,
                        parent=done.parent,
                    )
                )
            case _:
                continue
    return records


def steps_of(events: Sequence[Recorded]) -> list[Step]:
    """Thoughts, tool calls and observations of a run, with seconds since its start."""
    start = events[0].at if events else 0.0
    steps: list[Step] = []

    def add(kind: StepType, content: str, at: float, **metadata: object) -> None:
        steps.append(
            Step(step_id=len(steps), type=kind, content=content, timestamp=round(at - start, 6), metadata=metadata)
        )

    for entry in events:
        match entry.event:
            case AssistantMessage() as said:
                if said.text:
                    add(StepType.THOUGHT, said.text, entry.at)
                for call in said.calls:
                    add(
                        StepType.TOOL_CALL,
                        call.name,
                        entry.at,
                        tool_name=call.name,
                        call_id=call.id,
                        arguments=call.arguments,
                    )
            case CallFinished() as done:
                failed = {} if done.status is CallStatus.OK else {"error": done.error or done.status.value}
                add(
                    StepType.OBSERVATION,
                    done.text,
                    entry.at,
                    tool_name=done.tool,
                    call_id=done.call_id,
                    latency_ms=done.duration_ms,
                    **failed,
                )
            case _:
                continue
    return steps


def trace_of(events: Sequence[Recorded], session_id: str, surface: str = "") -> Trace:
    """A run's events as one trace."""
    steps = steps_of(events)
    told = _Told()
    for entry in events:
        told.apply(entry)
    calls = [step for step in steps if step.type is StepType.TOOL_CALL]
    ended = told.ended or (events[-1].at if events else 0.0)
    return Trace(
        run_id=events[0].run_id if events else "",
        session_id=session_id,
        request=told.request,
        model=told.model,
        steps=tuple(steps),
        calls=tuple(tool_records(events)),
        outcome=told.outcome,
        summary=ExecutionSummary(
            total_steps=len(steps),
            tool_calls_count=len(calls),
            error_count=sum("error" in step.metadata for step in steps),
            total_time=round(ended - events[0].at, 6) if events else 0.0,
            tools_used=tuple(str(step.metadata["tool_name"]) for step in calls),
            was_successful=told.outcome.status is RunStatus.DONE,
        ),
        family=told.family,
        surface=surface,
        started_at=events[0].at if events else 0.0,
        advice=tuple(told.advice),
        advised_by=told.advised_by,
        outage=told.outage and told.outcome.status is RunStatus.FAILED,
    )


class _Told:
    """What a run's events say about it as a whole."""

    def __init__(self) -> None:
        self.request, self.model, self.family = "", "", ""
        self.outcome = Outcome(status=RunStatus.OPEN)
        self.ended = 0.0
        self.advice: list[AdviceItem] = []
        self.advised_by = 0
        self.outage = False

    def apply(self, entry: Recorded) -> None:
        match entry.event:
            case RunStarted(model=name, options=options):
                self.model, self.family = name, str(options.get("family") or "")
            case UserMessage(text=text) if not self.request:
                self.request = text
            case AdviceGiven() as given:
                self.advice += given.items
                self.family, self.advised_by = given.family or self.family, given.set_version or self.advised_by
            case ModelCalled(failure=failure):
                self.outage = failure is not None
            case RunFinished(outcome=final):
                self.outcome, self.ended = final, entry.at
            case Judged(success=success, by=by, reason=reason):
                status = RunStatus.DONE if success else RunStatus.FAILED
                self.outcome = Outcome(status=status, judged_by=by, reason=reason)
            case _:
                return

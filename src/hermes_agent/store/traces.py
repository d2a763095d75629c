"""Runs read back for people and for learning: tool history, steps, summary, trace."""

from __future__ import annotations

from collections.abc import Sequence

from ..types.errors import NotFound
from ..types.events import (
    AssistantMessage,
    CallFinished,
    CallIntended,
    Recorded,
    RunFinished,
    RunStarted,
    UserMessage,
)
from ..types.tools import Effect, ToolCall
from ..types.trace import (
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
from .journal import read_run


class Traces:
    """Finished and running executions, by run and by session."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def of_run(self, run_id: str) -> Trace:
        """The trace of one run."""

        def unit(connection: Connection) -> Trace:
            rows = connection.run("SELECT session_id FROM runs WHERE id = ?", (run_id,))
            if not rows:
                raise NotFound(f"there is no run {run_id!r}")
            return trace_of(read_run(connection, run_id), rows[0][0])

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
    effects: dict[str, Effect] = {}
    records = []
    for entry in events:
        match entry.event:
            case AssistantMessage(calls=calls):
                asked.update((call.id, call.meant()) for call in calls)
            case CallIntended(call_id=call_id, effect=effect) as intent:
                effects[call_id] = effect
                if intent.parent:
                    asked[call_id] = ToolCall(id=call_id, name=intent.tool, arguments=intent.arguments)
            case CallFinished() as done:
                call = asked.get(done.call_id)
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
                        effect=effects.get(done.call_id, Effect.NONE),
                        attempts=done.attempts,
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


def trace_of(events: Sequence[Recorded], session_id: str) -> Trace:
    """A run's events as one trace."""
    steps = steps_of(events)
    request, model = "", ""
    outcome = Outcome(status=RunStatus.OPEN)
    ended = events[-1].at if events else 0.0
    for entry in events:
        match entry.event:
            case RunStarted(model=name):
                model = name
            case UserMessage(text=text) if not request:
                request = text
            case RunFinished(outcome=final):
                outcome, ended = final, entry.at
            case _:
                continue
    calls = [step for step in steps if step.type is StepType.TOOL_CALL]
    return Trace(
        run_id=events[0].run_id if events else "",
        session_id=session_id,
        request=request,
        model=model,
        steps=tuple(steps),
        calls=tuple(tool_records(events)),
        outcome=outcome,
        summary=ExecutionSummary(
            total_steps=len(steps),
            tool_calls_count=len(calls),
            error_count=sum("error" in step.metadata for step in steps),
            total_time=round(ended - events[0].at, 6) if events else 0.0,
            tools_used=tuple(str(step.metadata["tool_name"]) for step in calls),
            was_successful=outcome.status is RunStatus.DONE,
        ),
    )

"""What a run left behind: outcome, steps, summary. The raw material of learning, readable as JSON."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from .base import Value
from .tools import Effect, Label


class RunStatus(StrEnum):
    """Where a run stands."""

    OPEN = "open"
    DONE = "done"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


class Judge(StrEnum):
    """Who says whether a run succeeded. What is inferred alone never promotes anything."""

    VERIFIER = "verifier"
    USER = "user"
    INFERRED = "inferred"


class Outcome(Value, frozen=True, kw_only=True):
    """How a run ended, and who says so."""

    status: RunStatus
    judged_by: Judge = Judge.INFERRED
    reason: str = ""


class AdviceItem(Value, frozen=True, kw_only=True):
    """One learned thing that could act, and whether the coin let it. `propensity` is the chance of what happened, so
    that replay can weigh it. `call_id` is the call it was about; empty when it was about the whole request. `subject`
    is the skill that a recommendation names."""

    id: str
    text: str
    applied: bool = True
    propensity: float = 1.0
    kind: str = ""
    call_id: str = ""
    subject: str = ""


class CallStatus(StrEnum):
    """How a call ended."""

    OK = "ok"
    ERROR = "error"
    TIMEOUT = "timeout"
    REFUSED = "refused"
    STEERED = "steered"
    INTERRUPTED = "interrupted"
    IN_DOUBT = "in_doubt"


class ToolRecord(Value, frozen=True, kw_only=True):
    """One line of the tool history."""

    tool: str
    input: dict[str, Any]
    output: str
    duration: float
    status: CallStatus = CallStatus.OK
    error: str = ""
    latency_ms: float = 0.0
    run_id: str = ""
    call_id: str = ""
    effect: Effect = Effect.NONE
    attempts: int = 1
    digest: str = ""
    labels: tuple[Label, ...] = ()
    parent: str = ""


class StepType(StrEnum):
    """The three kinds of step a run is made of."""

    THOUGHT = "thought"
    TOOL_CALL = "tool_call"
    OBSERVATION = "observation"


class Step(Value, frozen=True, kw_only=True):
    """One step as it was recorded."""

    step_id: int
    type: StepType
    content: str
    timestamp: float
    metadata: dict[str, Any] = {}


class ExecutionSummary(Value, frozen=True, kw_only=True):
    """A run in six figures."""

    total_steps: int
    tool_calls_count: int
    error_count: int
    total_time: float
    tools_used: tuple[str, ...]
    was_successful: bool


class Trace(Value, frozen=True, kw_only=True):
    """A finished run as learning sees it. `advice` is everything learned that could have acted; `advised_by` the
    version of the heuristic set it came from. `outage` when the run failed because no model could be reached."""

    run_id: str
    session_id: str
    request: str
    model: str
    steps: tuple[Step, ...]
    calls: tuple[ToolRecord, ...]
    outcome: Outcome
    summary: ExecutionSummary
    family: str = ""
    surface: str = ""
    started_at: float = 0.0
    advice: tuple[AdviceItem, ...] = ()
    advised_by: int = 0
    outage: bool = False

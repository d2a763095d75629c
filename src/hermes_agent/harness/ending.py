"""How a run ends: its answer, its outcome, and the calls it leaves open."""

from __future__ import annotations

from ..types.events import AnyEvent, AssistantMessage, DeliveryIntended, RunFinished
from ..types.tools import Effect
from ..types.trace import Outcome, RunStatus
from .calls import in_doubt, interrupted
from .state import RunState
from .verdict import Verdict

CUT_OFF = "the answer was cut off at the model's token limit (model.max_tokens)"


def how_it_ends(said: AssistantMessage, *, free: bool, steps: int) -> tuple[RunStatus, str]:
    """The status of a run with this last answer, and the reason. `free` when the model ended it by itself, and not
    because its `steps` were used up."""
    if free:
        return RunStatus.DONE, CUT_OFF if said.stop == "length" else ""
    return RunStatus.FAILED, f"the limit of {steps} steps is reached (limits.iterations)"


def closing(
    surface: str, status: RunStatus, answer: str, reason: str, verdict: Verdict | None = None
) -> list[AnyEvent]:
    """The end of a run, and the intent to show its answer. A verdict decides about the outcome, not about the status:
    the run came to its end all the same."""
    outcome = verdict.outcome(status, reason) if verdict else Outcome(status=status, reason=reason)
    return [
        *([verdict.decision()] if verdict else []),
        RunFinished(answer=answer, status=status, outcome=outcome),
        DeliveryIntended(surface=surface),
    ]


def open_calls(state: RunState) -> list[AnyEvent]:
    """A result for every call that has none: in doubt where its effect may have happened."""
    results: list[AnyEvent] = []
    for call in state.pending():
        intent = state.intended.get(call.id)
        doubtful = intent is not None and intent.effect is Effect.ONCE
        results.append(in_doubt(call) if doubtful else interrupted(call))
    return results

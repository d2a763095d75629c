"""How a run ends: its answer, its outcome, and the calls it leaves open."""

from __future__ import annotations

from ..types.events import AnyEvent, DeliveryIntended, RunFinished
from ..types.tools import Effect
from ..types.trace import Outcome, RunStatus
from .calls import in_doubt, interrupted
from .state import RunState

CUT_OFF = "the answer was cut off at the model's token limit (model.max_tokens)"


def closing(surface: str, status: RunStatus, answer: str, reason: str) -> list[AnyEvent]:
    """The end of a run, and the intent to show its answer."""
    outcome = Outcome(status=status, reason=reason)
    return [RunFinished(answer=answer, status=status, outcome=outcome), DeliveryIntended(surface=surface)]


def open_calls(state: RunState) -> list[AnyEvent]:
    """A result for every call that has none: in doubt where its effect may have happened."""
    results: list[AnyEvent] = []
    for call in state.pending():
        intent = state.intended.get(call.id)
        doubtful = intent is not None and intent.effect is Effect.ONCE
        results.append(in_doubt(call) if doubtful else interrupted(call))
    return results

"""Whether a run is worth a skill. Asked after every run, so it loads nothing that only an extraction needs."""

from __future__ import annotations

from ..types.tools import Label
from ..types.trace import Trace
from .lessons import success_of
from .observe import Observed

LEAST_MESSAGES = 10
LEAST_VALUE = 0.6


def ruled_out(trace: Trace, messages: int) -> str:
    """Why a run cannot be worth an extraction, whatever its value; empty when it may be."""
    success, _ = success_of(trace)
    if success is not True:
        return "it did not succeed"
    if messages < LEAST_MESSAGES:
        return f"it had {messages} messages, fewer than {LEAST_MESSAGES}"
    if any(Label.UNTRUSTED in call.labels for call in trace.calls):
        return "strangers' text was read in it"
    return ""


def refusal(trace: Trace, observed: Observed, messages: int) -> str:
    """Why a run is not worth an extraction; empty when it is."""
    if observed.learning_value < LEAST_VALUE:
        return ruled_out(trace, messages) or f"its learning value is {observed.learning_value:g}, below {LEAST_VALUE}"
    return ruled_out(trace, messages)

"""What the harness does about a failure: retry, skip or abort."""

from __future__ import annotations

import random
from enum import StrEnum

from ..config.settings import LimitSettings
from ..types.base import Value
from ..types.tools import Effect
from ..types.trace import CallStatus

_LONGEST_WAIT = 10.0


class Choice(StrEnum):
    """After an error: run the call again, give the error to the model, or end the run."""

    RETRY = "retry"
    SKIP = "skip"
    ABORT = "abort"


class Decision(Value, frozen=True, kw_only=True):
    """A choice and why."""

    choice: Choice
    reason: str


class FailedCall(Value, frozen=True, kw_only=True):
    """What a retry decision is made from."""

    effect: Effect
    status: CallStatus
    transient: bool
    attempt: int
    retries_left: int
    worthwhile: bool


def decide(failed: FailedCall, limits: LimitSettings) -> Decision:
    """Retry only what may be repeated, may work later, is not known to be futile, and is within the budget."""
    if failed.effect is Effect.ONCE:
        return Decision(choice=Choice.SKIP, reason="a call that must happen only once is never repeated by itself")
    if not failed.transient and failed.status is not CallStatus.TIMEOUT:
        return Decision(choice=Choice.SKIP, reason="the same call would fail again")
    if not failed.worthwhile:
        return Decision(choice=Choice.SKIP, reason="known to be futile here")
    if failed.attempt > limits.call_retries:
        return Decision(choice=Choice.SKIP, reason=f"tried {failed.attempt} times")
    if failed.retries_left <= 0:
        return Decision(choice=Choice.SKIP, reason="no retries left for this request")
    return Decision(choice=Choice.RETRY, reason="a passing failure of a repeatable call")


def backoff(attempt: int, first: float, rng: random.Random) -> float:
    """Seconds to wait before the next attempt, about `first` before the first one."""
    wait: float = first * 2.0 ** (attempt - 1) * (0.5 + rng.random())
    return min(_LONGEST_WAIT, wait)

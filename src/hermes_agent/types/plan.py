"""The active plan: lives for one request, then only its trace remains."""

from __future__ import annotations

from .base import Value


class ActivePlan(Value, frozen=True, kw_only=True):
    """Where the request stands: the step in hand, the steps to come, and the retries it may still spend."""

    step: int = 0
    pending: tuple[str, ...] = ()
    retries_left: int = 0

    def advanced(self) -> ActivePlan:
        """The plan after its current step is done."""
        return ActivePlan(step=self.step + 1, pending=self.pending[1:], retries_left=self.retries_left)

    def retried(self) -> ActivePlan:
        """The plan after one more retry was spent."""
        return ActivePlan(step=self.step, pending=self.pending, retries_left=max(0, self.retries_left - 1))

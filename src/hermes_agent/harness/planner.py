"""The plan that the model proposes for a request, as a tool may change it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ..types.events import PlanChanged
from .record import RunRecord


class TurnPlanner:
    """The active plan of one turn (the Planner protocol). A change is journaled; the plan goes with the turn."""

    def __init__(self, record: RunRecord) -> None:
        self._record = record

    def steps(self) -> Sequence[str]:
        """What is still to be done."""
        return self._record.state.plan().pending

    async def propose(self, steps: Sequence[str], reason: str) -> None:
        """Make these steps the plan."""
        plan = msgspec.structs.replace(self._record.state.plan(), pending=tuple(steps))
        await self._record.commit([PlanChanged(plan=plan, reason=reason)])

"""What runs requests: in this process (`inline`), or, for those who outgrow it, on an existing engine."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from ..harness.harness import Harness
from ..safety.approvals import Approver
from ..store.runs import Run
from ..store.sessions import Session
from ..types.base import Value
from ..types.events import InboxMode, RunFinished

Deliver = Callable[["Finished"], Awaitable[None]]


class Finished(Value, frozen=True, kw_only=True):
    """A run that ended, as surfaces see it."""

    run_id: str
    session_id: str
    result: RunFinished
    resumed: bool = False


class Ended(Value, frozen=True, kw_only=True):
    """A run whose answer was delivered, with the harness that drove it: what background work begins from."""

    run: Run
    session: Session
    harness: Harness
    finished: Finished


class Engine(Protocol):
    """Takes messages and sees to it that each is answered once."""

    async def submit(
        self, session: Session, text: str, mode: InboxMode = InboxMode.QUEUE, options: dict[str, Any] | None = None
    ) -> str:
        """Commit a message to a session's inbox; returns its id."""

    async def answer(self, session: Session, message_id: str, approver: Approver, deliver: Deliver) -> Finished:
        """See a message through to its answer, driving the session or waiting for whoever does."""

    async def resume(self, approver: Approver, deliver: Deliver) -> list[Finished]:
        """Take over every run of this agent whose driver is gone, and finish it."""

    def interrupt(self, session_id: str) -> bool:
        """End the turn this process is driving for a session; False when it drives none."""

    async def close(self) -> None:
        """Let go of leases and threads."""

"""The seams through which learning, skills and memory reach the harness, with defaults that do nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from .base import Value
from .plan import ActivePlan
from .tools import ToolCall
from .trace import Trace


class Situation(Value, frozen=True, kw_only=True):
    """What a decision depends on: which request, on which model, from which surface, in which family of tasks."""

    request: str
    model: str
    surface: str = ""
    family: str = ""


class AdviceItem(Value, frozen=True, kw_only=True):
    """One learned thing and whether the coin let it act this time."""

    id: str
    text: str
    applied: bool = True
    propensity: float = 1.0


class Advice(Value, frozen=True, kw_only=True):
    """What past executions say about this request. Hints go behind the transcript, never into the prefix."""

    hints: tuple[str, ...] = ()
    behind: tuple[str, ...] = ()
    plan: ActivePlan | None = None
    items: tuple[AdviceItem, ...] = ()


class Steer(Value, frozen=True, kw_only=True):
    """Advice against one call: why, and what would be better. The same call made again goes through."""

    reason: str
    better: str = ""


class Failure(Value, frozen=True, kw_only=True):
    """A failed call, as retry decisions see it."""

    tool: str
    error: str
    text: str
    attempt: int
    arguments: dict[str, Any] = {}


class Advisor(Protocol):
    """Asked before every orchestration decision."""

    async def advise(self, situation: Situation) -> Advice: ...

    def review(self, call: ToolCall, situation: Situation) -> Steer | None: ...

    def worth_retrying(self, failure: Failure, situation: Situation) -> bool: ...

    async def learn(self, trace: Trace) -> None: ...


class HeuristicStore(Protocol):
    """Learned heuristics as the library's users see them."""

    def query(self, situation: Situation | str) -> Sequence[str]: ...

    def learn_from_trace(self, trace: Trace) -> None: ...

    def is_known_failure(self, step: str, error: str) -> bool: ...


class Section(Value, frozen=True, kw_only=True):
    """A named part of the system prompt."""

    name: str
    text: str


class SessionView(Value, frozen=True, kw_only=True):
    """What a context source may know about the session whose prefix is being frozen."""

    session_id: str
    workspace: str
    surface: str
    model: str


class ContextSource(Protocol):
    """Contributes sections to the frozen prefix, once per epoch."""

    async def sections(self, session: SessionView) -> Sequence[Section]: ...


class SilentAdvisor:
    """Knows nothing and allows everything: the harness without learning."""

    async def advise(self, situation: Situation) -> Advice:
        return Advice()

    def review(self, call: ToolCall, situation: Situation) -> Steer | None:
        return None

    def worth_retrying(self, failure: Failure, situation: Situation) -> bool:
        return True

    async def learn(self, trace: Trace) -> None:
        return None


class StoreAdvisor:
    """Advice from a heuristic store: its answers become hints, its known failures are not retried."""

    def __init__(self, store: HeuristicStore) -> None:
        self._store = store

    async def advise(self, situation: Situation) -> Advice:
        return Advice(hints=tuple(self._store.query(situation)))

    def review(self, call: ToolCall, situation: Situation) -> Steer | None:
        return None

    def worth_retrying(self, failure: Failure, situation: Situation) -> bool:
        return not self._store.is_known_failure(failure.tool, failure.error)

    async def learn(self, trace: Trace) -> None:
        self._store.learn_from_trace(trace)

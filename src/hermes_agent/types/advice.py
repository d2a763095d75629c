"""The seams through which learning, skills and memory reach the harness."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from .base import Value
from .plan import ActivePlan
from .tools import Effect, Label, ToolCall
from .trace import AdviceItem, Trace


class Situation(Value, frozen=True, kw_only=True):
    """What a decision depends on: which request, on which model, from which surface, in which family of tasks.

    `pin` is the version of the heuristic set to use, if not the active one; every coin is drawn from `seed`, else from
    the run's id, so that a resumed run and a repeated audit decide alike."""

    request: str
    model: str
    surface: str = ""
    family: str = ""
    run_id: str = ""
    pin: int | None = None
    seed: int | None = None
    workspace: str = ""


class Advice(Value, frozen=True, kw_only=True):
    """What past executions say about this request. Hints go behind the transcript, never into the prefix.

    `family` is what the request was taken for, `version` the heuristic set that was asked."""

    hints: tuple[str, ...] = ()
    behind: tuple[str, ...] = ()
    plan: ActivePlan | None = None
    plan_reason: str = ""
    items: tuple[AdviceItem, ...] = ()
    family: str = ""
    version: int = 0


class Failure(Value, frozen=True, kw_only=True):
    """A failed call, as decisions about retries and repairs see it."""

    tool: str
    error: str
    text: str
    attempt: int
    arguments: dict[str, Any] = {}


class Moment(Value, frozen=True, kw_only=True):
    """A call that is about to be made, and what came just before it: `previous` is "tool:ok" or "tool:error class",
    `failed` how this very call failed before in this run."""

    call: ToolCall
    situation: Situation
    effect: Effect = Effect.NONE
    previous: str = ""
    failed: Failure | None = None


class Steer(Value, frozen=True, kw_only=True):
    """Advice against one call or one more try: why, and what would be better. The same call made again goes through."""

    reason: str
    better: str = ""


class Ruling(Value, frozen=True, kw_only=True):
    """What learning says at one decision: something against it, something to tell the model, and what is recorded."""

    steer: Steer | None = None
    hint: str = ""
    items: tuple[AdviceItem, ...] = ()


class Advisor(Protocol):
    """Asked before every orchestration decision."""

    async def advise(self, situation: Situation) -> Advice:
        """Once, at the start of a run."""

    async def resume(self, situation: Situation, version: int) -> None:
        """Be ready for a run that was advised before, by this version of the set."""

    def review(self, moment: Moment) -> Ruling:
        """Before a call."""

    def weigh_retry(self, failure: Failure, situation: Situation) -> Ruling:
        """Before the same call is tried again; a steer says that it would be futile."""

    def repair(self, failure: Failure, situation: Situation) -> Ruling:
        """After a call failed for good; a hint says what worked then."""

    async def learn(self, trace: Trace) -> None:
        """After every run, also a failed one."""


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
    request: str = ""


class Told(Value, frozen=True, kw_only=True):
    """What a source says behind the message that began a run: stays in the transcript, never enters the prefix. Text
    with a label is fenced as background by whoever says it. `family` is the family of tasks it names, if it does."""

    source: str
    text: str
    labels: frozenset[Label] = frozenset()
    origin: str = ""
    family: str = ""


class TurnSource(Protocol):
    """Has something to say to single requests, such as a skill that the request invokes or what memory recalls."""

    async def told(self, session: SessionView) -> Sequence[Told]: ...


class ContextSource(Protocol):
    """Contributes sections to the frozen prefix, once per epoch."""

    async def sections(self, session: SessionView) -> Sequence[Section]: ...

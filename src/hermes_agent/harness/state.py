"""A run read back from its journal: what was asked, begun, finished. Resuming is starting with a longer journal."""

from __future__ import annotations

from collections.abc import Sequence

from ..types.events import (
    AdviceGiven,
    AnyEvent,
    AssistantMessage,
    CallFinished,
    CallIntended,
    Decided,
    PlanChanged,
    ProcessSpawned,
    Recorded,
    RunFinished,
    RunStarted,
    UserMessage,
)
from ..types.plan import ActivePlan
from ..types.tools import Effect, ToolCall
from ..types.trace import CallStatus


class RunState:
    """The fold of a run's events. `apply` is the only way it changes."""

    def __init__(self, retries: int, events: Sequence[Recorded] = ()) -> None:
        self.started: RunStarted | None = None
        self.request = ""
        self.iterations = 0
        self.asked: dict[str, ToolCall] = {}
        self._open: dict[str, ToolCall] = {}
        self.intended: dict[str, CallIntended] = {}
        self.finished: dict[str, CallFinished] = {}
        self.spawned: list[ProcessSpawned] = []
        self.succeeded: set[str] = set()
        self._steered: list[ToolCall] = []
        self.result: RunFinished | None = None
        self._plan = ActivePlan(retries_left=retries)
        self._effects = 0
        self._answers: dict[str, tuple[int, CallFinished]] = {}
        self._failures: dict[str, int] = {}
        self._errors: dict[str, tuple[int, CallFinished]] = {}
        self._changes = 0
        self.previous = ""
        self.advised_by: int | None = None
        self.family = ""
        self.behind: frozenset[str] = frozenset()
        for recorded in events:
            self.apply(recorded.event)

    def apply(self, event: AnyEvent) -> None:
        """Take one more event into account."""
        match event:
            case RunStarted():
                self.started = event
            case UserMessage(text=text) if not self.request:
                self.request = text
            case AssistantMessage(calls=calls):
                self.iterations += 1
                asked = {call.id: call.meant() for call in calls}
                self.asked.update(asked)
                self._open.update(asked)
            case CallIntended(call_id=call_id):
                self.intended[call_id] = event
            case ProcessSpawned():
                self.spawned.append(event)
            case CallFinished():
                self._call_finished(event)
            case AdviceGiven(family=family, set_version=version, behind=behind) if self.advised_by is None:
                self.family, self.advised_by, self.behind = family, version, frozenset(behind)
            case Decided(choice="retry"):
                self._plan = self._plan.retried()
            case PlanChanged(plan=plan):
                self._plan = plan
            case RunFinished():
                self.result = event
            case _:
                return

    def _call_finished(self, event: CallFinished) -> None:
        self.finished[event.call_id] = event
        call = self._open.pop(event.call_id, None)
        if call is not None and event.status is CallStatus.STEERED:
            self._steered.append(call)
        intent = self.intended.get(event.call_id)
        if event.status is CallStatus.OK:
            self.succeeded.add(event.tool)
        if intent is None:
            return
        asked = self.asked.get(event.call_id)
        self._steered = [one for one in self._steered if asked is None or not _same(one, asked)]
        if intent.effect is not Effect.NONE:
            self._effects += 1
        elif event.status is CallStatus.OK:
            self._answers[intent.digest] = (self._effects, event)
        if event.parent:
            return
        worked = event.status is CallStatus.OK
        self._changes += worked and intent.effect is not Effect.NONE
        self.previous = f"{event.tool}:{'ok' if worked else event.error or event.status.value}"
        if worked:
            self._errors.pop(intent.digest, None)
        else:
            self._errors[intent.digest] = (self._changes, event)
        if event.status in (CallStatus.ERROR, CallStatus.TIMEOUT):
            self._failures[intent.digest] = self._failures.get(intent.digest, 0) + 1
        elif event.status is CallStatus.OK:
            self._failures.pop(intent.digest, None)

    def pending(self) -> list[ToolCall]:
        """Calls that were asked for and have no result yet, in the order they were asked."""
        return list(self._open.values())

    def repeated(self, digest: str) -> CallFinished | None:
        """The result of an identical effect-free call of this run, if nothing has had an effect since."""
        effects, answer = self._answers.get(digest, (-1, None))
        return answer if effects == self._effects else None

    def insists(self, call: ToolCall) -> bool:
        """Whether this very call was advised against since it last ran, and is now made all the same."""
        return any(_same(call, other) for other in self._steered)

    def failed_before(self, digest: str) -> CallFinished | None:
        """How this very call failed last in this run, if it did and nothing has been changed since."""
        changes, event = self._errors.get(digest, (-1, None))
        return event if changes == self._changes else None

    def failures(self) -> int:
        """How often the most stubborn call has failed in the same way."""
        return max(self._failures.values(), default=0)

    def processes_of(self, call_id: str) -> list[ProcessSpawned]:
        """The processes a call started."""
        return [process for process in self.spawned if process.call_id == call_id]

    def plan(self) -> ActivePlan:
        """The active plan as the seed shows it: step in hand, names of pending calls, retries left."""
        pending = self._plan.pending or tuple(call.name for call in self.pending())
        return ActivePlan(step=self.iterations, pending=pending, retries_left=self._plan.retries_left)


def _same(one: ToolCall, other: ToolCall) -> bool:
    return one.name == other.name and one.arguments == other.arguments

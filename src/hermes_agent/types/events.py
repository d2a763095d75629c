"""The journal's vocabulary. Every event kind has a version; older versions must always load (store/upcast.py).

`UserMessage`, `AssistantMessage`, `CallFinished` and `Fragment` form the transcript the model sees; the others
record decisions and effects around it.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, ClassVar, Literal

import msgspec

from .errors import ModelFailure
from .plan import ActivePlan
from .tools import Effect, Label, ProcessIdentity, ToolCall
from .trace import AdviceItem, CallStatus, Judge, Outcome, RunStatus


class Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind"):
    """Base of all events. `version` rises when a field changes its meaning; see store/upcast.py."""

    version: ClassVar[int] = 1


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens of one model call; `cached` is the part of `input` that the provider had already."""

    input: int = 0
    output: int = 0
    cached: int = 0


class InboxMode(StrEnum):
    """What a message that arrives during a turn does: wait its turn, join at the next step, or end the turn."""

    QUEUE = "queue"
    STEER = "steer"
    INTERRUPT = "interrupt"


class RunStarted(Event, frozen=True, kw_only=True, tag="run_started"):
    """A request was taken from the inbox. `options` is what a resume needs: model, base URL, consent."""

    inbox_id: str
    model: str
    options: dict[str, Any] = {}


class Image(msgspec.Struct, frozen=True, kw_only=True):
    """A picture by the digest of its blob, so that the journal stays small."""

    media_type: str
    blob: str


class UserMessage(Event, frozen=True, kw_only=True, tag="user_message"):
    """What the user said; `mode` tells whether it began the run or steered it."""

    text: str
    inbox_id: str = ""
    mode: InboxMode = InboxMode.QUEUE
    images: tuple[Image, ...] = ()


class Fragment(Event, frozen=True, kw_only=True, tag="fragment"):
    """A tail fragment: advice, plan or notice of this turn. Stays in the transcript once sent. `labels` say what is
    known about a text that came from elsewhere, `origin` from where."""

    source: str
    text: str
    labels: tuple[Label, ...] = ()
    origin: str = ""


class Compacted(Event, frozen=True, kw_only=True, tag="compacted"):
    """The first `dropped` messages of the conversation are sent as this summary from now on. `by` says who wrote it.

    `aside` sums up what strangers wrote, apart from the rest, so that it cannot bend what the user said."""

    summary: str
    dropped: int
    by: str = "model"
    aside: str = ""


class PrefixFrozen(Event, frozen=True, kw_only=True, tag="prefix_frozen"):
    """A new prefix epoch began, and why."""

    prefix_epoch: int
    fingerprint: str
    reason: str


class AdviceGiven(Event, frozen=True, kw_only=True, tag="advice_given"):
    """What learning said, including what the coin withheld: at the start of a run, or about one call. `set_version` is
    the heuristic set that was asked, `family` what the request was taken for."""

    items: tuple[AdviceItem, ...] = ()
    hints: tuple[str, ...] = ()
    behind: tuple[str, ...] = ()
    family: str = ""
    set_version: int = 0


class PlanChanged(Event, frozen=True, kw_only=True, tag="plan_changed"):
    """The active plan after a change."""

    plan: ActivePlan
    reason: str


class ModelCalled(Event, frozen=True, kw_only=True, tag="model_called"):
    """One attempt at a model call, good or bad, with the router's decision behind it."""

    provider: str
    model: str
    latency_ms: float
    usage: Usage = Usage()
    failure: ModelFailure | None = None
    reason: str = ""
    decision: str = ""
    usd: float = 0.0


class AssistantMessage(Event, frozen=True, kw_only=True, tag="assistant_message"):
    """The model's answer: text, calls, or both.

    `replay` holds, by wire format, what that format wants back unchanged in the next request, such as signed thinking.
    """

    text: str
    calls: tuple[ToolCall, ...] = ()
    stop: str = ""
    replay: dict[str, Any] = {}


class CallIntended(Event, frozen=True, kw_only=True, tag="call_intended"):
    """A call is about to run. With no `CallFinished` behind it, it is in doubt. `parent` is the call that made it,
    where not the model did but a tool; `arguments` are journaled only then, for the model's are in its message."""

    call_id: str
    tool: str
    effect: Effect
    key: str
    digest: str
    before: dict[str, str] = {}
    parent: str = ""
    arguments: dict[str, Any] = {}


class ProcessSpawned(Event, frozen=True, kw_only=True, tag="process_spawned"):
    """A command waits behind its gate; it runs only after this event is committed."""

    call_id: str
    process: str
    identity: ProcessIdentity
    background: bool = False
    command: str = ""
    log: str = ""


class CallFinished(Event, frozen=True, kw_only=True, tag="call_finished"):
    """A call ended, in whichever way. `text` is what the model sees, or the tool named by `parent`."""

    call_id: str
    tool: str
    status: CallStatus
    text: str
    duration_ms: float = 0.0
    error: str = ""
    attempts: int = 1
    blob: str = ""
    refusals: tuple[str, ...] = ()
    labels: tuple[Label, ...] = ()
    origin: str = ""
    parent: str = ""


class Decided(Event, frozen=True, kw_only=True, tag="decided"):
    """What the harness did about something: retry, skip, abort, allow, refuse, steer; and why."""

    subject: str
    choice: str
    reason: str
    call_id: str = ""


class Recovered(Event, frozen=True, kw_only=True, tag="recovered"):
    """Another process took the run over after its driver died."""

    by: str
    in_doubt: tuple[str, ...] = ()
    rerun: tuple[str, ...] = ()
    ended: tuple[str, ...] = ()
    adopted: tuple[str, ...] = ()


class RunFinished(Event, frozen=True, kw_only=True, tag="run_finished"):
    """The run is over; the answer is committed before anybody sees it."""

    answer: str
    status: RunStatus
    outcome: Outcome


class Judged(Event, frozen=True, kw_only=True, tag="judged"):
    """Somebody who can know said, after the run, whether it succeeded."""

    success: bool
    by: Judge
    reason: str = ""


class DeliveryIntended(Event, frozen=True, kw_only=True, tag="delivery_intended"):
    """The answer is about to be shown on a surface."""

    surface: str


class DeliveryFinished(Event, frozen=True, kw_only=True, tag="delivery_finished"):
    """The answer was shown. Missing after an intent: it may or may not have been seen."""

    surface: str


AnyEvent = (
    RunStarted
    | UserMessage
    | Fragment
    | Compacted
    | PrefixFrozen
    | AdviceGiven
    | PlanChanged
    | ModelCalled
    | AssistantMessage
    | CallIntended
    | ProcessSpawned
    | CallFinished
    | Decided
    | Recovered
    | RunFinished
    | Judged
    | DeliveryIntended
    | DeliveryFinished
)

Message = UserMessage | Fragment | AssistantMessage | CallFinished
MESSAGE_KINDS: tuple[Literal["user_message", "fragment", "assistant_message", "call_finished"], ...] = (
    "user_message",
    "fragment",
    "assistant_message",
    "call_finished",
)


class Recorded(msgspec.Struct, frozen=True, kw_only=True):
    """An event with its place in the journal."""

    run_id: str
    seq: int
    epoch: int
    at: float
    event: AnyEvent

"""Where a call happens, and what the running tool is handed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

from ..safety.approvals import Answer, Approver
from ..safety.guard import Watch
from ..safety.taint import Provenance
from ..tools.processes import ProcessTable
from ..types.advice import Situation
from ..types.base import Value
from ..types.events import AdviceGiven, AnyEvent, CallIntended
from ..types.tools import (
    Blobs,
    Caller,
    Conversations,
    Eyes,
    Outbox,
    Person,
    Planner,
    Processes,
    Resources,
    SessionValues,
    Spawned,
    Toolbox,
    ToolCall,
    WebAccess,
    Workshop,
)
from .offered import OfferedBlobs, OfferedProcesses
from .state import RunState

Record = Callable[[Sequence[AnyEvent]], Awaitable[None]]


class Belongings(Value, frozen=True, kw_only=True):
    """What a session owns and a call may use. `announce` journals a spawned process, `commit` any event."""

    blobs: Blobs
    values: SessionValues
    processes: ProcessTable
    announce: Callable[[str, Spawned], Awaitable[None]]
    commit: Record
    resources: Resources
    planner: Planner
    services: Services


class Services(Value, frozen=True, kw_only=True):
    """What the app lends to tools, for one session. See types/tools.py for each of them."""

    web: WebAccess
    eyes: Eyes
    conversations: Conversations
    outbox: Outbox
    workshop: Callable[[Processes, Person, Blobs], Workshop]


class CallScene:
    """Where a call happens: the run's state, what is known about the conversation's texts, and the belongings."""

    def __init__(
        self,
        run_id: str,
        session_id: str,
        workspace: Path,
        state: RunState,
        situation: Situation,
        approver: Approver,
        belongings: Belongings,
        provenance: Provenance,
    ) -> None:
        self.run_id = run_id
        self.session_id = session_id
        self.workspace = workspace
        self.state = state
        self.situation = situation
        self.approver = approver
        self.belongings = belongings
        self.provenance = provenance
        self.answers: dict[str, tuple[str, Answer]] = {}
        self.advised: list[AnyEvent] = []
        self.told: list[AnyEvent] = []

    def taken_advice(self) -> list[AnyEvent]:
        """What learning said about calls since this was last asked, to be journaled with what follows from it."""
        taken, self.advised = self.advised, []
        return taken

    def unsaid(self) -> list[AnyEvent]:
        """What learning decided and nobody was told any more, because the run ends here."""
        return [*self.taken_advice(), *(event for event in self.taken_hints() if isinstance(event, AdviceGiven))]

    def taken_hints(self) -> list[AnyEvent]:
        """What the model is to be told before it is asked again: behind the results of all calls, never between."""
        taken, self.told = self.told, []
        return taken


class CallContext:
    """What one running tool is handed. See types/tools.py for the contract."""

    def __init__(
        self,
        scene: CallScene,
        call: ToolCall,
        earlier: CallIntended | None,
        watch: Watch,
        tools: Toolbox,
        *,
        trusted: bool,
    ) -> None:
        owned, services = scene.belongings, scene.belongings.services
        self.workspace = scene.workspace
        self.caller = Caller(
            run_id=scene.run_id,
            session_id=scene.session_id,
            surface=scene.situation.surface,
            tainted=bool(scene.provenance.untrusted),
        )
        self.idempotency_key = f"{scene.run_id}:{call.id}"
        self.values = owned.values
        self.person: Person = scene.approver
        self.rerun = earlier is not None
        self.before: Mapping[str, str] = earlier.before if earlier else {}
        processes = owned.processes.for_call(lambda spawned: owned.announce(call.id, spawned))
        self.blobs: Blobs = owned.blobs if trusted else OfferedBlobs(owned.blobs)
        self.processes: Processes = processes if trusted else OfferedProcesses(processes, watch)
        self.tools = tools
        self.resources = owned.resources
        self.planner = owned.planner
        self.web = services.web
        self.eyes = services.eyes
        self.conversations = services.conversations
        self.outbox = services.outbox
        self.workshop = services.workshop(self.processes, self.person, self.blobs)

"""The harness: everything one needs to run requests, behind four verbs of the seed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from ..config.settings import BudgetSettings, LimitSettings
from ..models.facts import ModelFacts
from ..models.request import Transcript
from ..models.router import Router
from ..observability.sinks import NoSink
from ..safety.approvals import Approver
from ..safety.taint import Provenance
from ..store.open import Store
from ..store.runs import Run
from ..store.sessions import Session
from ..tools.processes import ProcessTable
from ..tools.sandbox.base import Sandbox
from ..types.advice import Advice, Advisor, Failure, Situation, TurnSource
from ..types.events import Compacted, RunFinished
from ..types.plan import ActivePlan
from ..types.sinks import EventSink
from .advisors import SilentAdvisor
from .calls import Calls, Restriction
from .compaction import conversation
from .metering import Allowance
from .prompt import PromptBuilder
from .record import RunRecord
from .redacted import RedactedBlobs
from .resources import SessionResources
from .services import Lending, lend_nothing
from .signals import Signals
from .turn import Turn
from .verdict import Verifiers


class Harness:
    """Runs requests for one model. Owns execution; learning, skills and memory reach it as protocols."""

    def __init__(
        self,
        store: Store,
        router: Router,
        calls: Calls,
        prompt: PromptBuilder,
        advisor: Advisor,
        sink: EventSink,
        limits: LimitSettings,
        sandbox: Sandbox,
    ) -> None:
        self.store = store
        self.router = router
        self.calls = calls
        self.prompt = prompt
        self.advisor = advisor
        self.sink = sink
        self.limits = limits
        self.allowance = Allowance(BudgetSettings(), lambda model: ModelFacts())
        self.redactor = calls.redactor
        self.services: Lending = lend_nothing
        self.verifiers = Verifiers()
        self.turn_sources: Sequence[TurnSource] = ()
        self._sandbox = sandbox
        self._told: dict[str, tuple[int, Transcript, Provenance]] = {}
        self._resources: dict[str, SessionResources] = {}
        self._tables: dict[str, ProcessTable] = {}
        self._turns: dict[str, Turn] = {}

    async def execute(self, run: Run, session: Session, approver: Approver, signals: Signals) -> RunFinished:
        """Drive a run, new or resumed, to its end. The active plan exists only meanwhile."""
        turn = Turn(self, run, session, approver, signals)
        self._turns[session.id] = turn
        try:
            return await turn.execute()
        finally:
            del self._turns[session.id]

    def build_plan(self, request: str, advice: Advice) -> ActivePlan:
        """The plan a request starts with: a learned one, or simply the retries it may spend."""
        if advice.plan is not None:
            retries = advice.plan.retries_left or self.limits.retries
            return msgspec.structs.replace(advice.plan, retries_left=retries)
        return ActivePlan(retries_left=self.limits.retries)

    def active_plan(self, session_id: str) -> ActivePlan | None:
        """The plan of the run that this harness is driving for a session right now."""
        turn = self._turns.get(session_id)
        return turn.state.plan() if turn else None

    def should_retry(self, failure: Failure, situation: Situation) -> bool:
        """Whether a failure is worth another attempt, as far as learning knows."""
        return self.advisor.weigh_retry(failure, situation).steer is None

    async def told(self, session_id: str, ordinal: int) -> tuple[Transcript, Provenance]:
        """The session's conversation up to and with this run, and who wrote what in it; kept from the last turn where
        nobody else wrote."""
        known, transcript, provenance = self._told.pop(session_id, (0, Transcript(), Provenance()))
        if known != ordinal - 1:
            known, transcript, provenance = 0, Transcript(), Provenance()
        recorded = await self.store.journal.transcript(session_id, after=known)
        for entry in recorded:
            provenance.apply(entry.event)
        image = self.store.blobs(session_id).get
        if any(isinstance(entry.event, Compacted) for entry in recorded):
            return Transcript(conversation(list(transcript), recorded), image), provenance
        for message in conversation((), recorded):
            transcript.append(message)
        transcript.image = image
        return transcript, provenance

    def keep(self, session_id: str, ordinal: int, record: RunRecord) -> None:
        """Remember a conversation for the session's next turn."""
        self._told[session_id] = (ordinal, record.transcript, record.provenance)

    def conversation(self, session_id: str) -> tuple[Transcript, Provenance] | None:
        """A copy of the conversation as it stood after the session's last turn; None when this harness did not drive
        it. Whoever goes on with the copy does not touch the original."""
        if session_id not in self._told:
            return None
        _, transcript, provenance = self._told[session_id]
        return Transcript(list(transcript), transcript.image), provenance.copied()

    def begin_with(self, session_id: str, transcript: Transcript, provenance: Provenance) -> None:
        """Let the first run of a new session see a conversation that was held elsewhere."""
        self._told[session_id] = (0, transcript, provenance)

    def restricted(self, only: Restriction, limits: LimitSettings, allowance: Allowance) -> Harness:
        """A harness on the same model that may use these tools alone, hears no advice and is watched by nobody."""
        quiet = Harness(
            self.store,
            self.router,
            self.calls.restricted(only),
            self.prompt,
            SilentAdvisor(),
            NoSink(),
            limits,
            self._sandbox,
        )
        quiet.allowance = allowance
        quiet.services = self.services
        return quiet

    def resources(self, session_id: str) -> SessionResources:
        """What is open for a session in this process."""
        return self._resources.setdefault(session_id, SessionResources())

    async def close(self) -> None:
        """Close what sessions opened, and the model's connections."""
        for resources in self._resources.values():
            await resources.close()
        await self.router.close()

    def blobs(self, session_id: str) -> RedactedBlobs:
        """Where the session's large outputs go, without the secrets in them."""
        return RedactedBlobs(self.store.blobs(session_id), self.redactor)

    def processes(self, session: Session) -> ProcessTable:
        """The session's processes."""
        if session.id not in self._tables:
            self._tables[session.id] = ProcessTable(
                self._sandbox, self.store.process_logs(session.id), self.blobs(session.id), Path(session.workspace)
            )
        return self._tables[session.id]

"""Runs beside a session: the same model on a copy of the conversation, with few tools, nobody to ask and nobody told.

The copy begins with the very bytes that the session's own requests began with, so a provider's cache serves it. The run
is journaled in a session of its own, which belongs to the one it works beside. Nothing takes an interrupted one up
again: it is closed, and whoever asked for it hears of it.
"""

from __future__ import annotations

import contextlib
from typing import Any

from ..harness.compaction import conversation
from ..harness.harness import Harness
from ..models.request import Transcript
from ..safety.approvals import Nobody
from ..safety.taint import Provenance
from ..store.open import Store
from ..store.sessions import Session
from ..types.base import Value
from ..types.errors import HermesError
from ..types.events import AssistantMessage, RunFinished, RunStarted
from ..types.trace import Outcome, RunStatus
from ..version import __version__
from .engine import Ended, Finished
from .inline import InlineEngine
from .lease import Heartbeat

_WORK = "work"


class Errand(Value, frozen=True, kw_only=True):
    """What is to be done beside a session: `surface` names the kind of work, for tools and for the journal; `work` is
    the id of the background work that it is part of."""

    surface: str
    title: str
    request: str
    work: str = ""
    options: dict[str, Any] = {}


class Left(Value, frozen=True, kw_only=True):
    """An errand whose process ended before it did, and the background work that it was part of."""

    run_id: str
    work: str


class Conversation:
    """What was said in a session up to the end of one run, to be copied by whoever goes on from there."""

    def __init__(self, transcript: Transcript, provenance: Provenance) -> None:
        self.transcript = transcript
        self.provenance = provenance

    def copied(self) -> tuple[Transcript, Provenance]:
        """A copy to go on with."""
        return Transcript(list(self.transcript), self.transcript.image), self.provenance.copied()


def kept(ended: Ended) -> Conversation | None:
    """The conversation as the harness still holds it; None when the session's next run has begun already. To be asked
    for before anything else happens."""
    told = ended.harness.conversation(ended.session.id)
    if told is None:
        return None
    last = list(told[0])[-1:]
    said = last and isinstance(last[0], AssistantMessage) and last[0].text == ended.finished.result.answer
    return Conversation(*told) if said else None


async def read_back(store: Store, ended: Ended) -> Conversation:
    """The conversation up to the end of a run, from the journal."""
    recorded = await store.journal.transcript(ended.session.id)
    places = [place for place, entry in enumerate(recorded) if entry.run_id == ended.run.id]
    until = recorded[: places[-1] + 1] if places else []
    provenance = Provenance()
    for entry in until:
        provenance.apply(entry.event)
    image = store.blobs(ended.session.id).get
    return Conversation(Transcript(conversation((), until), image), provenance)


class QuietRuns:
    """Drives errands. One per process; several may be under way."""

    def __init__(self, store: Store, agent: str, heartbeat: Heartbeat) -> None:
        self._store = store
        self._agent = f"{agent}:background"
        self._heartbeat = heartbeat

    async def run(self, ended: Ended, told: Conversation, harness: Harness, errand: Errand) -> Finished:
        """Do an errand on a copy of the conversation of a run that ended; `harness` is the restricted one."""
        transcript, provenance = told.copied()
        beside = await self._store.sessions.create(
            agent=self._agent,
            surface=errand.surface,
            workspace=ended.session.workspace,
            title=errand.title,
            parent=ended.session.id,
        )
        await self._same_prefix(ended, beside)
        harness.begin_with(beside.id, transcript, provenance)
        engine = InlineEngine(self._store, lambda model, options: harness, self._agent, self._heartbeat)
        options = {**errand.options, "model": ended.run.model, _WORK: errand.work}
        message = await engine.submit(beside, errand.request, options=options)
        return await engine.answer(beside, message, Nobody(), _unseen)

    async def _same_prefix(self, ended: Ended, beside: Session) -> None:
        frozen = await self._store.prefixes.current(ended.session.id)
        if frozen is not None:
            reason = f"beside run {ended.run.id}"
            await self._store.prefixes.freeze(beside.id, 1, frozen.payload, frozen.model, __version__, reason)

    async def close_abandoned(self) -> list[Left]:
        """End what processes that are gone left open; returns it."""
        engine = InlineEngine(self._store, _never_driven, self._agent, self._heartbeat)
        left = []
        for run in await engine.abandoned():
            outcome = Outcome(status=RunStatus.INTERRUPTED, reason="its process ended")
            closing = RunFinished(answer="", status=RunStatus.INTERRUPTED, outcome=outcome)
            with contextlib.suppress(HermesError):
                await self._store.journal.append(run.id, run.epoch, [closing])
                left.append(Left(run_id=run.id, work=await self._work_of(run.id)))
        return left

    async def _work_of(self, run_id: str) -> str:
        for recorded in await self._store.journal.run_events(run_id):
            if isinstance(recorded.event, RunStarted):
                return str(recorded.event.options.get(_WORK) or "")
        return ""


def _never_driven(model: str, options: dict[str, Any]) -> Harness:
    raise HermesError("an errand that was left open is closed, not driven")


async def _unseen(finished: Finished) -> None:
    """Nobody is shown the answer."""

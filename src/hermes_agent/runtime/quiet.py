"""Runs beside a session: the same model on a copy of the conversation, with few tools, nobody to ask and nobody told.

The copy begins with the very bytes that the session's own requests began with, so a provider's cache serves it. The run
is journaled in a session of its own, which belongs to the one it works beside. Nothing takes an interrupted one up
again: it is closed when the next begins.
"""

from __future__ import annotations

import contextlib
from typing import Any

from ..harness.harness import Harness
from ..models.request import Transcript
from ..safety.approvals import Nobody
from ..safety.taint import Provenance
from ..store.open import Store
from ..store.sessions import Session
from ..types.base import Value
from ..types.errors import HermesError
from ..types.events import RunFinished
from ..types.trace import Outcome, RunStatus
from ..version import __version__
from .engine import Ended, Finished
from .inline import InlineEngine
from .lease import Heartbeat


class Errand(Value, frozen=True, kw_only=True):
    """What is to be done beside a session: `surface` names the kind of work, for tools and for the journal."""

    surface: str
    title: str
    request: str
    options: dict[str, Any]


class QuietRuns:
    """Drives errands. One per process; several may be under way."""

    def __init__(self, store: Store, agent: str, heartbeat: Heartbeat) -> None:
        self._store = store
        self._agent = f"{agent}:background"
        self._heartbeat = heartbeat

    async def run(self, ended: Ended, harness: Harness, errand: Errand) -> Finished:
        """Do an errand on a copy of the conversation of a run that ended; `harness` is the restricted one."""
        told = ended.harness.conversation(ended.session.id)
        transcript, provenance = told or (Transcript(), Provenance())
        await self._close_abandoned(harness)
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
        message = await engine.submit(beside, errand.request, options={**errand.options, "model": ended.run.model})
        return await engine.answer(beside, message, Nobody(), _unseen)

    async def _same_prefix(self, ended: Ended, beside: Session) -> None:
        frozen = await self._store.prefixes.current(ended.session.id)
        if frozen is not None:
            reason = f"beside run {ended.run.id}"
            await self._store.prefixes.freeze(beside.id, 1, frozen.payload, frozen.model, __version__, reason)

    async def _close_abandoned(self, harness: Harness) -> None:
        """End what a process that is gone left open."""
        engine = InlineEngine(self._store, lambda model, options: harness, self._agent, self._heartbeat)
        for run in await engine.abandoned():
            outcome = Outcome(status=RunStatus.INTERRUPTED, reason="its process ended")
            closing = RunFinished(answer="", status=RunStatus.INTERRUPTED, outcome=outcome)
            with contextlib.suppress(HermesError):
                await self._store.journal.append(run.id, run.epoch, [closing])


async def _unseen(finished: Finished) -> None:
    """Nobody is shown the answer."""

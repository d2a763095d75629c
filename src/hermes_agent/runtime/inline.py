"""The engine inside this process: one driver per session, wherever it runs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import msgspec

from ..harness.harness import Harness
from ..harness.signals import Signals
from ..safety.approvals import AlwaysYes, Approver, Nobody
from ..store.open import Store
from ..store.runs import Run
from ..store.sessions import Session
from ..tools.sandbox.identity import Life, life_of, own_identity
from ..types.errors import HermesError, LeaseLost, NotFound
from ..types.events import (
    DeliveryFinished,
    InboxMode,
    RunFinished,
    RunStarted,
)
from ..types.tools import ProcessIdentity
from ..types.trace import Outcome, RunStatus
from .engine import Deliver, Ended, Finished
from .lease import Heartbeat

HarnessFor = Callable[[str, dict[str, Any]], Harness]
_DELIVERY_SECONDS = 60.0
_POLL_FIRST = 0.05
_POLL_MOST = 0.5


class InlineEngine:
    """Drives sessions on this process's event loop. `after` hears of every run whose answer was delivered, and must not
    wait: what it begins is its own business."""

    def __init__(self, store: Store, harness_for: HarnessFor, agent: str, heartbeat: Heartbeat) -> None:
        self._store = store
        self._harness_for = harness_for
        self._agent = agent
        self._heartbeat = heartbeat
        self._holder = msgspec.json.encode(own_identity()).decode()
        self._driving: dict[str, Signals] = {}
        self.after: Callable[[Ended], None] = lambda ended: None

    async def submit(
        self, session: Session, text: str, mode: InboxMode = InboxMode.QUEUE, options: dict[str, Any] | None = None
    ) -> str:
        """Commit a message; a turn under way in this process hears of it at once."""
        message_id = await self._store.inbox.put(session.id, text, mode, options)
        signals = self._driving.get(session.id)
        if signals is not None and mode is InboxMode.STEER:
            signals.steering = True
        if signals is not None and mode is InboxMode.INTERRUPT:
            signals.interrupt.set()
        return message_id

    async def answer(self, session: Session, message_id: str, approver: Approver, deliver: Deliver) -> Finished:
        """Drive the session until this message is answered; where another process drives it, wait for that one."""
        pause = _POLL_FIRST
        while True:
            receipt = await self._store.inbox.receipt(message_id)
            if receipt.run_id and receipt.status != RunStatus.OPEN:
                return await self._finished(receipt.run_id, session)
            finished = await self._drive(session, approver, deliver)
            if finished is None:
                await asyncio.sleep(pause)
                pause = min(_POLL_MOST, pause * 2)
            elif (await self._store.inbox.receipt(message_id)).run_id == finished.run_id:
                return finished

    async def resume(self, approver: Approver, deliver: Deliver) -> list[Finished]:
        """Take over and finish the runs of this agent whose driver is gone. One that cannot go on stays open."""
        taken = [self._take_over(run, approver, deliver) for run in await self.abandoned()]
        done = await asyncio.gather(*taken, return_exceptions=True)
        for failure in done:
            if isinstance(failure, BaseException) and not isinstance(failure, HermesError):
                raise failure
        return [finished for finished in done if isinstance(finished, Finished)]

    async def redeliver(self, deliver: Deliver) -> list[Finished]:
        """Show answers that a crash may have kept from being seen; returns them."""
        shown = []
        for run in await self._store.runs.undelivered(self._agent):
            if not self._abandoned(run, (run.finished_at or 0) + _DELIVERY_SECONDS < time.time()):
                continue
            session = await self._store.sessions.get(run.session_id)
            finished = await self._finished(run.id, session)
            await self._deliver(run, session, finished, deliver)
            shown.append(finished)
        return shown

    async def abandoned(self) -> list[Run]:
        """The runs of this agent that nobody drives any more."""
        return [run for run, expired in await self._store.runs.open_runs(self._agent) if self._abandoned(run, expired)]

    async def resume_run(self, run: Run, approver: Approver, deliver: Deliver) -> Finished | None:
        """Take over one run if nobody drives it; None when somebody does."""
        opened = await self._store.runs.open_run_of(run.session_id)
        if opened is None or opened[0].id != run.id or not self._abandoned(*opened):
            return None
        return await self._take_over(opened[0], approver, deliver)

    def interrupt(self, session_id: str) -> bool:
        """End the turn this process drives for a session."""
        signals = self._driving.get(session_id)
        if signals is None:
            return False
        signals.interrupt.set()
        return True

    async def close(self) -> None:
        """Stop the heartbeat; open runs stay resumable."""
        self._heartbeat.close()

    async def _drive(self, session: Session, approver: Approver, deliver: Deliver) -> Finished | None:
        """Run the next message of a session, or the run somebody left open. None when there is nothing to do here."""
        opened = await self._store.runs.open_run_of(session.id)
        if opened is not None:
            run, expired = opened
            return await self._take_over(run, approver, deliver) if self._abandoned(run, expired) else None
        started = await self._store.runs.begin(session.id, self._holder, "")
        if started is None:
            return None
        return await self._execute(started, session, approver, deliver)

    def _abandoned(self, run: Run, expired: bool) -> bool:
        """Nobody drives it: the lease ran out, or its holder was a process of this machine that is gone."""
        if run.session_id in self._driving:
            return False
        if expired:
            return True
        try:
            holder = msgspec.json.decode(run.holder, type=ProcessIdentity)
        except msgspec.MsgspecError:
            return False
        return life_of(holder) is Life.DEAD

    async def _take_over(self, run: Run, approver: Approver, deliver: Deliver) -> Finished | None:
        taken = await self._store.runs.take_over(run, self._holder)
        if taken is None:
            return None
        try:
            session = await self._store.sessions.get(run.session_id)
        except NotFound:
            return None
        return await self._execute(taken, session, approver, deliver)

    async def _execute(self, run: Run, session: Session, approver: Approver, deliver: Deliver) -> Finished | None:
        signals = Signals()
        self._driving[session.id] = signals
        self._heartbeat.hold(run, signals)
        try:
            options = await self._options(run)
            harness = await self._harness(run, options)
            if harness is None:
                return await self._finished(run.id, session)
            chosen = AlwaysYes() if isinstance(approver, Nobody) and options.get("consent") == "all" else approver
            result = await harness.execute(run, session, chosen, signals)
        except LeaseLost:
            return None
        finally:
            self._heartbeat.release(run.id)
            del self._driving[session.id]
        finished = Finished(run_id=run.id, session_id=session.id, result=result, resumed=run.epoch > 1)
        await self._deliver(run, session, finished, deliver)
        self.after(Ended(run=run, session=session, harness=harness, finished=finished))
        return finished

    async def _harness(self, run: Run, options: dict[str, Any]) -> Harness | None:
        """The run's harness. A new run whose model cannot be had fails; a resumed one stays open for a better day."""
        try:
            return self._harness_for(run.model, options)
        except HermesError as error:
            if run.epoch > 1:
                raise
            outcome = Outcome(status=RunStatus.FAILED, reason=error.explain())
            failed = RunFinished(answer="", status=RunStatus.FAILED, outcome=outcome)
            await self._store.journal.append(run.id, run.epoch, [failed])
            return None

    async def _options(self, run: Run) -> dict[str, Any]:
        for recorded in await self._store.journal.run_events(run.id):
            if isinstance(recorded.event, RunStarted):
                return recorded.event.options
        return {}

    async def _deliver(self, run: Run, session: Session, finished: Finished, deliver: Deliver) -> None:
        """Showing the answer is an effect like any other: its intent was journaled with the answer."""
        await deliver(finished)
        await self._store.journal.append(run.id, run.epoch, [DeliveryFinished(surface=session.surface)])

    async def _finished(self, run_id: str, session: Session) -> Finished:
        for recorded in await self._store.journal.run_events(run_id):
            if isinstance(recorded.event, RunFinished):
                return Finished(run_id=run_id, session_id=session.id, result=recorded.event)
        raise HermesError(f"run {run_id} has no result in its journal", remedy="run `hermes doctor`")

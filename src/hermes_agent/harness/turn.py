"""One run: the loop between the model and its tools. Every step is journaled before it has an effect."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ..models.client import ModelAnswer
from ..models.meter import Meter
from ..models.request import ModelRequest
from ..safety.approvals import Approver
from ..store.runs import Run
from ..store.sessions import Session
from ..types.advice import SessionView, Situation
from ..types.errors import HermesError, LeaseLost, LimitReached, ModelError, ModelFailure
from ..types.events import (
    AnyEvent,
    AssistantMessage,
    CallFinished,
    Fragment,
    ModelCalled,
    PrefixFrozen,
    ProcessSpawned,
    RunFinished,
)
from ..types.tools import Spawned, ToolCall
from ..types.trace import RunStatus
from .advising import learn, stand_as_before, take_advice
from .calls import Wish
from .compaction import compact, keep_short
from .ending import closing, how_it_ends, open_calls
from .execution import Execution
from .planner import TurnPlanner
from .prompt import FrozenPrefix
from .record import RunRecord
from .recovery import examined_again, settle_after_crash
from .scene import Belongings, CallScene
from .signals import Interrupted, Signals
from .state import RunState
from .telling import tell
from .verdict import Verdict, last_answer, verdict, wants_verdict

if TYPE_CHECKING:
    from .harness import Harness

_WRAP_UP = "The limit of steps for this request is reached. Answer now with what you have, and say what is missing."


class Turn:
    """A run being driven. Made by the harness, used once."""

    def __init__(self, harness: Harness, run: Run, session: Session, approver: Approver, signals: Signals) -> None:
        self.harness = harness
        self.run = run
        self.session = session
        self.signals = signals
        self._approver = approver
        self.record: RunRecord
        self.scene: CallScene
        self.execution: Execution
        self._frozen: FrozenPrefix
        self.meter: Meter

    @property
    def state(self) -> RunState:
        """The fold of what was journaled so far."""
        return self.record.state

    async def execute(self) -> RunFinished:
        """Drive the run to its end and return how it ended. Raises only when the journal cannot be written."""
        await self._load()
        if self.state.result is None:
            await self._until_settled()
        finished = self.state.result
        assert finished is not None
        self.record.flush()
        self.harness.keep(self.session.id, self.run.ordinal, self.record)
        await learn(self)
        return finished

    async def _until_settled(self) -> None:
        limit = asyncio.timeout(self.harness.limits.seconds)
        try:
            async with limit:
                await self._watched(self._loop())
        except Interrupted:
            await self._finish(RunStatus.INTERRUPTED, "", "interrupted by the user")
        except asyncio.CancelledError:
            await self._finish(RunStatus.INTERRUPTED, "", "the program stopped waiting for it")
            raise
        except LeaseLost:
            raise
        except TimeoutError:
            if not limit.expired():
                raise
            seconds = self.harness.limits.seconds
            await self._finish(RunStatus.FAILED, "", f"the limit of {seconds:g} seconds is reached (limits.seconds)")
        except HermesError as error:
            await self._finish(RunStatus.FAILED, "", error.explain())

    async def _load(self) -> None:
        """Read the run and its session back from the journal, and freeze or find the prefix."""
        harness, run = self.harness, self.run
        events = await harness.store.journal.run_events(run.id)
        transcript, provenance = await harness.told(self.session.id, run.ordinal)
        self.record = RunRecord(
            harness.store.journal,
            run,
            harness.sink,
            RunState(harness.limits.retries, events),
            transcript,
            provenance,
        )
        self.record.events += events
        self.meter = harness.allowance.meter(harness.store.budgets, run.id, self.session.id)
        started = self.state.started
        options = started.options if started else {}
        situation = Situation(
            request=self.state.request,
            model=run.model,
            surface=self.session.surface,
            family=self.state.family or str(options.get("family") or ""),
            run_id=run.id,
            pin=options.get("pin"),
            seed=options.get("seed"),
            workspace=self.session.workspace,
        )
        self.scene = CallScene(
            run.id,
            self.session.id,
            Path(self.session.workspace),
            self.state,
            situation,
            self._approver,
            Belongings(
                blobs=harness.blobs(self.session.id),
                values=harness.store.values(self.session.id),
                processes=harness.processes(self.session),
                announce=self._announce,
                commit=self.commit,
                resources=harness.resources(self.session.id),
                planner=TurnPlanner(self.record),
                services=harness.services(self.session, run, self.meter, self.commit),
            ),
            provenance,
        )
        self.execution = Execution(harness.calls, self.scene, harness.limits.parallel_calls)

    async def _watched(self, work: Coroutine[Any, Any, None]) -> None:
        """Run `work` until it ends, the user interrupts, or the lease is lost."""
        body = asyncio.ensure_future(work)
        signals = [
            asyncio.ensure_future(self.signals.interrupt.wait()),
            asyncio.ensure_future(self.signals.lost.wait()),
        ]
        try:
            await asyncio.wait([body, *signals], return_when=asyncio.FIRST_COMPLETED)
            if body.done():
                return await body
            body.cancel()
            await asyncio.wait([body])
            if self.signals.lost.is_set():
                raise LeaseLost(f"run {self.run.id} was taken over by another process; this one stops")
            raise Interrupted
        except asyncio.CancelledError:
            body.cancel()
            await asyncio.wait([body])
            raise
        finally:
            for waiter in signals:
                waiter.cancel()

    async def _loop(self) -> None:
        resumed = self.run.epoch > 1
        await self._freeze_prefix(resumed)
        if resumed:
            await stand_as_before(self)
            await settle_after_crash(self)
            await self.execution.run(examined_again(self))
            said = last_answer(self.record.events)
            if said is not None and wants_verdict(self):
                return await self._finish_with_verdict(said)
        else:
            await self.commit(self.harness.allowance.effort_notes(self.run.model))
            await tell(self)
            await take_advice(self)
        while True:
            await self._take_steering()
            last = self.state.iterations >= self.harness.limits.iterations
            if last:
                await self.commit([Fragment(source="limits", text=_WRAP_UP)])
            wishes = await self._ask_model_within_its_window(may_call_tools=not last)
            if self.state.result is not None:
                return
            await self.execution.run(wishes)
            if self.state.failures() >= self.harness.limits.same_failure:
                raise LimitReached(
                    f"the same call failed {self.state.failures()} times", remedy="raise limits.same_failure"
                )

    def view(self) -> SessionView:
        """The session as sources of context see it."""
        return SessionView(
            session_id=self.session.id,
            workspace=self.session.workspace,
            surface=self.session.surface,
            model=self.run.model,
            request=self.state.request,
        )

    async def _freeze_prefix(self, resumed: bool) -> None:
        begun = any(isinstance(entry.event, PrefixFrozen) for entry in self.record.events)
        last_used = self.session.updated_at
        self._frozen = await self.harness.prompt.prefix(self.view(), last_used=last_used, resuming=resumed and begun)
        if self._frozen.reason or not begun:
            await self.commit([self._frozen.event(), *self._announced_tools()])

    def _announced_tools(self) -> list[AnyEvent]:
        """What the model is told of tools that came after its prefix was frozen; each is told of once."""
        told = [message.text for message in self.record.transcript if isinstance(message, Fragment)]
        late = [name for name in self._frozen.late if not any(f"`{name}`" in text for text in told)]
        if not late:
            return []
        names = ", ".join(f"`{name}`" for name in late)
        return [Fragment(source="tools", text=f"New tools: {names}. tool_search describes them, use_tool calls them.")]

    async def begin_epoch(self, reason: str, because: Sequence[AnyEvent]) -> None:
        """Freeze a new prefix, and journal it with the events that are the reason."""
        self._frozen = await self.harness.prompt.renew(self.view(), reason)
        await self.commit([*because, self._frozen.event()])
        self.record.flush()

    async def _take_steering(self) -> None:
        """Hints and messages that join the turn at this step."""
        await self.commit(self.scene.taken_hints())
        if not self.signals.steering:
            return
        self.signals.steering = False
        await self.record.written(self.harness.store.runs.steer(self.run))

    async def _ask_model_within_its_window(self, *, may_call_tools: bool) -> list[Wish]:
        """Ask; when the model says that the conversation is too long for it, shorten it and ask once more."""
        try:
            return await self._ask_model(may_call_tools=may_call_tools)
        except ModelError as error:
            if error.failure is not ModelFailure.CONTEXT_TOO_LONG or not await compact(self):
                raise
        return await self._ask_model(may_call_tools=may_call_tools)

    def _request(self, *, may_call_tools: bool) -> ModelRequest:
        return ModelRequest(
            prefix=self._frozen.prefix,
            transcript=self.record.transcript,
            tool_choice="auto" if may_call_tools else "none",
            max_tokens=self.harness.allowance.max_tokens,
            effort=self.harness.allowance.effort,
        )

    async def _ask_model(self, *, may_call_tools: bool) -> list[Wish]:
        """Ask, then journal in one commit what the answer leads to: the end of the run, or the calls that were refused
        and the intents of those that start at once. Returns the calls to run."""
        self.record.flush()
        attempts: list[ModelCalled] = []
        request = self._request(may_call_tools=may_call_tools)
        if await keep_short(self, request):
            request = self._request(may_call_tools=may_call_tools)

        def report(called: ModelCalled) -> None:
            if called.reason:
                called = msgspec.structs.replace(called, reason=self.harness.redactor.redact(called.reason))
            attempts.append(called)
            if called.failure is not None:
                self.harness.sink.event(self.run.id, called)

        try:
            answer = await self.harness.router.answer(
                request, lambda text: self.harness.sink.text(self.run.id, text), report, self.meter
            )
        except HermesError:
            await self.commit(attempts)
            raise
        calls = self._with_unique_ids(answer.calls) if may_call_tools else []
        said = self._said(answer, calls)
        examined = [self.harness.calls.examine(call, self.scene) for call in calls]
        refused = [found for found in examined if isinstance(found, CallFinished)]
        wishes = [found for found in examined if isinstance(found, Wish)]
        if calls:
            follows = [*refused, *self.execution.first_intents(wishes)]
        else:
            follows = [] if wants_verdict(self) else self._ending(said, may_call_tools)
        await self.commit([*attempts, said, *self.scene.taken_advice(), *follows])
        if not calls and not follows:
            await self._finish_with_verdict(said)
        return wishes

    def _said(self, answer: ModelAnswer, calls: Sequence[ToolCall]) -> AssistantMessage:
        """The answer as it is journaled: without secrets, also in the arguments of calls, which run as they came. What
        a provider signed is dropped where its text did not stay as it was."""
        redactor = self.harness.redactor
        kept = tuple(msgspec.structs.replace(call, arguments=redactor.redact_json(call.arguments)) for call in calls)
        held = msgspec.json.encode(answer.replay).decode() if answer.replay else ""
        whole = kept == tuple(calls) and redactor.redact(held) == held
        return AssistantMessage(
            text=redactor.redact(answer.text), calls=kept, stop=answer.stop, replay=answer.replay if whole else {}
        )

    def _ending(self, said: AssistantMessage, was_free: bool, verdict: Verdict | None = None) -> list[AnyEvent]:
        status, reason = how_it_ends(said, free=was_free, steps=self.harness.limits.iterations)
        return closing(self.session.surface, status, said.text, reason, verdict)

    async def _finish_with_verdict(self, said: AssistantMessage) -> None:
        """Let whoever can know look at the result, then close the run. The answer is journaled by now: a crash here
        asks for the verdict once more, not for the answer."""
        free = self._was_free()
        status, reason = how_it_ends(said, free=free, steps=self.harness.limits.iterations)
        await self.commit(self._ending(said, free, await verdict(self, said.text, status, reason)))

    def _with_unique_ids(self, calls: Sequence[ToolCall]) -> list[ToolCall]:
        """Some endpoints count their call ids anew in every answer; in a run each must be its own."""
        unique: list[ToolCall] = []
        taken: set[str] = set()
        for call in calls:
            name, number = call.id, 1
            while name in taken or name in self.state.asked:
                number += 1
                name = f"{call.id}_{number}"
            taken.add(name)
            same = name == call.id
            unique.append(
                call if same else ToolCall(id=name, name=call.name, arguments=call.arguments, problem=call.problem)
            )
        return unique

    async def _announce(self, call_id: str, spawned: Spawned) -> None:
        await self.commit(
            [
                ProcessSpawned(
                    call_id=call_id,
                    process=spawned.process,
                    identity=spawned.identity,
                    background=spawned.background,
                    command=self.harness.redactor.redact(spawned.command),
                    log=spawned.log,
                )
            ]
        )

    async def _finish(self, status: RunStatus, answer: str, reason: str) -> None:
        """Close every open call and the run, in one commit. What ends a run while its answer waits for the verdict
        costs the verdict, not the answer."""
        why = self.harness.redactor.redact(reason)
        said = last_answer(self.record.events) if wants_verdict(self) else None
        if said is not None:
            await self.commit(self._ending(said, self._was_free(), Verdict(success=None, reason=why)))
            return
        ending = closing(self.session.surface, status, answer, why)
        await self.commit([*self.scene.unsaid(), *open_calls(self.state), *ending])

    def _was_free(self) -> bool:
        """Whether the journaled last answer came by itself, and not because the steps were used up."""
        return self.state.iterations <= self.harness.limits.iterations

    async def commit(self, events: Sequence[AnyEvent]) -> None:
        """Journal events and take them into account."""
        await self.record.commit(events)

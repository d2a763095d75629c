"""One tool call, from the model's wish to a result: validate, advise, permit, deduplicate, run, cap, redact."""

from __future__ import annotations

import asyncio
import contextlib
import difflib
import random
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import msgspec

from ..config.settings import LimitSettings, Verdict
from ..safety.approvals import call_digest
from ..safety.guard import Watch, unwatched, watched
from ..safety.paths import Scope, digest
from ..safety.redact import Redactor
from ..safety.taint import labels_of
from ..tools.registry import Registry
from ..tools.results import as_result, capped, error_text
from ..tools.tool import ArgumentProblem, Tool
from ..types.advice import Advisor, Failure, Moment, Ruling, Steer
from ..types.base import Value
from ..types.errors import HermesError, PermissionRefused
from ..types.events import AdviceGiven, AnyEvent, CallFinished, CallIntended, Decided, Fragment
from ..types.tools import Capability, Effect, Label, ToolCall, ToolResult, ToolSpec
from ..types.trace import CallStatus
from .advisors import SilentAdvisor
from .limits import Choice, FailedCall, backoff, decide
from .permits import Permits
from .scene import CallContext, CallScene, Record
from .toolbox import NestedTools

_OWN_CODE = ("builtin", "self-written")
"""Sources whose functions are ours: a self-written tool is run by our code, in a sandboxed process of its own."""
_FAILED = (CallStatus.ERROR, CallStatus.TIMEOUT)
IN_DOUBT = "interrupted; the effect may have happened; verify before repeating"


class Wish(Value, frozen=True, kw_only=True):
    """A call that makes sense: the tool exists and the arguments fit."""

    call: ToolCall
    tool: Tool
    bound: dict[str, Any]
    digest: str
    trusted: bool

    @property
    def spec(self) -> ToolSpec:
        """The tool's declaration."""
        return self.tool.spec

    def missing(self, scene: CallScene) -> str:
        """The tool that must have succeeded before this one and has not."""
        return next((name for name in self.spec.needs if name not in scene.state.succeeded), "")


class Restriction(Value, frozen=True, kw_only=True):
    """The only tools that may be called, whatever the model was shown, and the rule that says so."""

    tools: frozenset[str]
    rule: str

    def refusal(self, tool: str) -> str:
        """The tool and the rule, for the model."""
        return f"{tool} is refused: {self.rule} (allowed: {', '.join(sorted(self.tools))})"


class Calls:
    """Examines and runs calls. Nothing a tool does or raises gets past it except as a result."""

    def __init__(
        self,
        registry: Registry,
        permits: Permits,
        advisor: Advisor,
        redactor: Redactor,
        limits: LimitSettings,
        rng: random.Random | None = None,
        only: Restriction | None = None,
    ) -> None:
        self.registry = registry
        self.permits = permits
        self._advisor = advisor
        self.redactor = redactor
        self._limits = limits
        self._rng = rng or random.Random()
        self._only = only

    def restricted(self, only: Restriction) -> Calls:
        """The same desk for calls to these tools alone, without advice."""
        return Calls(self.registry, self.permits, SilentAdvisor(), self.redactor, self._limits, self._rng, only)

    def examine(self, call: ToolCall, scene: CallScene) -> Wish | CallFinished:
        """The call as something that can be run, or the result that says why not. Has no effect; what learning said
        about it waits in the scene to be journaled."""
        if call.problem:
            return _refused(call, CallStatus.ERROR, "bad_arguments", call.problem)
        call = call.meant()
        if self._only is not None and call.name not in self._only.tools:
            return _refused(call, CallStatus.REFUSED, "not_permitted", self._only.refusal(call.name))
        spec = self.registry.spec(call.name)
        if spec is None:
            return _refused(call, CallStatus.ERROR, "unknown_tool", self._unknown(call.name))
        try:
            tool = self.registry.get(call.name)
            bound = tool.bind(call.arguments)
        except ArgumentProblem as error:
            return _refused(call, CallStatus.ERROR, "bad_arguments", error.explain())
        except (HermesError, ImportError) as error:
            return _refused(call, CallStatus.ERROR, "unavailable", str(error))
        digest = call_digest(call.name, call.arguments, scene.workspace)
        if scene.state.insists(call):
            insisted = Decided(subject="advice", choice="override", reason="the call was made again", call_id=call.id)
            scene.advised.append(insisted)
        elif (steer := self._reviewed(call, spec, digest, scene)) is not None:
            better = f" Use {steer.better} instead." if steer.better else ""
            insist = "Make the same call again to insist."
            return _refused(call, CallStatus.STEERED, "steered", f"{steer.reason}.{better} {insist}")
        trusted = self.registry.source(call.name) in _OWN_CODE
        return Wish(call=call, tool=tool, bound=bound, digest=digest, trusted=trusted)

    def _reviewed(self, call: ToolCall, spec: ToolSpec, digest: str, scene: CallScene) -> Steer | None:
        moment = Moment(
            call=call,
            situation=scene.situation,
            effect=spec.effect,
            previous=scene.state.previous,
            failed=_earlier_failure(call, scene.state.failed_before(digest)),
        )
        ruling, said = self._heard(partial(self._advisor.review, moment), call.id)
        scene.advised += said
        return ruling.steer

    def _heard(self, ask: Callable[[], Ruling], call_id: str) -> tuple[Ruling, list[AnyEvent]]:
        """What learning says about a call, and what is journaled of it. If it breaks, that costs its advice alone."""
        try:
            ruling = ask()
        except Exception as error:  # noqa: BLE001 - supervises whatever advises
            reason = self.redactor.redact(f"{type(error).__name__}: {error}")
            return Ruling(), [Decided(subject="advice", choice="skip", reason=reason, call_id=call_id)]
        return ruling, _recorded(ruling, call_id)

    def answered(self, wish: Wish, scene: CallScene) -> CallFinished | None:
        """The result of the same effect-free call earlier in this turn, unless something had an effect since.

        Asked when the call's turn has come, not when the model asks for it: calls before it may change the answer.
        """
        known = scene.state.repeated(wish.digest) if wish.spec.effect is Effect.NONE else None
        if known is None:
            return None
        text = f"{known.text}\n[the same call was answered before in this turn; nothing has changed since]"
        return msgspec.structs.replace(known, call_id=wish.call.id, text=text, duration_ms=0.0, refusals=(), parent="")

    def is_free(self, wish: Wish, scene: CallScene) -> bool:
        """Whether the call may run without anybody deciding about it."""
        allowed = self.permits.ruling(wish.spec, wish.call, scene).verdict is Verdict.ALLOW
        return allowed and not wish.spec.needs

    async def ask_about(self, wishes: Sequence[Wish], scene: CallScene) -> None:
        """Ask a person once about all of these calls that need one as things stand."""
        await self.permits.ask_about([(wish.spec, wish.call) for wish in wishes if not wish.missing(scene)], scene)

    async def permit(self, wish: Wish, scene: CallScene) -> tuple[CallFinished | None, list[AnyEvent]]:
        """The result of a call that may not run, else None; and what the journal keeps of the decision."""
        if missing := wish.missing(scene):
            text = f"call {missing} first: {wish.spec.name} needs it"
            return _refused(wish.call, CallStatus.REFUSED, "needs", text), []
        refusal, events = await self.permits.decide(wish.spec, wish.call, scene)
        kept = [self._without_secrets(event) for event in events]
        if not refusal:
            return None, kept
        text = self.redactor.redact(refusal)
        return _refused(wish.call, CallStatus.REFUSED, "not_permitted", text), kept

    def _without_secrets(self, event: AnyEvent) -> AnyEvent:
        if not isinstance(event, Decided):
            return event
        return msgspec.structs.replace(event, reason=self.redactor.redact(event.reason))

    def intent(self, wish: Wish, scene: CallScene, parent: str = "") -> CallIntended:
        """What is journaled before the call has any effect. `parent` is the call of the tool that makes this one."""
        before = {}
        for name in wish.spec.replaces:
            path = wish.bound.get(name)
            with contextlib.suppress(PermissionRefused, OSError):
                before[str(path)] = digest(Scope(scene.workspace).resolve(str(path)))
        return CallIntended(
            call_id=wish.call.id,
            tool=wish.spec.name,
            effect=wish.spec.effect,
            key=f"{scene.run_id}:{wish.call.id}",
            digest=wish.digest,
            before=before,
            parent=parent,
            arguments=self.redactor.redact_json(wish.call.arguments) if parent else {},
        )

    async def run(
        self, wish: Wish, scene: CallScene, record: Record, earlier: CallIntended | None = None
    ) -> list[AnyEvent]:
        """Run a journaled call to its result, retrying where that is safe and may help. The decision to retry is
        recorded before the retry, because the retries of a request are shared by all its calls."""
        events: list[AnyEvent] = []
        attempt, started = 1, time.perf_counter()
        while True:
            result, status, refusals = await self._attempt(wish, scene, earlier)
            if status is CallStatus.OK:
                break
            failed = FailedCall(
                effect=wish.spec.effect,
                status=status,
                transient=result.transient,
                attempt=attempt,
                retries_left=scene.state.plan().retries_left,
                worthwhile=True,
            )
            decision = decide(failed, self._limits)
            if decision.choice is Choice.RETRY and not self._worth_retrying(wish, scene, result, attempt, events):
                decision = decide(msgspec.structs.replace(failed, worthwhile=False), self._limits)
            reason = f"{wish.spec.name}: {result.error or status.value}: {decision.reason}"
            decided = Decided(subject="failure", choice=decision.choice, reason=reason, call_id=wish.call.id)
            if decision.choice is not Choice.RETRY:
                events.append(decided)
                break
            await record([decided])
            await asyncio.sleep(backoff(attempt, self._limits.retry_wait, self._rng))
            attempt += 1
        if status in _FAILED:
            scene.told += self._mended(wish, scene, result, attempt)
        events.append(
            CallFinished(
                call_id=wish.call.id,
                tool=wish.spec.name,
                status=status,
                text=result.text if result.ok else error_text(result.text),
                duration_ms=round((time.perf_counter() - started) * 1000, 3),
                error=result.error,
                attempts=attempt,
                blob=result.blob,
                refusals=refusals,
                labels=self._labels(wish, scene, result),
                origin=self.redactor.redact(result.origin),
            )
        )
        return events

    def _labels(self, wish: Wish, scene: CallScene, result: ToolResult) -> tuple[Label, ...]:
        arguments = wish.call.arguments
        own = labels_of(wish.spec, arguments) if result.ok or result.labels else frozenset()
        return tuple(sorted(own | result.labels | scene.provenance.labels_for(arguments, result.origin)))

    def _worth_retrying(
        self, wish: Wish, scene: CallScene, result: ToolResult, attempt: int, events: list[AnyEvent]
    ) -> bool:
        failure = _failure(wish, result, attempt)
        ruling, said = self._heard(partial(self._advisor.weigh_retry, failure, scene.situation), wish.call.id)
        if attempt == 1:
            events += said
        return ruling.steer is None

    def _mended(self, wish: Wish, scene: CallScene, result: ToolResult, attempt: int) -> list[AnyEvent]:
        """What learning says to a failure: told to the model before it is asked again."""
        failure = _failure(wish, result, attempt)
        ruling, said = self._heard(partial(self._advisor.repair, failure, scene.situation), wish.call.id)
        return [*said, *([Fragment(source="advice", text=ruling.hint)] if ruling.hint else [])]

    async def _attempt(
        self, wish: Wish, scene: CallScene, earlier: CallIntended | None
    ) -> tuple[ToolResult, CallStatus, tuple[str, ...]]:
        declared = wish.spec.capabilities
        watch = Watch(wish.spec.name, frozenset(Capability) if declared is None else declared, scene.workspace)
        tools = NestedTools(self, scene, wish.call.id)
        context = CallContext(scene, wish.call, earlier, watch, tools, trusted=wish.trusted)
        guarding = unwatched() if wish.trusted else watched(watch)
        limit = asyncio.timeout(wish.spec.timeout)
        try:
            with guarding:
                async with limit:
                    value = await wish.tool.run(wish.bound, context)
            result = self._finished(as_result(value), scene)
        except BaseException as error:
            if isinstance(error, asyncio.CancelledError) and _being_cancelled():
                raise
            raised = _timed_out(wish.spec) if limit.expired() else _raised(error)
            result = self._finished(raised, scene)
        if watch.refusals and not result.ok:
            result = self._finished(ToolResult(ok=False, text=watch.refusals[0], error="undeclared"), scene)
        return result, _status(result, wish.spec), tuple(map(self.redactor.redact, watch.refusals))

    def _finished(self, result: ToolResult, scene: CallScene) -> ToolResult:
        """The result as it may be stored: without secrets, and no larger than the model can afford."""
        redacted = self.redactor.redact(result.text)
        kept = result if redacted == result.text else msgspec.structs.replace(result, text=redacted)
        return capped(kept, scene.belongings.blobs, self._limits.tool_output)

    def _unknown(self, name: str) -> str:
        names = [spec.name for spec in self.registry.specs()]
        close = difflib.get_close_matches(name, names, n=3)
        hint = f"did you mean {' or '.join(close)}?" if close else f"there are: {', '.join(names)}"
        return f"there is no tool {name!r}; {hint}"


def _failure(wish: Wish, result: ToolResult, attempt: int) -> Failure:
    return Failure(
        tool=wish.spec.name, error=result.error, text=result.text, attempt=attempt, arguments=wish.call.arguments
    )


def _earlier_failure(call: ToolCall, before: CallFinished | None) -> Failure | None:
    if before is None:
        return None
    error = before.error or before.status.value
    return Failure(tool=call.name, error=error, text=before.text, attempt=1, arguments=call.arguments)


def _recorded(ruling: Ruling, call_id: str) -> list[AnyEvent]:
    if not ruling.items:
        return []
    items = tuple(msgspec.structs.replace(item, call_id=call_id) for item in ruling.items)
    return [AdviceGiven(items=items)]


def in_doubt(call: ToolCall) -> CallFinished:
    """The result of a call whose effect may or may not have happened."""
    return CallFinished(
        call_id=call.id, tool=call.name, status=CallStatus.IN_DOUBT, text=error_text(IN_DOUBT), error="in_doubt"
    )


def interrupted(call: ToolCall) -> CallFinished:
    """The result of a call that the user stopped before it could have an effect."""
    return CallFinished(
        call_id=call.id,
        tool=call.name,
        status=CallStatus.INTERRUPTED,
        text=error_text("interrupted by the user before it finished; it had no effect that needs undoing"),
        error="interrupted",
    )


def forgotten(call: ToolCall) -> CallFinished:
    """The result of a call whose arguments cannot be read back: it did not run."""
    text = "interrupted before it began, and its arguments held a secret that was not kept; make the call again"
    return _refused(call, CallStatus.INTERRUPTED, "interrupted", text)


def _refused(call: ToolCall, status: CallStatus, error: str, text: str) -> CallFinished:
    return CallFinished(call_id=call.id, tool=call.name, status=status, text=error_text(text), error=error)


def _timed_out(spec: ToolSpec) -> ToolResult:
    doubt = f"; {IN_DOUBT}" if spec.effect is Effect.ONCE else ""
    return ToolResult(
        ok=False, text=f"{spec.name} did not finish within {spec.timeout:g} seconds{doubt}", error="timeout"
    )


def _raised(error: BaseException) -> ToolResult:
    """An exception as data. Passing troubles of the network and the system are worth another try."""
    passing = isinstance(error, ConnectionError | TimeoutError | InterruptedError | BlockingIOError)
    kind = type(error).__name__
    try:
        text = error.explain() if isinstance(error, HermesError) else f"{kind}: {error}"
    except Exception:  # noqa: BLE001 - the tool boundary: an error may fail even to say what it is
        text = f"{kind}, which does not say what it means"
    error_class = "not_permitted" if isinstance(error, PermissionRefused) else kind
    return ToolResult(ok=False, text=text, error=error_class, transient=passing)


def _being_cancelled() -> bool:
    """Whether we are asked to stop; otherwise a cancellation is just something the tool raised."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _status(result: ToolResult, spec: ToolSpec) -> CallStatus:
    if result.ok:
        return CallStatus.OK
    if result.error == "timeout":
        return CallStatus.IN_DOUBT if spec.effect is Effect.ONCE else CallStatus.TIMEOUT
    if result.error in ("undeclared", "not_permitted"):
        return CallStatus.REFUSED
    return CallStatus.ERROR

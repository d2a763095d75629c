"""The library's front door: agents for programs, synchronous or not, from any thread."""

from __future__ import annotations

import asyncio
import atexit
import inspect
import threading
import warnings
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from .app import App, Parts, build
from .config.load import read_environment
from .config.settings import Resume
from .harness.advisors import HeuristicStore, StoreAdvisor
from .harness.options import examine_options
from .harness.verdict import CHECK, VERIFIER, Claim
from .models.client import ModelClient
from .models.providers.scripted import ScriptedCall, ScriptedModel, Turn
from .runtime.engine import Finished
from .safety.approvals import Approver, Nobody
from .store.judging import Judgement, judge_and_learn
from .store.runs import Run
from .store.sessions import Session
from .tools.tool import Tool, in_thread
from .types.advice import Advice, Advisor, Failure, Situation
from .types.base import Value
from .types.errors import HermesError, UsageError
from .types.ids import new_id
from .types.plan import ActivePlan
from .types.sinks import EventSink
from .types.tools import ToolCall
from .types.trace import Judge, RunStatus, ToolRecord, Trace

T = TypeVar("T")
NEW_SESSION = "new"


class RunResult(Value, frozen=True, kw_only=True):
    """How a request ended. `str(result)` is the answer.

    `success` is what a verifier or the user said about it, and None where nobody who can know has said anything;
    `judged_by` is who it was."""

    answer: str
    status: RunStatus
    reason: str
    run_id: str
    session_id: str
    success: bool | None = None
    judged_by: Judge = Judge.INFERRED

    @property
    def ok(self) -> bool:
        """Whether the run came to its end by itself."""
        return self.status is RunStatus.DONE

    def __str__(self) -> str:
        return self.answer


Look = Callable[[RunResult], bool | Awaitable[bool | None] | None]
"""Looks at a result before anything is learned from it: True, False, or None when it cannot tell."""
Check = str | Look
"""A command, or a callable of the program."""


class _Bridge:
    """One event loop in one thread per process: what the synchronous methods run on."""

    def __init__(self) -> None:
        self._starting = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        with self._starting:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, name="hermes-loop", daemon=True).start()
        return asyncio.run_coroutine_threadsafe(work, self._loop)


_bridge = _Bridge()


class AgentState:
    """What an agent has done so far, read from its journal."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent

    @property
    def tool_history(self) -> list[dict[str, Any]]:
        """Every call of the agent's session, oldest first."""
        session = self._agent.session_id
        if not session:
            return []
        records = self._agent.wait(self._agent.app.store.traces.tool_history(session))
        return [
            {
                "tool": record.tool,
                "input": record.input,
                "output": record.output,
                "duration": record.duration,
                "status": record.status.value,
                "latency_ms": record.latency_ms,
                "error": record.error or None,
            }
            for record in records
        ]

    @property
    def active_plan(self) -> dict[str, Any] | None:
        """The plan of the request under way; None between requests."""
        plan = self._agent.active_plan()
        return msgspec.to_builtins(plan) if plan else None

    def trace(self, run_id: str) -> Trace:
        """A run of any session as one trace."""
        return self._agent.wait(self._agent.app.store.traces.of_run(run_id))


class Agent:
    """An agent with a name, tools and a durable conversation.

    One instance has one session, begun with its first request. Runs of the same name that a crash interrupted are
    taken up again when the first request is made: by then the program has registered its tools.
    """

    def __init__(
        self,
        name: str = "agent",
        model: str | ModelClient = "",
        base_url: str = "",
        workspace: str | Path = ".",
        home: str | Path = "",
        approver: Approver | None = None,
        advisor: Advisor | None = None,
        sinks: Sequence[EventSink] = (),
    ) -> None:
        if not name or len(name) > 100:
            raise UsageError("an agent needs a name of 1 to 100 characters")
        environment = read_environment()
        if home:
            environment = msgspec.structs.replace(environment, home=Path(home).expanduser())
        given = {} if isinstance(model, str) else {f"{model.provider}:{model.model}": model}
        self.name = name
        self.workspace = Path(workspace).resolve()
        self.session_id = ""
        self.state = AgentState(self)
        self.model = model if isinstance(model, str) else next(iter(given))
        self._base_url = base_url
        self._approver = approver or Nobody()
        self._resumed: Future[list[RunResult]] | None = None
        self._lock = threading.Lock()
        self._beginning: asyncio.Lock | None = None
        self._open = True
        self.app: App = build(environment, Parts(agent=name, advisor=advisor, sinks=tuple(sinks), models=given))
        atexit.register(self.close)

    def register_tool(self, tool: Tool | Callable[..., Any]) -> None:
        """Add a tool. Its declared capabilities are granted; whatever it reaches beyond them is stopped."""
        from .tools.tool import declared_tool

        found = tool if isinstance(tool, Tool) else declared_tool(tool)
        if found is None:
            raise UsageError("only a Tool or a function declared with @tool can be registered")
        self.app.register(found)

    def run(
        self, request: str, session: str = "", options: dict[str, Any] | None = None, check: Check | None = None
    ) -> RunResult:
        """Do what `request` says and return the answer. Safe from several threads; requests of a session queue up.

        `session` names another session, or is "new" for one of its own. `check` says whether the result is right,
        before anything is learned from it: a command, run in the workspace, that exits with 0, or a callable that gets
        the result and returns True, False, or None when it cannot tell. A plain function runs in a thread, a coroutine
        function on the library's loop, which it must not block. What raises or outlasts `limits.check_seconds` is no
        verdict. A command is journaled and judges the run also after a crash; a callable cannot be, and a run that is
        taken up again ends without its verdict.
        """
        return self.wait(self._run(request, session, options or {}, check))

    async def arun(
        self, request: str, session: str = "", options: dict[str, Any] | None = None, check: Check | None = None
    ) -> RunResult:
        """`run` for programs that have an event loop of their own."""
        return await asyncio.wrap_future(_bridge.submit(self._run(request, session, options or {}, check)))

    def judge(self, run_id: str, success: bool, reason: str = "") -> Judgement:
        """Say, as its user, whether a finished run succeeded. The last judgement counts, and is learned from."""
        return self.wait(self._judge(run_id, success, reason))

    def resume(self) -> list[RunResult]:
        """Finish the runs of this agent that a crash interrupted. Happens by itself with the first run."""
        return self._resuming().result()

    def interrupt(self) -> bool:
        """End the request under way, as Ctrl-C does; False when there is none."""

        async def tell() -> bool:
            return self.app.engine.interrupt(self.session_id)

        return self.wait(tell())

    def active_plan(self) -> ActivePlan | None:
        """The plan of the request under way."""
        return self.app.active_plan(self.session_id) if self.session_id else None

    def close(self) -> None:
        """Let go of the store and its threads. What is under way stays resumable."""
        atexit.unregister(self.close)
        with self._lock:
            closing, self._open = self._open, False
        if closing:
            self.wait(self.app.close())

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of a coroutine on the library's loop."""
        return _bridge.submit(work).result()

    def _resuming(self) -> Future[list[RunResult]]:
        with self._lock:
            if self._resumed is None:
                self._resumed = _bridge.submit(self._resume())
            return self._resumed

    async def _resume(self) -> list[RunResult]:
        finished = await asyncio.gather(*(self._resume_one(run) for run in await self.app.engine.abandoned()))
        return [_result(item) for item in finished if item is not None]

    async def _resume_one(self, run: Run) -> Finished | None:
        """Finish one run; one that cannot go on, such as for want of its model, stays open, and that is said."""
        try:
            return await self.app.engine.resume_run(run, self._approver, _no_delivery)
        except HermesError as error:
            reason = self.app.redactor.redact(error.explain())
            self.app.log.note("resume_failed", run=run.id, reason=reason)
            warnings.warn(f"run {run.id} cannot go on: {reason}", RuntimeWarning, stacklevel=2)
            return None

    async def _judge(self, run_id: str, success: bool, reason: str) -> Judgement:
        run = await self.app.store.runs.get(run_id)
        why = self.app.redactor.redact(reason)
        return await judge_and_learn(
            self.app.store, self.app.advisor.learn, run.id, success=success, by=Judge.USER, reason=why
        )

    async def _run(self, request: str, session_id: str, options: dict[str, Any], check: Check | None) -> RunResult:
        if not request.strip():
            raise UsageError("there is nothing to do: the request is empty")
        if isinstance(check, str):
            options = {**options, CHECK: check}
        await examine_options(options, self.app.store, self.app.redactor)
        if check is None or isinstance(check, str):
            return await self._answered(request, session_id, options)
        with self.app.verifiers.lent(partial(_checked, check)) as name:
            return await self._answered(request, session_id, {**options, VERIFIER: name})

    async def _answered(self, request: str, session_id: str, options: dict[str, Any]) -> RunResult:
        if self.app.settings.runtime.resume is Resume.AUTO:
            self._resuming()
        text = self.app.redactor.redact(request)
        chosen = {"model": self.app.model_name(self.model), "base_url": self._base_url, **options}
        session = await self._session(session_id, text)
        message = await self.app.engine.submit(session, text, options=chosen)
        return _result(await self.app.engine.answer(session, message, self._approver, _no_delivery))

    async def _session(self, session_id: str, title: str) -> Session:
        """The named session, a new one, or the agent's own; the first of several requests at once begins that one."""
        if session_id:
            return await self._opened("" if session_id == NEW_SESSION else session_id, title)
        if self._beginning is None:
            self._beginning = asyncio.Lock()
        async with self._beginning:
            session = await self._opened(self.session_id, title)
            self.session_id = session.id
            return session

    async def _opened(self, session_id: str, title: str) -> Session:
        return await self.app.session(session_id, title=title, surface="library", workspace=self.workspace)


class HermesHarness:
    """The harness under the names its first description gave it.

    `model_endpoint` is a model client, a model name, or the URL of an OpenAI-compatible endpoint (`URL#MODEL`). Without
    a `heuristic_store` the product's own learning advises, and `heuristics` shows it.
    """

    def __init__(self, model_endpoint: str | ModelClient, heuristic_store: HeuristicStore | None = None) -> None:
        self.trace: Trace | None = None
        base_url, model = "", model_endpoint
        if isinstance(model_endpoint, str) and "://" in model_endpoint:
            base_url, _, name = model_endpoint.partition("#")
            model = f"openai:{name or 'default'}"
        given = StoreAdvisor(heuristic_store) if heuristic_store is not None else None
        self.agent = Agent(name="harness", model=model, base_url=base_url, advisor=given)
        self.heuristics = heuristic_store or self._learned()
        self._advisor = given or StoreAdvisor(self.heuristics)

    def _learned(self) -> HeuristicStore:
        from .learning.heuristics import LearnedHeuristics

        app = self.agent.app
        return LearnedHeuristics(app.store, app.settings.learning, app.model_name(self.agent.model))

    def execute(self, user_request: str) -> Trace:
        """Run a request from heuristics to learning; returns its trace, also when it failed."""
        result = self.agent.run(user_request)
        self.trace = self.agent.state.trace(result.run_id)
        return self.trace

    def build_plan(self, user_request: str, context_hints: Sequence[str] = ()) -> ActivePlan:
        """The plan a request would start with."""
        harness = self.agent.app.harness_for(self.agent.app.model_name(self.agent.model), {})
        return harness.build_plan(user_request, Advice(hints=tuple(context_hints)))

    def invoke_tool(self, tool_call: ToolCall) -> ToolRecord:
        """Run one call as a run of its own: journaled, permitted, timed out and retried like any other."""
        call = ScriptedCall(name=tool_call.name, arguments=tool_call.arguments)
        script = ScriptedModel([Turn(calls=(call,)), Turn(text="done")], model=f"invoke-{new_id()}")
        name = f"{script.provider}:{script.model}"
        self.agent.app.parts.models[name] = script
        try:
            result = self.agent.run(f"call {tool_call.name}", session=NEW_SESSION, options={"model": name})
        finally:
            self.agent.app.withdraw(name)
        return self.agent.state.trace(result.run_id).calls[-1]

    def should_retry(self, step: str, error: str) -> bool:
        """Whether heuristics give a failed step another chance."""
        failure = Failure(tool=step, error=error, text=error, attempt=1)
        return self._advisor.weigh_retry(failure, Situation(request="", model="")).steer is None


async def _no_delivery(finished: Finished) -> None:
    """The caller of a library gets the answer as a return value."""


def _result(finished: Finished) -> RunResult:
    outcome = finished.result.outcome
    inferred = outcome.judged_by is Judge.INFERRED
    return RunResult(
        answer=finished.result.answer,
        status=finished.result.status,
        reason=outcome.reason,
        run_id=finished.run_id,
        session_id=finished.session_id,
        success=None if inferred else outcome.status is RunStatus.DONE,
        judged_by=outcome.judged_by,
    )


async def _checked(check: Look, claim: Claim) -> Any:
    """Show a result to the program's own check, off the loop unless it asks to be awaited."""
    result = RunResult(
        answer=claim.answer,
        status=claim.status,
        reason=claim.reason,
        run_id=claim.run_id,
        session_id=claim.session_id,
    )
    said = check(result) if inspect.iscoroutinefunction(check) else await in_thread(partial(check, result))
    return await said if inspect.isawaitable(said) else said

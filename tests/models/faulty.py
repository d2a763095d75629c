"""A whole agent in front of an endpoint that goes wrong on demand, with a tool that tells how often it ran."""

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from hermes_agent import Agent, tool
from hermes_agent.agent import RunResult
from hermes_agent.types.errors import ModelFailure
from hermes_agent.types.events import AnyEvent, CallFinished, ModelCalled
from hermes_agent.types.trace import CallStatus
from tests.endpoint import Endpoint, Fail, Fault, Reply, Request, text

ATTEMPTS = 3
CONFIG = """
model: {timeout: 1.0, connect_timeout: 5, attempts: 3, retry_wait: 0.01}
limits: {iterations: 5}
learning: {mode: off}
skills: {mode: off}
memory: {mode: off}
"""

FAILURES = {
    Fault.REFUSE: ModelFailure.NETWORK,
    Fault.STALL: ModelFailure.NETWORK,
    Fault.STALL_MIDWAY: ModelFailure.NETWORK,
    Fault.STALL_BEFORE_HEADERS: ModelFailure.NETWORK,
    Fault.CUT: ModelFailure.NETWORK,
    Fault.RESET: ModelFailure.NETWORK,
    Fault.RATE_LIMIT: ModelFailure.RATE_LIMIT,
    Fault.SERVER_ERROR: ModelFailure.OVERLOAD,
    Fault.UNAVAILABLE: ModelFailure.OVERLOAD,
    Fault.ERROR_IN_STREAM: ModelFailure.OVERLOAD,
    Fault.TRUNCATED_EVENT: ModelFailure.MALFORMED,
    Fault.MISSING_END: ModelFailure.MALFORMED,
    Fault.EMPTY: ModelFailure.MALFORMED,
    Fault.HTML: ModelFailure.MALFORMED,
    Fault.INVALID_UTF8: ModelFailure.MALFORMED,
    Fault.NOT_JSON: ModelFailure.MALFORMED,
    Fault.BAD_REQUEST: ModelFailure.BAD_REQUEST,
    Fault.UNAUTHORIZED: ModelFailure.AUTH,
    Fault.CONTEXT_LENGTH: ModelFailure.CONTEXT_TOO_LONG,
}
"""Faults that are no answer."""
FINAL = (Fault.BAD_REQUEST, Fault.UNAUTHORIZED, Fault.CONTEXT_LENGTH)
TEXTS = {
    Fault.SPLIT_UTF8: "Grüße aus Zürich, 日本 and 🦊.",
    Fault.HUGE_LINE: "x" * 1_000_000,
    Fault.NUL: "before \0 after",
    Fault.LONE_SURROGATE: "before \ufffd after",
}
"""Faults that are a final answer all the same."""
SPOILED = {
    Fault.HALF_CALL: "bad_arguments",
    Fault.ARGUMENTS_NOT_OBJECT: "bad_arguments",
    Fault.UNKNOWN_TOOL: "unknown_tool",
}
"""Faults that are a call which must not run, and what the model is told about it."""
RUNNABLE = (Fault.DUPLICATE_IDS, Fault.MISSING_IDS, Fault.OUT_OF_ORDER)
"""Faults that are two whole calls."""
BOTH = ["first half, second half", "another call"]


def spoil(fault: Fault) -> Fail:
    return Fail(fault=fault, size=1_000_000)


class Told(msgspec.Struct, frozen=True):
    """What the journal says about one attempt at the model."""

    failure: ModelFailure | None
    decision: str


ANSWERED = Told(None, "answered")


class FaultyAgent:
    """Runs requests against scripts. A refusing endpoint opens again when the agent has noticed."""

    def __init__(self, home: Path) -> None:
        (home / "config.yaml").write_text(CONFIG)
        workspace = home / "workspace"
        workspace.mkdir()
        self.ran: list[str] = []
        self._script: list[Reply] = []
        self._refusing = False
        self._reopens = True
        self.endpoint = Endpoint(self._reply)
        self._home = home
        self._workspace = workspace
        self.agent: Agent

    def __enter__(self) -> Self:
        self.endpoint.__enter__()
        self.agent = Agent(
            model="openai:scripted",
            base_url=self.endpoint.url,
            workspace=self._workspace,
            home=self._home,
            sinks=[self],
        )

        @tool(capabilities=(), effect="once")
        def echo(text: str) -> str:
            """Say it again."""
            self.ran.append(text)
            return text

        self.agent.register_tool(echo)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.agent.close()
        self.endpoint.__exit__(kind, error, trace)

    def run(self, script: Sequence[Reply], request: str = "go", *, reopens: bool = True) -> RunResult:
        """A request of its own session, answered by `script` from its beginning."""
        self.ran.clear()
        self._script = list(script)
        self._reopens = reopens
        return self.agent.run(request, session="new")

    def goes_on(self, result: RunResult) -> bool:
        """Whether the session can be continued, whatever it holds now: the endpoint checks every request."""
        if self._refusing:
            self._open()
        self._script = [text("still here")]
        return self.agent.run("and now?", session=result.session_id).answer == "still here"

    def events(self, result: RunResult) -> list[AnyEvent]:
        journal = self.agent.app.store.journal
        return [recorded.event for recorded in self.agent.wait(journal.run_events(result.run_id))]

    def told(self, result: RunResult) -> list[Told]:
        """The attempts at the model as journaled; how long was waited is left out."""
        called = [event for event in self.events(result) if isinstance(event, ModelCalled)]
        assert all(bool(event.reason) == (event.failure is not None) for event in called)
        return [Told(event.failure, event.decision.partition(" in ")[0]) for event in called]

    def calls(self, result: RunResult) -> list[tuple[str, CallStatus, str]]:
        """Tool, status and error of each call as journaled."""
        finished = [event for event in self.events(result) if isinstance(event, CallFinished)]
        return [(event.tool, event.status, event.error) for event in finished]

    def event(self, run_id: str, event: AnyEvent) -> None:
        if self._refusing and self._reopens and isinstance(event, ModelCalled) and event.failure is not None:
            self._open()

    def text(self, run_id: str, delta: str) -> None:
        return None

    def _open(self) -> None:
        self._refusing = False
        self.endpoint.reopen()

    def _reply(self, request: Request) -> Reply:
        """The next reply; the last one is repeated for ever."""
        reply = self._script.pop(0) if len(self._script) > 1 else self._script[0]
        if isinstance(reply, Fail) and reply.fault is Fault.REFUSE:
            self._refusing = True
        return reply

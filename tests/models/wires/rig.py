"""A whole agent with five providers, each in its own wire format, all of them behind one endpoint.

Addresses and keys come from variables as a user sets them, fallbacks from the configuration file. The endpoint checks
every request as the real services do, so a transcript that a format does not take ends as a failed run.
"""

import asyncio
from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec
import yaml

from hermes_agent import Tool
from hermes_agent.app import App, Parts, build
from hermes_agent.config.load import read_environment
from hermes_agent.models.http import close_clients
from hermes_agent.runtime.engine import Finished
from hermes_agent.safety.approvals import Nobody
from hermes_agent.types.effort import Effort
from hermes_agent.types.errors import ModelFailure
from hermes_agent.types.events import AnyEvent, ModelCalled
from tests.endpoint import Endpoint, Fail, Fault, Reply, Request
from tests.endpoint.sigv4 import ACCESS_KEY, SECRET_KEY

ATTEMPTS = 3
STEPS = 5
TIMEOUT = 1.0


class Wire(Enum):
    """A wire format by the name of a model that speaks it."""

    CHAT = "openai:scripted"
    RESPONSES = "openai_responses:gpt-5.6-sol"
    ANTHROPIC = "anthropic:claude-opus-5"
    GEMINI = "gemini:gemini-3.1-pro"
    BEDROCK = "bedrock:eu.anthropic.claude-sonnet-4-5-20250929-v1:0"

    def __str__(self) -> str:
        return self.name.lower()


def wire_of(request: Request) -> Wire:
    """The format a request came in, by its path."""
    ends = {
        "/chat/completions": Wire.CHAT,
        "/responses": Wire.RESPONSES,
        "/messages": Wire.ANTHROPIC,
        ":streamGenerateContent": Wire.GEMINI,
        "/converse-stream": Wire.BEDROCK,
    }
    return next(wire for end, wire in ends.items() if request.path.endswith(end))


def variables(endpoint: Endpoint) -> dict[str, str]:
    """What a user has in the environment, with the endpoint in the place of the real services."""
    return {
        "OPENAI_BASE_URL": endpoint.url,
        "OPENAI_API_KEY": "openai-test-key",
        "ANTHROPIC_BASE_URL": endpoint.origin,
        "ANTHROPIC_API_KEY": "anthropic-test-key",
        "GEMINI_BASE_URL": f"{endpoint.origin}/v1beta",
        "GEMINI_API_KEY": "gemini-test-key",
        "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": endpoint.origin,
        "AWS_REGION": "eu-central-1",
        "AWS_ACCESS_KEY_ID": ACCESS_KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
    }


class Told(msgspec.Struct, frozen=True):
    """What the journal says about one attempt at a model; how long was waited is left out."""

    wire: Wire
    failure: ModelFailure | None
    decision: str


class WiresRig:
    """Drives sessions against whatever `script` says next. A refusing endpoint opens again when that was noticed."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.workspace = home / "workspace"
        self.workspace.mkdir(parents=True, exist_ok=True)
        self.ran: list[str] = []
        self.script: list[Reply] = []
        self.endpoint = Endpoint(self._reply)
        self._refusing = False
        self._loop = asyncio.Runner()
        self._app: App | None = None

    def __enter__(self) -> Self:
        self.endpoint.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        self._loop.run(close_clients())
        self._loop.close()
        self.endpoint.__exit__(kind, error, trace)

    @property
    def app(self) -> App:
        assert self._app is not None, "start comes first"
        return self._app

    def start(self, fallbacks: Sequence[Wire] = (), effort: Effort | None = None) -> None:
        """The agent as a new process would make it: from the configuration, the environment and the journal."""
        self.stop()
        model = {
            "fallbacks": [wire.value for wire in fallbacks],
            "timeout": TIMEOUT,
            "connect_timeout": 5,
            "attempts": ATTEMPTS,
            "retry_wait": 0.005,
            **({"effort": effort.value} if effort else {}),
        }
        whole = {"model": model, "limits": {"iterations": STEPS}, "learning": {"mode": "off"}}
        (self.home / "config.yaml").write_text(yaml.safe_dump(whole))
        environment = read_environment({"HERMES_HOME": str(self.home), **variables(self.endpoint)})
        self._app = build(environment, Parts(agent="wires", sinks=(self,)))
        self._app.register(Tool("echo", self._echo, capabilities=[], effect="once"))

    def stop(self) -> None:
        if self._app is not None:
            self._loop.run(self._app.close())
            self._app = None

    def run(self, wire: Wire, script: Sequence[Reply], session_id: str = "") -> Finished:
        """One request to the model of a format, answered by `script` from its beginning."""
        self.ran.clear()
        self.script = list(script)
        return self._loop.run(self._run(wire, session_id))

    def events(self, finished: Finished) -> list[AnyEvent]:
        recorded = self._loop.run(self.app.store.journal.run_events(finished.run_id))
        return [entry.event for entry in recorded]

    def told(self, finished: Finished) -> list[Told]:
        called = [event for event in self.events(finished) if isinstance(event, ModelCalled)]
        return [
            Told(Wire(f"{event.provider}:{event.model}"), event.failure, event.decision.partition(" in ")[0])
            for event in called
        ]

    def event(self, run_id: str, event: AnyEvent) -> None:
        """Hears what the agent does, as a surface would."""
        if self._refusing and isinstance(event, ModelCalled) and event.failure is not None:
            self._refusing = False
            self.endpoint.reopen()

    def text(self, run_id: str, delta: str) -> None:
        return None

    def _echo(self, text: str) -> str:
        """Say it again."""
        self.ran.append(text)
        return f"heard {text}"

    async def _run(self, wire: Wire, session_id: str) -> Finished:
        app = self.app
        session = await app.session(session_id, title="wires", surface="library", workspace=self.workspace)
        message = await app.engine.submit(session, "Say a and b.", options={"model": wire.value, "base_url": ""})
        return await app.engine.answer(session, message, Nobody(), _no_delivery)

    def _reply(self, request: Request) -> Reply:
        """The next reply; the last one is repeated for ever."""
        reply = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        self._refusing = isinstance(reply, Fail) and reply.fault is Fault.REFUSE
        return reply


async def _no_delivery(finished: Finished) -> None:
    """The caller gets the answer as a return value."""

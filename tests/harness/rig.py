"""An agent on a home of its own, with scripted models, real tools and the journal to look at."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pytest
import yaml

from hermes_agent.agent import Agent, RunResult
from hermes_agent.models.client import ModelAnswer, ModelClient, ProviderOptions, TextListener
from hermes_agent.models.providers.openai_chat import OpenAIChat
from hermes_agent.models.providers.scripted import ScriptedCall, ScriptedModel, Turn
from hermes_agent.models.request import ModelRequest
from hermes_agent.safety.approvals import Approver
from hermes_agent.tools.tool import Tool
from hermes_agent.types.advice import Advisor
from hermes_agent.types.events import AnyEvent, CallFinished

E = TypeVar("E", bound=AnyEvent)


def call(tool: str, /, **arguments: Any) -> ScriptedCall:
    """A call as the script makes it."""
    return ScriptedCall(name=tool, arguments=arguments)


def calling(*calls: ScriptedCall, text: str = "") -> Turn:
    """An answer that asks for tools."""
    return Turn(text=text, calls=calls)


def saying(text: str) -> Turn:
    """An answer that ends a run."""
    return Turn(text=text)


class Witness:
    """A scripted model that keeps what it was sent, as an OpenAI-compatible endpoint would have seen it."""

    def __init__(self, turns: Sequence[Turn], model: str = "witness") -> None:
        self._script = ScriptedModel(turns, model=model)
        self._wire = OpenAIChat(ProviderOptions(model=model, base_url="http://127.0.0.1:9/v1"))
        self.bodies: list[bytes] = []
        self.systems: list[str] = []
        self.free: list[bool] = []
        self.provider = self._script.provider
        self.model = model

    async def answer(self, request: ModelRequest, on_text: TextListener) -> ModelAnswer:
        self.bodies.append(self._wire.body(request))
        self.systems.append(request.prefix.system)
        self.free.append(request.may_call_tools)
        return await self._script.answer(request, on_text)

    async def close(self) -> None:
        """There is nothing to close."""


class Rig:
    """Makes agents that share one home and one database, and closes them."""

    def __init__(self, folder: Path, home: Path, url: str) -> None:
        self.home = home
        self.url = url
        self.workspace = folder / "workspace"
        self.workspace.mkdir(exist_ok=True)
        self._agents: list[Agent] = []
        self.configure()

    def configure(self, **sections: dict[str, Any]) -> None:
        """Write the configuration file; the store's URL is always in it; commands are not confined, nothing is learned
        and there are neither skills nor memory unless asked: a section that is given counts as it stands."""
        store = {"url": self.url, **sections.pop("store", {})}
        quiet = {name: {"mode": "off"} for name in ("learning", "skills", "memory")}
        whole = {"store": store, "sandbox": {"kind": "none"}, **quiet, **sections}
        (self.home / "config.yaml").write_text(yaml.safe_dump(whole))

    def agent(
        self,
        model: list[Turn] | tuple[Turn, ...] | ModelClient | str,
        tools: Iterable[Tool] = (),
        name: str = "rig",
        advisor: Advisor | None = None,
        approver: Approver | None = None,
    ) -> Agent:
        """An agent; a list of turns is its model's script."""
        client = ScriptedModel(model) if isinstance(model, list | tuple) else model
        agent = Agent(
            name=name,
            model=client,
            workspace=self.workspace,
            home=self.home,
            advisor=advisor,
            approver=approver,
        )
        for tool in tools:
            agent.register_tool(tool)
        self._agents.append(agent)
        return agent

    def close(self) -> None:
        """Close every agent made here."""
        for agent in self._agents:
            agent.close()


def events(agent: Agent, result: RunResult | str) -> list[AnyEvent]:
    """The journal of a run."""
    run_id = result if isinstance(result, str) else result.run_id
    return [entry.event for entry in agent.wait(agent.app.store.journal.run_events(run_id))]


def of(kind: type[E], journal: Iterable[AnyEvent]) -> list[E]:
    """The events of one kind."""
    return [event for event in journal if isinstance(event, kind)]


def results(agent: Agent, result: RunResult | str) -> list[tuple[str, str, str]]:
    """How each call of a run ended: call, status, error class."""
    return [(done.call_id, done.status.value, done.error) for done in of(CallFinished, events(agent, result))]


def until(holds: Callable[[], Any], seconds: float = 30.0) -> Any:
    """Wait until something is the case, and return it; a test that waits in vain says so."""
    limit = time.monotonic() + seconds
    while not (value := holds()):
        if time.monotonic() > limit:
            raise AssertionError(f"it did not happen within {seconds:g} seconds")
        time.sleep(0.01)
    return value


@pytest.fixture
def rig(tmp_path: Path, home: Path, store_url: str) -> Iterator[Rig]:
    """Agents on both databases."""
    made = Rig(tmp_path, home, store_url)
    yield made
    made.close()


@pytest.fixture
def local_rig(tmp_path: Path, home: Path) -> Iterator[Rig]:
    """Agents on SQLite, where the database does not matter."""
    made = Rig(tmp_path, home, "")
    yield made
    made.close()

"""An iteration costs the same at the end of a long conversation as at its beginning: counted, not timed."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from hermes_agent.app import App, Parts
from hermes_agent.config.load import read_environment
from hermes_agent.config.settings import LimitSettings, Settings
from hermes_agent.models.client import ModelAnswer, ProviderOptions, TextListener
from hermes_agent.models.providers.openai_chat import OpenAIChat
from hermes_agent.models.providers.scripted import ScriptedModel
from hermes_agent.models.request import ModelRequest, Transcript
from hermes_agent.runtime.engine import Finished
from hermes_agent.safety.approvals import Nobody
from hermes_agent.store.database import Backend, Connection, Database, Row, Statement
from hermes_agent.store.open import Store, backend_for
from hermes_agent.tools.tool import Tool
from hermes_agent.types.events import Message, UserMessage
from tests.harness.rig import Rig, call, calling, saying

TURNS = 120


class Counted:
    """A connection that counts statements, the bytes written with them, and commits."""

    def __init__(self, inner: Connection, counts: dict[str, int]) -> None:
        self._inner = inner
        self._counts = counts

    def run(self, sql: str, params: Sequence[Any] = ()) -> list[Row]:
        self._count([(sql, params)])
        return self._inner.run(sql, params)

    def run_all(self, statements: Sequence[Statement]) -> None:
        self._count(statements)
        self._inner.run_all(statements)

    def commit(self) -> None:
        self._counts["commits"] += 1
        self._inner.commit()

    def _count(self, statements: Sequence[Statement]) -> None:
        self._counts["statements"] += len(statements)
        self._counts["bytes"] += sum(len(str(value)) for _, params in statements for value in params)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class CountedBackend:
    """A database engine that hands out counted connections to whoever writes."""

    def __init__(self, inner: Backend, counts: dict[str, int]) -> None:
        self._inner = inner
        self._counts = counts

    def connect(self) -> Any:
        return Counted(self._inner.connect(), self._counts)

    def connect_reader(self) -> Any:
        return Counted(self._inner.connect_reader(), self._counts)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class Meter:
    """A scripted model that notes at each request what was counted since the last one."""

    provider, model = "scripted", "meter"

    def __init__(self, counts: dict[str, int]) -> None:
        script = [calling(call("look", number=number)) for number in range(100, 100 + TURNS)]
        self._script = ScriptedModel([*script, saying("done")], model=self.model)
        self._counts = counts
        self.steps: list[dict[str, int]] = []

    async def answer(self, request: ModelRequest, on_text: TextListener) -> ModelAnswer:
        self.steps.append(dict(self._counts))
        for key in self._counts:
            self._counts[key] = 0
        return await self._script.answer(request, on_text)

    async def close(self) -> None:
        """There is nothing to close."""


def look(number: int) -> str:
    """Look."""
    return f"saw {number}"


async def _drive(rig: Rig, counts: dict[str, int], meter: Meter) -> Finished:
    database = Database(CountedBackend(backend_for(rig.url, rig.home), counts))
    store = Store(database, rig.home, "local", 600.0)
    database.open()
    settings = Settings(limits=LimitSettings(iterations=TURNS + 1))
    environment = read_environment({"HERMES_HOME": str(rig.home)})
    app = App(environment, settings, store, Parts(agent="meter", models={"scripted:meter": meter}))
    app.register(Tool("look", look, capabilities=[], effect="none"))

    async def deliver(finished: Finished) -> None:
        return None

    session = await app.session("", title="count", surface="test", workspace=rig.workspace)
    message = await app.engine.submit(session, "count", options={"model": "scripted:meter"})
    finished = await app.engine.answer(session, message, Nobody(), deliver)
    await app.close()
    return finished


@pytest.mark.req("B6")
def test_statements_bytes_and_commits_of_an_iteration_do_not_grow(rig: Rig) -> None:
    counts = {"statements": 0, "bytes": 0, "commits": 0}
    meter = Meter(counts)
    finished = asyncio.run(_drive(rig, counts, meter))
    assert finished.result.answer == "done"
    steps = meter.steps[2:]
    usual = sorted(step["statements"] for step in steps)[len(steps) // 2]
    exact = [step for step in steps if step["statements"] == usual]
    assert len(exact) >= len(steps) - 3, "heartbeats may add a statement now and then, iterations may not"
    assert {step["commits"] for step in exact} == {exact[0]["commits"]}
    assert exact[0]["commits"] <= 2
    early, late = exact[15:35], exact[65:85]  # call ids have two digits in both
    assert abs(sum(step["bytes"] for step in late) - sum(step["bytes"] for step in early)) <= 20 * 12


@pytest.mark.req("B6", "R9")
def test_each_message_is_serialised_once() -> None:
    serialised: list[str] = []

    def serialise(message: Message) -> bytes:
        assert isinstance(message, UserMessage)
        serialised.append(message.text)
        return message.text.encode()

    transcript = Transcript()
    for number in range(50):
        transcript.append(UserMessage(text=str(number)))
        assert transcript.pieces("wire", serialise)[-1] == str(number).encode()
    assert serialised == [str(number) for number in range(50)]


@pytest.mark.req("B6", "R9")
def test_the_prefix_is_serialised_once_for_all_requests(rig: Rig) -> None:
    sent: list[bytes] = []

    class Keeping(OpenAIChat):
        def _prefix(self, prefix: Any) -> bytes:
            sent.append(super()._prefix(prefix))
            return sent[-1]

    wire = Keeping(ProviderOptions(model="m", base_url="http://127.0.0.1:9/v1"))

    class Model:
        provider, model = "scripted", "keeping"

        def __init__(self) -> None:
            self._script = ScriptedModel([calling(call("look", number=1)), saying("a")], model="keeping")

        async def answer(self, request: ModelRequest, on_text: TextListener) -> ModelAnswer:
            wire.body(request)
            return await self._script.answer(request, on_text)

        async def close(self) -> None:
            return None

    rig.agent(Model(), [Tool("look", look, capabilities=[], effect="none")]).run("look")
    assert len(sent) == 2
    assert sent[0] is sent[1]

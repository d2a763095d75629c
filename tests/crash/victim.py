"""An agent that is killed on purpose. `python -m tests.crash.victim` is a zygote: it imports everything once and
forks a fresh agent for each line of JSON it reads, so that a sweep over hundreds of kills takes seconds.
"""

import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from hermes_agent.app import App, Parts
from hermes_agent.config.load import read_environment
from hermes_agent.config.settings import (
    Learning,
    LearningSettings,
    MemorySettings,
    ReviewSettings,
    SandboxKind,
    SandboxSettings,
    Settings,
    SkillSettings,
)
from hermes_agent.models.client import ModelAnswer, ModelClient, TextListener
from hermes_agent.models.providers.scripted import ScriptedCall, ScriptedModel, Turn
from hermes_agent.models.request import ModelRequest
from hermes_agent.runtime.engine import Finished
from hermes_agent.safety.approvals import AlwaysYes
from hermes_agent.store.database import Backend, Connection, Database, Row
from hermes_agent.store.open import Store, backend_for
from hermes_agent.tools.tool import Tool

MODEL = "scripted:victim"
REQUEST = "do the ten things"
ANSWER = "all ten things are done"


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What the zygote is told: where to work, and when the child dies (`kind` at its `at`th time, or after a while).
    `growing` is for skills, memory and what looks back at runs."""

    home: str
    workspace: str
    url: str
    agent: str
    resume: bool = False
    kind: str = ""
    at: int = 0
    seconds: float = 0.0
    sandbox: SandboxKind = SandboxKind.NONE
    learning: Learning = Learning.OFF
    growing: Learning = Learning.OFF


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """How the child ended, and how often each kind of moment came by."""

    killed: bool
    code: int
    moments: dict[str, int] = {}
    seconds: float = 0.0


class Reaper:
    """Counts moments and kills this very process, without any chance to clean up, when the chosen one comes."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self.moments: dict[str, int] = {}

    def at(self, kind: str) -> None:
        self.moments[kind] = self.moments.get(kind, 0) + 1
        if kind == self._order.kind and self.moments[kind] == self._order.at:
            os.kill(os.getpid(), signal.SIGKILL)


class MortalConnection:
    """A connection whose commits are moments at which the process may die."""

    def __init__(self, inner: Connection, reaper: Reaper) -> None:
        self._inner = inner
        self._reaper = reaper

    def commit(self) -> None:
        self._reaper.at("commit_before")
        self._inner.commit()
        self._reaper.at("commit_after")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class MortalBackend:
    """A database engine that hands out mortal connections."""

    def __init__(self, inner: Backend, reaper: Reaper) -> None:
        self._inner = inner
        self._reaper = reaper

    def connect(self) -> Any:
        return MortalConnection(self._inner.connect(), self._reaper)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class MortalModel:
    """A model during whose answers the process may die."""

    def __init__(self, inner: ModelClient, reaper: Reaper) -> None:
        self._inner = inner
        self._reaper = reaper
        self.provider = inner.provider
        self.model = inner.model

    async def answer(self, request: ModelRequest, on_text: TextListener) -> ModelAnswer:
        self._reaper.at("answer")
        return await self._inner.answer(request, on_text)

    async def close(self) -> None:
        await self._inner.close()


def note(path: Path, text: str) -> None:
    """Append a line that survives a crash: the effect whose repetition is looked for."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(descriptor, f"{text}\n".encode())
    os.fsync(descriptor)
    os.close(descriptor)


def tools(workspace: Path, reaper: Reaper) -> list[Tool]:
    """Three tools, one for each effect; each leaves a line behind and may be the last thing this process does."""

    def effect(kind: str) -> Callable[[int], str]:
        def run(number: int) -> str:
            reaper.at("effect_before")
            note(workspace / f"{kind}.log", str(number))
            reaper.at("effect_after")
            return f"{kind} {number}"

        return run

    return [
        Tool(f"do_{kind}", effect(kind), description=kind, capabilities=["files.write"], effect=kind)
        for kind in ("none", "idempotent", "once")
    ]


def script() -> list[Turn]:
    """Ten calls over all effects: alone, together, through files, and through the shell."""

    def call(name: str, **arguments: Any) -> ScriptedCall:
        return ScriptedCall(name=name, arguments=arguments)

    return [
        Turn(calls=(call("do_none", number=1), call("do_none", number=2))),
        Turn(calls=(call("do_idempotent", number=3),)),
        Turn(calls=(call("do_once", number=4),)),
        Turn(calls=(call("write_file", path="a.txt", content="first\n"),)),
        Turn(calls=(call("terminal", command="echo 6 >> shell.log; sync shell.log"),)),
        Turn(calls=(call("do_once", number=7), call("do_once", number=8))),
        Turn(calls=(call("patch", path="a.txt", old_string="first", new_string="second"),)),
        Turn(calls=(call("read_file", path="a.txt"),)),
        Turn(text=ANSWER),
    ]


def build_app(order: Order, reaper: Reaper) -> App:
    home = Path(order.home)
    environment = read_environment({"HERMES_HOME": order.home, "PATH": os.defpath})
    database = Database(MortalBackend(backend_for(order.url, home), reaper))
    store = Store(database, home, "local", 15.0)
    database.open()
    settings = Settings(
        sandbox=SandboxSettings(kind=order.sandbox),
        learning=LearningSettings(mode=order.learning),
        skills=SkillSettings(mode=order.growing),
        memory=MemorySettings(mode=order.growing),
        review=ReviewSettings(mode=order.growing),
    )
    model = MortalModel(ScriptedModel(script()), reaper)
    app = App(environment, settings, store, Parts(agent=order.agent, models={MODEL: model}))
    for tool in tools(Path(order.workspace), reaper):
        app.register(tool)
    return app


async def live(order: Order, reaper: Reaper) -> None:
    """Submit the request, or take up what an earlier life left, and see it through."""
    app = build_app(order, reaper)

    async def deliver(finished: Finished) -> None:
        reaper.at("delivery")

    if order.resume:
        await app.engine.resume(AlwaysYes(), deliver)
        await app.engine.redeliver(deliver)
        for session in await app.store.sessions.recent(1000):
            if session.agent == order.agent:
                await drain(app, session.id, deliver)
    else:
        session = await app.session("", title=REQUEST, surface="test", workspace=Path(order.workspace))
        message = await app.engine.submit(session, REQUEST, options={"model": MODEL})
        note(Path(order.home) / "acknowledged.log", f"{session.id} {message}")
        await app.engine.answer(session, message, AlwaysYes(), deliver)
    await app.close()


async def drain(app: App, session_id: str, deliver: Callable[[Finished], Any]) -> None:
    """Answer what was acknowledged but had not begun."""
    session = await app.store.sessions.get(session_id)

    def waiting(connection: Connection) -> Sequence[Row]:
        return connection.run("SELECT id FROM inbox WHERE session_id = ? AND run_id IS NULL", (session_id,))

    for (message,) in await app.store.database.read(waiting):
        await app.engine.answer(session, message, AlwaysYes(), deliver)


def child(order: Order, pipe: int) -> None:
    reaper = Reaper(order)
    code = 0
    try:
        asyncio.run(live(order, reaper))
    except BaseException as error:  # noqa: BLE001 - the report is all that leaves this process
        os.write(2, f"{type(error).__name__}: {error}\n".encode())
        code = 1
    os.write(pipe, msgspec.json.encode(reaper.moments))
    os._exit(code)


def serve_one(order: Order) -> Report:
    reading, writing = os.pipe()
    started = time.monotonic()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        child(order, writing)
    os.close(writing)
    if order.seconds:
        time.sleep(order.seconds)
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    said = os.read(reading, 65536)
    os.close(reading)
    killed = os.WIFSIGNALED(status)
    return Report(
        killed=killed,
        code=os.waitstatus_to_exitcode(status),
        moments=msgspec.json.decode(said) if said else {},
        seconds=time.monotonic() - started,
    )


def main() -> None:
    for line in sys.stdin:
        report = serve_one(msgspec.json.decode(line, type=Order))
        sys.stdout.write(msgspec.json.encode(report).decode() + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()

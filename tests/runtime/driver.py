"""An agent's process for tests that need more than one: `python -m tests.runtime.driver ORDER`, an order as JSON.

Prints one JSON line for each thing that happens; what it does to the world are lines in files.
"""

import os
import sys
import time
from pathlib import Path
from typing import Any

import msgspec

from hermes_agent.agent import Agent
from hermes_agent.models.providers.scripted import ScriptedModel, Turn
from hermes_agent.runtime.engine import Finished
from hermes_agent.safety.approvals import AlwaysYes
from hermes_agent.tools.tool import Tool
from hermes_agent.types.events import InboxMode


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What the process does: which requests it makes on which session, with which script."""

    home: str
    workspace: str
    script: tuple[Turn, ...]
    requests: tuple[str, ...] = ()
    session: str = ""
    agent: str = "driver"
    mode: InboxMode = InboxMode.QUEUE
    model: str = "script"
    resume: bool = False


def say(**line: Any) -> None:
    """One line for the test."""
    sys.stdout.write(msgspec.json.encode(line).decode() + "\n")
    sys.stdout.flush()


def note(path: Path, text: str) -> None:
    """Append a line that survives a kill."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(descriptor, f"{text}\n".encode())
    os.fsync(descriptor)
    os.close(descriptor)


def tools(workspace: Path) -> list[Tool]:
    """`stand` waits until a file appears, `mark` leaves a line; each exists with every effect."""

    def stand(until: str, name: str) -> str:
        """Wait for a file."""
        note(workspace / "stood.log", name)
        limit = time.monotonic() + 60
        while not (workspace / until).exists() and time.monotonic() < limit:
            time.sleep(0.01)
        note(workspace / "left.log", name)
        return f"{name} stood until {until}"

    def mark(text: str) -> str:
        """Leave a line."""
        note(workspace / "marks.log", text)
        return f"marked {text}"

    reach = ["files.read", "files.write"]
    return [
        Tool(f"{function.__name__}_{effect}", function, capabilities=reach, effect=effect)
        for function in (stand, mark)
        for effect in ("none", "idempotent", "once")
    ]


async def steer(agent: Agent, order: Order) -> None:
    """Put messages into a session that another process drives, and wait for what becomes of them."""
    app = agent.app

    async def deliver(finished: Finished) -> None:
        return None

    for request in order.requests:
        session = await app.store.sessions.get(order.session)
        options = {"model": f"scripted:{order.model}"}
        message = await app.engine.submit(session, request, order.mode, options)
        say(submitted=message)
        finished = await app.engine.answer(session, message, AlwaysYes(), deliver)
        say(answer=finished.result.answer, status=finished.result.status, run=finished.run_id)


def main() -> None:
    order = msgspec.json.decode(sys.argv[1], type=Order)
    model = ScriptedModel(order.script, model=order.model)
    agent = Agent(name=order.agent, model=model, workspace=order.workspace, home=order.home, approver=AlwaysYes())
    for tool in tools(Path(order.workspace)):
        agent.register_tool(tool)
    say(pid=os.getpid())
    if order.resume:
        for result in agent.resume():
            say(answer=result.answer, status=result.status, run=result.run_id)
    if order.mode is not InboxMode.QUEUE:
        agent.wait(steer(agent, order))
    else:
        for request in order.requests:
            result = agent.run(request, session=order.session)
            say(answer=result.answer, status=result.status, run=result.run_id, session=result.session_id)
    agent.close()
    say(closed=True)


if __name__ == "__main__":
    main()

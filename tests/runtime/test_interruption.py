"""Interrupting: the turn ends, its processes are gone, what may have happened is said, and the session goes on."""

import asyncio
import os
import threading
from pathlib import Path

import msgspec
import psutil
import pytest

from hermes_agent.agent import Agent, RunResult
from hermes_agent.safety.approvals import AlwaysYes
from hermes_agent.tools.tool import Tool
from hermes_agent.types.events import CallFinished, ProcessSpawned, RunFinished
from hermes_agent.types.trace import Outcome, RunStatus
from tests.endpoint import Endpoint, Reply, Request, by_results
from tests.endpoint import call as wire_call
from tests.endpoint import calls as wire_calls
from tests.endpoint import text as wire_text
from tests.harness.rig import Rig, call, calling, events, of, results, saying, until

SLEEPING = "sleep 300 & echo $$ > pid; wait"
IN_DOUBT = '{"error":"interrupted; the effect may have happened; verify before repeating"}'
INTERRUPTED = '{"error":"interrupted by the user before it finished; it had no effect that needs undoing"}'


def begun(agent: Agent, request: str, done: list[RunResult]) -> threading.Thread:
    worker = threading.Thread(target=lambda: done.append(agent.run(request)))
    worker.start()
    return worker


def members(group: int) -> list[int]:
    """The living processes of a group."""
    found = []
    for process in psutil.process_iter(["pid"]):
        try:
            status = process.status()
            if status != psutil.STATUS_ZOMBIE and os.getpgid(process.pid) == group:
                found.append(process.pid)
        except (psutil.NoSuchProcess, ProcessLookupError):
            continue
    return found


@pytest.mark.trunk
@pytest.mark.req("R2", "R14")
def test_an_interrupted_command_is_gone_with_all_it_started(rig: Rig) -> None:
    script = [
        calling(call("terminal", command=SLEEPING), call("read_file", path="nothing")),
        saying("go on"),
    ]
    agent = rig.agent(script, approver=AlwaysYes())
    done: list[RunResult] = []
    worker = begun(agent, "sleep", done)
    pid = int(until(lambda: _text(rig.workspace / "pid")))
    group = os.getpgid(pid)
    assert len(members(group)) >= 2
    assert agent.interrupt()
    worker.join()
    assert members(group) == []
    (result,) = done
    assert (result.status, result.answer, result.reason) == (RunStatus.INTERRUPTED, "", "interrupted by the user")
    journal = events(agent, result)
    assert [(item.text, item.status.value) for item in of(CallFinished, journal)] == [
        (IN_DOUBT, "in_doubt"),
        (INTERRUPTED, "interrupted"),
    ]
    assert len(of(ProcessSpawned, journal)) == 1
    assert of(RunFinished, journal) == [
        RunFinished(
            answer="",
            status=RunStatus.INTERRUPTED,
            outcome=Outcome(status=RunStatus.INTERRUPTED, reason="interrupted by the user"),
        )
    ]
    assert agent.run("and now?").answer == "go on"
    assert not agent.interrupt()


def _text(path: Path) -> str:
    return path.read_text().strip() if path.exists() else ""


@pytest.mark.req("R2", "R14")
def test_the_transcript_stays_valid_for_a_strict_endpoint(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key-for-tests")
    both = wire_calls(wire_call("terminal", command=SLEEPING), wire_call("read_file", path="nothing"))
    answers: dict[str, list[Reply]] = {"sleep": [both], "and now?": [wire_text("go on")]}

    def respond(request: Request) -> Reply:
        body = msgspec.json.decode(request.body)
        asked = [message["content"] for message in body["messages"] if message["role"] == "user"][-1]
        return by_results(answers[asked])(request)

    with Endpoint(respond) as endpoint:
        rig.configure(model={"base_url": endpoint.url})
        agent = rig.agent("openai:scripted", approver=AlwaysYes())
        done: list[RunResult] = []
        worker = begun(agent, "sleep", done)
        until(lambda: _text(rig.workspace / "pid"))
        until(agent.interrupt)
        worker.join()
        assert agent.run("and now?").answer == "go on"
        sent = msgspec.json.decode(endpoint.requests[-1].body)["messages"]
    assert [message["role"] for message in sent] == ["system", "user", "assistant", "tool", "tool", "user"]


@pytest.mark.req("R14")
def test_interrupting_while_the_model_thinks(rig: Rig) -> None:
    agent = rig.agent([msgspec.structs.replace(saying("late"), seconds=60)])
    done: list[RunResult] = []
    worker = begun(agent, "think", done)
    until(lambda: agent.session_id and agent.interrupt())
    worker.join()
    assert (done[0].status, done[0].answer) == (RunStatus.INTERRUPTED, "")


@pytest.mark.req("R14")
def test_interrupting_when_nothing_runs_is_false(local_rig: Rig) -> None:
    agent = local_rig.agent([saying("done")])
    assert not agent.interrupt()
    agent.run("do")
    assert not agent.interrupt()


@pytest.mark.req("R14")
def test_an_interrupted_thread_cannot_be_ended_but_nobody_waits_for_it(local_rig: Rig) -> None:
    inside, release = threading.Event(), threading.Event()

    def hang() -> None:
        inside.set()
        release.wait(60)

    agent = local_rig.agent(
        [calling(call("hang")), saying("next")], [Tool("hang", hang, capabilities=[], effect="once")]
    )
    done: list[RunResult] = []
    worker = begun(agent, "hang", done)
    assert inside.wait(30)
    assert agent.interrupt()
    worker.join()
    assert results(agent, done[0]) == [("call_0_0", "in_doubt", "in_doubt")]
    assert agent.run("next").answer == "next"
    release.set()


@pytest.mark.req("R14")
def test_a_program_that_stops_waiting_ends_the_run(rig: Rig) -> None:
    agent = rig.agent([msgspec.structs.replace(saying("late"), seconds=60), saying("at once")])

    async def give_up() -> None:
        async with asyncio.timeout(0.3):
            await agent.arun("think")

    with pytest.raises(TimeoutError):
        asyncio.run(give_up())

    def ended() -> bool:
        (run,) = agent.wait(agent.app.store.runs.of_session(agent.session_id))
        return run.status is RunStatus.INTERRUPTED

    until(ended)
    (run,) = agent.wait(agent.app.store.runs.of_session(agent.session_id))
    assert agent.state.trace(run.id).outcome.reason == "the program stopped waiting for it"

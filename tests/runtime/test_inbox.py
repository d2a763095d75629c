"""One driver per session: messages queue, steer or interrupt, in one process and between processes."""

import itertools
import threading

import pytest

from hermes_agent.agent import Agent
from hermes_agent.runtime.engine import Finished
from hermes_agent.safety.approvals import Nobody
from hermes_agent.store.sessions import Session
from hermes_agent.tools.tool import Tool
from hermes_agent.types.events import AssistantMessage, CallFinished, InboxMode, Recorded, UserMessage
from hermes_agent.types.trace import RunStatus
from tests.harness.rig import Rig, Witness, call, calling, events, of, results, saying, until
from tests.runtime.processes import Drivers


class Held:
    """A tool that waits until it is let go."""

    def __init__(self) -> None:
        self.inside, self.go_on = threading.Event(), threading.Event()

    def tool(self) -> Tool:
        def hold() -> str:
            self.inside.set()
            self.go_on.wait(30)
            return "held"

        return Tool("hold", hold, capabilities=[], effect="none")


def put(agent: Agent, text: str, mode: InboxMode) -> str:
    """A message from another surface of this process."""

    async def submit() -> str:
        session: Session = await agent.app.store.sessions.get(agent.session_id)
        return await agent.app.engine.submit(session, text, mode, {"model": agent.model})

    return agent.wait(submit())


def answer(agent: Agent, message: str) -> Finished:
    async def deliver(finished: Finished) -> None:
        return None

    async def see_through() -> Finished:
        session = await agent.app.store.sessions.get(agent.session_id)
        return await agent.app.engine.answer(session, message, Nobody(), deliver)

    return agent.wait(see_through())


def journal_of(agent: Agent, session_id: str) -> list[list[Recorded]]:
    """The runs of a session, each with its events."""
    runs = agent.wait(agent.app.store.runs.of_session(session_id))
    assert [run.ordinal for run in runs] == list(range(1, len(runs) + 1))
    return [agent.wait(agent.app.store.journal.run_events(run.id)) for run in runs]


def begun(agent: Agent, held: Held, request: str = "hold") -> threading.Thread:
    """A request whose tool is running now."""
    worker = threading.Thread(target=agent.run, args=(request,))
    worker.start()
    assert held.inside.wait(30)
    return worker


@pytest.mark.req("R14")
def test_steering_joins_the_turn_at_its_next_step(rig: Rig) -> None:
    held = Held()
    model = Witness([calling(call("hold")), saying("as you wish")])
    agent = rig.agent(model, [held.tool()])
    worker = begun(agent, held)
    message = put(agent, "in green, please", InboxMode.STEER)
    held.go_on.set()
    worker.join()
    finished = answer(agent, message)
    assert finished.result.answer == "as you wish"
    (run,) = journal_of(agent, agent.session_id)
    said = [entry.event for entry in run if isinstance(entry.event, UserMessage | CallFinished | AssistantMessage)]
    assert [type(event) for event in said] == [
        UserMessage,
        AssistantMessage,
        CallFinished,
        UserMessage,
        AssistantMessage,
    ]
    assert said[3] == UserMessage(text="in green, please", inbox_id=message, mode=InboxMode.STEER)
    assert b'"content":"in green, please"' in model.bodies[1]


@pytest.mark.req("R14")
def test_steering_that_comes_too_late_is_a_request_of_its_own(rig: Rig) -> None:
    agent = rig.agent([saying("done"), saying("green then")])
    agent.run("paint it")
    message = put(agent, "in green, please", InboxMode.STEER)
    assert answer(agent, message).result.answer == "green then"
    assert len(journal_of(agent, agent.session_id)) == 2


@pytest.mark.req("R14")
def test_an_interrupting_message_ends_the_turn_and_is_answered_next(rig: Rig) -> None:
    held = Held()
    agent = rig.agent(
        [calling(call("hold")), saying("something else, then"), saying("and the queued one")], [held.tool()]
    )
    worker = begun(agent, held)
    queued = put(agent, "later", InboxMode.QUEUE)
    urgent = put(agent, "stop, do something else", InboxMode.INTERRUPT)
    worker.join()
    held.go_on.set()
    assert answer(agent, queued).result.answer == "and the queued one"
    assert answer(agent, urgent).result.answer == "something else, then"
    runs = journal_of(agent, agent.session_id)
    first = of(UserMessage, [entry.event for entry in runs[1]])
    assert [(message.text, message.mode) for message in first] == [("stop, do something else", InboxMode.QUEUE)]
    outcomes = [agent.state.trace(run[0].run_id).outcome.status for run in runs]
    assert outcomes == [RunStatus.INTERRUPTED, RunStatus.DONE, RunStatus.DONE]
    assert results(agent, runs[0][0].run_id) == [("call_0_0", "interrupted", "interrupted")]


@pytest.mark.req("R14")
def test_requests_of_one_session_queue_up(rig: Rig) -> None:
    count = 6
    agent = rig.agent([saying(f"answer {number}") for number in range(count)])
    answers: list[str] = []
    workers = [
        threading.Thread(target=lambda number=number: answers.append(agent.run(f"request {number}").answer))
        for number in range(count)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert sorted(answers) == [f"answer {number}" for number in range(count)]
    runs = journal_of(agent, agent.session_id)
    assert len(runs) == count
    ends = [(run[0].at, run[-1].at) for run in runs]
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(ends))


@pytest.mark.req("R14")
def test_two_processes_on_one_session_never_race(drivers: Drivers) -> None:
    agent = drivers.rig.agent([saying("begun")], name="driver")
    agent.run("begin")
    session = agent.session_id
    script = [saying("begun")]
    for number in range(12):
        script += [calling(call("mark_once", text=f"{number}")), saying(f"answer {number}")]
    both = [
        drivers.start(*script, session=session, requests=tuple(f"{name}{number}" for number in range(6)))
        for name in ("a", "b")
    ]
    answers = [answer for driver in both for answer in driver.answers()]
    assert sorted(answers) == sorted((f"answer {number}", "done") for number in range(12))
    runs = journal_of(agent, session)
    assert len(runs) == 13
    asked = [of(UserMessage, [entry.event for entry in run])[0].text for run in runs[1:]]
    for name in ("a", "b"):
        assert [text for text in asked if text.startswith(name)] == [f"{name}{number}" for number in range(6)]
    assert drivers.lines("marks.log") == [str(number) for number in range(12)]
    assert all([entry.seq for entry in run] == list(range(1, len(run) + 1)) for run in runs)


@pytest.mark.req("R14")
@pytest.mark.parametrize("mode", [InboxMode.STEER, InboxMode.INTERRUPT])
def test_another_process_steers_or_interrupts(drivers: Drivers, mode: InboxMode) -> None:
    script = (
        calling(call("stand_idempotent", until="go", name="first")),
        saying("the next answer"),
    )
    agent = drivers.rig.agent([saying("never")], name="driver")
    drivers.rig.configure(runtime={"heartbeat": 0.1})
    first = drivers.start(*script, requests=("stand",))
    until(lambda: drivers.lines("stood.log") == ["first"])
    (session,) = agent.wait(agent.app.store.sessions.recent(10))
    second = drivers.start(*script, session=session.id, mode=mode, requests=("hear me",))
    if mode is InboxMode.STEER:
        until(lambda: _waiting(agent, session.id, mode))
        threading.Event().wait(0.5)  # several heartbeats, at the first of which the turn hears of it
        (drivers.workspace / "go").touch()
        assert first.answers() == [("the next answer", "done")]
        assert second.answers() == [("the next answer", "done")]
        (run,) = journal_of(agent, session.id)
        texts = [message.text for message in of(UserMessage, events(agent, run[0].run_id))]
        assert texts == ["stand", "hear me"]
    else:
        assert first.answers() == [("", "interrupted")]
        assert second.answers() == [("the next answer", "done")]
        assert len(journal_of(agent, session.id)) == 2


def _waiting(agent: Agent, session_id: str, mode: InboxMode) -> bool:
    waiting = agent.wait(agent.app.store.inbox.waiting_everywhere())
    return any(found == session_id and message.mode is mode for found, message, _ in waiting)

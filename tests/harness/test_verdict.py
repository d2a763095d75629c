"""Who says whether a run succeeded: a command, a callable of the program, and what happens when neither can say."""

import asyncio
import threading
from typing import Any

import pytest

from hermes_agent.agent import Agent, RunResult
from hermes_agent.harness.advisors import SilentAdvisor
from hermes_agent.models.client import ModelAnswer, TextListener
from hermes_agent.models.providers.scripted import ScriptedModel
from hermes_agent.models.request import ModelRequest
from hermes_agent.store.judging import Judgement
from hermes_agent.types.errors import NotFound, UsageError
from hermes_agent.types.events import (
    AssistantMessage,
    Decided,
    DeliveryFinished,
    DeliveryIntended,
    Judged,
    ModelCalled,
    PrefixFrozen,
    ProcessSpawned,
    RunFinished,
    RunStarted,
    UserMessage,
)
from hermes_agent.types.trace import Judge, Outcome, RunStatus, Trace
from tests.harness.rig import Rig, call, calling, events, of, saying, until


class Heard(SilentAdvisor):
    """Keeps the traces it is to learn from."""

    def __init__(self) -> None:
        self.traces: list[Trace] = []

    async def learn(self, trace: Trace) -> None:
        self.traces.append(trace)


def verdicts(agent: Agent, result: RunResult) -> list[tuple[str, str]]:
    """What was decided about the check."""
    return [(one.choice, one.reason) for one in of(Decided, events(agent, result)) if one.subject == "check"]


@pytest.mark.req("H7", "L2")
def test_a_command_judges_before_learning(rig: Rig) -> None:
    heard = Heard()
    agent = rig.agent([saying("did it"), saying("did it again")], advisor=heard)
    (rig.workspace / "made").write_text("x")
    good = agent.run("make it", check="test -e made && echo it is there")
    assert good == RunResult(
        answer="did it",
        status=RunStatus.DONE,
        reason="it is there",
        run_id=good.run_id,
        session_id=agent.session_id,
        success=True,
        judged_by=Judge.VERIFIER,
    )
    bad = agent.run("make it", check="echo first; echo nothing there; exit 3")
    assert (bad.ok, bad.success, bad.judged_by, bad.answer) == (True, False, Judge.VERIFIER, "did it again")
    assert bad.reason == "first\nnothing there\n[exit code 3]"
    assert [trace.outcome for trace in heard.traces] == [
        Outcome(status=RunStatus.DONE, judged_by=Judge.VERIFIER, reason=good.reason),
        Outcome(status=RunStatus.FAILED, judged_by=Judge.VERIFIER, reason=bad.reason),
    ]
    journal = events(agent, bad)
    assert [type(event) for event in journal] == [
        RunStarted,
        UserMessage,
        PrefixFrozen,
        ModelCalled,
        AssistantMessage,
        ProcessSpawned,
        Decided,
        RunFinished,
        DeliveryIntended,
        DeliveryFinished,
    ]
    assert of(RunFinished, journal)[0].status is RunStatus.DONE
    assert of(RunStarted, journal)[0].options["check"] == "echo first; echo nothing there; exit 3"


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("no-such-command-anywhere", "the command was not found: "),
        ("exit 125", "it says that it cannot tell: "),
        ("kill -KILL $$", "it was killed: "),
        ("sleep 30", "it did not end in time: "),
    ],
)
def test_a_check_that_cannot_be_run_is_no_verdict(local_rig: Rig, command: str, reason: str) -> None:
    local_rig.configure(limits={"check_seconds": 0.3 if "sleep" in command else 30.0})
    agent = local_rig.agent([saying("did it")])
    result = agent.run("make it", check=command)
    assert (result.status, result.success, result.judged_by) == (RunStatus.DONE, None, Judge.INFERRED)
    assert result.reason.startswith(f"no verdict: {reason}")
    ((choice, why),) = verdicts(agent, result)
    assert choice == "no verdict" and why.startswith(reason)


def test_the_workspace_is_gone(local_rig: Rig) -> None:
    def vanish(result: RunResult) -> bool:
        local_rig.workspace.rename(local_rig.workspace.with_name("gone"))
        return True

    agent = local_rig.agent([saying("a"), saying("b")])
    assert agent.run("one", check=vanish).success is True
    result = agent.run("two", check="true")
    assert (result.success, result.answer) == (None, "b")
    assert result.reason.startswith("no verdict: it could not be run: there is no folder")


def test_output_is_cut_and_secrets_are_kept_out(local_rig: Rig) -> None:
    agent = local_rig.agent([saying("did it")])
    secret = "sk-" + "a1B2c3D4" * 5
    (local_rig.workspace / "token").write_text(secret)
    result = agent.run("make it", check="seq 1 5000; cat token; exit 1")
    assert secret not in result.reason and len(result.reason) <= 1000
    assert result.reason.splitlines()[:2] == ["4993", "4994"]


@pytest.mark.parametrize("given", [lambda result: result.answer == "right", "coroutine"])
def test_a_callable_judges(rig: Rig, given: Any) -> None:
    seen: list[RunResult] = []

    async def waits(result: RunResult) -> bool:
        await asyncio.sleep(0)
        seen.append(result)
        return result.answer == "right"

    check = waits if given == "coroutine" else given
    agent = rig.agent([saying("right"), saying("wrong")])
    right, wrong = agent.run("one", check=check), agent.run("two", check=check)
    assert [(one.success, one.judged_by, one.status) for one in (right, wrong)] == [
        (True, Judge.VERIFIER, RunStatus.DONE),
        (False, Judge.VERIFIER, RunStatus.DONE),
    ]
    assert verdicts(agent, wrong) == [("failed", "")]
    if given == "coroutine":
        assert seen[0] == RunResult(
            answer="right", status=RunStatus.DONE, reason="", run_id=right.run_id, session_id=right.session_id
        )


def _raises(result: RunResult) -> bool:
    raise ValueError("broken check")


def _leaves(result: RunResult) -> bool:
    raise SystemExit(3)


@pytest.mark.parametrize(
    ("check", "reason"),
    [
        (lambda result: None, "the check could not say"),
        (lambda result: "yes", "the check gave str, neither True, False nor None"),
        (_raises, "ValueError: broken check"),
        (_leaves, "SystemExit"),
    ],
)
def test_a_callable_that_cannot_say(local_rig: Rig, check: Any, reason: str) -> None:
    agent = local_rig.agent([saying("x")])
    result = agent.run("one", check=check)
    assert (result.ok, result.success, result.judged_by) == (True, None, Judge.INFERRED)
    assert result.reason.startswith("no verdict: ") and reason in result.reason


def test_a_callable_that_hangs_and_one_that_is_interrupted(local_rig: Rig) -> None:
    local_rig.configure(limits={"check_seconds": 0.2})
    agent = local_rig.agent([saying("x")])
    release, begun = threading.Event(), threading.Event()

    def hangs(result: RunResult) -> bool:
        begun.set()
        return release.wait(60)

    assert "did not end within 0.2 s" in agent.run("one", check=hangs).reason
    local_rig.configure(limits={"check_seconds": 60.0})
    other = local_rig.agent([saying("y")], name="other")
    begun.clear()
    results: list[RunResult] = []
    thread = threading.Thread(target=lambda: results.append(other.run("two", check=hangs)))
    thread.start()
    until(begun.is_set)
    assert other.interrupt()
    thread.join()
    release.set()
    assert [(one.answer, one.status, one.success, one.reason) for one in results] == [
        ("y", RunStatus.DONE, None, "no verdict: interrupted by the user")
    ]


def test_the_step_limit_and_a_check(local_rig: Rig) -> None:
    local_rig.configure(limits={"iterations": 1})
    agent = local_rig.agent([calling(call("list_files")), saying("that is all")])
    result = agent.run("look", check="true")
    assert (result.status, result.success, result.answer) == (RunStatus.FAILED, True, "that is all")
    assert result.reason == "the limit of 1 steps is reached (limits.iterations); (no output)"


class Counting:
    """A scripted model that counts how often it is asked."""

    def __init__(self) -> None:
        self._script = ScriptedModel([saying("the answer")], model="counting")
        self.provider, self.model, self.asked = self._script.provider, "counting", 0

    async def answer(self, request: ModelRequest, on_text: TextListener) -> ModelAnswer:
        self.asked += 1
        return await self._script.answer(request, on_text)

    async def close(self) -> None:
        """There is nothing to close."""


@pytest.mark.req("R2")
@pytest.mark.parametrize("as_command", [True, False])
def test_a_resumed_run_is_checked_and_its_answer_not_asked_for_again(rig: Rig, as_command: bool) -> None:
    async def left_open(agent: Agent) -> str:
        """A run as a crash during its check leaves it: the answer is journaled, the end is not."""
        store = agent.app.store
        session = await agent.app.session("", title="t", surface="library", workspace=rig.workspace)
        option = {"check": "echo looked; exit 1"} if as_command else {"verifier": "of a process that is gone"}
        await agent.app.engine.submit(session, "go", options={"model": "scripted:counting", **option})
        run = await store.runs.begin(session.id, "{}", "scripted:counting")
        assert run is not None
        await store.journal.append(run.id, run.epoch, [AssistantMessage(text="the answer")])
        return run.id

    rig.configure(store={"lease_seconds": 0.01})
    model = Counting()
    agent = rig.agent(model)
    run_id = agent.wait(left_open(agent))
    (result,) = until(lambda: agent.wait(agent._resume()))
    assert (result.run_id, result.answer, result.status, model.asked) == (run_id, "the answer", RunStatus.DONE, 0)
    if as_command:
        assert (result.success, result.reason) == (False, "looked\n[exit code 1]")
    else:
        assert (result.success, result.reason) == (
            None,
            "no verdict: the program that would have checked it is gone",
        )
    assert len(of(AssistantMessage, events(agent, run_id))) == 1


@pytest.mark.parametrize(
    ("options", "check", "message"),
    [
        ({"pin": 99}, None, "there is no heuristic set 99"),
        ({"pin": -1}, None, "pin must be a whole number from 0"),
        ({"pin": True}, None, "pin must be a whole number from 0"),
        ({"seed": "x"}, None, "seed must be a whole number"),
        ({"seed": 2**64}, None, "seed must be a whole number"),
        ({"family": "*"}, None, "'\\*' stands for all families"),
        ({"family": " "}, None, "a family needs a name"),
        ({"family": "a\nb"}, None, "a family needs a name"),
        ({"family": "x" * 101}, None, "a family needs a name"),
        ({}, "", "check must be a command"),
        ({}, "true\0", "check must be a command"),
        ({"reset": 3}, None, "reset must be a command"),
        ({}, "curl -H 'Authorization: Bearer sk-" + "a1B2c3D4" * 5 + "'", "holds a secret"),
    ],
)
def test_wrong_options_stop_before_anything_starts(
    local_rig: Rig, options: dict[str, Any], check: str | None, message: str
) -> None:
    agent = local_rig.agent([saying("x")])
    with pytest.raises(UsageError, match=message):
        agent.run("go", options=options, check=check)
    assert agent.wait(agent.app.store.sessions.recent(5)) == []


def test_good_options_are_journaled(local_rig: Rig) -> None:
    agent = local_rig.agent([saying("x")])
    given = {"pin": 0, "seed": -7, "family": "sums", "reset": "git checkout ."}
    result = agent.run("go", options=given)
    assert result == RunResult(
        answer="x", status=RunStatus.DONE, reason="", run_id=result.run_id, session_id=agent.session_id
    )
    started = of(RunStarted, events(agent, result))[0].options
    assert {name: started[name] for name in given} == given


@pytest.mark.req("H7")
def test_judging_later_and_again(rig: Rig) -> None:
    heard = Heard()
    agent = rig.agent([saying("x")], advisor=heard)
    result = agent.run("go", check="true")
    checked = Outcome(status=RunStatus.DONE, judged_by=Judge.VERIFIER, reason="(no output)")
    bad = Outcome(status=RunStatus.FAILED, judged_by=Judge.USER, reason="not what I meant")
    good = Outcome(status=RunStatus.DONE, judged_by=Judge.USER)
    made = agent.judge(result.run_id, False, "not what I meant")
    assert made == Judgement(run_id=result.run_id, before=checked, after=bad)
    assert (made.changed, made.contradicts) == (True, True)
    assert agent.judge(result.run_id, False, "not what I meant").changed is False
    assert agent.judge(result.run_id, True) == Judgement(run_id=result.run_id, before=bad, after=good)
    assert [trace.outcome for trace in heard.traces] == [checked, bad, good]
    assert of(Judged, events(agent, result)) == [
        Judged(success=False, by=Judge.USER, reason="not what I meant"),
        Judged(success=True, by=Judge.USER),
    ]
    rows = agent.wait(
        agent.app.store.database.read(
            lambda connection: connection.run("SELECT status, judged_by, reason FROM outcomes")
        )
    )
    assert [tuple(row) for row in rows] == [("done", "user", "")]
    with pytest.raises(NotFound, match="there is no run 'zzzz'"):
        agent.judge("zzzz", True)


class Deaf(SilentAdvisor):
    """Cannot learn."""

    async def learn(self, trace: Trace) -> None:
        raise RuntimeError("no room left")


def test_a_judgement_stands_where_learning_fails(local_rig: Rig) -> None:
    agent = local_rig.agent([saying("x")], advisor=Deaf())
    result = agent.run("go")
    made = agent.judge(result.run_id, True)
    assert made.not_learned == "RuntimeError: no room left"
    assert agent.state.trace(result.run_id).outcome == Outcome(status=RunStatus.DONE, judged_by=Judge.USER)


def test_a_run_that_is_not_over_cannot_be_judged(local_rig: Rig) -> None:
    agent = local_rig.agent([saying("x")])

    async def work() -> None:
        session = await agent.app.session("", title="t", surface="library", workspace=local_rig.workspace)
        await agent.app.engine.submit(session, "go")
        run = await agent.app.store.runs.begin(session.id, "me", "m")
        assert run is not None
        with pytest.raises(UsageError, match="is not over yet"):
            await agent._judge(run.id, True, "")

    agent.wait(work())

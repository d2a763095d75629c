"""What one request may use, and how it ends when that is used up."""

import asyncio

import msgspec
import pytest

from hermes_agent.tools.tool import Tool
from hermes_agent.types.events import CallFinished, Fragment, RunFinished
from hermes_agent.types.trace import CallStatus, Outcome, RunStatus
from tests.harness.rig import Rig, Witness, call, calling, events, of, results, saying

WRAP_UP = "The limit of steps for this request is reached. Answer now with what you have, and say what is missing."


def look(number: int) -> str:
    """Look."""
    return f"saw {number}"


LOOK = Tool("look", look, capabilities=[], effect="none")


@pytest.mark.trunk
@pytest.mark.req("R14")
def test_the_last_step_is_an_answer_without_tools(rig: Rig) -> None:
    rig.configure(limits={"iterations": 2})
    script = [calling(call("look", number=number)) for number in range(2)]
    model = Witness([*script, calling(call("look", number=2), text="two of three")])
    agent = rig.agent(model, [LOOK])
    result = agent.run("look three times")
    assert (result.answer, result.status, result.reason) == (
        "two of three",
        RunStatus.FAILED,
        "the limit of 2 steps is reached (limits.iterations)",
    )
    assert model.free == [True, True, False]
    assert b'"tool_choice":"none"' in model.bodies[2]
    assert b'"tool_choice"' not in model.bodies[1]
    assert of(Fragment, events(agent, result)) == [Fragment(source="limits", text=WRAP_UP)]
    assert results(agent, result) == [("call_0_0", "ok", ""), ("call_1_0", "ok", "")]


@pytest.mark.req("R14")
def test_the_next_request_has_its_own_steps(local_rig: Rig) -> None:
    local_rig.configure(limits={"iterations": 1})
    agent = local_rig.agent([calling(call("look", number=0)), saying("part"), saying("whole")], [LOOK])
    assert [agent.run("one").status, agent.run("two").status] == [RunStatus.FAILED, RunStatus.DONE]


@pytest.mark.req("R14")
def test_a_request_has_only_so_many_seconds(rig: Rig) -> None:
    rig.configure(limits={"seconds": 0.3})

    async def sleep() -> None:
        await asyncio.sleep(60)

    tools = [Tool("sleep", sleep, capabilities=[], effect="once"), LOOK]
    agent = rig.agent([calling(call("sleep"), call("look", number=1)), saying("next")], tools)
    result = agent.run("sleep")
    assert (result.answer, result.status) == ("", RunStatus.FAILED)
    assert result.reason == "the limit of 0.3 seconds is reached (limits.seconds)"
    journal = events(agent, result)
    assert results(agent, result) == [("call_0_0", "in_doubt", "in_doubt"), ("call_0_1", "interrupted", "interrupted")]
    assert of(RunFinished, journal) == [
        RunFinished(
            answer="",
            status=RunStatus.FAILED,
            outcome=Outcome(status=RunStatus.FAILED, reason=result.reason),
        )
    ]
    assert agent.run("and now?").answer == "next"


@pytest.mark.req("R14")
def test_a_slow_model_counts_too(local_rig: Rig) -> None:
    local_rig.configure(limits={"seconds": 0.2})
    agent = local_rig.agent([msgspec.structs.replace(saying("late"), seconds=60)])
    assert agent.run("hurry").reason == "the limit of 0.2 seconds is reached (limits.seconds)"


@pytest.mark.req("R14")
def test_the_same_failure_over_and_over_ends_the_run(rig: Rig) -> None:
    rig.configure(limits={"same_failure": 3})

    def wrong(number: int) -> str:
        """Always wrong."""
        raise ValueError("wrong")

    numbers = (1, 2, 1, 2, 1, 1)
    script = [calling(call("wrong", number=number)) for number in numbers]
    agent = rig.agent([*script, saying("never")], [Tool("wrong", wrong, capabilities=[], effect="none")])
    result = agent.run("insist")
    assert (result.status, result.reason) == (
        RunStatus.FAILED,
        "the same call failed 3 times (raise limits.same_failure)",
    )
    assert [done.status for done in of(CallFinished, events(agent, result))] == [CallStatus.ERROR] * 5


@pytest.mark.req("R14")
def test_a_success_in_between_begins_the_count_anew(local_rig: Rig) -> None:
    local_rig.configure(limits={"same_failure": 2})
    tries: list[int] = []

    def moody() -> str:
        tries.append(1)
        if len(tries) != 2:
            raise ValueError("no")
        return "yes"

    script = [calling(call("moody")) for _ in range(3)]
    agent = local_rig.agent([*script, saying("done")], [Tool("moody", moody, capabilities=[], effect="once")])
    assert agent.run("try").answer == "done"

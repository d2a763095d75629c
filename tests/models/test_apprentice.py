"""The Apprentice: the same request gets the same answer; it reads the task, results, hints and steers alone."""

import asyncio
import json
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hermes_agent.models.client import ModelAnswer
from hermes_agent.models.providers.apprentice import Apprentice, Faults, Step, Way, default_faults, parse_steps
from hermes_agent.models.request import Prefix, ToolDeclaration
from hermes_agent.types.events import AssistantMessage, CallFinished, Fragment, InboxMode, Message, Usage, UserMessage
from hermes_agent.types.tools import ToolCall
from hermes_agent.types.trace import CallStatus
from tests.models.asking import request_of

CAREFUL = Faults(version=1, slip=0.0, stubborn=0.0, attention=1.0, patience=3)
TOOLS = Prefix(
    system="s",
    tools=tuple(ToolDeclaration(name=name, description="", parameters={}) for name in ("first", "second", "look")),
)
TASK = UserMessage(
    text='Do this:\n1. first {"a": 1} or second {"b": 2}\n2) second {"c": 3} verify look {"d": {"e": "or first {}"}}\n'
)


def answer(model: Apprentice, *messages: Message, free: bool = True) -> ModelAnswer:
    return asyncio.run(model.answer(request_of(*messages, prefix=TOOLS, free=free), lambda text: None))


def called(answered: ModelAnswer) -> tuple[str, dict[str, Any]] | None:
    """The tool and arguments of the one call that was made."""
    if not answered.calls:
        return None
    (call,) = answered.calls
    return call.name, call.arguments


def said(tool: str, status: CallStatus = CallStatus.OK, text: str = "result") -> list[Message]:
    """A call that was made and how it ended."""
    call = ToolCall(id="x", name=tool)
    return [AssistantMessage(text="", calls=(call,)), CallFinished(call_id="x", tool=tool, status=status, text=text)]


def test_a_task_is_done_step_by_step() -> None:
    model = Apprentice(1, CAREFUL)
    first = answer(model, TASK)
    call = ToolCall(id="call_0", name="first", arguments={"a": 1})
    assert first == ModelAnswer(
        text="", calls=(call,), stop="tool_calls", usage=Usage(input=len(TASK.text) // 4, output=8)
    )
    assert called(answer(model, TASK, *said("first"))) == ("second", {"c": 3})
    done = answer(model, TASK, *said("first"), *said("second", text="all\nwell"))
    assert (done.text, done.calls, done.stop) == ("Done, 2 steps. The last one said: all well", (), "stop")


def test_after_a_failure_comes_the_next_way_and_patience_ends() -> None:
    model = Apprentice(1, CAREFUL)
    failure = said("first", CallStatus.ERROR, '{"error":"no"}')
    assert called(answer(model, TASK, *failure)) == ("second", {"b": 2})
    given_up = answer(model, TASK, *failure, *said("second", CallStatus.TIMEOUT), *failure)
    assert (given_up.text, given_up.calls) == ('I gave up at step 1: {"error":"no"}', ())
    assert answer(model, TASK, *failure, free=False).text == 'I gave up at step 1: {"error":"no"}'


def test_a_stubborn_one_repeats_what_failed() -> None:
    stubborn = Apprentice(1, msgspec.structs.replace(CAREFUL, stubborn=1.0))
    assert called(answer(stubborn, TASK, *said("first", CallStatus.ERROR))) == ("first", {"a": 1})


def test_doubt_is_verified_and_not_repeated() -> None:
    model = Apprentice(1, CAREFUL)
    doubtful = [TASK, *said("first"), *said("second", CallStatus.IN_DOUBT)]
    assert called(answer(model, *doubtful)) == ("look", {"d": {"e": "or first {}"}})
    assert answer(model, *doubtful, *said("look", text="it is there")).text.startswith("Done, 2 steps.")
    assert called(answer(model, *doubtful, *said("look", CallStatus.ERROR))) == ("second", {"c": 3})


@pytest.mark.parametrize(
    "told",
    [
        [Fragment(source="advice", text="Here, avoid the tool `first`.")],
        [Fragment(source="advice", text="Avoid first")],
        [Fragment(source="advice", text="Use second for this.")],
        said("look", CallStatus.STEERED, '{"error":"it often fails. Use second instead."}'),
    ],
)
def test_hints_and_steers_are_followed(told: list[Message]) -> None:
    assert called(answer(Apprentice(1, CAREFUL), TASK, *told)) == ("second", {"b": 2})


@pytest.mark.parametrize(
    "told", [said("look", CallStatus.ERROR, "Use second"), [UserMessage(text="Use second", mode=InboxMode.STEER)]]
)
def test_other_text_is_no_advice(told: list[Message]) -> None:
    assert called(answer(Apprentice(1, CAREFUL), TASK, *told)) == ("first", {"a": 1})


def test_an_inattentive_one_hears_nothing() -> None:
    deaf = Apprentice(1, msgspec.structs.replace(CAREFUL, attention=0.0))
    assert called(answer(deaf, TASK, Fragment(source="advice", text="avoid first"))) == ("first", {"a": 1})


def test_a_slip_loses_one_argument() -> None:
    clumsy = Apprentice(1, msgspec.structs.replace(CAREFUL, slip=1.0))
    assert called(answer(clumsy, TASK)) == ("first", {})


def test_only_the_last_request_counts() -> None:
    again = UserMessage(text='1. look {"again": true}')
    model = Apprentice(1, CAREFUL)
    assert called(answer(model, TASK, *said("first"), *said("second"), again)) == ("look", {"again": True})


def test_without_steps_it_says_what_it_is() -> None:
    plain = answer(Apprentice(1), UserMessage(text="What is the weather?"))
    assert plain.text.startswith("I am the Apprentice, a simulated policy")
    assert plain.calls == ()


def test_the_same_request_gets_the_same_answer_and_seeds_differ() -> None:
    failure = said("first", CallStatus.ERROR)
    answers = [[answer(Apprentice(seed), TASK, *failure) for _ in range(3)] for seed in range(60)]
    assert all(one == two == three for one, two, three in answers)
    assert len({msgspec.json.encode(one) for one, _, _ in answers}) > 1


def test_its_faults_are_as_frequent_as_they_say() -> None:
    faults = default_faults()
    failure = said("first", CallStatus.ERROR)
    slips = sum(called(answer(Apprentice(seed), TASK)) == ("first", {}) for seed in range(1000)) / 1000
    again = (
        sum((called(answer(Apprentice(seed), TASK, *failure)) or ("",))[0] == "first" for seed in range(1000)) / 1000
    )
    assert abs(slips - faults.slip) < 0.03
    assert abs(again - faults.stubborn) < 0.06


UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
NAMES = st.text(alphabet="aZ_9-or", max_size=6).map(lambda rest: f"t{rest}")
ARGUMENTS = st.dictionaries(
    st.text(max_size=8), st.none() | st.booleans() | st.integers() | st.text(max_size=20), max_size=3
)
WAYS = st.builds(Way, tool=NAMES, arguments=ARGUMENTS)
STEPS = st.lists(
    st.builds(Step, ways=st.lists(WAYS, min_size=1, max_size=3).map(tuple), verify=st.none() | WAYS),
    max_size=5,
)


def written(way: Way) -> str:
    return f"{way.tool} {json.dumps(way.arguments)}"


def task_of(steps: list[Step]) -> str:
    lines = []
    for number, step in enumerate(steps, 1):
        verify = f" verify {written(step.verify)}" if step.verify else ""
        lines.append(f"{number}. {' or '.join(map(written, step.ways))}{verify}")
    return "\n".join(["Please:", *lines, "Thank you."])


@UNHURRIED
@given(STEPS)
def test_steps_that_were_written_are_read(steps: list[Step]) -> None:
    assert parse_steps(task_of(steps)) == tuple(steps)


@UNHURRIED
@given(st.text() | st.text(alphabet='1.) a{}":,\n or verify[]\\', max_size=80))
def test_any_text_has_steps_or_none(text: str) -> None:
    for step in parse_steps(text):
        assert step.ways
        assert all(isinstance(way.arguments, dict) for way in step.ways)


def test_nesting_without_end_is_no_step() -> None:
    assert parse_steps("1. a " + '{"a":' * 100_000) == ()
    assert parse_steps('1. a {"x": 1} or b {"y": ') == (Step(ways=(Way(tool="a", arguments={"x": 1}),)),)

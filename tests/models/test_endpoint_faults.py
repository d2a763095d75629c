"""Every fault of an endpoint through the whole agent: it answers or fails with a reason, and never runs half a call."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_agent.types.errors import ModelFailure
from hermes_agent.types.events import RunFinished
from hermes_agent.types.trace import CallStatus, RunStatus
from tests.endpoint import Call, Calls, Fault, Reply, call, calls, fail, text
from tests.models.faulty import (
    ANSWERED,
    ATTEMPTS,
    BOTH,
    FAILURES,
    FINAL,
    RUNNABLE,
    SPOILED,
    TEXTS,
    FaultyAgent,
    Told,
    spoil,
)

pytestmark = [pytest.mark.req("R14")]
PASSING = [fault for fault in FAILURES if fault not in FINAL]


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultyAgent]:
    with FaultyAgent(tmp_path_factory.mktemp("faults")) as made:
        yield made


def asked(agent: FaultyAgent, before: int) -> int:
    return len(agent.endpoint.requests) - before


def test_no_fault_is_forgotten() -> None:
    assert {*FAILURES, *TEXTS, *SPOILED, *RUNNABLE} == set(Fault)


@pytest.mark.parametrize("fault", PASSING)
def test_a_failure_that_passes_costs_one_more_attempt(agent: FaultyAgent, fault: Fault) -> None:
    before = len(agent.endpoint.requests)
    result = agent.run([calls(call("echo", text="a")), spoil(fault), text("recovered")])
    assert (result.status, result.answer, result.reason) == (RunStatus.DONE, "recovered", "")
    assert agent.told(result) == [ANSWERED, Told(FAILURES[fault], "retry"), ANSWERED]
    assert (agent.ran, asked(agent, before)) == (["a"], 3)
    assert agent.goes_on(result)


@pytest.mark.parametrize("fault", [fault for fault in PASSING if fault is not Fault.REFUSE])
def test_a_failure_that_stays_ends_the_run_with_its_reason(agent: FaultyAgent, fault: Fault) -> None:
    before = len(agent.endpoint.requests)
    result = agent.run([spoil(fault)])
    failure = FAILURES[fault]
    retried = [Told(failure, "retry")] * (ATTEMPTS - 1)
    assert (result.status, result.answer, asked(agent, before)) == (RunStatus.FAILED, "", ATTEMPTS)
    assert agent.told(result) == [*retried, Told(failure, "give up")]
    assert agent.goes_on(result)


def test_an_endpoint_that_is_gone_ends_the_run_with_its_reason(agent: FaultyAgent) -> None:
    result = agent.run([spoil(Fault.REFUSE)], reopens=False)
    retried = [Told(ModelFailure.NETWORK, "retry")] * (ATTEMPTS - 1)
    assert (result.status, result.answer) == (RunStatus.FAILED, "")
    assert agent.told(result) == [*retried, Told(ModelFailure.NETWORK, "give up")]
    assert result.reason.endswith(" (check --base-url and that the server runs)")
    assert agent.goes_on(result)


@pytest.mark.parametrize("fault", FINAL)
def test_a_failure_that_cannot_pass_ends_the_run_at_once(agent: FaultyAgent, fault: Fault) -> None:
    before = len(agent.endpoint.requests)
    result = agent.run([calls(call("echo", text="a")), spoil(fault)])
    assert (result.status, result.answer, asked(agent, before)) == (RunStatus.FAILED, "", 2)
    assert agent.told(result) == [ANSWERED, Told(FAILURES[fault], "give up")]
    assert agent.ran == ["a"]
    assert agent.goes_on(result)


def test_the_reason_is_the_endpoints_own_words(agent: FaultyAgent) -> None:
    result = agent.run([spoil(Fault.UNAUTHORIZED)])
    url = f"{agent.endpoint.url}/chat/completions"
    assert result.reason == f"401 from {url}: Incorrect API key provided. (check OPENAI_API_KEY)"
    finished = [event for event in agent.events(result) if isinstance(event, RunFinished)]
    assert [event.outcome.reason for event in finished] == [result.reason]


@pytest.mark.parametrize("fault", TEXTS)
def test_an_odd_answer_is_an_answer(agent: FaultyAgent, fault: Fault) -> None:
    result = agent.run([spoil(fault)])
    assert (result.status, result.answer, agent.told(result)) == (RunStatus.DONE, TEXTS[fault], [ANSWERED])
    assert agent.goes_on(result)


@pytest.mark.parametrize("fault", SPOILED)
def test_a_spoiled_call_never_runs_and_the_model_is_told(agent: FaultyAgent, fault: Fault) -> None:
    before = len(agent.endpoint.requests)
    result = agent.run([spoil(fault), text("sorry")])
    name = "no_such_tool" if fault is Fault.UNKNOWN_TOOL else "echo"
    assert (result.answer, agent.ran, asked(agent, before)) == ("sorry", [], 2)
    assert agent.calls(result) == [(name, CallStatus.ERROR, SPOILED[fault])]
    assert agent.endpoint.requests[-1].json["messages"][-1]["content"].startswith('{"error":"')
    assert agent.goes_on(result)


@pytest.mark.parametrize("fault", SPOILED)
def test_a_model_that_only_makes_spoiled_calls_is_stopped(agent: FaultyAgent, fault: Fault) -> None:
    before = len(agent.endpoint.requests)
    result = agent.run([spoil(fault)])
    assert (result.status, agent.ran, asked(agent, before)) == (RunStatus.FAILED, [], 6)
    assert result.reason == "the limit of 5 steps is reached (limits.iterations)"
    assert agent.goes_on(result)


@pytest.mark.parametrize("fault", RUNNABLE)
def test_whole_calls_run_once_each_however_they_are_numbered(agent: FaultyAgent, fault: Fault) -> None:
    result = agent.run([spoil(fault), spoil(fault), text("done")])
    assert (result.answer, agent.ran) == ("done", [*BOTH, *BOTH])
    assert agent.calls(result) == [("echo", CallStatus.OK, "")] * 4
    ids = [
        message["tool_call_id"] for message in agent.endpoint.requests[-1].json["messages"] if "tool_call_id" in message
    ]
    assert len(set(ids)) == 4
    assert agent.goes_on(result)


ARGUMENTS: list[tuple[str, list[str]]] = [
    ('{"text": ["a list"]}', []),
    ('{"text": null}', []),
    ("{}", []),
    ('{"text": "a", "text": "b"}', ["b"]),
    (r'{"text": "a\u0000\ud800"}', ["a\0\ufffd"]),
    ('{"text": "' + "x" * 100_000 + '"}', ["x" * 100_000]),
    ('{"text": ' + "[" * 5000 + "]" * 5000 + "}", []),
]


@pytest.mark.parametrize(("arguments", "ran"), ARGUMENTS, ids=lambda value: str(value)[:30])
def test_arguments_are_right_or_refused(agent: FaultyAgent, arguments: str, ran: list[str]) -> None:
    result = agent.run([Calls(calls=(Call(name="echo", arguments=arguments),)), text("done")])
    assert (result.answer, agent.ran) == ("done", ran)
    ended = ("echo", CallStatus.OK, "") if ran else ("echo", CallStatus.ERROR, "bad_arguments")
    assert agent.calls(result) == [ended]
    assert agent.goes_on(result)


@pytest.mark.parametrize("finish", ["length", "content_filter"])
def test_calls_of_a_cut_answer_do_not_run(agent: FaultyAgent, finish: str) -> None:
    cut = Calls(calls=(call("echo", text="whole"), Call(name="echo", arguments="")), finish=finish)
    result = agent.run([cut, text("done")])
    assert (result.answer, agent.ran) == ("done", [])
    assert agent.calls(result) == [("echo", CallStatus.ERROR, "bad_arguments")] * 2
    assert agent.goes_on(result)


def test_a_tool_with_an_impossible_name_does_not_spoil_the_conversation(agent: FaultyAgent) -> None:
    odd = Calls(calls=(Call(name="no such tool!", id="a"), Call(name="", id="b"), Call(name="\0" * 90, id="c")))
    result = agent.run([odd, text("done")])
    assert (result.answer, [error for _, _, error in agent.calls(result)]) == ("done", ["unknown_tool"] * 3)
    assert agent.goes_on(result)


def test_a_request_may_hold_anything(agent: FaultyAgent) -> None:
    result = agent.run([text("fine")], "what is \0 and \ud800 and \ud83e\udd8a?")
    assert result.answer == "fine"
    assert agent.endpoint.requests[-1].json["messages"][-1]["content"] == "what is \ufffd and \ufffd and 🦊?"
    assert agent.goes_on(result)


@pytest.mark.parametrize("fault", [Fault.RATE_LIMIT, Fault.SERVER_ERROR, Fault.UNAVAILABLE])
def test_retry_after_is_honoured(agent: FaultyAgent, fault: Fault) -> None:
    script: list[Reply] = [fail(fault, retry_after=0.3), text("later")]
    result = agent.run(script)
    assert result.answer == "later"
    assert "retry in 0.3 s" in str(agent.events(result))


def test_a_wait_that_is_too_long_is_not_begun(agent: FaultyAgent) -> None:
    before = len(agent.endpoint.requests)
    result = agent.run([fail(Fault.RATE_LIMIT, retry_after=61)])
    assert (result.status, asked(agent, before)) == (RunStatus.FAILED, 1)
    assert agent.told(result) == [Told(ModelFailure.RATE_LIMIT, "give up")]


def test_the_configured_wait_and_attempts_are_used(tmp_path: Path) -> None:
    with FaultyAgent(tmp_path) as agent:
        model = agent.agent.app.settings.model
        assert (model.retry_wait, model.attempts, model.timeout) == (0.01, ATTEMPTS, 1.0)
        result = agent.run([spoil(Fault.CUT), text("ok")])
        assert "retry in 0.0 s" in str(agent.events(result))

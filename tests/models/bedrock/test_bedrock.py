"""The Bedrock adapter against a real server: what comes over the wire, and what becomes of it."""

import asyncio
from itertools import pairwise
from typing import Any

import pytest

from hermes_agent.models.client import ModelAnswer
from hermes_agent.models.http import close_clients
from hermes_agent.models.providers.bedrock import understood
from hermes_agent.models.request import ModelRequest, Transcript
from hermes_agent.types.effort import Effort
from hermes_agent.types.errors import ModelError, ModelFailure
from hermes_agent.types.events import AssistantMessage, CallFinished, Usage, UserMessage
from hermes_agent.types.tools import ToolCall
from hermes_agent.types.trace import CallStatus
from tests.endpoint import (
    Call,
    Calls,
    Endpoint,
    Fail,
    Fault,
    Reply,
    Text,
    Thinking,
    by_results,
    call,
    calls,
    fail,
    refusal,
    sequence,
    text,
)
from tests.endpoint import Usage as WireUsage
from tests.endpoint.eventstream import message
from tests.models.asking import PREFIX, QUESTION, ByteServer, request_of
from tests.models.bedrock.talking import MODEL, ask, client, converse, event, response
from tests.models.faulty import BOTH, FAILURES, TEXTS, spoil


def test_text_is_streamed_as_it_comes() -> None:
    long = "The answer is forty-two, as everybody knows since 1979 – ändert nichts 🦊."
    used = WireUsage(prompt_tokens=1000, completion_tokens=20, cached_tokens=800, cache_write_tokens=150)
    with Endpoint(sequence([Text(text=long, usage=used)])) as endpoint:
        answer, heard = ask(endpoint.origin)
        (request,) = endpoint.requests
    assert answer == ModelAnswer(text=long, stop="stop", usage=Usage(input=1000, output=20, cached=800))
    assert ("".join(heard), len(heard) > 1) == (long, True)
    assert request.path == "/model/eu.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse-stream"


def test_parallel_calls_come_in_their_order() -> None:
    reply = Calls(
        calls=(
            Call(name="echo", arguments={"text": "ä" * 60}, id="call_a"),
            Call(name="echo", arguments='{"text": "b", "n": 18446744073709551616}', id=""),
            Call(name="list_all", arguments="", id="call_c"),
        ),
        text="Let me look.",
        usage=WireUsage(prompt_tokens=5, completion_tokens=7),
    )
    with Endpoint(sequence([reply])) as endpoint:
        answer, heard = ask(endpoint.origin)
    assert answer == ModelAnswer(
        text="Let me look.",
        calls=(
            ToolCall(id="call_a", name="echo", arguments={"text": "ä" * 60}),
            ToolCall(id="call_1", name="echo", arguments={"text": "b", "n": 18446744073709551616}),
            ToolCall(id="call_c", name="list_all", arguments={}),
        ),
        stop="tool_calls",
        usage=Usage(input=5, output=7),
    )
    assert heard == ["Let me look."]


SCRIPT: list[Reply] = [
    calls(call("echo", text="ä"), call("echo", text="b"), text="Let me look.", thinking="Two calls."),
    Calls(calls=(Call(name="echo", arguments={"text": "c"}, id=""),), thinking=Thinking(text="x", redacted=True)),
    text("Done, and signed.", thinking="That was easy."),
]


@pytest.mark.parametrize("effort", [None, Effort.LOW])
@pytest.mark.parametrize("model", [MODEL, "anthropic.claude-opus-4-6-v1"])
def test_a_conversation_goes_back_as_it_came(model: str, effort: Effort | None) -> None:
    """The endpoint refuses reasoning that is missing or changed, sides that do not alternate, results without calls."""
    with Endpoint(by_results(SCRIPT)) as endpoint:
        first = converse(endpoint, QUESTION, model=model, effort=effort)
        second = converse(endpoint, *first, UserMessage(text="And again?"), model=model, effort=effort)
        bodies = [request.body for request in endpoint.requests]
    answers = [said.text for said in second if isinstance(said, AssistantMessage)]
    assert answers == ["Let me look.", "", "Done, and signed."] * 2
    for earlier, later in pairwise(bodies):
        assert later.startswith(earlier[: earlier.rindex(b',{"cachePoint"')])
    reasoned = bodies[-1].count(b'"reasoningText"'), bodies[-1].count(b'"redactedContent"')
    assert reasoned == ((3, 2) if effort else (0, 0))


def test_reasoning_is_kept_for_the_model_that_signed_it() -> None:
    with Endpoint(sequence([SCRIPT[0]])) as endpoint:
        request = ModelRequest(prefix=PREFIX, transcript=Transcript([QUESTION]), effort=Effort.LOW)
        answer, heard = ask(endpoint.origin, request)
    kept = answer.replay["bedrock"]["outline"][0]["keep"]["reasoningContent"]["reasoningText"]
    assert kept["text"] == "Two calls."
    assert answer.replay["bedrock"]["outline"][1:] == [{"text": 12}, {"call": True}, {"call": True}]
    assert answer.replay["bedrock"]["model"] == MODEL
    assert "".join(heard) == "Let me look."


def test_a_conversation_that_began_elsewhere_goes_on_here() -> None:
    begun = (
        QUESTION,
        AssistantMessage(
            text="",
            calls=(ToolCall(id="fc|01", name="echo", arguments={"text": "a"}),),
            replay={"openai_responses": [{"any": "thing"}]},
        ),
        CallFinished(call_id="fc|01", tool="echo", status=CallStatus.OK, text="a"),
    )
    with Endpoint(by_results([fail(Fault.BAD_REQUEST), *SCRIPT[1:]])) as endpoint:
        whole = converse(endpoint, *begun, effort=Effort.MEDIUM)
        thinking = [b'"thinking"' in request.body for request in endpoint.requests]
    assert [said.text for said in whole if isinstance(said, AssistantMessage)][-1] == "Done, and signed."
    assert thinking == [False, False]


@pytest.mark.parametrize(
    ("finish", "stop"),
    [
        ("stop", "stop"),
        ("stop_sequence", "stop"),
        ("length", "length"),
        ("model_context_window_exceeded", "length"),
        ("content_filter", "content_filter"),
        ("guardrail_intervened", "content_filter"),
        ("refusal", "refused"),
    ],
)
def test_reasons_to_stop(finish: str, stop: str) -> None:
    with Endpoint(sequence([Text(text="as far as it", finish=finish)])) as endpoint:
        answer, _ = ask(endpoint.origin)
    assert (answer.text, answer.stop) == ("as far as it", stop)


@pytest.mark.parametrize("arguments", ["", '{"text": "whole"}', '{"text": "ha'])
@pytest.mark.parametrize(("finish", "word"), [("length", "max_tokens"), ("content_filter", "content_filtered")])
def test_calls_of_an_answer_that_was_cut_off_are_never_run(finish: str, word: str, arguments: str) -> None:
    reply = Calls(calls=(Call(name="echo", arguments=arguments, id="x"),), finish=finish)
    with Endpoint(sequence([reply])) as endpoint:
        answer, _ = ask(endpoint.origin)
    problem = f"the answer was cut off (stop reason '{word}')"
    assert answer.calls == (ToolCall(id="x", name="echo", problem=problem),)


@pytest.mark.parametrize(
    ("finish", "failure"),
    [
        ("stop", ModelFailure.MALFORMED),
        ("content_filter", ModelFailure.REFUSED),
        ("guardrail_intervened", ModelFailure.REFUSED),
        ("refusal", ModelFailure.REFUSED),
        ("model_context_window_exceeded", ModelFailure.CONTEXT_TOO_LONG),
        ("malformed_tool_use", ModelFailure.MALFORMED),
    ],
)
def test_what_is_no_answer(finish: str, failure: ModelFailure) -> None:
    with Endpoint(sequence([Text(text="", finish=finish)])) as endpoint, pytest.raises(ModelError) as caught:
        ask(endpoint.origin)
    assert caught.value.failure is failure


def test_a_refusal_in_words_is_an_answer_that_says_so() -> None:
    with Endpoint(sequence([refusal("I cannot help with that.")])) as endpoint:
        answer, _ = ask(endpoint.origin)
    assert (answer.text, answer.stop) == ("I cannot help with that.", "content_filter")


ELSEWHERE = {Fault.UNAUTHORIZED: ModelFailure.AUTH}


@pytest.mark.parametrize("fault", [*FAILURES, *ELSEWHERE])
def test_a_fault_is_the_right_failure(fault: Fault) -> None:
    with Endpoint(sequence([spoil(fault)])) as endpoint, pytest.raises(ModelError) as caught:
        ask(endpoint.origin)
    assert caught.value.failure == {**FAILURES, **ELSEWHERE}[fault]


def test_the_time_to_wait_is_the_endpoints_own() -> None:
    with Endpoint(sequence([fail(Fault.RATE_LIMIT, retry_after=3)])) as endpoint, pytest.raises(ModelError) as caught:
        ask(endpoint.origin)
    assert (caught.value.failure, caught.value.retry_after) == (ModelFailure.RATE_LIMIT, 3.0)


@pytest.mark.parametrize("fault", TEXTS)
def test_an_odd_answer_is_an_answer(fault: Fault) -> None:
    with Endpoint(sequence([spoil(fault)])) as endpoint:
        answer, heard = ask(endpoint.origin)
    assert (answer.text, "".join(heard)) == (TEXTS[fault], TEXTS[fault])


@pytest.mark.parametrize(
    ("fault", "found"),
    [
        (Fault.HALF_CALL, [("echo", {}, True)]),
        (Fault.ARGUMENTS_NOT_OBJECT, [("echo", {}, True)]),
        (Fault.UNKNOWN_TOOL, [("no_such_tool", {"text": "first half, second half"}, False)]),
        (Fault.MISSING_IDS, [("echo", {"text": text}, False) for text in BOTH]),
        (Fault.DUPLICATE_IDS, [("echo", {"text": text}, False) for text in BOTH]),
        (Fault.OUT_OF_ORDER, [("echo", {"text": text}, False) for text in BOTH]),
    ],
)
def test_odd_calls(fault: Fault, found: list[tuple[str, dict[str, Any], bool]]) -> None:
    with Endpoint(sequence([spoil(fault)])) as endpoint:
        answer, _ = ask(endpoint.origin)
    assert [(made.name, made.arguments, bool(made.problem)) for made in answer.calls] == found


@pytest.mark.parametrize(
    ("kind", "failure"),
    [
        ("throttlingException", ModelFailure.RATE_LIMIT),
        ("validationException", ModelFailure.BAD_REQUEST),
        ("internalServerException", ModelFailure.OVERLOAD),
        ("modelTimeoutException", ModelFailure.NETWORK),
        ("somethingNewException", ModelFailure.OVERLOAD),
    ],
)
def test_an_exception_inside_the_stream(kind: str, failure: ModelFailure) -> None:
    reply = Fail(fault=Fault.ERROR_IN_STREAM, kind=kind)
    with Endpoint(sequence([reply])) as endpoint, pytest.raises(ModelError) as caught:
        ask(endpoint.origin)
    assert (caught.value.failure, kind in str(caught.value)) == (failure, True)


def test_an_error_that_has_no_type_of_its_own() -> None:
    headers = {":message-type": "error", ":error-code": "InternalError", ":error-message": "An internal server error"}
    with ByteServer([response(message(headers, b""))]) as server, pytest.raises(ModelError) as caught:
        ask(server.url.removesuffix("/v1"))
    assert caught.value.failure is ModelFailure.OVERLOAD
    assert str(caught.value) == "the endpoint reported InternalError: An internal server error"


def test_events_that_are_not_known_do_no_harm_and_usage_may_be_missing() -> None:
    told = [
        event("messageStart", b'{"role":"assistant"}'),
        event("somethingNew", b'{"delta":{"citation":{}}}'),
        event("contentBlockDelta", b'{"contentBlockIndex":0,"delta":{"text":"42"}}'),
        event("messageStop", b'{"stopReason":"end_turn"}'),
    ]
    with ByteServer([response(*told)]) as server:
        assert ask(server.url.removesuffix("/v1"))[0] == ModelAnswer(text="42", stop="stop")


def test_what_comes_behind_a_complete_answer_is_not_looked_at() -> None:
    told = [
        event("contentBlockDelta", b'{"delta":{"text":"42"}}'),
        event("messageStop", b'{"stopReason":"end_turn"}'),
        event("metadata", b'{"usage":{"inputTokens":1,"outputTokens":2}}'),
    ]
    with ByteServer([response(*told, b"noise")]) as server:
        answer, _ = ask(server.url.removesuffix("/v1"))
    assert answer == ModelAnswer(text="42", stop="stop", usage=Usage(input=1, output=2))


def test_a_connection_is_used_again() -> None:
    async def work(url: str) -> list[str]:
        model = client(url)
        try:
            return [(await model.answer(request_of(), lambda text: None)).text for _ in range(3)]
        finally:
            await close_clients()

    with Endpoint(sequence([text("a"), text("b"), text("c")])) as endpoint:
        assert (asyncio.run(work(endpoint.origin)), endpoint.connections) == (["a", "b", "c"], 1)


def test_half_a_surrogate_pair_in_each_of_two_events_is_one_character() -> None:
    told = [
        *(event("contentBlockDelta", b'{"delta":{"text":"%b"}}' % half) for half in (rb"\ud83e", rb"\udd8a")),
        event("messageStop", b'{"stopReason":"end_turn"}'),
    ]
    with ByteServer([response(*told)]) as server:
        answer, heard = ask(server.url.removesuffix("/v1"))
    assert (answer.text, heard) == ("🦊", ["\ufffd", "\ufffd"])


@pytest.mark.parametrize(
    ("said", "failure"),
    [
        ("424 from u: the model failed", ModelFailure.OVERLOAD),
        ("400 from u: Your request exceeds the service quota for your account.", ModelFailure.QUOTA),
        ("400 from u: Input is too long for requested model.", ModelFailure.CONTEXT_TOO_LONG),
        ("400 from u: no", ModelFailure.BAD_REQUEST),
    ],
)
def test_errors_by_what_they_mean(said: str, failure: ModelFailure) -> None:
    error = understood(ModelError(ModelFailure.BAD_REQUEST, said))
    assert (error.failure, str(error)) == (failure, said)


SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
OLD = "anthropic.claude-3-5-haiku-20241022-v1:0"


def test_an_answer_in_a_schema_by_way_of_a_tool() -> None:
    request = ModelRequest(prefix=PREFIX, transcript=Transcript([QUESTION]), tool_choice="none", schema=SCHEMA)
    with Endpoint(sequence([calls(call("final_answer", n=42))])) as endpoint:
        answer, heard = ask(endpoint.origin, request, model=OLD)
    assert (answer.text, answer.calls, answer.stop, heard) == ('{"n":42}', (), "stop", ['{"n":42}'])


@pytest.mark.parametrize("reply", [Calls(calls=(Call(name="final_answer", arguments='{"n": 4'),))])
def test_half_an_answer_in_a_schema_is_none(reply: Reply) -> None:
    request = ModelRequest(prefix=PREFIX, transcript=Transcript([QUESTION]), tool_choice="none", schema=SCHEMA)
    with Endpoint(sequence([reply])) as endpoint, pytest.raises(ModelError) as caught:
        ask(endpoint.origin, request, model=OLD)
    assert caught.value.failure is ModelFailure.MALFORMED


def test_calls_that_were_not_asked_for_are_left_out() -> None:
    script: list[Reply] = [calls(call("echo", text="a"), text="Words."), calls(call("echo", text="a"))]
    with Endpoint(sequence(script)) as endpoint:
        answer, _ = ask(endpoint.origin, request_of(free=False))
        assert (answer.text, answer.calls, answer.stop) == ("Words.", (), "stop")
        with pytest.raises(ModelError) as caught:
            ask(endpoint.origin, request_of(free=False))
    assert caught.value.failure is ModelFailure.MALFORMED

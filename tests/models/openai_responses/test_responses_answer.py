"""The responses adapter against a real server that checks every request: what comes, and what becomes of it."""

import json
from itertools import pairwise
from typing import Any

import msgspec
import pytest

from hermes_agent.models.client import ModelAnswer
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
    call,
    calls,
    fail,
    refusal,
    sequence,
    text,
)
from tests.endpoint import Usage as WireUsage
from tests.models.asking import PREFIX, QUESTION, ByteServer
from tests.models.faulty import BOTH, FAILURES, RUNNABLE, SPOILED, TEXTS, spoil
from tests.models.openai_responses.conversing import MODEL, ask, client, converse, settled


def asked(*messages: Any, **fields: Any) -> ModelRequest:
    return ModelRequest(prefix=PREFIX, transcript=Transcript(messages or (QUESTION,)), **fields)


ASKED = asked()


def test_text_is_streamed() -> None:
    long = "The answer is forty-two, as everybody knows since 1979 – ändert nichts 🦊."
    used = WireUsage(prompt_tokens=1000, completion_tokens=2, cached_tokens=896)
    with Endpoint(sequence([Text(text=long, usage=used)]), key="k") as endpoint:
        answer, heard = ask(endpoint.url, ASKED, key="k")
    assert answer == ModelAnswer(text=long, stop="stop", usage=Usage(input=1000, output=2, cached=896))
    assert "".join(heard) == long
    assert len(heard) > 1


def test_parallel_calls_come_in_their_order() -> None:
    reply = Calls(
        calls=(
            Call(name="echo", arguments={"text": "ä" * 60}, id="call_a"),
            Call(name="echo", arguments='{"text": "b", "n": 18446744073709551616}', id="call_b"),
            Call(name="list_all", arguments="", id="call_c"),
        ),
        text="Let me look.",
        usage=WireUsage(prompt_tokens=5, completion_tokens=7),
    )
    with Endpoint(sequence([reply])) as endpoint:
        answer, heard = ask(endpoint.url, ASKED)
    assert answer == ModelAnswer(
        text="Let me look.",
        calls=(
            ToolCall(id="call_a", name="echo", arguments={"text": "ä" * 60}),
            ToolCall(id="call_b", name="echo", arguments={"text": "b", "n": 18446744073709551616}),
            ToolCall(id="call_c", name="list_all", arguments={}),
        ),
        stop="tool_calls",
        usage=Usage(input=5, output=7),
    )
    assert "".join(heard) == "Let me look."


THOUGHT: list[Reply] = [
    Calls(calls=(call("echo", text="a"), call("echo", text="b")), text="Wait.", thinking=Thinking(text="first ä")),
    Calls(calls=(call("echo", text="c"),), thinking=Thinking(text="second")),
    Text(text="done", thinking=Thinking(text="last")),
    text("bye"),
]


def test_a_two_turn_tool_conversation_brings_its_reasoning_back() -> None:
    """The endpoint knows its own encryption, and refuses reasoning that it did not write."""
    with Endpoint(sequence(THOUGHT)) as endpoint:
        answers, transcript = converse(client(url=endpoint.url), ["go", "and now?"], effort=Effort.HIGH)
        bodies = [request.body for request in endpoint.requests]
        items = [item["type"] for item in endpoint.requests[-1].json["input"]]
    assert [(answer.text, answer.stop) for answer in answers] == [
        ("Wait.", "tool_calls"),
        ("", "tool_calls"),
        ("done", "stop"),
        ("bye", "stop"),
    ]
    for earlier, later in pairwise(bodies):
        assert later.startswith(settled(earlier) + b",")
    made, output = "function_call", "function_call_output"
    first = ["message", "reasoning", "message", made, made, output, output]
    assert items == [*first, "reasoning", made, output, "reasoning", "message", "message"]
    journaled = msgspec.json.decode(
        msgspec.json.encode(list(transcript)), type=list[AssistantMessage | UserMessage | CallFinished]
    )
    again = ModelRequest(prefix=PREFIX, transcript=Transcript(journaled[:-1]), effort=Effort.HIGH)
    assert client(url=endpoint.url).body(again) == bodies[-1]


def test_reasoning_of_another_model_stays_away() -> None:
    with Endpoint(sequence([*THOUGHT[:3], text("hello")])) as endpoint:
        _, transcript = converse(client(url=endpoint.url), ["go"], effort=Effort.HIGH)
        ask(endpoint.url, asked(*transcript, QUESTION), model="gpt-4.1")
        kinds = {item["type"] for item in endpoint.requests[-1].json["input"]}
    assert kinds == {"message", "function_call", "function_call_output"}


def test_reasoning_without_what_followed_it_is_left_out() -> None:
    """At the last step the harness takes no calls, so an answer may end behind its reasoning."""
    with Endpoint(sequence([THOUGHT[1], text("hello")])) as endpoint:
        answer, _ = ask(endpoint.url, ASKED)
        assert answer.replay
        ask(endpoint.url, asked(QUESTION, AssistantMessage(text="", replay=answer.replay), QUESTION))
        assert [item["type"] for item in endpoint.requests[-1].json["input"]] == ["message", "message"]


def test_a_conversation_taken_over_in_the_middle_of_a_tool_call() -> None:
    transcript = Transcript(
        (
            QUESTION,
            AssistantMessage(text="", calls=(ToolCall(id="toolu.1", name="echo", arguments={"text": "a"}),)),
            CallFinished(call_id="toolu.1", tool="echo", status=CallStatus.OK, text="a"),
        )
    )
    with Endpoint(sequence([calls(call("echo", text="b"), thinking="hm"), text("a, b")])) as endpoint:
        answers, _ = converse(client(url=endpoint.url), ["go on"], effort=Effort.LOW, transcript=transcript)
    assert [answer.text for answer in answers] == ["", "a, b"]


@pytest.mark.parametrize("finish", ["stop", "length", "content_filter"])
def test_stop_reasons_have_one_name(finish: str) -> None:
    with Endpoint(sequence([Text(text="as far as it", finish=finish)])) as endpoint:
        answer, _ = ask(endpoint.url, ASKED)
    assert (answer.text, answer.stop) == ("as far as it", finish)


@pytest.mark.parametrize("arguments", ["", '{"text": "whole"}', '{"text": "ha'])
@pytest.mark.parametrize(("finish", "reason"), [("length", "max_output_tokens"), ("content_filter", "content_filter")])
def test_calls_of_an_answer_that_was_cut_off_are_never_run(finish: str, reason: str, arguments: str) -> None:
    reply = Calls(calls=(Call(name="echo", arguments=arguments, id="x"),), finish=finish)
    with Endpoint(sequence([reply])) as endpoint:
        answer, _ = ask(endpoint.url, ASKED)
    assert answer.calls == (ToolCall(id="x", name="echo", problem=f"the answer was cut off ({reason})"),)


@pytest.mark.parametrize(
    ("reply", "failure", "said"),
    [
        (refusal("I will not."), ModelFailure.REFUSED, "the model refused: I will not."),
        (Text(text="", finish="content_filter"), ModelFailure.REFUSED, "the answer was empty (content_filter)"),
        (Text(text="", finish="length"), ModelFailure.MALFORMED, "the answer was empty (max_output_tokens)"),
        (Text(text=""), ModelFailure.MALFORMED, "the answer was empty (completed)"),
    ],
)
def test_an_empty_answer_is_none(reply: Text, failure: ModelFailure, said: str) -> None:
    heard: list[str] = []
    with Endpoint(sequence([reply])) as endpoint, pytest.raises(ModelError) as caught:
        _, heard = ask(endpoint.url, ASKED)
    assert (caught.value.failure, str(caught.value), heard) == (failure, said, [])


def test_a_refusal_behind_words_is_an_answer() -> None:
    with Endpoint(sequence([Text(text="Well. ", refusal="No.")])) as endpoint:
        answer, heard = ask(endpoint.url, ASKED)
    assert (answer.text, answer.stop, "".join(heard)) == ("Well. No.", "refused", "Well. No.")


@pytest.mark.parametrize("fault", FAILURES)
def test_faults(fault: Fault) -> None:
    with Endpoint(sequence([spoil(fault)])) as endpoint, pytest.raises(ModelError) as caught:
        ask(endpoint.url, ASKED)
    assert caught.value.failure is FAILURES[fault]


@pytest.mark.parametrize("fault", TEXTS)
def test_odd_texts(fault: Fault) -> None:
    with Endpoint(sequence([spoil(fault)])) as endpoint:
        assert ask(endpoint.url, ASKED)[0].text == TEXTS[fault]


@pytest.mark.parametrize("fault", SPOILED)
def test_spoiled_calls(fault: Fault) -> None:
    with Endpoint(sequence([spoil(fault)])) as endpoint:
        answer, _ = ask(endpoint.url, ASKED)
    (made,) = answer.calls
    assert bool(made.problem) == (SPOILED[fault] == "bad_arguments")


@pytest.mark.parametrize("fault", RUNNABLE)
def test_whole_calls_however_they_come(fault: Fault) -> None:
    with Endpoint(sequence([spoil(fault)])) as endpoint:
        answer, _ = ask(endpoint.url, ASKED)
    assert [made.arguments for made in answer.calls] == [{"text": said} for said in BOTH]
    if fault is Fault.MISSING_IDS:
        assert [made.id for made in answer.calls] == ["call_0", "call_1"]


@pytest.mark.parametrize(
    ("kind", "failure"),
    [
        ("", ModelFailure.OVERLOAD),
        ("rate_limit_exceeded", ModelFailure.RATE_LIMIT),
        ("insufficient_quota", ModelFailure.QUOTA),
        ("context_length_exceeded", ModelFailure.CONTEXT_TOO_LONG),
        ("invalid_prompt", ModelFailure.BAD_REQUEST),
        ("image_too_large", ModelFailure.BAD_REQUEST),
        ("bio_policy", ModelFailure.REFUSED),
        ("server_is_overloaded", ModelFailure.OVERLOAD),
    ],
)
def test_an_error_in_the_stream_means_what_its_code_says(kind: str, failure: ModelFailure) -> None:
    reply = Fail(fault=Fault.ERROR_IN_STREAM, kind=kind)
    with Endpoint(sequence([reply])) as endpoint, pytest.raises(ModelError) as caught:
        ask(endpoint.url, ASKED)
    said = "the endpoint reported: The server had an error while answering."
    assert (caught.value.failure, str(caught.value)) == (failure, said)


def test_a_wrong_key_is_said() -> None:
    with Endpoint(sequence([]), key="right") as endpoint, pytest.raises(ModelError) as caught:
        ask(endpoint.url, ASKED, key="wrong")
    said = f"401 from {endpoint.url}/responses: Incorrect API key provided. (check OPENAI_API_KEY)"
    assert (caught.value.failure, caught.value.explain()) == (ModelFailure.AUTH, said)


def test_the_wait_an_endpoint_asks_for_is_passed_on() -> None:
    with Endpoint(sequence([fail(Fault.RATE_LIMIT, retry_after=7)])) as endpoint, pytest.raises(ModelError) as caught:
        ask(endpoint.url, ASKED)
    assert caught.value.retry_after == 7


def streamed(*events: dict[str, Any], done: bool = False) -> bytes:
    lines = [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events]
    body = "".join([*lines, "data: [DONE]\n\n" if done else ""]).encode()
    head = f"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


def done(index: int, item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "response.output_item.done", "output_index": index, "item": item}


def words(said: str, **fields: Any) -> dict[str, Any]:
    return {"type": "message", "content": [{"type": "output_text", "text": said}], **fields}


COMPLETED = {"type": "response.completed", "response": {"output": []}}


def test_order_and_phases_come_back() -> None:
    reasoning = {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "x"}
    events = [
        done(0, reasoning),
        done(1, words("one ", phase="commentary")),
        done(3, {"type": "function_call", "call_id": "c", "name": "echo", "arguments": "{}"}),
        done(2, {"type": "reasoning", "id": "lost"}),
        done(4, words("two", phase="final_answer")),
        done(5, {"type": "new_kind"}),
        {"type": "response.new_event", "delta": {"deep": 1}},
        COMPLETED,
    ]
    with ByteServer([streamed(*events)]) as server:
        answer, heard = ask(server.url, ASKED)
        said = AssistantMessage(text=answer.text, calls=answer.calls, replay=answer.replay)
        made = json.loads(client(url=server.url).body(asked(QUESTION, said)))
    assert (answer.text, heard) == ("one two", ["one two"])
    assert made["input"][1:-1] == [
        reasoning,
        {"type": "message", "role": "assistant", "content": "one ", "phase": "commentary"},
        {"type": "function_call", "call_id": "c", "name": "echo", "arguments": "{}"},
        {"type": "message", "role": "assistant", "content": "two", "phase": "final_answer"},
    ]


def test_items_only_at_the_end() -> None:
    completed = {"type": "response.completed", "response": {"output": [words("all at once")]}}
    with ByteServer([streamed(completed)]) as server:
        assert ask(server.url, ASKED) == (ModelAnswer(text="all at once", stop="stop"), ["all at once"])


@pytest.mark.parametrize("mark", [True, False])
def test_an_answer_that_is_never_completed_is_none(mark: bool) -> None:
    with ByteServer([streamed(done(0, words("half")), done=mark)]) as server, pytest.raises(ModelError) as caught:
        ask(server.url, ASKED)
    assert caught.value.failure is ModelFailure.MALFORMED


def test_an_error_in_another_shape() -> None:
    failed = {"type": "error", "error": {"type": "tokens", "code": "rate_limit_exceeded", "message": "slow down"}}
    with ByteServer([streamed(failed)]) as server, pytest.raises(ModelError) as caught:
        ask(server.url, ASKED, model=MODEL)
    assert (caught.value.failure, str(caught.value)) == (ModelFailure.RATE_LIMIT, "the endpoint reported: slow down")

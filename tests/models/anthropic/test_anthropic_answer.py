"""The Anthropic adapter against a real server that checks every request: what comes, and what becomes of it."""

import json
import os
import subprocess
import sys
from itertools import pairwise
from typing import Any

import msgspec
import pytest

from hermes_agent.models.client import ModelAnswer
from hermes_agent.models.request import ModelRequest, Prefix, Transcript
from hermes_agent.types.effort import Effort
from hermes_agent.types.errors import ModelError, ModelFailure
from hermes_agent.types.events import AssistantMessage, CallFinished, Image, Usage, UserMessage
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
from tests.models.anthropic.conversing import MARK, NEWEST, OLDER, ask, client, converse, kept, settled
from tests.models.asking import PREFIX, QUESTION, ByteServer
from tests.models.faulty import BOTH, FAILURES, RUNNABLE, SPOILED, TEXTS, spoil

ASKED = ModelRequest(prefix=PREFIX, transcript=Transcript((QUESTION,)))


def asked(*messages: Any, **fields: Any) -> ModelRequest:
    return ModelRequest(prefix=PREFIX, transcript=Transcript(messages or (QUESTION,)), **fields)


def test_text_is_streamed_and_all_input_is_counted() -> None:
    long = "The answer is forty-two, as everybody knows since 1979 – ändert nichts 🦊."
    used = WireUsage(prompt_tokens=1000, completion_tokens=2, cached_tokens=896, cache_write_tokens=50)
    with Endpoint(sequence([Text(text=long, usage=used)]), key="k") as endpoint:
        answer, heard = ask(endpoint.origin, ASKED, key="k")
        request = endpoint.requests[0]
    assert answer == ModelAnswer(text=long, stop="stop", usage=Usage(input=1000, output=2, cached=896))
    assert "".join(heard) == long
    assert len(heard) > 1
    assert (request.path, request.headers["anthropic-version"]) == ("/v1/messages", "2023-06-01")


def test_a_base_url_may_end_in_its_version() -> None:
    with Endpoint(sequence([text("ok")])) as endpoint:
        assert ask(endpoint.url + "/", ASKED)[0].text == "ok"


def test_parallel_calls_come_in_their_order() -> None:
    reply = Calls(
        calls=(
            Call(name="echo", arguments={"text": "ä" * 60}, id="toolu_a"),
            Call(name="echo", arguments='{"text": "b", "n": 18446744073709551616}', id="toolu_b"),
            Call(name="list_all", arguments="", id="toolu_c"),
        ),
        text="Let me look.",
        usage=WireUsage(prompt_tokens=5, completion_tokens=7),
    )
    with Endpoint(sequence([reply])) as endpoint:
        answer, heard = ask(endpoint.origin, ASKED)
    assert answer == ModelAnswer(
        text="Let me look.",
        calls=(
            ToolCall(id="toolu_a", name="echo", arguments={"text": "ä" * 60}),
            ToolCall(id="toolu_b", name="echo", arguments={"text": "b", "n": 18446744073709551616}),
            ToolCall(id="toolu_c", name="list_all", arguments={}),
        ),
        stop="tool_calls",
        usage=Usage(input=5, output=7),
    )
    assert "".join(heard) == "Let me look."


def test_a_two_turn_tool_conversation_extends_itself() -> None:
    script: list[Reply] = [
        calls(call("echo", text="a"), call("echo", text="b"), text="Both."),
        text("a and b"),
        calls(call("echo", text="c")),
        text("c"),
    ]
    with Endpoint(sequence(script)) as endpoint:
        answers, _ = converse(endpoint.origin, ["say a and b", "and c"])
        bodies = [request.body for request in endpoint.requests]
    assert [(answer.text, answer.stop) for answer in answers] == [
        ("Both.", "tool_calls"),
        ("a and b", "stop"),
        ("", "tool_calls"),
        ("c", "stop"),
    ]
    assert len(bodies) == 4
    for earlier, later in pairwise(bodies):
        assert later.replace(MARK, b"").startswith(settled(earlier))


THOUGHT: list[Reply] = [
    Calls(calls=(call("echo", text="a"),), text="Wait.", thinking=Thinking(text="first, \n ä thought")),
    Calls(calls=(call("echo", text="b"),), thinking=Thinking(text="hidden", redacted=True)),
    Text(text="done", thinking=Thinking(text="last")),
    text("bye"),
]


@pytest.mark.parametrize("model", [NEWEST, OLDER, "claude-opus-5-5", "claude-opus-4-5"])
def test_thinking_comes_back_as_it_was(model: str) -> None:
    """The endpoint knows its own signatures, and refuses thinking that is missing or was changed."""
    with Endpoint(sequence(THOUGHT)) as endpoint:
        answers, transcript = converse(endpoint.origin, ["go", "and now?"], model=model, effort=Effort.HIGH)
        last = endpoint.requests[-1].json["messages"]
    assert answers[-1].text == "bye"
    kinds = [[block["type"] for block in message["content"]] for message in last if message["role"] == "assistant"]
    assert kinds == [["thinking", "text", "tool_use"], ["redacted_thinking", "tool_use"], ["thinking", "text"]]
    shown = last[1]["content"][0]["thinking"]
    assert shown == ("first, \n ä thought" if model in (OLDER, "claude-opus-4-5") else "")
    journaled = msgspec.json.decode(
        msgspec.json.encode(list(transcript)), type=list[AssistantMessage | UserMessage | CallFinished]
    )
    again = client(model, endpoint.origin).body(
        ModelRequest(prefix=PREFIX, transcript=Transcript(journaled[:-1]), effort=Effort.HIGH)
    )
    assert again == endpoint.requests[-1].body


def thought_about(model: str, url: str) -> list[Any]:
    _, transcript = converse(url, ["go"], model=model, effort=Effort.HIGH)
    return list(transcript)


def assistant_kinds(endpoint: Endpoint) -> list[list[str]]:
    messages = endpoint.requests[-1].json["messages"]
    return [[block["type"] for block in message["content"]] for message in messages if message["role"] == "assistant"]


@pytest.mark.parametrize("model", [OLDER, "claude-haiku-5-5"])
def test_thinking_of_another_model_stays_away(model: str) -> None:
    with Endpoint(sequence([*THOUGHT[:3], text("hello")])) as endpoint:
        messages = thought_about(NEWEST, endpoint.origin)
        answer, _ = ask(endpoint.origin, asked(*messages, QUESTION, effort=Effort.HIGH), model=model)
        assert assistant_kinds(endpoint) == [["text", "tool_use"], ["tool_use"], ["text"]]
    assert answer.text == "hello"


def test_thinking_stays_away_when_what_was_before_it_has_changed() -> None:
    """Newer models refuse thinking behind another prefix: after a compaction, or with other tools."""
    with Endpoint(sequence([*THOUGHT[:3], *[text("hello")] * 2])) as endpoint:
        messages = thought_about(NEWEST, endpoint.origin)
        ask(endpoint.origin, asked(UserMessage(text="other"), *messages[1:], QUESTION))
        assert assistant_kinds(endpoint) == [["text", "tool_use"], ["tool_use"], ["text"]]
        other = Prefix(system="Another system prompt.", tools=PREFIX.tools)
        ask(endpoint.origin, ModelRequest(prefix=other, transcript=Transcript((*messages, QUESTION))))
        assert assistant_kinds(endpoint) == [["text", "tool_use"], ["tool_use"], ["text"]]


def test_a_secret_taken_out_of_an_answer_leaves_the_thinking_before_it() -> None:
    with Endpoint(sequence([*THOUGHT[:3], text("hello")])) as endpoint:
        messages = thought_about(NEWEST, endpoint.origin)
        messages[1] = msgspec.structs.replace(messages[1], text="W***.")
        ask(endpoint.origin, asked(*messages, QUESTION))
        sent = endpoint.requests[-1].json["messages"]
    assert [block["type"] for block in sent[1]["content"]] == ["thinking", "text", "tool_use"]
    assert [block["type"] for block in sent[3]["content"]] == ["tool_use"], "it was thought about other words"


def test_thinking_without_what_followed_it_is_left_out() -> None:
    """At the last step the harness takes no calls, so an answer may end behind its thinking."""
    with Endpoint(sequence([THOUGHT[1], text("hello")])) as endpoint:
        answer, _ = ask(endpoint.origin, asked(effort=Effort.LOW))
        cut = AssistantMessage(text="", replay=answer.replay)
        ask(endpoint.origin, asked(QUESTION, cut, UserMessage(text="well?")))
        assert assistant_kinds(endpoint) == []


FOREIGN = (
    QUESTION,
    AssistantMessage(text="", calls=(ToolCall(id="call.1", name="echo", arguments={"text": "a"}),)),
    CallFinished(call_id="call.1", tool="echo", status=CallStatus.OK, text="a"),
)


@pytest.mark.parametrize("model", [NEWEST, OLDER])
def test_a_conversation_taken_over_in_the_middle_of_a_tool_call(model: str) -> None:
    """A model with a budget may not think before the calls of another model are answered; afterwards it may."""
    script: list[Reply] = [
        calls(call("echo", text="b")),
        text("a, b"),
        calls(call("echo", text="c"), thinking="hm"),
        text("c"),
    ]
    with Endpoint(sequence(script)) as endpoint:
        transcript = Transcript(FOREIGN)
        answers, _ = converse(
            endpoint.origin, ["go on", "and c"], model=model, effort=Effort.HIGH, transcript=transcript
        )
        thinking = ["thinking" in request.json for request in endpoint.requests]
    assert [answer.text for answer in answers] == ["", "a, b", "", "c"]
    assert thinking == ([True] * 4 if model == NEWEST else [False, False, True, True])


@pytest.mark.parametrize(
    ("finish", "stop"),
    [
        ("stop", "stop"),
        ("length", "length"),
        ("model_context_window_exceeded", "length"),
        ("content_filter", "refused"),
    ],
)
def test_stop_reasons_have_one_name(finish: str, stop: str) -> None:
    with Endpoint(sequence([Text(text="as far as it", finish=finish)])) as endpoint:
        answer, _ = ask(endpoint.origin, ASKED)
    assert (answer.text, answer.stop) == ("as far as it", stop)


@pytest.mark.parametrize("arguments", ["", '{"text": "whole"}', '{"text": "ha'])
@pytest.mark.parametrize(("finish", "reason"), [("length", "max_tokens"), ("content_filter", "refusal")])
def test_calls_of_an_answer_that_was_cut_off_are_never_run(finish: str, reason: str, arguments: str) -> None:
    reply = Calls(calls=(Call(name="echo", arguments=arguments, id="x"),), finish=finish)
    with Endpoint(sequence([reply])) as endpoint:
        answer, _ = ask(endpoint.origin, ASKED)
    problem = f"the answer was cut off (stop reason '{reason}')"
    assert answer.calls == (ToolCall(id="x", name="echo", problem=problem),)


@pytest.mark.parametrize(
    ("finish", "failure"), [("content_filter", ModelFailure.REFUSED), ("stop", ModelFailure.MALFORMED)]
)
def test_an_empty_answer_is_none(finish: str, failure: ModelFailure) -> None:
    with Endpoint(sequence([Text(text="", finish=finish)])) as endpoint, pytest.raises(ModelError) as caught:
        ask(endpoint.origin, ASKED)
    assert caught.value.failure is failure


def test_a_refusal_in_words_is_an_answer() -> None:
    with Endpoint(sequence([refusal("I will not.")])) as endpoint:
        answer, _ = ask(endpoint.origin, ASKED)
    assert (answer.text, answer.stop) == ("I will not.", "refused")


@pytest.mark.parametrize("fault", FAILURES)
def test_faults(fault: Fault) -> None:
    with Endpoint(sequence([spoil(fault)])) as endpoint, pytest.raises(ModelError) as caught:
        ask(endpoint.origin, ASKED)
    assert caught.value.failure is FAILURES[fault]


@pytest.mark.parametrize("fault", TEXTS)
def test_odd_texts(fault: Fault) -> None:
    with Endpoint(sequence([spoil(fault)])) as endpoint:
        assert ask(endpoint.origin, ASKED)[0].text == TEXTS[fault]


@pytest.mark.parametrize("fault", SPOILED)
def test_spoiled_calls(fault: Fault) -> None:
    with Endpoint(sequence([spoil(fault)])) as endpoint:
        answer, _ = ask(endpoint.origin, ASKED)
    (made,) = answer.calls
    assert bool(made.problem) == (SPOILED[fault] == "bad_arguments")


@pytest.mark.parametrize("fault", RUNNABLE)
def test_whole_calls_however_they_come(fault: Fault) -> None:
    with Endpoint(sequence([spoil(fault)])) as endpoint:
        answer, _ = ask(endpoint.origin, ASKED)
    assert [made.arguments for made in answer.calls] == [{"text": said} for said in BOTH]
    if fault is Fault.MISSING_IDS:
        assert [made.id for made in answer.calls] == ["call_0", "call_1"]


@pytest.mark.parametrize(
    ("kind", "failure"),
    [
        ("overloaded_error", ModelFailure.OVERLOAD),
        ("api_error", ModelFailure.OVERLOAD),
        ("rate_limit_error", ModelFailure.RATE_LIMIT),
        ("authentication_error", ModelFailure.AUTH),
        ("billing_error", ModelFailure.QUOTA),
        ("request_too_large", ModelFailure.CONTEXT_TOO_LONG),
        ("invalid_request_error", ModelFailure.BAD_REQUEST),
        ("something_new", ModelFailure.OVERLOAD),
    ],
)
def test_an_error_in_the_stream_means_what_its_type_says(kind: str, failure: ModelFailure) -> None:
    reply = Fail(fault=Fault.ERROR_IN_STREAM, kind=kind)
    with Endpoint(sequence([reply])) as endpoint, pytest.raises(ModelError) as caught:
        ask(endpoint.origin, ASKED)
    assert (caught.value.failure, str(caught.value)) == (failure, "the endpoint reported: Overloaded")


def test_a_wrong_key_is_said() -> None:
    with Endpoint(sequence([]), key="right") as endpoint, pytest.raises(ModelError) as caught:
        ask(endpoint.origin, ASKED, key="wrong")
    said = f"401 from {endpoint.origin}/v1/messages: invalid x-api-key (check ANTHROPIC_API_KEY)"
    assert (caught.value.failure, caught.value.explain()) == (ModelFailure.AUTH, said)


def test_the_wait_an_endpoint_asks_for_is_passed_on() -> None:
    with Endpoint(sequence([fail(Fault.RATE_LIMIT, retry_after=7)])) as endpoint, pytest.raises(ModelError) as caught:
        ask(endpoint.origin, ASKED)
    assert caught.value.retry_after == 7


def test_images_structured_answers_and_forced_tools_are_taken() -> None:
    transcript = Transcript(
        (UserMessage(text="what?", images=(Image(media_type="image/png", blob="b"),)),), lambda digest: b"\x89PNG"
    )
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    with Endpoint(sequence([text('{"n": 1}'), calls(call("echo", text="x"))])) as endpoint:
        assert ask(endpoint.origin, ModelRequest(prefix=PREFIX, transcript=transcript, schema=schema))[0].text
        answer, _ = ask(endpoint.origin, asked(tool_choice="echo", effort=Effort.MAX))
    assert answer.calls[0].name == "echo"


def streamed(*events: dict[str, Any]) -> bytes:
    body = "".join([f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events]).encode()
    head = f"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


def block(index: int, begun: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"type": "content_block_start", "index": index, "content_block": begun},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


END: tuple[dict[str, Any], ...] = (
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 3}},
)


def test_interleaved_thinking_unknown_blocks_and_arguments_at_once() -> None:
    """An answer keeps its order: thinking, text, thinking, text, call. What is not known does no harm."""
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {"usage": {"input_tokens": 4}}, "mood": "fine"},
        *block(0, {"type": "thinking", "thinking": "a"}, {"type": "signature_delta", "signature": "s1"}),
        *block(1, {"type": "text", "text": "one "}),
        *block(2, {"type": "new_kind", "text": None}, {"type": "new_delta"}),
        *block(3, {"type": "thinking"}, {"thinking": "b"}, {"signature": "s2"}),
        *block(4, {"type": "text", "text": ""}, {"text": "two"}),
        *block(5, {"type": "tool_use", "id": "t", "name": "echo", "input": {"text": "x"}}),
        *END,
        {"type": "message_stop"},
    ]
    with ByteServer([streamed(*events)]) as server:
        answer, heard = ask(server.url, ASKED)
        body = client(NEWEST, server.url).body(asked(QUESTION, kept(answer)))
    assert heard == ["one ", "two"]
    assert (answer.text, answer.usage) == ("one two", Usage(input=4, output=3))
    assert json.loads(body)["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "a", "signature": "s1"},
        {"type": "text", "text": "one "},
        {"type": "thinking", "thinking": "b", "signature": "s2"},
        {"type": "text", "text": "two"},
        {"type": "tool_use", "id": "t", "name": "echo", "input": {"text": "x"}},
    ]


def test_an_answer_whose_stop_reason_came_is_whole() -> None:
    events = [*block(0, {"type": "tool_use", "id": "t", "name": "echo"}, {"partial_json": "{}"}), *END]
    with ByteServer([streamed(*events)]) as server:
        assert ask(server.url, ASKED)[0].calls == (ToolCall(id="t", name="echo"),)


def test_a_delta_without_a_beginning_is_no_answer() -> None:
    events: list[dict[str, Any]] = [{"type": "content_block_delta", "index": 3, "delta": {"text": "x"}}, *END]
    with ByteServer([streamed(*events)]) as server, pytest.raises(ModelError) as caught:
        ask(server.url, ASKED)
    assert caught.value.failure is ModelFailure.MALFORMED


@pytest.mark.parametrize("name", ["anthropic", "openai_responses", "codex"])
def test_no_sdk_is_imported(name: str) -> None:
    loaded = "[name for name in sys.modules if name in ('anthropic', 'openai', 'pydantic', 'filelock')]"
    code = f"import sys, hermes_agent.models.providers.{name}; print({loaded})"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ, check=True)
    assert found.stdout == "[]\n"

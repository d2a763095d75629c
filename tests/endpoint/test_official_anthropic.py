"""Proves the messages format of the endpoint with the official client."""

from __future__ import annotations

import base64
from typing import Any

import anthropic
import httpx
import pytest
from anthropic import Anthropic
from anthropic.types import Message
from pydantic import BaseModel

from tests.endpoint import (
    Endpoint,
    Fail,
    Fault,
    Reply,
    Text,
    Thinking,
    Usage,
    by_results,
    call,
    calls,
    fail,
    refusal,
    sequence,
    text,
)

MODEL = "scripted"
CITIES = ("Zürich", "Llanfairpwllgwyngyllgogerychwyrndrobwll")
WEATHER: Any = {
    "name": "weather",
    "description": "The weather of a city.",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
THINKING: Any = {"type": "enabled", "budget_tokens": 1024}
SCRIPT: list[Reply] = [
    calls(*(call("weather", city=city) for city in CITIES), text="Let me look.", thinking="Two cities, two calls."),
    text("Sun everywhere.", thinking="Both are sunny, that is easy to say."),
]
USER = {"role": "user", "content": "go"}


class Verdict(BaseModel):
    city: str
    sunny: bool


def client_of(endpoint: Endpoint, key: str = "test-key") -> Anthropic:
    return Anthropic(base_url=endpoint.origin, api_key=key, max_retries=0, timeout=20)


def ask(client: Anthropic, *, stream: bool = False, **arguments: Any) -> Message:
    given = {"model": MODEL, "max_tokens": 4096, **arguments}
    if not stream:
        message: Message = client.messages.create(**given)
        return message
    with client.messages.stream(**given) as events:
        return events.get_final_message()


def converse(client: Anthropic, *, stream: bool, **arguments: Any) -> tuple[list[Any], list[str]]:
    """Two questions, each answered after two parallel calls; gives all messages and the answers."""
    messages: list[Any] = []
    answers: list[str] = []
    for question in ("What is the weather?", "And tomorrow?"):
        messages.append({"role": "user", "content": question})
        for _ in range(2):
            message = ask(client, stream=stream, messages=messages, tools=[WEATHER], **arguments)
            messages.append({"role": "assistant", "content": [block.to_dict() for block in message.content]})
            results = [
                {"type": "tool_result", "tool_use_id": block.id, "content": "sun"}
                for block in message.content
                if block.type == "tool_use"
            ]
            if results:
                messages.append({"role": "user", "content": [*results, {"type": "text", "text": "Go on."}]})
            else:
                answers += [block.text for block in message.content if block.type == "text"]
    return messages, answers


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("thinking", ["enabled", "adaptive", "disabled"])
def test_conversation_with_two_parallel_calls_and_thinking(stream: bool, thinking: str) -> None:
    asked = THINKING if thinking == "enabled" else {"type": thinking}
    with Endpoint(by_results(SCRIPT)) as endpoint, client_of(endpoint) as client:
        messages, answers = converse(client, stream=stream, thinking=asked)
        requests = endpoint.requests
    assert answers == ["Sun everywhere.", "Sun everywhere."]
    thoughts = [] if thinking == "disabled" else ["thinking"]
    content = messages[1]["content"]
    assert [block["type"] for block in content] == [*thoughts, "text", "tool_use", "tool_use"]
    assert [block["input"] for block in content if block["type"] == "tool_use"] == [{"city": city} for city in CITIES]
    assert [block["thinking"] for block in content if block["type"] == "thinking"] == [
        "Two cities, two calls." for _ in thoughts
    ]
    assert [len(request.json["messages"]) for request in requests] == [1, 3, 5, 7]


@pytest.mark.parametrize("stream", [True, False])
def test_usage_and_the_ways_to_stop(stream: bool) -> None:
    used = Usage(prompt_tokens=1000, completion_tokens=20, cached_tokens=800, cache_write_tokens=150)
    script = [Text(text="forty-t", finish="length", usage=used), refusal("I cannot help with that."), text("42")]
    with Endpoint(sequence(script)) as endpoint, client_of(endpoint) as client:
        cut, refused, done = (ask(client, stream=stream, messages=[USER]) for _ in script)
    assert [cut.stop_reason, refused.stop_reason, done.stop_reason] == ["max_tokens", "refusal", "end_turn"]
    assert (
        cut.usage.input_tokens,
        cut.usage.cache_read_input_tokens,
        cut.usage.cache_creation_input_tokens,
        cut.usage.output_tokens,
    ) == (50, 800, 150, 20)


def test_events_come_in_the_order_of_the_real_service() -> None:
    reply = calls(call("weather", city="Bern"), text="Hm.", thinking="Short.")
    with Endpoint(sequence([reply])) as endpoint, client_of(endpoint) as client:
        told = client.messages.create(
            model=MODEL, max_tokens=4096, messages=[{"role": "user", "content": "go"}], thinking=THINKING, stream=True
        )
        kinds = [event.delta.type if event.type == "content_block_delta" else event.type for event in told]
    start, stop = "content_block_start", "content_block_stop"
    assert kinds == [
        "message_start",
        *(start, "thinking_delta", "signature_delta", stop),
        *(start, "text_delta", stop),
        *(start, "input_json_delta", "input_json_delta", stop),
        "message_delta",
        "message_stop",
    ]


@pytest.mark.parametrize("stream", [True, False])
def test_hidden_thinking_comes_back_too(stream: bool) -> None:
    script: list[Reply] = [
        Text(text="a", thinking=Thinking(text="secret", redacted=True)),
        Text(text="b", thinking=Thinking(text="not shown")),
        text("end"),
    ]
    with Endpoint(sequence(script)) as endpoint, client_of(endpoint) as client:
        messages: list[Any] = []
        asked: Any = {"type": "adaptive", "display": "omitted"}
        kinds = []
        for _ in range(2):
            messages.append(USER)
            message = ask(client, stream=stream, messages=messages, thinking=asked)
            messages.append({"role": "assistant", "content": [block.to_dict() for block in message.content]})
            kinds.append([block.type for block in message.content])
        assert messages[3]["content"][0]["thinking"] == ""
        assert ask(client, messages=[*messages, USER]).stop_reason == "end_turn"
    assert kinds == [["redacted_thinking", "text"], ["thinking", "text"]]


def test_image_in_and_structured_output() -> None:
    data = base64.b64encode(b"\x89PNG").decode()
    image: Any = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
    content: Any = [image, {"type": "text", "text": "Sunny?"}]
    with Endpoint(sequence([text('{"city":"Bern","sunny":true}')])) as endpoint, client_of(endpoint) as client:
        answer = client.messages.parse(
            model=MODEL, max_tokens=100, messages=[{"role": "user", "content": content}], output_format=Verdict
        )
        (request,) = endpoint.requests
    assert answer.parsed_output == Verdict(city="Bern", sunny=True)
    assert request.json["output_config"]["format"]["type"] == "json_schema"


def test_interleaved_calls_are_put_together() -> None:
    with Endpoint(sequence([fail(Fault.OUT_OF_ORDER)])) as endpoint, client_of(endpoint) as client:
        message = ask(client, stream=True, messages=[USER])
    assert [block.input for block in message.content if block.type == "tool_use"] == [
        {"text": "first half, second half"},
        {"text": "another call"},
    ]


@pytest.mark.parametrize(
    ("fault", "error", "kind"),
    [
        (Fault.RATE_LIMIT, anthropic.RateLimitError, "rate_limit_error"),
        (Fault.UNAUTHORIZED, anthropic.AuthenticationError, "authentication_error"),
        (Fault.CONTEXT_LENGTH, anthropic.BadRequestError, "invalid_request_error"),
        (Fault.UNAVAILABLE, anthropic.OverloadedError, "overloaded_error"),
    ],
)
def test_errors_are_those_of_the_client(fault: Fault, error: type[anthropic.APIStatusError], kind: str) -> None:
    with (
        Endpoint(sequence([fail(fault, retry_after=3)])) as endpoint,
        client_of(endpoint) as client,
        pytest.raises(error) as caught,
    ):
        ask(client, messages=[USER])
    assert caught.value.response.headers["retry-after"] == "3"
    assert isinstance(caught.value.body, dict)
    assert caught.value.body["error"]["type"] == kind


def test_error_inside_the_stream() -> None:
    script = [Fail(fault=Fault.ERROR_IN_STREAM), Fail(fault=Fault.ERROR_IN_STREAM, kind="api_error")]
    with Endpoint(sequence(script)) as endpoint, client_of(endpoint) as client:
        for kind in ("overloaded_error", "api_error"):
            with pytest.raises(anthropic.APIStatusError, match=kind):
                ask(client, stream=True, messages=[USER])


def test_key_is_checked_when_there_is_one() -> None:
    with Endpoint(sequence([text("hello")]), key="right", models=("one", "two")) as endpoint:
        with client_of(endpoint, "wrong") as client, pytest.raises(anthropic.AuthenticationError):
            ask(client, messages=[USER])
        with client_of(endpoint, "right") as client:
            assert ask(client, messages=[USER]).stop_reason == "end_turn"
            assert [model.id for model in client.models.list()] == ["one", "two"]
            with pytest.raises(anthropic.NotFoundError):
                client.models.retrieve("three")


def used(identity: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": identity, "name": "weather", "input": {}}


def result(identity: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": identity, "content": "sun"}


def said(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def told(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def marked(words: str, life: str = "5m") -> dict[str, Any]:
    return {"type": "text", "text": words, "cache_control": {"type": "ephemeral", "ttl": life}}


TEXT = {"type": "text", "text": "hello"}
FORGED = {"type": "thinking", "thinking": "I never thought so.", "signature": "abcd"}


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ({"messages": []}, "at least one"),
        ({"messages": [USER, USER]}, "alternate"),
        ({"messages": [said(TEXT)]}, "first message"),
        ({"messages": [{"role": "system", "content": "x"}]}, "role"),
        ({"messages": [USER, said(used("a")), USER]}, "without `tool_result`"),
        ({"messages": [USER, said(used("a"), used("b")), told(result("a"))]}, "immediately after: b"),
        ({"messages": [USER, said(used("a")), told(TEXT, result("a"))]}, "without `tool_result`"),
        ({"messages": [USER, said(used("a")), told(result("b"))]}, "unexpected `tool_use_id`"),
        ({"messages": [USER, said(used("a"), used("a")), told(result("a"))]}, "unique"),
        ({"messages": [USER, said(used("a.b")), told(result("a.b"))]}, "pattern"),
        ({"messages": [USER, said(FORGED, TEXT), USER]}, "Invalid `signature`"),
        ({"messages": [USER, said(used("a")), told(result("a"))], "thinking": THINKING}, "must start with a thinking"),
        ({"messages": [told({"type": "text", "text": " "})]}, "non-whitespace"),
        ({"messages": [USER], "thinking": {"type": "enabled", "budget_tokens": 4096}}, "max_tokens"),
        ({"messages": [USER], "thinking": THINKING, "extra_body": {"temperature": 0}}, "temperature"),
        ({"messages": [told(*(marked(str(n)) for n in range(5)))]}, "maximum of 4"),
        ({"messages": [told(marked("a"), marked("b", "1h"))]}, "must not come after"),
        ({"messages": [USER], "max_tokens": 0}, "max_tokens"),
        ({"messages": [USER], "extra_body": {"top_z": 1}}, "top_z"),
        ({"messages": [USER], "tool_choice": {"type": "any"}}, "providing tools"),
        ({"messages": [USER], "tools": [{"name": "a b", "input_schema": {"type": "object"}}]}, "function name"),
    ],
)
def test_what_the_real_service_refuses_is_refused(body: dict[str, Any], why: str) -> None:
    with (
        Endpoint(sequence([text("never")])) as endpoint,
        client_of(endpoint) as client,
        pytest.raises(anthropic.BadRequestError, match=why),
    ):
        ask(client, **body)


def test_changed_thinking_is_refused() -> None:
    with Endpoint(by_results(SCRIPT)) as endpoint, client_of(endpoint) as client:
        messages, _ = converse(client, stream=False, thinking=THINKING)
        messages[1]["content"][0]["thinking"] = "Something else."
        with pytest.raises(anthropic.BadRequestError, match="Invalid `signature`"):
            ask(client, messages=messages[:3], tools=[WEATHER], thinking=THINKING)


def test_version_and_max_tokens_are_required() -> None:
    body = {"model": MODEL, "messages": [USER]}
    with Endpoint(sequence([text("never")])) as endpoint:
        url = f"{endpoint.url}/messages"
        unversioned = httpx.post(url, json={**body, "max_tokens": 10})
        unlimited = httpx.post(url, json=body, headers={"anthropic-version": "2023-06-01"})
    assert unversioned.json()["error"] == {
        "type": "invalid_request_error",
        "message": "anthropic-version: header is required",
    }
    assert unlimited.json()["error"] == {"type": "invalid_request_error", "message": "max_tokens: field required"}

"""Proves the scripted endpoint with the official client before anything else is tested with it."""

from __future__ import annotations

from typing import Any

import openai
import pytest
from openai import OpenAI
from openai.types.chat import ChatCompletionToolUnionParam

from tests.endpoint import (
    Calls,
    Endpoint,
    Fault,
    Reply,
    Text,
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
QUESTION: Any = [{"role": "user", "content": "What is 6 * 7?"}]
WEATHER: ChatCompletionToolUnionParam = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather of a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


def client_of(endpoint: Endpoint, key: str = "test-key") -> OpenAI:
    return OpenAI(base_url=endpoint.url, api_key=key, max_retries=0, timeout=20)


def test_plain_answer_with_usage() -> None:
    reply = Text(text="42 – ändert nichts 🦊", usage=Usage(prompt_tokens=11, completion_tokens=5, cached_tokens=8))
    with Endpoint(sequence([reply])) as endpoint, client_of(endpoint) as client:
        answer = client.chat.completions.create(model=MODEL, messages=QUESTION)
    assert answer.choices[0].message.content == "42 – ändert nichts 🦊"
    assert answer.choices[0].message.tool_calls is None
    assert answer.choices[0].finish_reason == "stop"
    assert answer.model == MODEL
    assert answer.usage is not None
    assert answer.usage.to_dict() == {
        "prompt_tokens": 11,
        "completion_tokens": 5,
        "total_tokens": 16,
        "prompt_tokens_details": {"cached_tokens": 8},
    }


def test_streamed_answer_comes_in_deltas() -> None:
    long = "The answer is forty-two, as everybody knows since 1979."
    with Endpoint(sequence([text(long)])) as endpoint, client_of(endpoint) as client:
        chunks = list(client.chat.completions.create(model=MODEL, messages=QUESTION, stream=True))
    deltas = [chunk.choices[0].delta for chunk in chunks]
    assert deltas[0].role == "assistant"
    assert "".join(delta.content or "" for delta in deltas) == long
    assert sum(bool(delta.content) for delta in deltas) > 1
    assert [chunk.choices[0].finish_reason for chunk in chunks] == [None] * (len(chunks) - 1) + ["stop"]
    assert [chunk.usage for chunk in chunks] == [None] * len(chunks)


def test_streamed_usage_is_the_last_chunk() -> None:
    reply = Text(text="42", usage=Usage(prompt_tokens=1000, completion_tokens=2, cached_tokens=896))
    with Endpoint(sequence([reply])) as endpoint, client_of(endpoint) as client:
        chunks = list(
            client.chat.completions.create(
                model=MODEL, messages=QUESTION, stream=True, stream_options={"include_usage": True}
            )
        )
    assert [chunk.usage for chunk in chunks[:-1]] == [None] * (len(chunks) - 1)
    assert chunks[-1].choices == []
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.to_dict() == {
        "prompt_tokens": 1000,
        "completion_tokens": 2,
        "total_tokens": 1002,
        "prompt_tokens_details": {"cached_tokens": 896},
    }


def converse(client: OpenAI) -> tuple[list[Any], str | None]:
    """A conversation with tools through the client's own stream helper; gives the messages and the last answer."""
    messages: list[Any] = list(QUESTION)
    for _ in range(4):
        with client.chat.completions.stream(model=MODEL, messages=messages, tools=[WEATHER]) as stream:
            message = stream.get_final_completion().choices[0].message
        if not message.tool_calls:
            return messages, message.content
        messages.append(message.model_dump(include={"role", "content", "tool_calls"}, exclude_none=True))
        for made in message.tool_calls:
            messages.append({"role": "tool", "tool_call_id": made.id, "content": f"sun in {made.function.arguments}"})
    raise AssertionError("no final answer")


def test_conversation_with_two_parallel_calls() -> None:
    script: list[Reply] = [
        calls(call("weather", city="Zürich"), call("weather", city="Llanfairpwllgwyngyllgogerychwyrndrobwll")),
        text("Sun everywhere."),
    ]
    with Endpoint(by_results(script)) as endpoint, client_of(endpoint) as client:
        messages, answer = converse(client)
        first, second = endpoint.requests
    assert answer == "Sun everywhere."
    assert [made["function"] for made in messages[1]["tool_calls"]] == [
        {"name": "weather", "arguments": '{"city":"Zürich"}'},
        {"name": "weather", "arguments": '{"city":"Llanfairpwllgwyngyllgogerychwyrndrobwll"}'},
    ]
    assert len({made["id"] for made in messages[1]["tool_calls"]}) == 2
    assert len(first.json["messages"]) == 1
    assert [message["role"] for message in second.json["messages"]] == ["user", "assistant", "tool", "tool"]


def test_plain_answer_with_calls() -> None:
    reply = Calls(calls=(call("weather", city="Bern"),), text="Let me look.")
    with Endpoint(sequence([reply])) as endpoint, client_of(endpoint) as client:
        answer = client.chat.completions.create(model=MODEL, messages=QUESTION, tools=[WEATHER])
    message = answer.choices[0].message
    assert answer.choices[0].finish_reason == "tool_calls"
    assert message.content == "Let me look."
    assert message.tool_calls is not None
    assert [made.to_dict()["function"] for made in message.tool_calls] == [
        {"name": "weather", "arguments": '{"city":"Bern"}'}
    ]


@pytest.mark.parametrize("stream", [True, False])
def test_refusal_and_reasoning(stream: bool) -> None:
    script: list[Reply] = [refusal("I cannot help with that."), text("42", thinking="Six times seven.")]
    with Endpoint(sequence(script)) as endpoint, client_of(endpoint) as client:
        messages: list[Any] = []
        for _ in script:
            if stream:
                with client.chat.completions.stream(model=MODEL, messages=QUESTION) as events:
                    messages.append(events.get_final_completion().choices[0].message)
            else:
                messages.append(client.chat.completions.create(model=MODEL, messages=QUESTION).choices[0].message)
    refused, thought = messages
    assert (refused.refusal, refused.content or None) == ("I cannot help with that.", None)
    assert (thought.content, thought.reasoning_content) == ("42", "Six times seven.")


def test_rate_limit_carries_retry_after() -> None:
    responder = sequence([fail(Fault.RATE_LIMIT, retry_after=3)])
    with (
        Endpoint(responder) as endpoint,
        client_of(endpoint) as client,
        pytest.raises(openai.RateLimitError) as caught,
    ):
        client.chat.completions.create(model=MODEL, messages=QUESTION)
    assert caught.value.response.headers["retry-after"] == "3"
    assert caught.value.code == "rate_limit_exceeded"
    assert caught.value.body == {
        "message": "Rate limit reached for requests.",
        "type": "requests",
        "param": None,
        "code": "rate_limit_exceeded",
    }


def test_models_are_listed() -> None:
    with Endpoint(sequence([]), models=("one", "two")) as endpoint, client_of(endpoint) as client:
        assert [model.id for model in client.models.list()] == ["one", "two"]
        assert client.models.retrieve("two").id == "two"
        with pytest.raises(openai.NotFoundError):
            client.models.retrieve("three")


def test_key_is_checked_when_there_is_one() -> None:
    with Endpoint(sequence([text("hello")]), key="right") as endpoint:
        with client_of(endpoint, "wrong") as client, pytest.raises(openai.AuthenticationError):
            client.chat.completions.create(model=MODEL, messages=QUESTION)
        with client_of(endpoint, "right") as client:
            answer = client.chat.completions.create(model=MODEL, messages=QUESTION)
    assert answer.choices[0].message.content == "hello"


def test_result_without_its_call_is_rejected() -> None:
    orphan: Any = [*QUESTION, {"role": "tool", "tool_call_id": "call_1", "content": "x"}]
    with (
        Endpoint(sequence([text("hello")])) as endpoint,
        client_of(endpoint) as client,
        pytest.raises(openai.BadRequestError, match=r"messages\[1\]"),
    ):
        client.chat.completions.create(model=MODEL, messages=orphan)


def test_exhausted_script_is_an_error_not_a_repetition() -> None:
    with Endpoint(sequence([text("once")])) as endpoint, client_of(endpoint) as client:
        client.chat.completions.create(model=MODEL, messages=QUESTION)
        with pytest.raises(openai.BadRequestError, match="number 2"):
            client.chat.completions.create(model=MODEL, messages=QUESTION)


def test_connection_is_kept_alive() -> None:
    with Endpoint(sequence([text("a"), text("b"), text("c")])) as endpoint, client_of(endpoint) as client:
        for _ in range(3):
            client.chat.completions.create(model=MODEL, messages=QUESTION)
        assert endpoint.connections == 1

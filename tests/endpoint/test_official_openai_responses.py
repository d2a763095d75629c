"""Proves the responses format of the endpoint with the official client."""

from __future__ import annotations

import base64
from typing import Any

import openai
import pytest
from openai import OpenAI
from openai.types.responses import FunctionToolParam, Response
from pydantic import BaseModel

from tests.endpoint import (
    Endpoint,
    Fail,
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
CITIES = ("Zürich", "Llanfairpwllgwyngyllgogerychwyrndrobwll")
WEATHER: FunctionToolParam = {
    "type": "function",
    "name": "weather",
    "description": "The weather of a city.",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    },
    "strict": True,
}
SCRIPT: list[Reply] = [
    calls(*(call("weather", city=city) for city in CITIES), text="Let me look.", thinking="Two cities, two calls."),
    text("Sun everywhere.", thinking="Both are sunny, that is easy to say."),
]


class Verdict(BaseModel):
    city: str
    sunny: bool


def client_of(endpoint: Endpoint, key: str = "test-key") -> OpenAI:
    return OpenAI(base_url=endpoint.url, api_key=key, max_retries=0, timeout=20)


def ask(client: OpenAI, *, stream: bool, **arguments: Any) -> Response:
    if not stream:
        response: Response = client.responses.create(model=MODEL, **arguments)
        return response
    with client.responses.stream(model=MODEL, **arguments) as events:
        return events.get_final_response()


def converse(client: OpenAI, *, stream: bool) -> tuple[list[Any], list[str]]:
    """Two questions, each answered after two parallel calls; gives all items and the answers."""
    items: list[Any] = []
    answers: list[str] = []
    for question in ("What is the weather?", "And tomorrow?"):
        items.append({"role": "user", "content": question})
        for _ in range(2):
            response = ask(
                client,
                stream=stream,
                input=items,
                tools=[WEATHER],
                store=False,
                include=["reasoning.encrypted_content"],
                reasoning={"effort": "high", "summary": "auto"},
            )
            items += [item.to_dict(exclude_unset=True) for item in response.output]
            results = [
                {"type": "function_call_output", "call_id": item.call_id, "output": "sun"}
                for item in response.output
                if item.type == "function_call"
            ]
            items += results
            if not results:
                answers.append(response.output_text)
    return items, answers


@pytest.mark.parametrize("stream", [True, False])
def test_conversation_with_two_parallel_calls_and_reasoning(stream: bool) -> None:
    with Endpoint(by_results(SCRIPT)) as endpoint, client_of(endpoint) as client:
        items, answers = converse(client, stream=stream)
        requests = endpoint.requests
    assert answers == ["Sun everywhere.", "Sun everywhere."]
    turn = [
        "user",
        "reasoning",
        "message",
        "function_call",
        "function_call",
        "function_call_output",
        "function_call_output",
        "reasoning",
        "message",
    ]
    assert [item.get("type", "user") for item in items] == turn * 2
    assert [item["arguments"] for item in items[:9] if item.get("type") == "function_call"] == [
        f'{{"city":"{city}"}}' for city in CITIES
    ]
    assert items[1]["summary"] == [{"type": "summary_text", "text": "Two cities, two calls."}]
    assert len({item["call_id"] for item in items if item.get("type") == "function_call"}) == 4
    assert [len(request.json["input"]) for request in requests] == [1, 7, 10, 16]


@pytest.mark.parametrize("stream", [True, False])
def test_usage_and_the_ways_to_stop(stream: bool) -> None:
    used = Usage(prompt_tokens=1000, completion_tokens=20, cached_tokens=896, reasoning_tokens=12)
    script = [Text(text="forty-t", finish="length", usage=used), refusal("I cannot help with that.")]
    with Endpoint(sequence(script)) as endpoint, client_of(endpoint) as client:
        if stream:
            *_, last = client.responses.create(model=MODEL, input="go", stream=True)
            assert last.type == "response.incomplete"
            cut = last.response
        else:
            cut = client.responses.create(model=MODEL, input="go")
        refused = ask(client, stream=stream, input="go")
    assert (cut.status, cut.output_text) == ("incomplete", "forty-t")
    assert cut.incomplete_details is not None
    assert cut.incomplete_details.reason == "max_output_tokens"
    assert cut.usage is not None
    assert cut.usage.to_dict() == {
        "input_tokens": 1000,
        "input_tokens_details": {"cached_tokens": 896, "cache_write_tokens": 0},
        "output_tokens": 20,
        "output_tokens_details": {"reasoning_tokens": 12},
        "total_tokens": 1020,
    }
    (message,) = refused.output
    assert message.type == "message"
    assert [part.to_dict() for part in message.content] == [{"type": "refusal", "refusal": "I cannot help with that."}]


def test_events_come_in_the_order_of_the_real_service() -> None:
    with (
        Endpoint(sequence([calls(call("weather", city="Bern"), text="Hm.")])) as endpoint,
        client_of(endpoint) as client,
    ):
        told = list(client.responses.create(model=MODEL, input="go", stream=True))
    assert [event.type.removeprefix("response.") for event in told] == [
        "created",
        "in_progress",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "output_item.added",
        "function_call_arguments.delta",
        "function_call_arguments.done",
        "output_item.done",
        "completed",
    ]
    assert [getattr(event, "sequence_number", None) for event in told] == list(range(13))


def test_image_in_and_structured_output() -> None:
    image = "data:image/png;base64," + base64.b64encode(b"\x89PNG").decode()
    content: Any = [
        {"type": "input_text", "text": "Sunny?"},
        {"type": "input_image", "image_url": image, "detail": "low"},
    ]
    with Endpoint(sequence([text('{"city":"Bern","sunny":true}')])) as endpoint, client_of(endpoint) as client:
        answer = client.responses.parse(
            model=MODEL, input=[{"role": "user", "content": content}], text_format=Verdict, tools=[WEATHER]
        )
        (request,) = endpoint.requests
    assert answer.output_parsed == Verdict(city="Bern", sunny=True)
    assert request.json["text"]["format"]["type"] == "json_schema"


def test_interleaved_calls_are_put_together() -> None:
    with Endpoint(sequence([fail(Fault.OUT_OF_ORDER)])) as endpoint, client_of(endpoint) as client:
        response = ask(client, stream=True, input="go")
    assert [item.arguments for item in response.output if item.type == "function_call"] == [
        '{"text":"first half, second half"}',
        '{"text":"another call"}',
    ]


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (Fault.RATE_LIMIT, openai.RateLimitError),
        (Fault.UNAUTHORIZED, openai.AuthenticationError),
        (Fault.CONTEXT_LENGTH, openai.BadRequestError),
        (Fault.UNAVAILABLE, openai.InternalServerError),
    ],
)
def test_errors_are_those_of_the_client(fault: Fault, error: type[openai.APIStatusError]) -> None:
    with (
        Endpoint(sequence([fail(fault, retry_after=3)])) as endpoint,
        client_of(endpoint) as client,
        pytest.raises(error) as caught,
    ):
        client.responses.create(model=MODEL, input="go")
    assert caught.value.response.headers["retry-after"] == "3"


def test_errors_inside_the_stream() -> None:
    script = [Fail(fault=Fault.ERROR_IN_STREAM), Fail(fault=Fault.ERROR_IN_STREAM, kind="rate_limit_exceeded")]
    with Endpoint(sequence(script)) as endpoint, client_of(endpoint) as client:
        *_, failed = client.responses.create(model=MODEL, input="go", stream=True)
        assert failed.type == "response.failed"
        assert failed.response.error is not None
        assert failed.response.error.code == "server_error"
        *_, error = client.responses.create(model=MODEL, input="go", stream=True)
        assert error.type == "error"
        assert error.code == "rate_limit_exceeded"


CALL = {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": "{}"}
RESULT = {"type": "function_call_output", "call_id": "c1", "output": "sun"}
USER = {"role": "user", "content": "go"}


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ({"input": [USER, RESULT]}, "No tool call found"),
        ({"input": [USER, CALL]}, "No tool output found"),
        ({"input": [USER, CALL, RESULT, RESULT]}, "No tool call found"),
        ({"input": []}, "at least one item"),
        ({"input": "go", "max_output_tokens": 15}, "max_output_tokens"),
        ({"input": "go", "extra_body": {"max_tokens": 100}}, "max_tokens"),
        ({"input": "go", "previous_response_id": "resp_1"}, "Previous response"),
        ({"input": [{"role": "user", "content": [{"type": "text", "text": "go"}]}]}, "type"),
        ({"input": [{"role": "assistant", "content": [{"type": "input_text", "text": "go"}]}]}, "type"),
        ({"input": "go", "tools": [{"type": "function", "function": WEATHER}]}, "function"),
        ({"input": "go", "tools": [WEATHER, WEATHER]}, "twice"),
        ({"input": [USER, {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"}]}, "verified"),
        ({"input": "go", "reasoning": {"effort": "huge"}}, "effort"),
        ({"input": "go", "include": ["everything"]}, "include"),
    ],
)
def test_what_the_real_service_refuses_is_refused(body: dict[str, Any], why: str) -> None:
    with (
        Endpoint(sequence([text("never")])) as endpoint,
        client_of(endpoint) as client,
        pytest.raises(openai.BadRequestError, match=why),
    ):
        client.responses.create(model=MODEL, **body)


def test_reasoning_comes_back_whole_or_not_at_all() -> None:
    lost: Any = [USER, {"type": "reasoning", "id": "rs_1", "summary": []}]
    with Endpoint(by_results(SCRIPT)) as endpoint, client_of(endpoint) as client:
        items, _ = converse(client, stream=False)
        alone = [item for item in items[:7] if item.get("type") != "reasoning"]
        with pytest.raises(openai.BadRequestError, match="without its required 'reasoning' item"):
            client.responses.create(model=MODEL, input=alone)
        with pytest.raises(openai.BadRequestError, match="required following item"):
            client.responses.create(model=MODEL, input=[*items, items[1]])
        with pytest.raises(openai.NotFoundError):
            client.responses.create(model=MODEL, input=lost)
        nameless: Any = [{name: value for name, value in item.items() if name != "id"} for item in alone]
        assert client.responses.create(model=MODEL, input=nameless).output_text == "Sun everywhere."

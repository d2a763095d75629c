"""Proves the Gemini format of the endpoint with the official client."""

from __future__ import annotations

from typing import Any

import pytest
from google import genai
from google.genai import errors, types
from pydantic import BaseModel

from tests.endpoint import (
    Call,
    Calls,
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

MODEL = "gemini-3-scripted"
CITIES = ("Zürich", "Llanfairpwllgwyngyllgogerychwyrndrobwll")
WEATHER = types.Tool(
    function_declarations=[
        types.FunctionDeclaration(
            name="weather",
            description="The weather of a city.",
            parameters=types.Schema(
                type=types.Type.OBJECT,
                properties={"city": types.Schema(type=types.Type.STRING)},
                required=["city"],
            ),
        )
    ]
)
SCRIPT: list[Reply] = [
    calls(*(call("weather", city=city) for city in CITIES), text="Let me look.", thinking="Two cities, two calls."),
    text("Sun everywhere.", thinking="Both are sunny, that is easy to say."),
]
SHOWN = types.ThinkingConfig(include_thoughts=True)


class Verdict(BaseModel):
    city: str
    sunny: bool


def client_of(endpoint: Endpoint, key: str = "test-key") -> genai.Client:
    options = types.HttpOptions(
        base_url=endpoint.origin, timeout=20_000, retry_options=types.HttpRetryOptions(attempts=1)
    )
    return genai.Client(api_key=key, http_options=options)


def ask(client: genai.Client, contents: Any, *, stream: bool = False, **config: Any) -> list[types.Part]:
    """The parts of the answer; streamed, those of all pieces."""
    wanted = types.GenerateContentConfig(
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True), **config
    )
    if stream:
        pieces = list(client.models.generate_content_stream(model=MODEL, contents=contents, config=wanted))
    else:
        pieces = [client.models.generate_content(model=MODEL, contents=contents, config=wanted)]
    return [part for piece in pieces for part in parts_of(piece)]


def parts_of(answer: types.GenerateContentResponse) -> list[types.Part]:
    (candidate,) = answer.candidates or []
    return (candidate.content.parts if candidate.content else None) or []


def said(parts: list[types.Part]) -> str:
    return "".join(part.text or "" for part in parts if not part.thought)


def responses_to(parts: list[types.Part]) -> list[types.Part]:
    made = [part.function_call for part in parts if part.function_call]
    return [
        types.Part(function_response=types.FunctionResponse(id=call.id, name=call.name, response={"output": "sun"}))
        for call in made
    ]


def converse(client: genai.Client, *, stream: bool) -> tuple[list[types.Content], list[str]]:
    """Two questions, each answered after two parallel calls; gives all contents and the answers."""
    contents: list[types.Content] = []
    answers: list[str] = []
    for question in ("What is the weather?", "And tomorrow?"):
        contents.append(types.Content(role="user", parts=[types.Part(text=question)]))
        for _ in range(2):
            parts = ask(client, contents, stream=stream, tools=[WEATHER], thinking_config=SHOWN)
            contents.append(types.Content(role="model", parts=parts))
            results = responses_to(parts)
            if results:
                contents.append(types.Content(role="user", parts=results))
            else:
                answers.append(said(parts))
    return contents, answers


@pytest.mark.parametrize("stream", [True, False])
def test_conversation_with_two_parallel_calls_and_thoughts(stream: bool) -> None:
    with Endpoint(by_results(SCRIPT)) as endpoint, client_of(endpoint) as client:
        contents, answers = converse(client, stream=stream)
        requests = endpoint.requests
    assert answers == ["Sun everywhere.", "Sun everywhere."]
    parts = contents[1].parts or []
    made = [part for part in parts if part.function_call]
    assert [part.function_call.args for part in made if part.function_call] == [{"city": city} for city in CITIES]
    assert [part.thought_signature is not None for part in made] == [True, False]
    assert "".join(part.text or "" for part in parts if part.thought) == "Two cities, two calls."
    assert [len(request.json["contents"]) for request in requests] == [1, 3, 5, 7]
    assert [request.query for request in requests] == ["alt=sse" if stream else ""] * 4


@pytest.mark.parametrize("stream", [True, False])
def test_usage_and_the_ways_to_stop(stream: bool) -> None:
    used = Usage(prompt_tokens=1000, completion_tokens=20, cached_tokens=896, reasoning_tokens=12)
    script: list[Reply] = [
        Text(text="forty-t", finish="length", usage=used),
        Text(text="", finish="content_filter"),
        Calls(calls=(Call(name="weather", arguments='{"city": "Be'),)),
        refusal("Not this."),
    ]
    with Endpoint(sequence(script)) as endpoint, client_of(endpoint) as client:
        last: list[types.GenerateContentResponse] = []
        for _ in script:
            if stream:
                last.append(list(client.models.generate_content_stream(model=MODEL, contents="go"))[-1])
            else:
                last.append(client.models.generate_content(model=MODEL, contents="go"))
    cut, filtered, malformed, blocked = last
    assert [answer.candidates[0].finish_reason for answer in (cut, filtered, malformed) if answer.candidates] == [
        types.FinishReason.MAX_TOKENS,
        types.FinishReason.SAFETY,
        types.FinishReason.MALFORMED_FUNCTION_CALL,
    ]
    assert cut.usage_metadata is not None
    assert cut.usage_metadata.model_dump(exclude_none=True) == {
        "prompt_token_count": 1000,
        "cached_content_token_count": 896,
        "candidates_token_count": 8,
        "thoughts_token_count": 12,
        "total_token_count": 1020,
    }
    assert blocked.candidates is None
    assert blocked.prompt_feedback is not None
    assert blocked.prompt_feedback.block_reason == types.BlockedReason.PROHIBITED_CONTENT


def test_client_calls_functions_by_itself() -> None:
    """The client's own loop: it runs a function and sends the result, and the endpoint accepts what it sends."""
    ran: list[str] = []

    def weather(city: str) -> str:
        """The weather of a city."""
        ran.append(city)
        return "sun"

    with Endpoint(by_results(SCRIPT)) as endpoint, client_of(endpoint) as client:
        chat = client.chats.create(model=MODEL, config=types.GenerateContentConfig(tools=[weather]))
        assert chat.send_message("What is the weather?").text == "Sun everywhere."
        assert chat.send_message("And tomorrow?").text == "Sun everywhere."
    assert ran == [*CITIES, *CITIES]


def test_image_in_and_structured_output() -> None:
    content: Any = [types.Part.from_bytes(data=b"\x89PNG", mime_type="image/png"), "Sunny?"]
    wanted = types.GenerateContentConfig(response_mime_type="application/json", response_schema=Verdict)
    with Endpoint(sequence([text('{"city":"Bern","sunny":true}')])) as endpoint, client_of(endpoint) as client:
        answer = client.models.generate_content(model=MODEL, contents=content, config=wanted)
        (request,) = endpoint.requests
    assert answer.parsed == Verdict(city="Bern", sunny=True)
    assert request.json["contents"][0]["parts"][0]["inlineData"]["data"] == "iVBORw=="


def test_ids_of_calls_are_optional() -> None:
    script: list[Reply] = [calls(Call(name="weather", arguments={"city": "Bern"}, id="")), text("Sun.")]
    with Endpoint(by_results(script)) as endpoint, client_of(endpoint) as client:
        contents = [types.Content(role="user", parts=[types.Part(text="go")])]
        parts = ask(client, contents, tools=[WEATHER])
        assert [part.function_call.id for part in parts if part.function_call] == [None]
        contents += [types.Content(role="model", parts=parts), types.Content(role="user", parts=responses_to(parts))]
        assert said(ask(client, contents, tools=[WEATHER])) == "Sun."


@pytest.mark.parametrize(
    ("fault", "error", "status"),
    [
        (Fault.RATE_LIMIT, errors.ClientError, "RESOURCE_EXHAUSTED"),
        (Fault.UNAUTHORIZED, errors.ClientError, "INVALID_ARGUMENT"),
        (Fault.CONTEXT_LENGTH, errors.ClientError, "INVALID_ARGUMENT"),
        (Fault.SERVER_ERROR, errors.ServerError, "INTERNAL"),
        (Fault.UNAVAILABLE, errors.ServerError, "UNAVAILABLE"),
    ],
)
def test_errors_are_those_of_the_client(fault: Fault, error: type[errors.APIError], status: str) -> None:
    with (
        Endpoint(sequence([fail(fault, retry_after=3)])) as endpoint,
        client_of(endpoint) as client,
        pytest.raises(error) as caught,
    ):
        ask(client, "go")
    assert caught.value.status == status
    assert caught.value.details["error"]["details"][-1] == {
        "@type": "type.googleapis.com/google.rpc.RetryInfo",
        "retryDelay": "3s",
    }


def test_error_inside_the_stream() -> None:
    script = [Fail(fault=Fault.ERROR_IN_STREAM), Fail(fault=Fault.ERROR_IN_STREAM, kind="RESOURCE_EXHAUSTED")]
    with Endpoint(sequence(script)) as endpoint, client_of(endpoint) as client:
        for status, code in (("UNAVAILABLE", 503), ("RESOURCE_EXHAUSTED", 429)):
            with pytest.raises(errors.APIError) as caught:
                ask(client, "go", stream=True)
            assert (caught.value.status, caught.value.code) == (status, code)


def test_key_is_checked_when_there_is_one() -> None:
    with Endpoint(sequence([text("hello")]), key="right", models=("one", "two")) as endpoint:
        with client_of(endpoint, "wrong") as client, pytest.raises(errors.ClientError, match="API_KEY_INVALID"):
            ask(client, "go")
        with client_of(endpoint, "right") as client:
            assert said(ask(client, "go")) == "hello"
            assert [model.name for model in client.models.list()] == ["models/one", "models/two"]


def content(role: str, *parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "parts": list(parts)}


USER = content("user", {"text": "go"})
CALL = {"function_call": {"name": "weather", "args": {}}, "thought_signature": b"skip_thought_signature_validator"}
RESPONSE = {"function_response": {"name": "weather", "response": {"output": "sun"}}}
BOTH = types.ThinkingConfig(thinking_budget=1, thinking_level=types.ThinkingLevel.LOW)
BARE = {"function_call": {"name": "weather", "args": {}}}


@pytest.mark.parametrize(
    ("contents", "config", "why"),
    [
        ([content("assistant", {"text": "go"})], {}, "valid role"),
        ([content("model", {"text": "go"})], {}, "first content"),
        ([USER, content("model", BARE), content("user", RESPONSE)], {}, "missing a thought_signature"),
        ([USER, content("model", {**BARE, "thought_signature": b"x"}), content("user", RESPONSE)], {}, "Corrupted"),
        ([USER, content("user", RESPONSE)], {}, "immediately after a function call"),
        ([USER, content("model", BARE)], {}, "followed by a function response"),
        ([USER, content("model", BARE, BARE), content("user", RESPONSE)], {}, "number of function response parts"),
        ([USER, content("model", BARE), USER], {}, "number of function response parts"),
        ([USER, content("model", {"text": "hm"}), content("model", BARE)], {}, "comes immediately after a user turn"),
        (
            [USER],
            {"thinking_config": BOTH},
            "only set one",
        ),
        ([USER], {"response_schema": {"type": "STRING"}}, "responseMimeType"),
    ],
)
def test_what_the_real_service_refuses_is_refused(contents: Any, config: dict[str, Any], why: str) -> None:
    with (
        Endpoint(sequence([text("never")])) as endpoint,
        client_of(endpoint) as client,
        pytest.raises(errors.ClientError, match=why),
    ):
        ask(client, contents, **config)


def test_older_turns_older_models_and_calls_of_others_need_no_signature() -> None:
    older: list[Any] = [USER, content("model", BARE), content("user", RESPONSE)]
    foreign = [USER, content("model", CALL), content("user", RESPONSE)]
    with Endpoint(sequence([text("a"), text("b"), text("c")])) as endpoint, client_of(endpoint) as client:
        assert said(ask(client, [*older, content("model", {"text": "Sun."}), USER])) == "a"
        assert client.models.generate_content(model="gemini-2.5-scripted", contents=older).text == "b"
        assert said(ask(client, foreign)) == "c"

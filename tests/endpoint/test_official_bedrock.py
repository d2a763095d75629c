"""Proves the converse format of the endpoint with the official client, its framing and its signatures included."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import boto3
import httpx
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError, EventStreamError

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
from tests.endpoint.sigv4 import ACCESS_KEY, SECRET_KEY

MODEL = "eu.anthropic.scripted-v1:0"
CITIES = ("Zürich", "Llanfairpwllgwyngyllgogerychwyrndrobwll")
WEATHER = {
    "toolSpec": {
        "name": "weather",
        "description": "The weather of a city.",
        "inputSchema": {"json": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}},
    }
}
TOOLS = {"toolConfig": {"tools": [WEATHER]}}
THINKING = {"additionalModelRequestFields": {"thinking": {"type": "enabled", "budget_tokens": 1024}}}
SCRIPT: list[Reply] = [
    calls(*(call("weather", city=city) for city in CITIES), text="Let me look.", thinking="Two cities, two calls."),
    text("Sun everywhere.", thinking="Both are sunny, that is easy to say."),
]
USER = {"role": "user", "content": [{"text": "go"}]}


@contextmanager
def client_of(endpoint: Endpoint, access: str = ACCESS_KEY, secret: str = SECRET_KEY) -> Iterator[Any]:
    client = boto3.client(
        "bedrock-runtime",
        region_name="eu-central-1",
        endpoint_url=endpoint.origin,
        aws_access_key_id=access,
        aws_secret_access_key=secret,
        config=Config(retries={"total_max_attempts": 1}, read_timeout=20),
    )
    yield client
    client.close()


def ask(client: Any, *, stream: bool = False, **arguments: Any) -> dict[str, Any]:
    """The answer as `converse` gives it, also when it was streamed."""
    if not stream:
        answer: dict[str, Any] = client.converse(modelId=MODEL, **arguments)
        return answer
    return joined(client.converse_stream(modelId=MODEL, **arguments)["stream"])


def joined(events: Iterator[dict[str, Any]]) -> dict[str, Any]:
    blocks: dict[int, dict[str, Any]] = {}
    answer: dict[str, Any] = {}
    for event in events:
        ((name, value),) = event.items()
        match name:
            case "contentBlockStart":
                blocks[value["contentBlockIndex"]] = {"toolUse": {**value["start"]["toolUse"], "input": ""}}
            case "contentBlockDelta":
                add(blocks.setdefault(value["contentBlockIndex"], {}), value["delta"])
            case "messageStop":
                answer["stopReason"] = value["stopReason"]
            case "metadata":
                answer["usage"] = value["usage"]
    for block in blocks.values():
        if "toolUse" in block:
            block["toolUse"]["input"] = json.loads(block["toolUse"]["input"])
    answer["output"] = {"message": {"role": "assistant", "content": [blocks[index] for index in sorted(blocks)]}}
    return answer


def add(block: dict[str, Any], delta: dict[str, Any]) -> None:
    if "text" in delta:
        block["text"] = block.get("text", "") + delta["text"]
    elif "toolUse" in delta:
        block["toolUse"]["input"] += delta["toolUse"]["input"]
    elif "redactedContent" in delta["reasoningContent"]:
        block["reasoningContent"] = delta["reasoningContent"]
    else:
        thought = block.setdefault("reasoningContent", {"reasoningText": {"text": ""}})["reasoningText"]
        thought["text"] += delta["reasoningContent"].get("text", "")
        thought.update({k: v for k, v in delta["reasoningContent"].items() if k == "signature"})


def converse(client: Any, *, stream: bool, **arguments: Any) -> tuple[list[Any], list[str]]:
    """Two questions, each answered after two parallel calls; gives all messages and the answers."""
    messages: list[Any] = []
    answers: list[str] = []
    message: dict[str, Any] = {}
    for question in ("What is the weather?", "And tomorrow?"):
        messages.append({"role": "user", "content": [{"text": question}]})
        for _ in range(2):
            message = ask(client, stream=stream, messages=messages, **TOOLS, **arguments)["output"]["message"]
            messages.append(message)
            results = [
                {"toolResult": {"toolUseId": block["toolUse"]["toolUseId"], "content": [{"text": "sun"}]}}
                for block in message["content"]
                if "toolUse" in block
            ]
            if results:
                messages.append({"role": "user", "content": [*results, {"text": "Go on."}]})
        answers += [block["text"] for block in message["content"] if "text" in block]
    return messages, answers


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("thinking", [True, False])
def test_conversation_with_two_parallel_calls_and_reasoning(stream: bool, thinking: bool) -> None:
    with Endpoint(by_results(SCRIPT)) as endpoint, client_of(endpoint) as client:
        messages, answers = converse(client, stream=stream, **(THINKING if thinking else {}))
        requests = endpoint.requests
    assert answers == ["Sun everywhere.", "Sun everywhere."]
    content = messages[1]["content"]
    kinds = [*(["reasoningContent"] if thinking else []), "text", "toolUse", "toolUse"]
    assert [next(iter(block)) for block in content] == kinds
    assert [block["toolUse"]["input"] for block in content[-2:]] == [{"city": city} for city in CITIES]
    if thinking:
        assert content[0]["reasoningContent"]["reasoningText"]["text"] == "Two cities, two calls."
    assert [len(request.json["messages"]) for request in requests] == [1, 3, 5, 7]
    assert {request.path for request in requests} == {
        f"/model/eu.anthropic.scripted-v1%3A0/{'converse-stream' if stream else 'converse'}"
    }


@pytest.mark.parametrize("stream", [True, False])
def test_usage_and_the_ways_to_stop(stream: bool) -> None:
    used = Usage(prompt_tokens=1000, completion_tokens=20, cached_tokens=800, cache_write_tokens=150)
    script = [Text(text="forty-t", finish="length", usage=used), refusal("I cannot help with that."), text("42")]
    with Endpoint(sequence(script)) as endpoint, client_of(endpoint) as client:
        cut, refused, done = (ask(client, stream=stream, messages=[USER]) for _ in script)
    assert [answer["stopReason"] for answer in (cut, refused, done)] == ["max_tokens", "content_filtered", "end_turn"]
    assert cut["usage"] == {
        "inputTokens": 50,
        "outputTokens": 20,
        "totalTokens": 1020,
        "cacheReadInputTokens": 800,
        "cacheWriteInputTokens": 150,
    }


@pytest.mark.parametrize("stream", [True, False])
def test_hidden_reasoning_comes_back_too(stream: bool) -> None:
    script = [Text(text="a", thinking=Thinking(text="secret", redacted=True)), text("b")]
    with Endpoint(sequence(script)) as endpoint, client_of(endpoint) as client:
        message = ask(client, stream=stream, messages=[USER], **THINKING)["output"]["message"]
        assert "redactedContent" in message["content"][0]["reasoningContent"]
        again = ask(client, stream=stream, messages=[USER, message, USER], **THINKING)
    assert again["stopReason"] == "end_turn"


def test_image_in_structured_output_and_cache_points() -> None:
    image = {"image": {"format": "png", "source": {"bytes": b"\x89PNG"}}}
    point = {"cachePoint": {"type": "default"}}
    schema = {"type": "object", "properties": {"sunny": {"type": "boolean"}}}
    structure = {"jsonSchema": {"name": "verdict", "schema": json.dumps(schema)}}
    with Endpoint(sequence([text('{"sunny":true}')])) as endpoint, client_of(endpoint) as client:
        answer = ask(
            client,
            system=[{"text": "Be brief."}, point],
            messages=[{"role": "user", "content": [image, {"text": "Sunny?"}, point]}],
            outputConfig={"textFormat": {"type": "json_schema", "structure": structure}},
        )
    assert answer["output"]["message"]["content"] == [{"text": '{"sunny":true}'}]


def test_interleaved_calls_are_put_together() -> None:
    with Endpoint(sequence([fail(Fault.OUT_OF_ORDER)])) as endpoint, client_of(endpoint) as client:
        content = ask(client, stream=True, messages=[USER])["output"]["message"]["content"]
    assert [block["toolUse"]["input"]["text"] for block in content] == ["first half, second half", "another call"]


@pytest.mark.parametrize(
    ("fault", "kind", "status"),
    [
        (Fault.RATE_LIMIT, "ThrottlingException", 429),
        (Fault.UNAUTHORIZED, "UnrecognizedClientException", 403),
        (Fault.CONTEXT_LENGTH, "ValidationException", 400),
        (Fault.SERVER_ERROR, "InternalServerException", 500),
        (Fault.UNAVAILABLE, "ServiceUnavailableException", 503),
    ],
)
@pytest.mark.parametrize("stream", [True, False])
def test_errors_are_those_of_the_client(fault: Fault, kind: str, status: int, stream: bool) -> None:
    with (
        Endpoint(sequence([fail(fault, retry_after=3)])) as endpoint,
        client_of(endpoint) as client,
        pytest.raises(ClientError) as caught,
    ):
        ask(client, stream=stream, messages=[USER])
    assert caught.value.response["Error"]["Code"] == kind
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == status
    assert caught.value.response["ResponseMetadata"]["HTTPHeaders"]["retry-after"] == "3"


def test_exceptions_inside_the_stream() -> None:
    script = [Fail(fault=Fault.ERROR_IN_STREAM), Fail(fault=Fault.ERROR_IN_STREAM, kind="throttlingException")]
    with Endpoint(sequence(script)) as endpoint, client_of(endpoint) as client:
        for kind in ("modelStreamErrorException", "throttlingException"):
            with pytest.raises(EventStreamError) as caught:
                ask(client, stream=True, messages=[USER])
            assert caught.value.response["Error"]["Code"] == kind


def test_signatures_are_checked() -> None:
    with Endpoint(sequence([text("a"), text("b")])) as endpoint:
        with client_of(endpoint, secret="another") as client, pytest.raises(ClientError, match="InvalidSignature"):
            ask(client, messages=[USER])
        with client_of(endpoint) as client:
            ask(client, messages=[USER])
        with client_of(endpoint, access="AKIDUNKNOWN", secret="any") as client:
            ask(client, messages=[USER])
        signed = endpoint.requests[1]
        url = f"{endpoint.origin}{signed.path}"
        headers = {name: value for name, value in signed.headers.items() if name != "content-length"}
        changed = httpx.post(url, content=signed.body + b" ", headers=headers)
        bare = httpx.post(url, content=signed.body)
    assert (changed.status_code, bare.status_code) == (403, 403)
    assert changed.headers["x-amzn-errortype"].startswith("InvalidSignatureException")
    assert bare.headers["x-amzn-errortype"].startswith("MissingAuthenticationTokenException")


def test_bearer_tokens_and_unknown_keys_are_checked_when_there_is_a_key() -> None:
    """The client sends a bearer token over TLS only, so here it is sent without the client."""
    with Endpoint(sequence([text("a")]), key="right") as endpoint:
        with client_of(endpoint, access="AKIDUNKNOWN") as client, pytest.raises(ClientError, match="Unrecognized"):
            ask(client, messages=[USER])
        wrong, right = (
            httpx.post(
                f"{endpoint.origin}/model/{MODEL}/converse",
                json={"messages": [USER]},
                headers={"authorization": f"Bearer {token}"},
            )
            for token in ("wrong", "right")
        )
    assert wrong.headers["x-amzn-errortype"].startswith("AccessDeniedException")
    assert right.json()["stopReason"] == "end_turn"


def used(identity: str) -> dict[str, Any]:
    return {"toolUse": {"toolUseId": identity, "name": "weather", "input": {}}}


def result(identity: str) -> dict[str, Any]:
    return {"toolResult": {"toolUseId": identity, "content": [{"text": "sun"}]}}


def said(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def told(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


FORGED = {"reasoningContent": {"reasoningText": {"text": "I never thought so.", "signature": "abcd"}}}


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ({"messages": []}, "start with a user message"),
        ({"messages": [said({"text": "hello"})]}, "start with a user message"),
        ({"messages": [USER, USER]}, "alternate"),
        ({"messages": [told({"text": " "})]}, "blank"),
        ({"messages": [USER, said(used("a")), told(result("a"))]}, "toolConfig field must be defined"),
        ({"messages": [USER, said(used("a"), used("b")), told(result("a"))], **TOOLS}, "following Ids: b"),
        ({"messages": [USER, said(used("a")), told(result("a"), result("b"))], **TOOLS}, "exceeds the number"),
        ({"messages": [USER, said(used("a"), used("a")), told(result("a"))], **TOOLS}, "duplicate"),
        ({"messages": [USER, said(FORGED, {"text": "x"}), USER]}, "Invalid `signature`"),
        ({"messages": [USER, said(used("a")), told(result("a"))], **TOOLS, **THINKING}, "must start with a thinking"),
        ({"messages": [told({"text": "x"}, *[{"cachePoint": {"type": "default"}}] * 5)]}, "maximum of 4"),
    ],
)
def test_what_the_real_service_refuses_is_refused(body: dict[str, Any], why: str) -> None:
    with (
        Endpoint(sequence([text("never")])) as endpoint,
        client_of(endpoint) as client,
        pytest.raises(ClientError, match=why) as caught,
    ):
        ask(client, **body)
    assert caught.value.response["Error"]["Code"] == "ValidationException"

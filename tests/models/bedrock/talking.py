"""Requests to Bedrock without a harness."""

import asyncio
from typing import Any

from hermes_agent.models.client import ModelAnswer, ProviderOptions
from hermes_agent.models.http import close_clients
from hermes_agent.models.providers.bedrock import Bedrock, connect
from hermes_agent.models.request import ModelRequest, Transcript
from hermes_agent.types.events import AssistantMessage, CallFinished, Message
from hermes_agent.types.trace import CallStatus
from tests.endpoint import Endpoint
from tests.endpoint.eventstream import message
from tests.endpoint.sigv4 import ACCESS_KEY, SECRET_KEY
from tests.models.asking import PREFIX, request_of

MODEL = "eu.anthropic.claude-sonnet-4-5-20250929-v1:0"
KEYS = {"region": "eu-central-1", "access_key_id": ACCESS_KEY, "secret_access_key": SECRET_KEY}


def client(url: str = "http://127.0.0.1:1", model: str = MODEL, **extra: str) -> Bedrock:
    return connect(ProviderOptions(model=model, base_url=url, timeout=1.0, extra={**KEYS, **extra}))


def ask(url: str, request: ModelRequest | None = None, *, model: str = MODEL) -> tuple[ModelAnswer, list[str]]:
    """One answer of a fresh client in a fresh loop, and the pieces of text as they were streamed."""
    return ask_client(client(url, model), request)


def ask_client(model: Bedrock, request: ModelRequest | None = None) -> tuple[ModelAnswer, list[str]]:
    heard: list[str] = []

    async def work() -> ModelAnswer:
        try:
            return await model.answer(request or request_of(), heard.append)
        finally:
            await close_clients()

    return asyncio.run(work()), heard


def converse(endpoint: Endpoint, *asked: Message, model: str = MODEL, **fields: Any) -> Transcript:
    """Asks and answers calls, the last one first, until the model has no more of them."""
    transcript = Transcript(asked)
    for _ in range(10):
        request = ModelRequest(prefix=PREFIX, transcript=transcript, **fields)
        answer, _ = ask(endpoint.origin, request, model=model)
        said = AssistantMessage(text=answer.text, calls=answer.calls, stop=answer.stop, replay=answer.replay)
        transcript.append(said)
        for call in reversed(answer.calls):
            transcript.append(
                CallFinished(call_id=call.id, tool=call.name, status=CallStatus.OK, text=str(call.arguments))
            )
        if not answer.calls:
            return transcript
    raise AssertionError("the model does not come to an end")


def response(*frames: bytes) -> bytes:
    """A whole HTTP response of these frames."""
    body = b"".join(frames)
    kind = b"application/vnd.amazon.eventstream"
    return b"HTTP/1.1 200 OK\r\ncontent-type: %b\r\ncontent-length: %d\r\n\r\n%b" % (kind, len(body), body)


def event(kind: str, payload: bytes) -> bytes:
    return message({":event-type": kind, ":content-type": "application/json", ":message-type": "event"}, payload)

"""Requests to Gemini without a harness."""

import asyncio
import json
from typing import Any

from hermes_agent.models.client import ModelAnswer, ProviderOptions
from hermes_agent.models.http import close_clients
from hermes_agent.models.providers.gemini import Gemini, connect
from hermes_agent.models.request import ModelRequest, Prefix, Transcript
from hermes_agent.types.events import AssistantMessage, CallFinished, Message
from hermes_agent.types.trace import CallStatus
from tests.endpoint import Endpoint
from tests.models.asking import PREFIX, request_of

MODEL = "gemini-3-scripted"


def client(url: str = "http://127.0.0.1:1/v1beta", model: str = MODEL, key: str = "") -> Gemini:
    return connect(ProviderOptions(model=model, base_url=url, api_key=key, timeout=1.0))


def ask(
    url: str, request: ModelRequest | None = None, *, model: str = MODEL, key: str = ""
) -> tuple[ModelAnswer, list[str]]:
    """One answer of a fresh client in a fresh loop, and the pieces of text as they were streamed."""
    heard: list[str] = []

    async def work() -> ModelAnswer:
        try:
            return await client(url, model, key).answer(request or request_of(), heard.append)
        finally:
            await close_clients()

    return asyncio.run(work()), heard


def converse(endpoint: Endpoint, *asked: Message, model: str = MODEL, prefix: Prefix = PREFIX) -> Transcript:
    """Asks and answers calls with their own arguments until the model has no more of them."""
    transcript = Transcript(asked)
    for _ in range(10):
        request = ModelRequest(prefix=prefix, transcript=transcript)
        answer, _ = ask(f"{endpoint.origin}/v1beta", request, model=model)
        said = AssistantMessage(text=answer.text, calls=answer.calls, stop=answer.stop, replay=answer.replay)
        transcript.append(said)
        for call in reversed(answer.calls):
            transcript.append(
                CallFinished(call_id=call.id, tool=call.name, status=CallStatus.OK, text=str(call.arguments))
            )
        if not answer.calls:
            return transcript
    raise AssertionError("the model does not come to an end")


def stream(*chunks: dict[str, Any] | str) -> bytes:
    """A whole HTTP response that streams these chunks; a string goes out as it is."""
    lines = [chunk if isinstance(chunk, str) else f"data: {json.dumps(chunk)}\r\n\r\n" for chunk in chunks]
    body = "".join(lines).encode()
    head = f"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


def parts(*made: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    """A chunk with these parts."""
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": list(made)}, "index": 0}
    return {"candidates": [{**candidate, "finishReason": finish} if finish else candidate]}

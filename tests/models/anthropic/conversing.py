"""A conversation with one model without a harness: what is said is kept as the harness keeps it."""

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec

from hermes_agent.models.client import ModelAnswer, ProviderOptions
from hermes_agent.models.http import close_clients
from hermes_agent.models.providers.anthropic import Anthropic, connect
from hermes_agent.models.request import ModelRequest, Prefix, Transcript
from hermes_agent.types.effort import Effort
from hermes_agent.types.events import AssistantMessage, CallFinished, Message, UserMessage
from hermes_agent.types.trace import CallStatus
from tests.models.asking import PREFIX

NEWEST = "claude-opus-5"
OLDER = "claude-sonnet-4-5"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"deep": {"type": "array", "items": {"type": "object", "properties": {}}}},
}
MARK = b',"cache_control":{"type":"ephemeral"}'


def client(model: str = NEWEST, url: str = "http://127.0.0.1:1", key: str = "", **extra: str) -> Anthropic:
    return connect(ProviderOptions(model=model, base_url=url, api_key=key, timeout=20.0, extra=extra))


def body(*messages: Message, model: str = NEWEST, prefix: Prefix = PREFIX, **fields: Any) -> bytes:
    request = ModelRequest(prefix=prefix, transcript=Transcript(messages), **fields)
    return client(model).body(request)


def sent(*messages: Message, model: str = NEWEST, prefix: Prefix = PREFIX, **fields: Any) -> dict[str, Any]:
    decoded: dict[str, Any] = msgspec.json.decode(body(*messages, model=model, prefix=prefix, **fields))
    return decoded


def content(*messages: Message, model: str = NEWEST) -> list[tuple[str, list[dict[str, Any]]]]:
    """Role and blocks of each message, without the cache marks."""
    stripped = msgspec.json.decode(body(*messages, model=model).replace(MARK, b""))
    return [(message["role"], message["content"]) for message in stripped["messages"]]


def settled(bytes_of_body: bytes) -> bytes:
    """What the next request must begin with: all but the marks and the end."""
    stripped = bytes_of_body.replace(MARK, b"")
    return stripped[: stripped.rindex(b'}]}],"max_tokens"')]


def kept(answer: ModelAnswer) -> AssistantMessage:
    return AssistantMessage(text=answer.text, calls=answer.calls, stop=answer.stop, replay=answer.replay)


def results(answer: ModelAnswer) -> list[CallFinished]:
    return [
        CallFinished(call_id=call.id, tool=call.name, status=CallStatus.OK, text=str(call.arguments.get("text", "")))
        for call in answer.calls
    ]


def converse(
    url: str,
    questions: Sequence[str],
    *,
    model: str = NEWEST,
    effort: Effort | None = None,
    key: str = "",
    transcript: Transcript | None = None,
) -> tuple[list[ModelAnswer], Transcript]:
    """Ask until the model makes no more calls, for each question. Every call is answered with its own text."""
    transcript = Transcript() if transcript is None else transcript
    answers: list[ModelAnswer] = []

    async def work() -> None:
        asked = client(model, url, key)
        try:
            for question in questions:
                transcript.append(UserMessage(text=question))
                while True:
                    request = ModelRequest(prefix=PREFIX, transcript=transcript, effort=effort)
                    answer = await asked.answer(request, lambda text: None)
                    answers.append(answer)
                    transcript.append(kept(answer))
                    for result in results(answer):
                        transcript.append(result)
                    if not answer.calls:
                        break
        finally:
            await close_clients()

    asyncio.run(work())
    return answers, transcript


def ask(url: str, request: ModelRequest, *, model: str = NEWEST, key: str = "") -> tuple[ModelAnswer, list[str]]:
    """One answer of a fresh client in a fresh loop, and the pieces of text as they were streamed."""
    heard: list[str] = []

    async def work() -> ModelAnswer:
        asked = connect(ProviderOptions(model=model, base_url=url, api_key=key, timeout=0.5, connect_timeout=5.0))
        try:
            return await asked.answer(request, heard.append)
        finally:
            await close_clients()

    return asyncio.run(work()), heard

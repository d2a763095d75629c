"""A conversation with one model without a harness: what is said is kept as the harness keeps it."""

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec

from hermes_agent.models.client import ModelAnswer, ModelClient, ProviderOptions
from hermes_agent.models.http import close_clients
from hermes_agent.models.providers.openai_responses import OpenAIResponses, connect
from hermes_agent.models.request import ModelRequest, Prefix, Transcript
from hermes_agent.types.effort import Effort
from hermes_agent.types.events import AssistantMessage, CallFinished, Message, UserMessage
from hermes_agent.types.trace import CallStatus
from tests.models.asking import PREFIX

MODEL = "gpt-5.6-sol"


def client(model: str = MODEL, url: str = "http://127.0.0.1:1/v1", key: str = "") -> OpenAIResponses:
    return connect(ProviderOptions(model=model, base_url=url, api_key=key, timeout=0.5, connect_timeout=5.0))


def body(*messages: Message, model: str = MODEL, prefix: Prefix = PREFIX, **fields: Any) -> bytes:
    return client(model).body(ModelRequest(prefix=prefix, transcript=Transcript(messages), **fields))


def sent(*messages: Message, model: str = MODEL, prefix: Prefix = PREFIX, **fields: Any) -> dict[str, Any]:
    decoded: dict[str, Any] = msgspec.json.decode(body(*messages, model=model, prefix=prefix, **fields))
    return decoded


def settled(bytes_of_body: bytes) -> bytes:
    """What the next request must begin with: all but the end."""
    return bytes_of_body[: bytes_of_body.rindex(b'],"prompt_cache_key"')]


def ask_with(asked: ModelClient, request: ModelRequest) -> tuple[ModelAnswer, list[str]]:
    """One answer in a fresh loop, and the pieces of text as they were streamed."""
    heard: list[str] = []

    async def work() -> ModelAnswer:
        try:
            return await asked.answer(request, heard.append)
        finally:
            await close_clients()

    return asyncio.run(work()), heard


def ask(url: str, request: ModelRequest, *, model: str = MODEL, key: str = "") -> tuple[ModelAnswer, list[str]]:
    return ask_with(client(model, url, key), request)


def converse(
    asked: ModelClient, questions: Sequence[str], *, effort: Effort | None = None, transcript: Transcript | None = None
) -> tuple[list[ModelAnswer], Transcript]:
    """Ask until the model makes no more calls, for each question. Every call is answered with its own text."""
    transcript = Transcript() if transcript is None else transcript
    answers: list[ModelAnswer] = []

    async def work() -> None:
        try:
            for question in questions:
                transcript.append(UserMessage(text=question))
                while True:
                    request = ModelRequest(prefix=PREFIX, transcript=transcript, effort=effort)
                    answer = await asked.answer(request, lambda text: None)
                    answers.append(answer)
                    transcript.append(
                        AssistantMessage(text=answer.text, calls=answer.calls, stop=answer.stop, replay=answer.replay)
                    )
                    for call in answer.calls:
                        said = str(call.arguments.get("text", ""))
                        transcript.append(
                            CallFinished(call_id=call.id, tool=call.name, status=CallStatus.OK, text=said)
                        )
                    if not answer.calls:
                        break
        finally:
            await close_clients()

    asyncio.run(work())
    return answers, transcript

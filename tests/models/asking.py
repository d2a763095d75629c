"""Requests for one model without a harness, and a server that sends exactly the bytes it is given."""

import asyncio
import json
import socket
import threading
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

from hermes_agent.models.client import ModelAnswer, ProviderOptions
from hermes_agent.models.http import close_clients
from hermes_agent.models.providers.openai_chat import connect
from hermes_agent.models.request import ModelRequest, Prefix, ToolDeclaration, Transcript
from hermes_agent.types.events import Message, UserMessage

ECHO = ToolDeclaration(
    name="echo",
    description="Say it again.",
    parameters={"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
)
PREFIX = Prefix(system="You are a test.", tools=(ECHO,))
QUESTION = UserMessage(text="What is 6 * 7?")


def request_of(*messages: Message, prefix: Prefix = PREFIX, max_tokens: int = 0, free: bool = True) -> ModelRequest:
    return ModelRequest(
        prefix=prefix,
        transcript=Transcript(messages or (QUESTION,)),
        max_tokens=max_tokens,
        tool_choice="auto" if free else "none",
    )


def ask(
    url: str, request: ModelRequest | None = None, *, key: str = "", timeout: float = 20.0
) -> tuple[ModelAnswer, list[str]]:
    """One answer of a fresh client in a fresh loop, and the pieces of text as they were streamed."""
    heard: list[str] = []

    async def work() -> ModelAnswer:
        client = connect(ProviderOptions(model="scripted", base_url=url, api_key=key, timeout=timeout))
        try:
            return await client.answer(request or request_of(), heard.append)
        finally:
            await close_clients()

    return asyncio.run(work()), heard


def ask_times(url: str, count: int) -> list[str]:
    """The answers to `count` requests of one client, one after the other."""

    async def work() -> list[str]:
        client = connect(ProviderOptions(model="scripted", base_url=url))
        try:
            return [(await client.answer(request_of(), lambda text: None)).text for _ in range(count)]
        finally:
            await close_clients()

    return asyncio.run(work())


def stream(*chunks: dict[str, Any] | str, done: bool = True) -> bytes:
    """A whole HTTP response that streams these chunks; a string goes out as a line of its own."""
    lines = [chunk if isinstance(chunk, str) else f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
    body = "".join([*lines, "data: [DONE]\n\n" if done else ""]).encode()
    head = f"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


def choice(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


class ByteServer:
    """Answers each connection with the next of `answers` after one request, then closes it."""

    def __init__(self, answers: Sequence[bytes]) -> None:
        self._answers = answers
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._serve, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()

    def _serve(self) -> None:
        for answer in self._answers:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection:
                _read_request(connection)
                try:
                    connection.sendall(answer)
                except OSError:
                    continue


def _read_request(connection: socket.socket) -> None:
    got = b""
    while b"\r\n\r\n" not in got:
        got += connection.recv(1 << 16)
    head, _, body = got.partition(b"\r\n\r\n")
    length = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
    while len(body) < length:
        body += connection.recv(1 << 16)

"""Answers in the bytes of the chat-completions format and of HTTP/1.1."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from http import HTTPStatus
from typing import Any

import msgspec

from .conversation import Head
from .replies import Answer, Call, Calls, Request, Usage
from .responders import arguments_text

CREATED = 1_700_000_000
FRAGMENT = 24
DONE = b"data: [DONE]\n\n"
LAST_CHUNK = b"0\r\n\r\n"
PLACE = "\ue000"
"""A private character that stands for raw bytes no JSON encoder would write."""
STREAM_HEADERS = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ncache-control: no-cache\r\n"
    b"transfer-encoding: chunked\r\n\r\n"
)
_encode = msgspec.json.Encoder().encode


class Ending(Enum):
    """What becomes of the connection after the last piece."""

    KEEP = "keep"
    FIN = "fin"
    RST = "rst"
    HOLD = "hold"
    REFUSE = "refuse"


class Wire(msgspec.Struct, frozen=True, kw_only=True):
    """Pieces to write; with a pause they are written apart, so that the client reads them apart."""

    pieces: Sequence[bytes]
    delay: float = 0.0
    pause: float = 0.0
    ending: Ending = Ending.KEEP


def response(status: int, body: bytes, *, content_type: str = "application/json", headers: Iterable[str] = ()) -> bytes:
    lines = [
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}",
        f"content-type: {content_type}",
        f"content-length: {len(body)}",
        *headers,
    ]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def error_body(message: str, *, kind: str, code: str | None = None, param: str | None = None) -> bytes:
    return _encode({"error": {"message": message, "type": kind, "param": param, "code": code}})


def event(payload: bytes) -> bytes:
    return b"data: " + payload + b"\n\n"


def chunk(data: bytes) -> bytes:
    """One chunk of HTTP's chunked transfer coding."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def render(request: Request, head: Head, answer: Answer, *, raw: bytes = b"") -> Wire:
    """The whole response to a chat request, streamed or not as it asked; `raw` goes where `PLACE` stands."""
    mark = PLACE.encode()
    if not head.stream:
        body = completion(request, head, answer).replace(mark, raw)
        return Wire(pieces=(response(200, body),), delay=answer.delay)
    produced = [chunk(part.replace(mark, raw)) for part in events(request, head, answer)]
    return Wire(pieces=[STREAM_HEADERS, *produced, LAST_CHUNK], delay=answer.delay, pause=answer.pace)


def completion(request: Request, head: Head, answer: Answer) -> bytes:
    calls = answer.calls if isinstance(answer, Calls) else ()
    message: dict[str, Any] = {"role": "assistant", "content": answer.text or None if calls else answer.text}
    if calls:
        message["tool_calls"] = [
            _identified(request, index, call, {"name": call.name, "arguments": arguments_text(call)})
            for index, call in enumerate(calls)
        ]
    return _encode(
        {
            "id": f"chatcmpl-{request.digest}",
            "object": "chat.completion",
            "created": CREATED,
            "model": head.model,
            "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": answer.finish}],
            "usage": _usage(request, answer),
        }
    )


def events(request: Request, head: Head, answer: Answer) -> list[bytes]:
    """The stream's events in order: role, content, calls, finish, usage if asked for, the end mark."""
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": part} for part in fragments(answer.text)]
    if isinstance(answer, Calls):
        for index, call in enumerate(answer.calls):
            deltas += call_deltas(request, index, call)
    produced = [delta_event(request, head, delta) for delta in deltas]
    produced.append(delta_event(request, head, {}, finish=answer.finish))
    if head.wants_usage:
        produced.append(_chunk_event(request, head, choices=[], usage=_usage(request, answer)))
    produced.append(DONE)
    return produced


def call_deltas(request: Request, index: int, call: Call) -> list[dict[str, Any]]:
    """The first delta names the call, the others bring its arguments in fragments."""
    first = _identified(request, index, call, {"name": call.name, "arguments": ""})
    rest = [{"index": index, "function": {"arguments": part}} for part in fragments(arguments_text(call))]
    return [{"tool_calls": [delta]} for delta in ({"index": index, **first}, *rest)]


def delta_event(request: Request, head: Head, delta: dict[str, Any], *, finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return _chunk_event(request, head, choices=[choice], usage=None)


def fragments(text: str) -> list[str]:
    return [text[start : start + FRAGMENT] for start in range(0, len(text), FRAGMENT)]


def _chunk_event(request: Request, head: Head, *, choices: list[Any], usage: dict[str, Any] | None) -> bytes:
    body: dict[str, Any] = {
        "id": f"chatcmpl-{request.digest}",
        "object": "chat.completion.chunk",
        "created": CREATED,
        "model": head.model,
        "choices": choices,
    }
    if head.wants_usage:
        body["usage"] = usage
    return event(_encode(body))


def _identified(request: Request, index: int, call: Call, function: dict[str, str]) -> dict[str, Any]:
    identity = f"call_{request.digest}_{index}" if call.id is None else call.id
    return {**({"id": identity} if identity else {}), "type": "function", "function": function}


def _usage(request: Request, answer: Answer) -> dict[str, Any]:
    """Without given numbers, a token is four bytes: coarse, but it grows with the conversation as real counts do."""
    calls = answer.calls if isinstance(answer, Calls) else ()
    written = len(answer.text) + sum(len(arguments_text(call)) for call in calls)
    used = answer.usage or Usage(prompt_tokens=len(request.body) // 4, completion_tokens=1 + written // 4)
    return {
        "prompt_tokens": used.prompt_tokens,
        "completion_tokens": used.completion_tokens,
        "total_tokens": used.prompt_tokens + used.completion_tokens,
        "prompt_tokens_details": {"cached_tokens": used.cached_tokens},
    }

"""OpenAI chat completions: `POST /v1/chat/completions`."""

from __future__ import annotations

from typing import Any

import msgspec

from .conversation import read_head, read_strictly
from .formats import Event, Head, Problem, server_sent_event
from .replies import Answer, Call, Calls, Fail, Fault, Request, Text, arguments_text, usage_of
from .wire import CREATED, fragments, response

STREAM_TYPE = "text/event-stream; charset=utf-8"
frame = server_sent_event
_DONE = Event("", b"[DONE]")
_ERRORS: dict[Fault, tuple[int, str, str | None, str]] = {
    Fault.BAD_REQUEST: (400, "invalid_request_error", None, "The request was not understood."),
    Fault.UNAUTHORIZED: (401, "invalid_request_error", "invalid_api_key", "Incorrect API key provided."),
    Fault.CONTEXT_LENGTH: (
        400,
        "invalid_request_error",
        "context_length_exceeded",
        "This model's maximum context length is 8192 tokens.",
    ),
    Fault.RATE_LIMIT: (429, "requests", "rate_limit_exceeded", "Rate limit reached for requests."),
    Fault.SERVER_ERROR: (500, "server_error", None, "The server had an error while processing your request."),
    Fault.UNAVAILABLE: (503, "server_error", None, "The engine is currently overloaded."),
}
_encode = msgspec.json.Encoder().encode


def unauthorized(request: Request, key: str | None) -> Problem | None:
    if key is None or request.headers.get("authorization") == f"Bearer {key}":
        return None
    return Problem(fault=Fault.UNAUTHORIZED)


def read(request: Request, *, strict: bool) -> Head:
    head = read_strictly(request.body) if strict else read_head(request.body)
    wants = frozenset({"usage"} if head.wants_usage else ())
    return Head(model=head.model, stream=bool(head.stream), wants=wants)


def failure(request: Request, problem: Problem) -> bytes:
    status, kind, code, message = _ERRORS[problem.fault]
    body = error_body(problem.message or message, kind=kind, code=problem.code or code)
    headers = [] if problem.retry_after is None else [f"retry-after: {problem.retry_after:g}"]
    return response(problem.status or status, body, headers=headers)


def error_body(message: str, *, kind: str, code: str | None = None) -> bytes:
    return _encode({"error": {"message": message, "type": kind, "param": None, "code": code}})


def body(request: Request, head: Head, answer: Answer) -> bytes:
    calls = answer.calls if isinstance(answer, Calls) else ()
    refusal = answer.refusal if isinstance(answer, Text) else ""
    message: dict[str, Any] = {"role": "assistant", "content": answer.text or None if calls or refusal else answer.text}
    if refusal:
        message["refusal"] = refusal
    if answer.thinking is not None:
        message["reasoning_content"] = answer.thinking.text
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


def events(request: Request, head: Head, answer: Answer) -> list[Event]:
    """In order: role, reasoning, content, calls, finish, usage if asked for, the end mark."""
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    if answer.thinking is not None:
        deltas += [{"reasoning_content": part} for part in fragments(answer.thinking.text)]
    deltas += [{"content": part} for part in fragments(answer.text)]
    if isinstance(answer, Calls):
        for index, call in enumerate(answer.calls):
            deltas += _call_deltas(request, index, call)
    else:
        deltas += [{"refusal": part} for part in fragments(answer.refusal)]
    return [*(_delta_event(request, head, delta) for delta in deltas), *_end(request, head, answer)]


def interleaved(request: Request, head: Head, reply: Fail) -> list[Event]:
    columns = [_call_deltas(request, index, call) for index, call in enumerate(reply.calls)]
    deepest = max(map(len, columns))
    deltas = [column[row] for row in range(deepest) for column in reversed(columns) if row < len(column)]
    first = _delta_event(request, head, {"role": "assistant", "content": ""})
    end = _end(request, head, Calls(calls=reply.calls, usage=reply.usage))
    return [first, *(_delta_event(request, head, delta) for delta in deltas), *end]


def broken(request: Request, head: Head, reply: Fail, after: int | None) -> Event:
    return Event("", error_body("The server had an error while answering.", kind=reply.kind or "server_error"))


def _call_deltas(request: Request, index: int, call: Call) -> list[dict[str, Any]]:
    """The first delta names the call, the others bring its arguments in fragments."""
    first = _identified(request, index, call, {"name": call.name, "arguments": ""})
    rest = [{"index": index, "function": {"arguments": part}} for part in fragments(arguments_text(call))]
    return [{"tool_calls": [delta]} for delta in ({"index": index, **first}, *rest)]


def _end(request: Request, head: Head, answer: Answer) -> list[Event]:
    produced = [_delta_event(request, head, {}, finish=answer.finish)]
    if "usage" in head.wants:
        produced.append(_chunk_event(request, head, choices=[], usage=_usage(request, answer)))
    return [*produced, _DONE]


def _delta_event(request: Request, head: Head, delta: dict[str, Any], *, finish: str | None = None) -> Event:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return _chunk_event(request, head, choices=[choice], usage=None)


def _chunk_event(request: Request, head: Head, *, choices: list[Any], usage: dict[str, Any] | None) -> Event:
    value: dict[str, Any] = {
        "id": f"chatcmpl-{request.digest}",
        "object": "chat.completion.chunk",
        "created": CREATED,
        "model": head.model,
        "choices": choices,
    }
    if "usage" in head.wants:
        value["usage"] = usage
    return Event("", _encode(value))


def _identified(request: Request, index: int, call: Call, function: dict[str, str]) -> dict[str, Any]:
    identity = f"call_{request.digest}_{index}" if call.id is None else call.id
    return {**({"id": identity} if identity else {}), "type": "function", "function": function}


def _usage(request: Request, answer: Answer) -> dict[str, Any]:
    used = usage_of(request, answer)
    value: dict[str, Any] = {
        "prompt_tokens": used.prompt_tokens,
        "completion_tokens": used.completion_tokens,
        "total_tokens": used.prompt_tokens + used.completion_tokens,
        "prompt_tokens_details": {"cached_tokens": used.cached_tokens},
    }
    if used.reasoning_tokens:
        value["completion_tokens_details"] = {"reasoning_tokens": used.reasoning_tokens}
    return value

"""Anthropic messages: `POST /v1/messages`.

With thinking enabled every answer begins with a thinking block, scripted or not, since the next request must bring it
back; with adaptive thinking only when the script thinks; otherwise never.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

import msgspec

from .anthropic_checks import check
from .checks import decode_object, need
from .formats import Event, Head, InvalidRequest, Problem, server_sent_event
from .replies import Answer, Call, Calls, Fail, Fault, Request, Thinking, arguments_text, arguments_value, usage_of
from .seals import seal
from .wire import fragments, response

STREAM_TYPE = "text/event-stream; charset=utf-8"
frame = server_sent_event
_ERRORS = {
    Fault.BAD_REQUEST: (400, "invalid_request_error", "The request was not understood."),
    Fault.UNAUTHORIZED: (401, "authentication_error", "invalid x-api-key"),
    Fault.CONTEXT_LENGTH: (400, "invalid_request_error", "prompt is too long: 200251 tokens > 200000 maximum"),
    Fault.RATE_LIMIT: (429, "rate_limit_error", "This request would exceed your organization's rate limit."),
    Fault.SERVER_ERROR: (500, "api_error", "Internal server error"),
    Fault.UNAVAILABLE: (529, "overloaded_error", "Overloaded"),
}
_STOPS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use", "content_filter": "refusal"}
_BY_STATUS = {404: "not_found_error", 405: "invalid_request_error"}
_USUAL_THOUGHT = Thinking(text="Let me think about this.")
_encode = msgspec.json.Encoder().encode

Block = dict[str, Any]


def unauthorized(request: Request, key: str | None) -> Problem | None:
    given = request.headers.get("x-api-key") or request.headers.get("authorization", "").removeprefix("Bearer ")
    if key is None or given == key:
        return None
    return Problem(fault=Fault.UNAUTHORIZED, message="" if given else "x-api-key header is required")


def read(request: Request, *, strict: bool) -> Head:
    """`wants` holds the kind of thinking, and `omitted` when its text is not to be shown."""
    if strict and "anthropic-version" not in request.headers:
        raise InvalidRequest("anthropic-version: header is required")
    value = decode_object(request.body)
    if strict:
        check(value)
    thinking = value.get("thinking") or {}
    wants = frozenset(str(thinking[name]) for name in ("type", "display") if thinking.get(name))
    return Head(model=need(value, "model", str, ""), stream=bool(value.get("stream")), wants=wants)


def failure(request: Request, problem: Problem) -> bytes:
    status, kind, message = _ERRORS[problem.fault]
    status = problem.status or status
    headers = [f"request-id: req_{request.digest}"]
    if problem.retry_after is not None:
        headers.append(f"retry-after: {problem.retry_after:g}")
    said = _error(request, _BY_STATUS.get(status, kind), problem.message or message)
    return response(status, said, headers=headers)


def body(request: Request, head: Head, answer: Answer) -> bytes:
    return _encode(
        {
            "id": f"msg_{request.digest}",
            "type": "message",
            "role": "assistant",
            "model": head.model,
            "content": [block for block, _ in _blocks(request, head, answer)],
            **_stop(answer),
            "usage": _usage(request, answer),
        }
    )


def events(request: Request, head: Head, answer: Answer) -> list[Event]:
    told: list[Event] = []
    for index, (block, deltas) in enumerate(_blocks(request, head, answer)):
        told += _block_events(index, block, deltas)
    return [_opening(request, head, answer), _event("ping"), *told, *_closing(request, answer)]


def interleaved(request: Request, head: Head, reply: Fail) -> list[Event]:
    """The blocks begin in order, since their indexes count them."""
    answer = Calls(calls=reply.calls, usage=reply.usage)
    columns = [_block_events(index, *made) for index, made in enumerate(_blocks(request, head, answer))]
    rows = zip_longest(*reversed([column[1:-1] for column in columns]))
    told = [event for row in rows for event in row if event is not None]
    starts = [column[0] for column in columns]
    stops = [column[-1] for column in columns]
    return [_opening(request, head, answer), *starts, *told, *stops, *_closing(request, answer)]


def broken(request: Request, head: Head, reply: Fail, after: int | None) -> Event:
    return Event("error", _error(request, reply.kind or "overloaded_error", "Overloaded"))


def _blocks(request: Request, head: Head, answer: Answer) -> list[tuple[Block, list[Block]]]:
    """Each block as it is when complete, and the deltas that bring it."""
    made: list[tuple[Block, list[Block]]] = []
    thinking = answer.thinking or (_USUAL_THOUGHT if "enabled" in head.wants else None)
    if thinking is not None and head.wants & {"enabled", "adaptive"}:
        made.append(_thought(thinking, omitted="omitted" in head.wants))
    text = answer.text if isinstance(answer, Calls) else answer.text or answer.refusal
    if text:
        deltas = [{"type": "text_delta", "text": part} for part in fragments(text)]
        made.append(({"type": "text", "text": text}, deltas))
    if isinstance(answer, Calls):
        made += [_tool_use(request, index, call) for index, call in enumerate(answer.calls)]
    return made


def _thought(thinking: Thinking, *, omitted: bool) -> tuple[Block, list[Block]]:
    signature = seal(thinking.text)
    if thinking.redacted:
        return {"type": "redacted_thinking", "data": signature}, []
    shown = "" if omitted else thinking.text
    deltas = [{"type": "thinking_delta", "thinking": part} for part in fragments(shown)]
    deltas.append({"type": "signature_delta", "signature": signature})
    return {"type": "thinking", "thinking": shown, "signature": signature}, deltas


def _tool_use(request: Request, index: int, call: Call) -> tuple[Block, list[Block]]:
    identity = f"toolu_{request.digest}_{index}" if call.id is None else call.id
    named = {"id": identity} if identity else {}
    block = {"type": "tool_use", **named, "name": call.name, "input": arguments_value(call)}
    parts = ["", *fragments(arguments_text(call))]
    return block, [{"type": "input_json_delta", "partial_json": part} for part in parts]


def _block_events(index: int, block: Block, deltas: list[Block]) -> list[Event]:
    empty: dict[str, Block] = {
        "text": {"text": ""},
        "thinking": {"thinking": "", "signature": ""},
        "tool_use": {"input": {}},
    }
    begun = {**block, **empty.get(block["type"], {})}
    return [
        _event("content_block_start", index=index, content_block=begun),
        *(_event("content_block_delta", index=index, delta=delta) for delta in deltas),
        _event("content_block_stop", index=index),
    ]


def _opening(request: Request, head: Head, answer: Answer) -> Event:
    message: dict[str, Any] = {
        "id": f"msg_{request.digest}",
        "type": "message",
        "role": "assistant",
        "model": head.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {**_usage(request, answer), "output_tokens": 1},
    }
    return _event("message_start", message=message)


def _closing(request: Request, answer: Answer) -> list[Event]:
    usage = _usage(request, answer)
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
    last = _event("message_delta", delta=_stop(answer), usage={name: usage[name] for name in names})
    return [last, _event("message_stop")]


def _stop(answer: Answer) -> dict[str, Any]:
    refused = not isinstance(answer, Calls) and bool(answer.refusal)
    reason = "refusal" if refused else _STOPS.get(answer.finish, answer.finish)
    stop: dict[str, Any] = {"stop_reason": reason, "stop_sequence": None}
    if reason == "refusal":
        stop["stop_details"] = {"type": "refusal", "category": None, "explanation": None}
    return stop


def _usage(request: Request, answer: Answer) -> dict[str, Any]:
    used = usage_of(request, answer)
    return {
        "input_tokens": max(0, used.prompt_tokens - used.cached_tokens - used.cache_write_tokens),
        "cache_creation_input_tokens": used.cache_write_tokens,
        "cache_read_input_tokens": used.cached_tokens,
        "cache_creation": {"ephemeral_5m_input_tokens": used.cache_write_tokens, "ephemeral_1h_input_tokens": 0},
        "output_tokens": used.completion_tokens,
        "service_tier": "standard",
    }


def _event(name: str, **fields: Any) -> Event:
    return Event(name, _encode({"type": name, **fields}))


def _error(request: Request, kind: str, message: str) -> bytes:
    return _encode(
        {"type": "error", "error": {"type": kind, "message": message}, "request_id": f"req_{request.digest}"}
    )

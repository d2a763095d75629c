"""OpenAI responses: `POST /v1/responses`. Errors and keys are those of chat completions.

An error inside the stream is a `response.failed`; with a `kind` it is an `error` event of that code.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

import msgspec

from .checks import decode_object, need
from .formats import Event, Head, server_sent_event
from .openai_chat import failure, unauthorized
from .openai_responses_checks import check
from .replies import Answer, Calls, Fail, Request, arguments_text, usage_of
from .seals import seal
from .wire import CREATED, fragments

__all__ = ["STREAM_TYPE", "body", "broken", "events", "failure", "frame", "interleaved", "read", "unauthorized"]

STREAM_TYPE = "text/event-stream; charset=utf-8"
frame = server_sent_event
_UNFINISHED = {"length": "max_output_tokens", "content_filter": "content_filter"}
_encode = msgspec.json.Encoder().encode

Item = dict[str, Any]


def read(request: Request, *, strict: bool) -> Head:
    """`wants` holds what the request includes, and `summary` when it asks to see reasoning."""
    value = decode_object(request.body)
    if strict:
        check(value)
    wants = {*(value.get("include") or ())}
    if (value.get("reasoning") or {}).get("summary"):
        wants.add("summary")
    return Head(model=need(value, "model", str, ""), stream=bool(value.get("stream")), wants=frozenset(wants))


def body(request: Request, head: Head, answer: Answer) -> bytes:
    return _encode(_final(request, head, answer))


def events(request: Request, head: Head, answer: Answer) -> list[Event]:
    told = [event for index, item in enumerate(_items(request, head, answer)) for event in _item_events(index, item)]
    return _numbered([*_opening(request, head), *told, _closing(request, head, answer)])


def interleaved(request: Request, head: Head, reply: Fail) -> list[Event]:
    answer = Calls(calls=reply.calls, usage=reply.usage)
    columns = [list(_item_events(index, item)) for index, item in enumerate(_items(request, head, answer))]
    rows = zip_longest(*reversed([column[1:] for column in columns]))
    told = [event for row in rows for event in row if event is not None]
    added = [column[0] for column in columns]
    return _numbered([*_opening(request, head), *added, *told, _closing(request, head, answer)])


def broken(request: Request, head: Head, reply: Fail, after: int | None) -> Event:
    message = "The server had an error while answering."
    if reply.kind and after is not None:
        value = {"type": "error", "code": reply.kind, "message": message, "param": None, "sequence_number": after}
        return Event("error", _encode(value))
    error = {"code": reply.kind or "server_error", "message": message}
    failed = _response(request, head, status="failed", error=error)
    if after is None:
        return Event("", _encode(failed))
    return Event("response.failed", _encode({"type": "response.failed", "response": failed, "sequence_number": after}))


def _items(request: Request, head: Head, answer: Answer) -> list[Item]:
    """The output items as they are when the response is complete."""
    status = "incomplete" if answer.finish in _UNFINISHED else "completed"
    mark = f"{request.digest}r" if answer.thinking else request.digest
    items: list[Item] = []
    if answer.thinking is not None:
        shown = "summary" in head.wants and not answer.thinking.redacted
        item: Item = {"id": f"rs_{mark}", "type": "reasoning", "summary": []}
        if shown:
            item["summary"] = [{"type": "summary_text", "text": answer.thinking.text}]
        if "reasoning.encrypted_content" in head.wants:
            item["encrypted_content"] = seal(answer.thinking.text)
        items.append(item)
    content: list[dict[str, Any]] = []
    if answer.text:
        content.append({"type": "output_text", "text": answer.text, "annotations": [], "logprobs": []})
    if not isinstance(answer, Calls) and answer.refusal:
        content.append({"type": "refusal", "refusal": answer.refusal})
    if content:
        items.append(
            {"id": f"msg_{mark}", "type": "message", "status": status, "role": "assistant", "content": content}
        )
    for index, call in enumerate(answer.calls if isinstance(answer, Calls) else ()):
        identity = f"call_{request.digest}_{index}" if call.id is None else call.id
        item = {"id": f"fc_{mark}_{index}", "type": "function_call", "status": status}
        item |= {"name": call.name, "arguments": arguments_text(call)}
        items.append({**item, "call_id": identity} if identity else item)
    return items


def _item_events(index: int, item: Item) -> Iterator[dict[str, Any]]:
    place = {"item_id": item["id"], "output_index": index}
    match item["type"]:
        case "reasoning":
            begun, told = {**item, "summary": []}, _summary_events(place, item)
        case "message":
            begun, told = {**item, "status": "in_progress", "content": []}, _content_events(place, item)
        case _:
            begun, told = {**item, "status": "in_progress", "arguments": ""}, _arguments_events(place, item)
    yield {"type": "response.output_item.added", "output_index": index, "item": begun}
    yield from told
    yield {"type": "response.output_item.done", "output_index": index, "item": item}


def _summary_events(place: dict[str, Any], item: Item) -> Iterator[dict[str, Any]]:
    for number, part in enumerate(item["summary"]):
        here = {**place, "summary_index": number}
        start = "response.reasoning_summary"
        yield {"type": f"{start}_part.added", **here, "part": {"type": "summary_text", "text": ""}}
        for piece in fragments(part["text"]):
            yield {"type": f"{start}_text.delta", **here, "delta": piece}
        yield {"type": f"{start}_text.done", **here, "text": part["text"]}
        yield {"type": f"{start}_part.done", **here, "part": part}


def _content_events(place: dict[str, Any], item: Item) -> Iterator[dict[str, Any]]:
    for number, part in enumerate(item["content"]):
        here = {**place, "content_index": number}
        kind, field = ("output_text", "text") if part["type"] == "output_text" else ("refusal", "refusal")
        extra: dict[str, Any] = {"logprobs": []} if kind == "output_text" else {}
        yield {"type": "response.content_part.added", **here, "part": {**part, field: ""}}
        for piece in fragments(part[field]):
            yield {"type": f"response.{kind}.delta", **here, "delta": piece, **extra}
        yield {"type": f"response.{kind}.done", **here, field: part[field], **extra}
        yield {"type": "response.content_part.done", **here, "part": part}


def _arguments_events(place: dict[str, Any], item: Item) -> Iterator[dict[str, Any]]:
    kind = "response.function_call_arguments"
    for piece in fragments(item["arguments"]):
        yield {"type": f"{kind}.delta", **place, "delta": piece}
    yield {"type": f"{kind}.done", **place, "name": item["name"], "arguments": item["arguments"]}


def _opening(request: Request, head: Head) -> list[dict[str, Any]]:
    begun = _response(request, head, status="in_progress")
    return [{"type": f"response.{name}", "response": begun} for name in ("created", "in_progress")]


def _closing(request: Request, head: Head, answer: Answer) -> dict[str, Any]:
    final = _final(request, head, answer)
    return {"type": f"response.{final['status']}", "response": final}


def _numbered(told: list[dict[str, Any]]) -> list[Event]:
    return [Event(event["type"], _encode({**event, "sequence_number": place})) for place, event in enumerate(told)]


def _final(request: Request, head: Head, answer: Answer) -> dict[str, Any]:
    used = usage_of(request, answer)
    usage = {
        "input_tokens": used.prompt_tokens,
        "input_tokens_details": {"cached_tokens": used.cached_tokens, "cache_write_tokens": used.cache_write_tokens},
        "output_tokens": used.completion_tokens,
        "output_tokens_details": {"reasoning_tokens": used.reasoning_tokens},
        "total_tokens": used.prompt_tokens + used.completion_tokens,
    }
    reason = _UNFINISHED.get(answer.finish)
    return _response(
        request,
        head,
        status="incomplete" if reason else "completed",
        incomplete_details={"reason": reason} if reason else None,
        output=_items(request, head, answer),
        usage=usage,
    )


def _response(request: Request, head: Head, *, status: str, **known: Any) -> dict[str, Any]:
    """The response object, which says again what was asked."""
    asked = request.json
    return {
        "id": f"resp_{request.digest}",
        "object": "response",
        "created_at": CREATED,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "instructions": asked.get("instructions"),
        "max_output_tokens": asked.get("max_output_tokens"),
        "metadata": asked.get("metadata") or {},
        "model": head.model,
        "output": [],
        "parallel_tool_calls": asked.get("parallel_tool_calls", True),
        "previous_response_id": None,
        "reasoning": {"effort": None, "summary": None, **(asked.get("reasoning") or {})},
        "store": asked.get("store", True),
        "temperature": asked.get("temperature", 1.0),
        "text": asked.get("text") or {"format": {"type": "text"}},
        "tool_choice": asked.get("tool_choice") or "auto",
        "tools": asked.get("tools") or [],
        "top_p": asked.get("top_p", 1.0),
        "truncation": asked.get("truncation") or "disabled",
        "usage": None,
        **known,
    }

"""Gemini: `POST /v1beta/models/MODEL:generateContent` and `:streamGenerateContent?alt=sse`, also under `/v1`.

Arguments of a call are JSON values here, so half a call cannot be sent: the answer says MALFORMED_FUNCTION_CALL, as the
real service does. Calls have no indexes and come whole, so there is no other order than theirs.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, unquote

import msgspec

from .checks import decode_object
from .formats import Event, Head, InvalidRequest, Problem, server_sent_event
from .gemini_checks import camel, check
from .replies import Answer, Call, Calls, Fail, Fault, Request, arguments_text, arguments_value, usage_of
from .seals import call_seal, seal
from .wire import fragments, response

STREAM_TYPE = "text/event-stream"
VERSIONS = ("/v1beta/models/", "/v1/models/")
frame = server_sent_event
_ERRORS = {
    Fault.BAD_REQUEST: (400, "INVALID_ARGUMENT", "Request contains an invalid argument."),
    Fault.UNAUTHORIZED: (400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."),
    Fault.CONTEXT_LENGTH: (
        400,
        "INVALID_ARGUMENT",
        "The input token count (1200251) exceeds the maximum number of tokens allowed (1048576).",
    ),
    Fault.RATE_LIMIT: (429, "RESOURCE_EXHAUSTED", "You exceeded your current quota."),
    Fault.SERVER_ERROR: (500, "INTERNAL", "An internal error has occurred."),
    Fault.UNAVAILABLE: (503, "UNAVAILABLE", "The model is overloaded. Please try again later."),
}
_BY_STATUS = {403: "PERMISSION_DENIED", 404: "NOT_FOUND", 405: "UNIMPLEMENTED"}
_CODES = {status: code for code, status, _ in _ERRORS.values()}
_FINISH = {"stop": "STOP", "tool_calls": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY"}
_encode = msgspec.json.Encoder().encode

Part = dict[str, Any]


def unauthorized(request: Request, key: str | None) -> Problem | None:
    given = request.headers.get("x-goog-api-key") or parse_qs(request.query).get("key", [""])[0]
    if key is None or given == key:
        return None
    if given:
        return Problem(fault=Fault.UNAUTHORIZED)
    message = "Method doesn't allow unregistered callers (callers without established identity)."
    return Problem(fault=Fault.UNAUTHORIZED, status=403, message=message)


def read(request: Request, *, strict: bool) -> Head:
    """`wants` holds `thoughts` when the request asks to see them."""
    name, _, method = request.path.partition("/models/")[2].rpartition(":")
    model = unquote(name)
    stream = method == "streamGenerateContent"
    if stream and parse_qs(request.query).get("alt") != ["sse"]:
        raise InvalidRequest("this endpoint streams with alt=sse only")
    value = camel(decode_object(request.body))
    if strict:
        check(value, model)
    thinking = (value.get("generationConfig") or {}).get("thinkingConfig") or {}
    wants = frozenset({"thoughts"} if thinking.get("includeThoughts") else ())
    return Head(model=model, stream=stream, wants=wants)


def failure(request: Request, problem: Problem) -> bytes:
    """When to try again is in the body: there is no header for it here."""
    status, name, message = _ERRORS[problem.fault]
    status = problem.status or status
    details: list[dict[str, Any]] = []
    if problem.fault is Fault.UNAUTHORIZED and status == 400:
        kind = "type.googleapis.com/google.rpc.ErrorInfo"
        details.append({"@type": kind, "reason": "API_KEY_INVALID", "domain": "googleapis.com"})
    if problem.retry_after is not None:
        kind = "type.googleapis.com/google.rpc.RetryInfo"
        details.append({"@type": kind, "retryDelay": f"{problem.retry_after:g}s"})
    error = {"code": status, "message": problem.message or message, "status": _BY_STATUS.get(status, name)}
    said = _encode({"error": {**error, "details": details} if details else error})
    return response(status, said, content_type="application/json; charset=UTF-8")


def body(request: Request, head: Head, answer: Answer) -> bytes:
    if _is_blocked(answer):
        return _encode(_blocked(request, head, answer))
    parts = [part for group in _parts(head, request, answer, whole=True) for part in group]
    return _encode(_response(request, head, answer, parts, _finish(answer)))


def events(request: Request, head: Head, answer: Answer) -> list[Event]:
    """One response per piece; the last one, empty, has the reason to stop and the signature of a text."""
    if _is_blocked(answer):
        return [Event("", _encode(_blocked(request, head, answer)))]
    groups = _parts(head, request, answer, whole=False)
    told = [_response(request, head, answer, parts, None) for parts in groups]
    end: list[Part] = [{"text": ""}] if told else []
    if end and answer.thinking is not None and not isinstance(answer, Calls):
        end[0]["thoughtSignature"] = seal(answer.thinking.text)
    told.append(_response(request, head, answer, end, _finish(answer)))
    return [Event("", _encode(value)) for value in told]


def interleaved(request: Request, head: Head, reply: Fail) -> list[Event]:
    return events(request, head, Calls(calls=reply.calls, usage=reply.usage))


def broken(request: Request, head: Head, reply: Fail, after: int | None) -> Event:
    status = reply.kind or "UNAVAILABLE"
    error = {"code": _CODES.get(status, 500), "message": "The service is currently unavailable.", "status": status}
    return Event("", _encode({"error": error}))


def _parts(head: Head, request: Request, answer: Answer, *, whole: bool) -> list[list[Part]]:
    """The parts of the answer, grouped as they are streamed; `whole` does not cut texts into pieces."""
    groups: list[list[Part]] = []
    if answer.thinking is not None and "thoughts" in head.wants:
        thoughts = [answer.thinking.text] if whole else fragments(answer.thinking.text)
        groups += [[{"text": piece, "thought": True}] for piece in thoughts]
    if answer.text:
        groups += [[{"text": piece}] for piece in ([answer.text] if whole else fragments(answer.text))]
        if whole and answer.thinking is not None and not isinstance(answer, Calls):
            groups[-1][0]["thoughtSignature"] = seal(answer.thinking.text)
    if isinstance(answer, Calls) and not _is_malformed(answer):
        groups += [[_call(request, index, call)] for index, call in enumerate(answer.calls)]
    return groups


def _call(request: Request, index: int, call: Call) -> Part:
    """Of parallel calls only the first is signed."""
    arguments = arguments_value(call)
    identity = f"call_{request.digest}_{index}" if call.id is None else call.id
    named = {"id": identity} if identity else {}
    part: Part = {"functionCall": {**named, "name": call.name, "args": arguments}}
    if index == 0:
        part["thoughtSignature"] = call_seal(call.name, arguments)
    return part


def _response(request: Request, head: Head, answer: Answer, parts: list[Part], finish: str | None) -> dict[str, Any]:
    content = {"parts": parts, "role": "model"} if parts else {"role": "model"}
    candidate: dict[str, Any] = {"content": content, "index": 0}
    if finish is not None:
        candidate["finishReason"] = finish
    if finish == "MALFORMED_FUNCTION_CALL" and isinstance(answer, Calls):
        call = answer.calls[0]
        candidate["finishMessage"] = f"Malformed function call: {call.name}({arguments_text(call)}"
    return {"candidates": [candidate], **_about(request, head, answer, final=finish is not None)}


def _blocked(request: Request, head: Head, answer: Answer) -> dict[str, Any]:
    said = "" if isinstance(answer, Calls) else answer.refusal
    feedback = {"blockReason": "PROHIBITED_CONTENT", "blockReasonMessage": said}
    return {"promptFeedback": feedback, **_about(request, head, answer, final=False)}


def _about(request: Request, head: Head, answer: Answer, *, final: bool) -> dict[str, Any]:
    used = usage_of(request, answer)
    usage: dict[str, Any] = {"promptTokenCount": used.prompt_tokens}
    if used.cached_tokens:
        usage["cachedContentTokenCount"] = used.cached_tokens
    if final:
        usage["candidatesTokenCount"] = used.completion_tokens - used.reasoning_tokens
        if used.reasoning_tokens:
            usage["thoughtsTokenCount"] = used.reasoning_tokens
    usage["totalTokenCount"] = used.prompt_tokens + (used.completion_tokens if final else 0)
    return {"usageMetadata": usage, "modelVersion": head.model, "responseId": request.digest}


def _is_blocked(answer: Answer) -> bool:
    return not isinstance(answer, Calls) and bool(answer.refusal)


def _is_malformed(answer: Answer) -> bool:
    return isinstance(answer, Calls) and any(isinstance(arguments_value(call), str) for call in answer.calls)


def _finish(answer: Answer) -> str:
    return "MALFORMED_FUNCTION_CALL" if _is_malformed(answer) else _FINISH.get(answer.finish, answer.finish)

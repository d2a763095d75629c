"""Bedrock converse: `POST /model/ID/converse` and `/converse-stream`, signed (version 4) or with a bearer token.

Thinking is that of Anthropic's models, asked for in `additionalModelRequestFields`. An error inside the stream is an
exception message, `modelStreamErrorException` if no `kind` is given.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import Any
from urllib.parse import unquote

import msgspec

from . import sigv4
from .bedrock_checks import check, thinking_of
from .checks import decode_object
from .eventstream import message
from .formats import Event, Head, Problem
from .replies import Answer, Call, Calls, Fail, Fault, Request, Thinking, arguments_text, arguments_value, usage_of
from .seals import seal
from .wire import fragments, response

STREAM_TYPE = "application/vnd.amazon.eventstream"
_ERRORS = {
    Fault.BAD_REQUEST: (400, "ValidationException", "The request was not understood."),
    Fault.UNAUTHORIZED: (403, "UnrecognizedClientException", "The security token included in the request is invalid."),
    Fault.CONTEXT_LENGTH: (400, "ValidationException", "Input is too long for requested model."),
    Fault.RATE_LIMIT: (429, "ThrottlingException", "Too many requests, please wait before trying again."),
    Fault.SERVER_ERROR: (500, "InternalServerException", "The system encountered an unexpected error."),
    Fault.UNAVAILABLE: (503, "ServiceUnavailableException", "Bedrock is unable to process your request."),
}
_STOPS = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "content_filter": "content_filtered",
}
_USUAL_THOUGHT = Thinking(text="Let me think about this.")
_encode = msgspec.json.Encoder().encode

Block = dict[str, Any]


def unauthorized(request: Request, key: str | None) -> Problem | None:
    """Signatures of the known pair of keys are checked always; those of others are taken when no key was set."""
    header = request.headers.get("authorization", "")
    if not header:
        return Problem(fault=Fault.UNAUTHORIZED, code="MissingAuthenticationTokenException", message="Missing token")
    if header.startswith("Bearer "):
        if key is None or header == f"Bearer {key}":
            return None
        return Problem(fault=Fault.UNAUTHORIZED, code="AccessDeniedException", message="Authentication failed.")
    claimed = sigv4.parse(header)
    if claimed is None:
        message = "Authorization header requires Credential, SignedHeaders and Signature."
        return Problem(fault=Fault.UNAUTHORIZED, code="IncompleteSignatureException", message=message)
    if claimed.access_key == sigv4.ACCESS_KEY:
        if sigv4.is_right(request, claimed, service="bedrock"):
            return None
        message = "The request signature we calculated does not match the signature you provided."
        return Problem(fault=Fault.UNAUTHORIZED, code="InvalidSignatureException", message=message)
    return None if key is None else Problem(fault=Fault.UNAUTHORIZED)


def read(request: Request, *, strict: bool) -> Head:
    """`wants` holds the kind of thinking."""
    name, _, method = request.path.removeprefix("/model/").rpartition("/")
    value = decode_object(request.body)
    if strict:
        check(value)
    return Head(model=unquote(name), stream=method == "converse-stream", wants=frozenset({thinking_of(value)}))


def failure(request: Request, problem: Problem) -> bytes:
    status, kind, said = _ERRORS[problem.fault]
    if problem.code is not None and problem.code.endswith("Exception"):
        kind = problem.code
    if problem.status == 404:
        kind = "ResourceNotFoundException"
    headers = [f"x-amzn-errortype: {kind}:http://internal.amazon.com/coral/com.amazon.bedrock/"]
    headers.append(f"x-amzn-requestid: {request.digest}")
    if problem.retry_after is not None:
        headers.append(f"retry-after: {problem.retry_after:g}")
    return response(problem.status or status, _encode({"message": problem.message or said}), headers=headers)


def body(request: Request, head: Head, answer: Answer) -> bytes:
    content = [block for block, _, _ in _blocks(request, head, answer)]
    return _encode(
        {
            "output": {"message": {"role": "assistant", "content": content}},
            "stopReason": _stop(answer),
            "usage": _usage(request, answer),
            "metrics": {"latencyMs": 1},
        }
    )


def events(request: Request, head: Head, answer: Answer) -> list[Event]:
    told: list[Event] = []
    for index, (_, start, deltas) in enumerate(_blocks(request, head, answer)):
        told += _block_events(index, start, deltas)
    return [_event("messageStart", role="assistant"), *told, *_closing(request, answer)]


def interleaved(request: Request, head: Head, reply: Fail) -> list[Event]:
    """The blocks begin in order, since their indexes count them."""
    answer = Calls(calls=reply.calls, usage=reply.usage)
    made = enumerate(_blocks(request, head, answer))
    columns = [_block_events(index, start, deltas) for index, (_, start, deltas) in made]
    rows = zip_longest(*reversed([column[1:-1] for column in columns]))
    told = [event for row in rows for event in row if event is not None]
    starts = [column[0] for column in columns]
    stops = [column[-1] for column in columns]
    return [_event("messageStart", role="assistant"), *starts, *told, *stops, *_closing(request, answer)]


def broken(request: Request, head: Head, reply: Fail, after: int | None) -> Event:
    kind = reply.kind or "modelStreamErrorException"
    return Event(kind, _encode({"message": "An error occurred while streaming the response. Retry your request."}))


def frame(event: Event) -> bytes:
    if event.name.endswith("Exception"):
        headers = {":exception-type": event.name, ":content-type": "application/json", ":message-type": "exception"}
    else:
        headers = {":event-type": event.name, ":content-type": "application/json", ":message-type": "event"}
    return message(headers, event.data)


def _blocks(request: Request, head: Head, answer: Answer) -> list[tuple[Block, Block | None, list[Block]]]:
    """Each block as it is when complete, what its start says (only of tools), and the deltas that bring it."""
    made: list[tuple[Block, Block | None, list[Block]]] = []
    thinking = answer.thinking or (_USUAL_THOUGHT if "enabled" in head.wants else None)
    if thinking is not None and head.wants & {"enabled", "adaptive"}:
        made.append(_thought(thinking))
    text = answer.text if isinstance(answer, Calls) else answer.text or answer.refusal
    if text:
        made.append(({"text": text}, None, [{"text": part} for part in fragments(text)]))
    if isinstance(answer, Calls):
        made += [_tool_use(request, index, call) for index, call in enumerate(answer.calls)]
    return made


def _thought(thinking: Thinking) -> tuple[Block, None, list[Block]]:
    signature = seal(thinking.text)
    if thinking.redacted:
        hidden = {"reasoningContent": {"redactedContent": signature}}
        return hidden, None, [hidden]
    whole = {"reasoningContent": {"reasoningText": {"text": thinking.text, "signature": signature}}}
    deltas: list[Block] = [{"reasoningContent": {"text": part}} for part in fragments(thinking.text)]
    return whole, None, [*deltas, {"reasoningContent": {"signature": signature}}]


def _tool_use(request: Request, index: int, call: Call) -> tuple[Block, Block, list[Block]]:
    identity = f"tooluse_{request.digest}_{index}" if call.id is None else call.id
    named = {**({"toolUseId": identity} if identity else {}), "name": call.name}
    deltas = [{"toolUse": {"input": part}} for part in fragments(arguments_text(call))]
    return {"toolUse": {**named, "input": arguments_value(call)}}, {"toolUse": named}, deltas


def _block_events(index: int, start: Block | None, deltas: list[Block]) -> list[Event]:
    begun = [] if start is None else [_event("contentBlockStart", contentBlockIndex=index, start=start)]
    told = [_event("contentBlockDelta", contentBlockIndex=index, delta=delta) for delta in deltas]
    return [*begun, *told, _event("contentBlockStop", contentBlockIndex=index)]


def _closing(request: Request, answer: Answer) -> list[Event]:
    return [
        _event("messageStop", stopReason=_stop(answer)),
        _event("metadata", usage=_usage(request, answer), metrics={"latencyMs": 1}),
    ]


def _event(name: str, **fields: Any) -> Event:
    """The service adds a meaningless `p` of varying length, so that sizes on the wire tell nothing."""
    return Event(name, _encode({**fields, "p": "abcdefghijklmnop"[: 1 + len(fields) * 3]}))


def _stop(answer: Answer) -> str:
    if not isinstance(answer, Calls) and answer.refusal:
        return "content_filtered"
    return _STOPS.get(answer.finish, answer.finish)


def _usage(request: Request, answer: Answer) -> dict[str, Any]:
    used = usage_of(request, answer)
    return {
        "inputTokens": max(0, used.prompt_tokens - used.cached_tokens - used.cache_write_tokens),
        "outputTokens": used.completion_tokens,
        "totalTokens": used.prompt_tokens + used.completion_tokens,
        "cacheReadInputTokens": used.cached_tokens,
        "cacheWriteInputTokens": used.cache_write_tokens,
    }

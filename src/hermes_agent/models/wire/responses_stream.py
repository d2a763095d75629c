"""A streamed answer in OpenAI's responses format.

Deltas are only passed on to whoever listens; the answer is made of the items that were reported done, each of them
whole. Nothing is an answer before the endpoint said that the response is over.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import msgspec

from ...types.errors import ModelError, ModelFailure
from ...types.events import Usage
from ...types.text import clean, clean_json, one_line
from ...types.tools import ToolCall
from ..arguments import call_of
from ..client import ModelAnswer, TextListener
from ..exchange import drained, failure_of
from ..http import server_sent_events
from .outline import Outline
from .parts import decoded
from .responses import WIRE

_STATUS = {
    "invalid_api_key": 401,
    "context_length_exceeded": 400,
    "data_residency_mismatch": 400,
    "image_parse_error": 400,
    "invalid_prompt": 400,
    "rate_limit_exceeded": 429,
    "usage_limit_reached": 429,
}
_REFUSALS = ("bio_policy", "cyber_policy", "misalignment_policy_violation", "image_content_policy_violation")
_INCOMPLETE = {"max_output_tokens": "length", "content_filter": "content_filter"}


class _Told(msgspec.Struct):
    type: str = ""
    delta: Any = None


class _Content(msgspec.Struct):
    type: str = ""
    text: str | None = None
    refusal: str | None = None


class _Item(msgspec.Struct):
    type: str = ""
    id: str | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: str | None = None
    content: list[_Content] | None = None
    phase: str | None = None
    encrypted_content: str | None = None
    summary: list[Any] | None = None


class _Done(msgspec.Struct):
    output_index: int = 0
    item: _Item | None = None


class _Details(msgspec.Struct):
    cached_tokens: int | None = None


class _Usage(msgspec.Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    input_tokens_details: _Details | None = None


class _Error(msgspec.Struct):
    code: str | None = None
    type: str | None = None
    message: str | None = None


class _Reason(msgspec.Struct):
    reason: str | None = None


class _Response(msgspec.Struct):
    output: list[_Item] | None = None
    usage: _Usage | None = None
    error: _Error | None = None
    incomplete_details: _Reason | None = None


class _Final(msgspec.Struct):
    response: _Response | None = None
    error: _Error | None = None
    code: str | None = None
    message: str | None = None


_told = msgspec.json.Decoder(_Told)
_done = msgspec.json.Decoder(_Done)
_final = msgspec.json.Decoder(_Final)


class _Collected:
    """A streamed answer as it grows. Items are kept by their index, in whatever order they are done."""

    def __init__(self, on_text: TextListener) -> None:
        self._on_text = on_text
        self._heard = False
        self._items: dict[int, _Item] = {}

    def say(self, delta: Any) -> None:
        if isinstance(delta, str) and delta:
            self._heard = True
            self._on_text(clean(delta))

    def done(self, event: _Done) -> None:
        if event.item is not None:
            self._items[event.output_index] = event.item

    def answer(self, response: _Response, by: str) -> ModelAnswer:
        """The whole answer. Some endpoints report items one by one, some only all of them at the end."""
        items = [item for _, item in sorted(self._items.items())] or response.output or []
        reason = (response.incomplete_details.reason or "") if response.incomplete_details else ""
        problem = f"the answer was cut off ({reason})" if reason else ""
        texts: list[str] = []
        refusals: list[str] = []
        calls: list[ToolCall] = []
        outline: Outline = []
        for item in items:
            match item.type:
                case "message":
                    text = clean("".join([part.text or "" for part in item.content or ()]))
                    texts.append(text)
                    refusals += [part.refusal for part in item.content or () if part.refusal]
                    outline.append({"text": len(text), **({"phase": item.phase} if item.phase else {})})
                case "function_call":
                    calls.append(_call(item, len(calls), problem))
                    outline.append({"call": True})
                case "reasoning" if item.encrypted_content:
                    outline.append({"keep": _reasoning(item)})
                case _:
                    continue
        said, refused = "".join(texts), clean("".join(refusals))
        if not said and not calls:
            raise _nothing(refused, reason)
        said = self._with_refusal(said, refused)
        stop = _INCOMPLETE.get(reason, reason) or ("refused" if refused else "tool_calls" if calls else "stop")
        keeps = any("keep" in entry or "phase" in entry for entry in outline)
        return ModelAnswer(
            text=said,
            calls=tuple(calls),
            stop=stop,
            usage=_used(response.usage or _Usage()),
            replay={WIRE: {"by": by, "outline": clean_json(outline)}} if keeps else {},
        )

    def _with_refusal(self, said: str, refused: str) -> str:
        """All that was said; what was not streamed is passed on at once. A refusal is never streamed: if nothing else
        comes, another provider is asked, and nobody should have read it."""
        if not self._heard and said:
            self._on_text(said)
        if refused:
            self._on_text(refused)
        return said + refused


async def collected(chunks: AsyncIterator[bytes], on_text: TextListener, by: str, key_name: str) -> ModelAnswer:
    """The answer in a stream of events. `by` names who reasoned, for when the reasoning comes back."""
    answer = _Collected(on_text)
    events = server_sent_events(chunks)
    async for data in events:
        if data == b"[DONE]":
            break
        told = decoded(data, _told)
        match told.type:
            case "response.output_text.delta":
                answer.say(told.delta)
            case "response.output_item.done":
                answer.done(decoded(data, _done))
            case "response.completed" | "response.incomplete":
                final = decoded(data, _final)
                await drained(events)
                return answer.answer(final.response or _Response(), by)
            case "response.failed" | "error":
                raise _failure(decoded(data, _final), key_name)
            case _:
                continue
    raise ModelError(ModelFailure.MALFORMED, "the answer broke off before it was finished")


def _call(item: _Item, number: int, problem: str) -> ToolCall:
    found = call_of(item.call_id or f"call_{number}", item.name or "", item.arguments or "")
    return ToolCall(id=found.id, name=found.name, problem=problem) if problem else found


def _reasoning(item: _Item) -> dict[str, Any]:
    return {
        "type": "reasoning",
        "id": item.id or "",
        "summary": item.summary or [],
        "encrypted_content": item.encrypted_content,
    }


def _nothing(refused: str, reason: str) -> ModelError:
    if refused:
        return ModelError(ModelFailure.REFUSED, f"the model refused: {one_line(refused, 200)}")
    failure = ModelFailure.REFUSED if reason == "content_filter" else ModelFailure.MALFORMED
    return ModelError(failure, f"the answer was empty ({reason or 'completed'})")


def _used(usage: _Usage) -> Usage:
    details = usage.input_tokens_details
    cached = (details.cached_tokens or 0) if details else 0
    return Usage(input=usage.input_tokens or 0, output=usage.output_tokens or 0, cached=cached)


def _failure(final: _Final, key_name: str) -> ModelError:
    """The error an endpoint reported in the middle of its answer, in one of two shapes."""
    inner = final.response.error if final.response else None
    error = inner or final.error or _Error(code=final.code, message=final.message)
    code = error.code or error.type or ""
    said = f"the endpoint reported: {one_line(clean(error.message or ''), 200) or code}"
    if code in _REFUSALS:
        return ModelError(ModelFailure.REFUSED, said)
    status = 400 if code.startswith(("invalid_", "image_", "unsupported_")) else 500
    return failure_of(_STATUS.get(code, status), said, code, key_name=key_name)

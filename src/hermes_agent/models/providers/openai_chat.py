"""OpenAI's chat-completions format, which most other providers and local servers speak too."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec

from ...types.errors import ConfigError, ModelError, ModelFailure
from ...types.events import AssistantMessage, CallFinished, Fragment, Image, Message, Usage, UserMessage
from ...types.text import clean, clean_json, one_line
from ...types.tools import ToolCall
from ..access import access_to
from ..arguments import call_of
from ..client import ModelAnswer, ProviderOptions, TextListener
from ..exchange import Exchange, drained
from ..http import server_sent_events
from ..request import ModelRequest, Prefix
from ..wire.openai_models import effort_for, reasons
from ..wire.parts import missing_picture, picture
from ..wire.schema import closed, is_strict

_WIRE = "openai_chat"
_DEFAULT_URL = "https://api.openai.com/v1"
_CUT_OFF = ("length", "content_filter")
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_-]")


class _Function(msgspec.Struct):
    name: str | None = None
    arguments: str | None = None


class _CallDelta(msgspec.Struct):
    index: int | None = None
    id: str | None = None
    function: _Function | None = None


class _Delta(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None
    tool_calls: list[_CallDelta] | None = None


class _Choice(msgspec.Struct):
    delta: _Delta | None = None
    finish_reason: str | None = None


class _Details(msgspec.Struct):
    cached_tokens: int | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _Details | None = None


class _Chunk(msgspec.Struct):
    choices: list[_Choice] | None = None
    usage: _Usage | None = None
    error: Any = None


_chunk_decoder = msgspec.json.Decoder(_Chunk)


class _GrowingCall:
    """One call whose pieces are still coming. `index` is its place among the calls of the answer."""

    def __init__(self, index: int) -> None:
        self.index = index
        self.id = ""
        self._name = ""
        self._arguments: list[str] = []

    def add(self, piece: _CallDelta) -> None:
        self.id = self.id or piece.id or ""
        if piece.function is not None:
            self._name += piece.function.name or ""
            self._arguments.append(piece.function.arguments or "")

    def is_followed_by(self, piece: _CallDelta) -> bool:
        """Whether a piece at the same place begins another call."""
        if piece.id and self.id:
            return piece.id != self.id
        return piece.index is None and piece.function is not None and bool(piece.function.name)

    def call(self, number: int, problem: str) -> ToolCall:
        """The call as a whole; with a problem, one that is never run."""
        found = call_of(self.id or f"call_{number}", self._name, "".join(self._arguments))
        return ToolCall(id=found.id, name=found.name, problem=problem) if problem else found


class _Collected:
    """A streamed answer as it grows. Calls are kept by their index, in whatever order their pieces come.

    Endpoints differ: some leave the index out, some give every call the index 0. An id that differs from the one
    at the same index begins a call of its own.
    """

    def __init__(self, on_text: TextListener) -> None:
        self._on_text = on_text
        self._text: list[str] = []
        self._calls: list[_GrowingCall] = []
        self.stop = ""
        self.usage = Usage()

    def add(self, chunk: _Chunk) -> None:
        if chunk.usage is not None:
            details = chunk.usage.prompt_tokens_details
            self.usage = Usage(
                input=chunk.usage.prompt_tokens or 0,
                output=chunk.usage.completion_tokens or 0,
                cached=(details.cached_tokens or 0) if details else 0,
            )
        for choice in (chunk.choices or ())[:1]:
            self.stop = choice.finish_reason or self.stop
            if choice.delta is not None:
                self._add_delta(choice.delta)

    def _add_delta(self, delta: _Delta) -> None:
        text = delta.content or delta.refusal
        if text:
            self._text.append(text)
            self._on_text(clean(text))
        for piece in delta.tool_calls or ():
            self._growing(piece).add(piece)

    def _growing(self, piece: _CallDelta) -> _GrowingCall:
        """The call a piece belongs to: the last one at its index, or the last one of all where it has no index."""
        same = [call for call in self._calls if piece.index in (None, call.index)]
        if same and not same[-1].is_followed_by(piece):
            return same[-1]
        self._calls.append(_GrowingCall(len(self._calls) if piece.index is None else piece.index))
        return self._calls[-1]

    def answer(self) -> ModelAnswer:
        if not self.stop:
            raise ModelError(ModelFailure.MALFORMED, "the answer broke off before it was finished")
        text = clean("".join(self._text))
        if not text and not self._calls:
            filtered = self.stop == "content_filter"
            failure = ModelFailure.REFUSED if filtered else ModelFailure.MALFORMED
            raise ModelError(failure, f"the answer was empty (finish reason {self.stop!r})")
        problem = f"the answer was cut off (finish reason {self.stop!r})" if self.stop in _CUT_OFF else ""
        ordered = sorted(self._calls, key=lambda call: call.index)
        calls = tuple(call.call(number, problem) for number, call in enumerate(ordered))
        return ModelAnswer(text=text, calls=calls, stop=self.stop, usage=self.usage)


def _piece(message: Message, image: Callable[[str], bytes]) -> bytes:
    """One message of the transcript in this format."""
    value: dict[str, Any]
    match message:
        case UserMessage(text=text, images=images):
            value = {
                "role": "user",
                "content": [_part(text), *(_shown(one, image) for one in images)] if images else text,
            }
        case Fragment(source=source, text=text):
            value = {"role": "user", "content": f'<notice from="{source}">\n{text}\n</notice>'}
        case CallFinished(call_id=call_id, text=text):
            value = {"role": "tool", "tool_call_id": call_id, "content": text}
        case AssistantMessage(text=text, calls=calls):
            value = {"role": "assistant", "content": text or (None if calls else "")}
            if calls:
                value["tool_calls"] = [{"id": call.id, "type": "function", "function": _called(call)} for call in calls]
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(clean_json(value))


def _part(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _shown(one: Image, read: Callable[[str], bytes]) -> dict[str, Any]:
    data = picture(one, read)
    if not data:
        return _part(missing_picture(one))
    return {"type": "image_url", "image_url": {"url": f"data:{one.media_type};base64,{data}"}}


def _wishes(model: str, request: ModelRequest) -> dict[str, Any]:
    """What may differ from request to request, behind everything that is cached."""
    wishes: dict[str, Any] = {}
    match request.tool_choice:
        case "auto":
            pass
        case "none" | "required" as choice:
            wishes["tool_choice"] = choice
        case name:
            wishes["tool_choice"] = {"type": "function", "function": {"name": name}}
    if not request.prefix.tools:
        wishes.pop("tool_choice", None)
    if request.max_tokens:
        wishes["max_completion_tokens" if reasons(model) else "max_tokens"] = request.max_tokens
    if request.effort is not None and reasons(model):
        wishes["reasoning_effort"] = effort_for(model, request.effort)
    if request.schema is not None:
        schema = closed(request.schema)
        named = {"name": "answer", "schema": schema, "strict": is_strict(schema)}
        wishes["response_format"] = {"type": "json_schema", "json_schema": named}
    return wishes


def _called(call: ToolCall) -> dict[str, str]:
    """A call's function. A name that the model made up may be one the endpoint would not take back."""
    name = _NOT_IN_NAMES.sub("_", call.name)[:64] or "unknown"
    return {"name": name, "arguments": msgspec.json.encode(call.arguments).decode()}


class OpenAIChat:
    """A model behind an OpenAI-compatible endpoint."""

    def __init__(self, options: ProviderOptions) -> None:
        self.provider = options.provider or "openai"
        self.model = options.model
        base_url = options.base_url or _DEFAULT_URL
        self._exchange = Exchange.to(base_url, "/chat/completions", options, access_to(self.provider).keys[0])
        self._headers = {"content-type": "application/json", "accept-encoding": "identity"}
        if options.api_key:
            self._headers["authorization"] = f"Bearer {options.api_key}"
        self._head: tuple[Prefix | None, bytes] = (None, b"")

    def body(self, request: ModelRequest) -> bytes:
        """The request as bytes: what stays the same first, then the transcript, then what may differ."""
        image = request.transcript.image
        pieces = request.transcript.pieces(_WIRE, lambda message: _piece(message, image))
        messages = b",".join((self._prefix(request.prefix), *pieces))
        wishes = _wishes(self.model, request)
        tail = b"]," + msgspec.json.encode(wishes)[1:] if wishes else b"]}"
        return messages + tail

    def _prefix(self, prefix: Prefix) -> bytes:
        if self._head[0] is not prefix:
            head = {"model": self.model, "stream": True, "stream_options": {"include_usage": True}}
            encoded = msgspec.json.encode(head)[:-1]
            if prefix.tools:
                tools = [{"type": "function", "function": tool} for tool in prefix.tools]
                encoded += b',"tools":' + msgspec.json.encode(tools)
            system = msgspec.json.encode({"role": "system", "content": prefix.system})
            self._head = (prefix, encoded + b',"messages":[' + system)
        return self._head[1]

    async def answer(self, request: ModelRequest, on_text: TextListener) -> ModelAnswer:
        """One streamed completion."""
        return await self._exchange.ask(self.body(request), self._headers, lambda chunks: _collect(chunks, on_text))

    async def close(self) -> None:
        """Connections belong to the loop, not to this model."""


async def _collect(chunks: AsyncIterator[bytes], on_text: TextListener) -> ModelAnswer:
    collected = _Collected(on_text)
    events = server_sent_events(chunks)
    async for data in events:
        if data == b"[DONE]":
            await drained(events)
            break
        chunk = _decoded(data)
        if chunk.error is not None:
            raise ModelError(ModelFailure.OVERLOAD, f"the endpoint reported: {one_line(str(chunk.error), 200)}")
        collected.add(chunk)
    return collected.answer()


def _decoded(data: bytes) -> _Chunk:
    try:
        return _chunk_decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        try:
            return msgspec.convert(json.loads(data), _Chunk)
        except (ValueError, RecursionError, msgspec.ValidationError):
            raise ModelError(ModelFailure.MALFORMED, f"the stream holds what is no chunk: {error}") from error


def connect(options: ProviderOptions) -> OpenAIChat:
    """A client for `openai:NAME`."""
    if not options.model:
        provider = options.provider or "openai"
        raise ConfigError(f"{provider}: needs a model name", remedy=f"write {provider}:NAME")
    if not options.api_key and not options.base_url:
        raise ConfigError(
            "openai: needs a key or another endpoint", remedy="set OPENAI_API_KEY, or OPENAI_BASE_URL / --base-url"
        )
    return OpenAIChat(options)

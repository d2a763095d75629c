"""OpenAI's chat-completions format, which most other providers and local servers speak too."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import msgspec

from ...types.errors import ConfigError, ModelError, ModelFailure
from ...types.events import AssistantMessage, CallFinished, Fragment, Message, Usage, UserMessage
from ...types.text import clean, clean_json, one_line
from ...types.tools import ToolCall
from ..client import ModelAnswer, ProviderOptions, TextListener
from ..http import BrokenStream, http_client, server_sent_events
from ..request import ModelRequest, Prefix

_WIRE = "openai_chat"
_DRAIN_SECONDS = 0.5
_DEFAULT_URL = "https://api.openai.com/v1"


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


class _Collected:
    """A streamed answer as it grows. Calls are kept by their index, in whatever order their pieces come."""

    def __init__(self, on_text: TextListener) -> None:
        self._on_text = on_text
        self._text: list[str] = []
        self._calls: dict[int, tuple[list[str], list[str], list[str]]] = {}
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
            self._on_text(text)
        for position, piece in enumerate(delta.tool_calls or ()):
            place = piece.index if piece.index is not None else len(self._calls) + (0 if piece.id else -1) + position
            ids, names, arguments = self._calls.setdefault(max(place, 0), ([], [], []))
            if piece.id:
                ids.append(piece.id)
            if piece.function is not None:
                names.append(piece.function.name or "")
                arguments.append(piece.function.arguments or "")

    def answer(self) -> ModelAnswer:
        if not self.stop:
            raise ModelError(ModelFailure.MALFORMED, "the answer broke off before it was finished")
        calls = tuple(
            _call(ids[0] if ids else "", "".join(names), "".join(arguments), number)
            for number, (ids, names, arguments) in sorted(self._calls.items())
        )
        text = clean("".join(self._text))
        if not text and not calls:
            raise ModelError(ModelFailure.MALFORMED, f"the answer was empty (finish reason {self.stop!r})")
        return ModelAnswer(text=text, calls=calls, stop=self.stop, usage=self.usage)


def _call(call_id: str, name: str, arguments: str, number: int) -> ToolCall:
    """A call with its arguments read; what cannot be read is said, and such a call is never run."""
    call_id = clean(call_id) or f"call_{number}"
    name = clean(name)
    try:
        value = json.loads(arguments) if arguments.strip() else {}
    except ValueError as error:
        return ToolCall(id=call_id, name=name, problem=f"the arguments are not valid JSON: {error}")
    if not isinstance(value, dict):
        return ToolCall(id=call_id, name=name, problem="the arguments are not a JSON object")
    return ToolCall(id=call_id, name=name, arguments=clean_json(value))


def _piece(message: Message) -> bytes:
    """One message of the transcript in this format."""
    value: dict[str, Any]
    match message:
        case UserMessage(text=text):
            value = {"role": "user", "content": text}
        case Fragment(source=source, text=text):
            value = {"role": "user", "content": f'<notice from="{source}">\n{text}\n</notice>'}
        case CallFinished(call_id=call_id, text=text):
            value = {"role": "tool", "tool_call_id": call_id, "content": text}
        case AssistantMessage(text=text, calls=calls):
            value = {"role": "assistant", "content": text or None}
            if calls:
                value["tool_calls"] = [
                    {
                        "id": call.id,
                        "type": "function",
                        "function": {"name": call.name, "arguments": msgspec.json.encode(call.arguments).decode()},
                    }
                    for call in calls
                ]
    return msgspec.json.encode(value)


class OpenAIChat:
    """A model behind an OpenAI-compatible endpoint."""

    provider = "openai"

    def __init__(self, options: ProviderOptions) -> None:
        self.model = options.model
        self._url = f"{(options.base_url or _DEFAULT_URL).rstrip('/')}/chat/completions"
        self._headers = {"content-type": "application/json", "accept-encoding": "identity"}
        if options.api_key:
            self._headers["authorization"] = f"Bearer {options.api_key}"
        self._timeout = httpx.Timeout(options.timeout, connect=options.connect_timeout)
        self._head: tuple[Prefix | None, bytes] = (None, b"")

    def body(self, request: ModelRequest) -> bytes:
        """The request as bytes: what stays the same first, then the transcript, then what may differ."""
        pieces = request.transcript.pieces(_WIRE, _piece)
        tail = b"]"
        if request.prefix.tools and not request.may_call_tools:
            tail += b',"tool_choice":"none"'
        if request.max_tokens:
            tail += b',"max_tokens":%d' % request.max_tokens
        return b"".join((self._prefix(request.prefix), b",", b",".join(pieces), tail, b"}"))

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
        """One streamed completion. Everything that can go wrong on the way becomes a ModelError."""
        try:
            async with http_client(self._url).stream(
                "POST", self._url, content=self.body(request), headers=self._headers, timeout=self._timeout
            ) as response:
                if response.status_code != httpx.codes.OK:
                    raise _refusal(response, await response.aread())
                kind = response.headers.get("content-type", "")
                if not kind.startswith("text/event-stream"):
                    raise ModelError(ModelFailure.MALFORMED, f"the endpoint answered with {kind or 'no content type'}")
                return await self._collect(response.aiter_raw(), on_text)
        except httpx.TimeoutException as error:
            raise ModelError(ModelFailure.NETWORK, f"{self._url} did not answer in time") from error
        except httpx.HTTPError as error:
            detail = one_line(str(error)) or type(error).__name__
            raise ModelError(
                ModelFailure.NETWORK, f"{self._url}: {detail}", remedy="check --base-url and that the server runs"
            ) from error
        except httpx.InvalidURL as error:
            raise ConfigError(f"{self._url!r} is no URL: {error}", remedy="check --base-url") from error

    async def _collect(self, chunks: AsyncIterator[bytes], on_text: TextListener) -> ModelAnswer:
        collected = _Collected(on_text)
        try:
            events = server_sent_events(chunks)
            async for data in events:
                if data == b"[DONE]":
                    await _drained(events)
                    break
                chunk = _decoded(data)
                if chunk.error is not None:
                    raise ModelError(ModelFailure.OVERLOAD, f"the endpoint reported: {one_line(str(chunk.error), 200)}")
                collected.add(chunk)
        except BrokenStream as error:
            raise ModelError(ModelFailure.MALFORMED, str(error)) from error
        return collected.answer()

    async def close(self) -> None:
        """Connections belong to the loop, not to this model."""


async def _drained(events: AsyncIterator[bytes]) -> None:
    """Read the end of the response, so that its connection can serve the next request. Never wait long for it."""
    with contextlib.suppress(TimeoutError, BrokenStream, httpx.HTTPError):
        async with asyncio.timeout(_DRAIN_SECONDS):
            async for _ in events:
                continue


def _decoded(data: bytes) -> _Chunk:
    try:
        return _chunk_decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        try:
            return msgspec.convert(clean_json(json.loads(data)), _Chunk)
        except (ValueError, msgspec.ValidationError):
            raise ModelError(ModelFailure.MALFORMED, f"the stream holds what is no chunk: {error}") from error


def _refusal(response: httpx.Response, body: bytes) -> ModelError:
    """The error behind a status code, by the provider's own words where they matter."""
    status = response.status_code
    message, code = _error_words(body)
    said = f"{status} from {response.url}: {message or response.reason_phrase}"
    match status:
        case 401 | 403:
            return ModelError(ModelFailure.AUTH, said, remedy="check OPENAI_API_KEY")
        case 429 if "quota" in code:
            return ModelError(ModelFailure.QUOTA, said, remedy="the account has no credit left")
        case 429:
            return ModelError(ModelFailure.RATE_LIMIT, said, retry_after=_retry_after(response))
        case 404:
            return ModelError(ModelFailure.BAD_REQUEST, said, remedy="check the model name and --base-url")
        case 408 | 409:
            return ModelError(ModelFailure.NETWORK, said)
        case _ if status >= httpx.codes.INTERNAL_SERVER_ERROR:
            return ModelError(ModelFailure.OVERLOAD, said, retry_after=_retry_after(response))
        case 413:
            return ModelError(ModelFailure.CONTEXT_TOO_LONG, said)
        case _ if "context_length" in code or "maximum context" in message:
            return ModelError(ModelFailure.CONTEXT_TOO_LONG, said)
        case _:
            return ModelError(ModelFailure.BAD_REQUEST, said)


def _error_words(body: bytes) -> tuple[str, str]:
    try:
        error = json.loads(body).get("error", {})
        if isinstance(error, dict):
            return one_line(clean(str(error.get("message", ""))), 300), f"{error.get('code')} {error.get('type')}"
        return one_line(clean(str(error)), 300), ""
    except (ValueError, AttributeError):
        return one_line(body.decode("utf-8", "replace"), 200), ""


def _retry_after(response: httpx.Response) -> float | None:
    try:
        return max(0.0, float(response.headers["retry-after"]))
    except (KeyError, ValueError):
        return None


def connect(options: ProviderOptions) -> OpenAIChat:
    """A client for `openai:NAME`."""
    if not options.model:
        raise ConfigError("openai: needs a model name", remedy="write openai:NAME")
    if not options.api_key and not options.base_url:
        raise ConfigError(
            "openai: needs a key or another endpoint", remedy="set OPENAI_API_KEY, or OPENAI_BASE_URL / --base-url"
        )
    return OpenAIChat(options)

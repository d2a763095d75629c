"""Anthropic's messages format.

Four marks, as many as the format allows, tell the provider what to cache: behind the tools, behind the system prompt,
where the previous request ended, and where this one ends. The third is there because the provider only looks a few
blocks back for what it has: an answer with many calls would step over it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from hashlib import blake2b
from typing import Any

import msgspec

from ...types.effort import Effort
from ...types.errors import ConfigError, ModelError, ModelFailure
from ...types.events import Usage
from ...types.text import clean, one_line
from ...types.tools import ToolCall
from ..arguments import call_of
from ..client import ModelAnswer, ProviderOptions, TextListener
from ..exchange import Exchange, drained, failure_of
from ..http import server_sent_events
from ..request import ModelRequest, Prefix, ToolDeclaration
from ..wire.anthropic import WIRE, AnthropicDraft, replay
from ..wire.claude import Claude, Thinking, budget_for, claude, effort_for
from ..wire.outline import Outline, fingerprint
from ..wire.parts import Drafts, decoded, encoded
from ..wire.schema import closed

__all__ = ["Anthropic", "connect", "effort_for"]

_KEY = "ANTHROPIC_API_KEY"
_DEFAULT_URL = "https://api.anthropic.com"
_VERSION = "2023-06-01"
_LIVES = ("5m", "1h")
_STOPS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refused",
}
_CUT_OFF = ("length", "refused")
_STATUS = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "overloaded_error": 529,
}
_drafts: Drafts[AnthropicDraft] = Drafts()


class _Usage(msgspec.Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None


class _Message(msgspec.Struct):
    usage: _Usage | None = None


class _Block(msgspec.Struct):
    type: str = ""
    id: str | None = None
    name: str | None = None
    input: Any = None
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    data: str | None = None


class _Delta(msgspec.Struct):
    text: str | None = None
    partial_json: str | None = None
    thinking: str | None = None
    signature: str | None = None
    stop_reason: str | None = None


class _Error(msgspec.Struct):
    type: str = ""
    message: str = ""


class _Event(msgspec.Struct):
    type: str = ""
    index: int = 0
    message: _Message | None = None
    content_block: _Block | None = None
    delta: _Delta | None = None
    usage: _Usage | None = None
    error: _Error | None = None


_decoder = msgspec.json.Decoder(_Event)


class _GrowingBlock:
    """One block whose pieces are still coming."""

    def __init__(self, begun: _Block) -> None:
        self.type = begun.type
        self._begun = begun
        self._text = [begun.text or ""]
        self._thinking = [begun.thinking or ""]
        self._signature = [begun.signature or ""]
        self._arguments: list[str] = []

    def add(self, delta: _Delta) -> None:
        self._text.append(delta.text or "")
        self._thinking.append(delta.thinking or "")
        self._signature.append(delta.signature or "")
        self._arguments.append(delta.partial_json or "")

    @property
    def text(self) -> str:
        return clean("".join(self._text))

    def thought(self) -> dict[str, Any]:
        """The block as it must come back."""
        if self.type == "redacted_thinking":
            return {"type": self.type, "data": self._begun.data or ""}
        return {"type": self.type, "thinking": "".join(self._thinking), "signature": "".join(self._signature)}

    def call(self, number: int, problem: str) -> ToolCall:
        """The call as a whole; with a problem, one that is never run. Some endpoints send its arguments at once."""
        arguments = "".join(self._arguments) or msgspec.json.encode(self._begun.input or {}).decode()
        found = call_of(self._begun.id or f"call_{number}", self._begun.name or "", arguments)
        return ToolCall(id=found.id, name=found.name, problem=problem) if problem else found


class _Collected:
    """A streamed answer as it grows."""

    def __init__(self, on_text: TextListener) -> None:
        self._on_text = on_text
        self._blocks: dict[int, _GrowingBlock] = {}
        self._usage = _Usage()
        self._reason = ""

    def add(self, event: _Event) -> None:
        match event:
            case _Event(type="content_block_delta", delta=_Delta() as delta):
                self._grow(event.index, delta)
            case _Event(type="content_block_start", content_block=_Block() as begun):
                self._blocks[event.index] = _GrowingBlock(begun)
                if begun.text:
                    self._on_text(clean(begun.text))
            case _Event(type="message_start", message=_Message(usage=_Usage() as usage)):
                self._usage = usage
            case _Event(type="message_delta"):
                self._reason = (event.delta.stop_reason if event.delta else None) or self._reason
                self._count(event.usage or _Usage())
            case _Event(type="error"):
                error = event.error or _Error()
                said = f"the endpoint reported: {one_line(clean(error.message), 200) or error.type}"
                raise failure_of(_STATUS.get(error.type, 500), said, error.type, key_name=_KEY)
            case _:
                return

    def _grow(self, index: int, delta: _Delta) -> None:
        block = self._blocks.get(index)
        if block is None:
            raise ModelError(ModelFailure.MALFORMED, f"the stream goes on with block {index}, which never began")
        block.add(delta)
        if delta.text:
            self._on_text(clean(delta.text))

    def _count(self, later: _Usage) -> None:
        """Later numbers are totals and replace earlier ones; what they leave out stands."""
        given = {name: value for name, value in msgspec.structs.asdict(later).items() if value is not None}
        self._usage = msgspec.structs.replace(self._usage, **given)

    def answer(self, behind: str) -> ModelAnswer:
        """The whole answer; `behind` names what was sent to get it."""
        if not self._reason:
            raise ModelError(ModelFailure.MALFORMED, "the answer broke off before it was finished")
        stop = _STOPS.get(self._reason, self._reason)
        problem = f"the answer was cut off (stop reason {self._reason!r})" if stop in _CUT_OFF else ""
        texts, calls, outline = self._parts(problem)
        text = "".join(texts)
        if not text and not calls:
            failure = ModelFailure.REFUSED if stop == "refused" else ModelFailure.MALFORMED
            raise ModelError(failure, f"the answer was empty (stop reason {self._reason!r})")
        kept = any("keep" in entry for entry in outline)
        return ModelAnswer(
            text=text,
            calls=tuple(calls),
            stop=stop,
            usage=self._used(),
            replay=replay(behind, fingerprint(text, calls), outline) if kept else {},
        )

    def _parts(self, problem: str) -> tuple[list[str], list[ToolCall], Outline]:
        texts: list[str] = []
        calls: list[ToolCall] = []
        outline: Outline = []
        for _, block in sorted(self._blocks.items()):
            match block.type:
                case "text":
                    texts.append(block.text)
                    outline.append({"text": len(block.text)})
                case "tool_use":
                    calls.append(block.call(len(calls), problem))
                    outline.append({"call": True})
                case "thinking" | "redacted_thinking":
                    outline.append({"keep": block.thought()})
                case _:
                    continue
        return texts, calls, outline

    def _used(self) -> Usage:
        """This format counts what was read from and written to the cache apart; we count it as input."""
        read, written = self._usage.cache_read_input_tokens or 0, self._usage.cache_creation_input_tokens or 0
        total = (self._usage.input_tokens or 0) + read + written
        return Usage(input=total, output=self._usage.output_tokens or 0, cached=read)


class Anthropic:
    """A model behind an endpoint that speaks Anthropic's format."""

    provider = "anthropic"

    def __init__(self, options: ProviderOptions) -> None:
        self.model = options.model
        base_url = (options.base_url or _DEFAULT_URL).rstrip("/").removesuffix("/v1")
        self._exchange = Exchange.to(base_url, "/v1/messages", options, _KEY)
        self._headers = {
            "content-type": "application/json",
            "accept-encoding": "identity",
            "anthropic-version": _VERSION,
        }
        if options.api_key:
            self._headers["x-api-key"] = options.api_key
        life = options.extra.get("cache_ttl") or _LIVES[0]
        if life not in _LIVES:
            raise ConfigError(f"{life!r} is no life of a cache", remedy=f"cache_ttl is {' or '.join(_LIVES)}")
        ephemeral = {"type": "ephemeral"} if life == _LIVES[0] else {"type": "ephemeral", "ttl": life}
        self._mark = b',"cache_control":' + msgspec.json.encode(ephemeral)
        self._manners = claude(options.model)
        self._head: tuple[Prefix | None, bytes, str] = (None, b"", "")

    def body(self, request: ModelRequest) -> bytes:
        """The request as bytes: what stays the same first, then the transcript, then what may differ."""
        return self._written(request)[0]

    def _written(self, request: ModelRequest) -> tuple[bytes, AnthropicDraft]:
        head, key = self._prefix(request.prefix)
        transcript = request.transcript
        draft = _drafts.of(transcript, key, lambda: AnthropicDraft(key.encode(), transcript.image))
        pieces = transcript.pieces(key, draft.piece)
        answered = draft.answered
        earlier = self._mark if answered else b""
        closing = draft.closing(self._mark)
        tail = encoded(self._tail(request, draft))[1:]
        return b"".join((head, *pieces[:answered], earlier, *pieces[answered:], closing, b"],", tail)), draft

    def _prefix(self, prefix: Prefix) -> tuple[bytes, str]:
        """The bytes before the first message, and the key under which the transcript keeps its pieces: thinking comes
        back only to the model, the endpoint and the prefix that it was thought for."""
        if self._head[0] is not prefix:
            head = encoded({"model": self.model, "stream": True})[:-1]
            if prefix.tools:
                tools = b",".join([encoded(_declared(tool)) for tool in prefix.tools])
                head += b',"tools":[' + tools[:-1] + self._mark + b"}]"
            if prefix.system.strip():
                system = encoded({"type": "text", "text": prefix.system})[:-1]
                head += b',"system":[' + system + self._mark + b"}]"
            seed = blake2b(self._exchange.url.encode() + head, digest_size=16).hexdigest()
            self._head = (prefix, head + b',"messages":[', f"{WIRE}:{seed}")
        return self._head[1:]

    def _tail(self, request: ModelRequest, draft: AnthropicDraft) -> dict[str, Any]:
        max_tokens = request.max_tokens or self._manners.max_tokens
        tail: dict[str, Any] = {"max_tokens": max_tokens}
        choice = _choice(request, self._manners)
        if choice:
            tail["tool_choice"] = choice
        forced = choice.get("type") in ("any", "tool")
        effort = request.effort
        if forced and self._manners.thinking is Thinking.ADAPTIVE:
            tail["thinking"] = {"type": "disabled"}
            effort = Effort.HIGH if effort in (Effort.XHIGH, Effort.MAX) else effort
        elif effort is not None and not forced:
            thinking = self._thinking(effort, max_tokens, draft)
            tail |= {"thinking": thinking} if thinking else {}
        output: dict[str, Any] = {}
        if effort is not None and self._manners.levels:
            output["effort"] = effort_for(self.model, effort)
        if request.schema is not None:
            output["format"] = {"type": "json_schema", "schema": closed(request.schema)}
        return tail | ({"output_config": output} if output else {})

    def _thinking(self, effort: Effort, max_tokens: int, draft: AnthropicDraft) -> dict[str, Any]:
        """How to think. Where the model decides, its thinking comes back as a signature only: nobody reads the text,
        and the journal should not hold it."""
        match self._manners.thinking:
            case Thinking.NONE:
                return {}
            case Thinking.BUDGET:
                budget = 0 if draft.unthought else budget_for(effort, max_tokens)
                return {"type": "enabled", "budget_tokens": budget} if budget else {}
            case Thinking.ADAPTIVE | Thinking.ALWAYS:
                return {"type": "adaptive", "display": "omitted"}

    async def answer(self, request: ModelRequest, on_text: TextListener) -> ModelAnswer:
        """One streamed message."""
        body, draft = self._written(request)
        behind = draft.sent
        return await self._exchange.ask(body, self._headers, lambda chunks: _collect(chunks, on_text, behind))

    async def close(self) -> None:
        """Connections belong to the loop, not to this model."""


def _declared(tool: ToolDeclaration) -> dict[str, Any]:
    schema = {**tool.parameters, "type": "object"}
    return {"name": tool.name, "description": tool.description, "input_schema": schema}


def _choice(request: ModelRequest, manners: Claude) -> dict[str, str]:
    """Which tools may or must be called. A model that always thinks cannot be forced: there it stays a wish."""
    if not request.prefix.tools or request.tool_choice == "auto":
        return {}
    if request.tool_choice == "none":
        return {"type": "none"}
    if manners.thinking is Thinking.ALWAYS:
        return {}
    return {"type": "any"} if request.tool_choice == "required" else {"type": "tool", "name": request.tool_choice}


async def _collect(chunks: AsyncIterator[bytes], on_text: TextListener, behind: str) -> ModelAnswer:
    collected = _Collected(on_text)
    events = server_sent_events(chunks)
    async for data in events:
        event = decoded(data, _decoder)
        if event.type == "message_stop":
            await drained(events)
            break
        collected.add(event)
    return collected.answer(behind)


def connect(options: ProviderOptions) -> Anthropic:
    """A client for `anthropic:NAME`. `extra["cache_ttl"]` is how long a cached prefix lives, 5m or 1h."""
    if not options.model:
        raise ConfigError("anthropic: needs a model name", remedy="write anthropic:NAME")
    if not options.api_key and not options.base_url:
        raise ConfigError("anthropic: needs a key or another endpoint", remedy=f"set {_KEY}, or --base-url")
    return Anthropic(options)

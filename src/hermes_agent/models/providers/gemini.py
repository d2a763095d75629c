"""Google's generateContent, streamed."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote

import msgspec

from ...types.effort import Effort
from ...types.errors import ConfigError, ModelError, ModelFailure
from ...types.events import Usage
from ...types.text import clean, one_line
from ...types.tools import ToolCall
from ..arguments import call_of
from ..client import ModelAnswer, ProviderOptions, TextListener
from ..exchange import Exchange, failure_of
from ..http import server_sent_events
from ..request import ModelRequest, Prefix, ToolDeclaration
from ..wire.gemini import WIRE, draft_of, is_older, key_of
from ..wire.gemini_schema import subset
from ..wire.parts import decoded, encoded

_DEFAULT_URL = "https://generativelanguage.googleapis.com/v1beta"
_KEY = "GEMINI_API_KEY"
_VERSION = re.compile(r"gemini-(\d+)(?:\.(\d+))?\b")
_RETRY = re.compile(r"retry in ([0-9.]+) ?s\b", re.IGNORECASE)
_FILTERED = (
    "SAFETY",
    "RECITATION",
    "LANGUAGE",
    "BLOCKLIST",
    "PROHIBITED_CONTENT",
    "SPII",
    "IMAGE_SAFETY",
    "IMAGE_PROHIBITED_CONTENT",
    "IMAGE_RECITATION",
)
_STOPS = {"STOP": "stop", "MAX_TOKENS": "length", **dict.fromkeys(_FILTERED, "content_filter")}
_LEVELS = {
    Effort.LOW: "LOW",
    Effort.MEDIUM: "MEDIUM",
    Effort.HIGH: "HIGH",
    Effort.XHIGH: "HIGH",
    Effort.MAX: "HIGH",
}
_BUDGETS = {Effort.LOW: 1024, Effort.MEDIUM: 8192, Effort.HIGH: 24576, Effort.XHIGH: 24576, Effort.MAX: 24576}
_PRO_BUDGET = 32768


def effort_for(model: str, effort: Effort) -> dict[str, Any] | None:
    """The `thinkingConfig` for an effort: a level from Gemini 3 on, a number of tokens before; None before 2.5."""
    found = _VERSION.search(model)
    if "gemini" not in model:
        return None
    version = (int(found[1]), int(found[2] or 0)) if found else (3, 1)
    if version >= (3, 0):
        without_medium = version == (3, 0) and "flash" not in model
        level = "LOW" if without_medium and effort is Effort.MEDIUM else _LEVELS[effort]
        return {"thinkingLevel": level}
    if version < (2, 5):
        return None
    above_high = effort in (Effort.XHIGH, Effort.MAX)
    return {"thinkingBudget": _PRO_BUDGET if above_high and "pro" in model else _BUDGETS[effort]}


class _FunctionCall(msgspec.Struct):
    name: str = ""
    id: str | None = None
    args: Any = None


class _Part(msgspec.Struct, rename="camel"):
    text: str | None = None
    thought: bool | None = None
    thought_signature: str | None = None
    function_call: _FunctionCall | None = None


class _Content(msgspec.Struct):
    parts: list[_Part] | None = None


class _Candidate(msgspec.Struct, rename="camel"):
    content: _Content | None = None
    finish_reason: str | None = None
    finish_message: str | None = None


class _Feedback(msgspec.Struct, rename="camel"):
    block_reason: str | None = None
    block_reason_message: str | None = None


class _UsageMetadata(msgspec.Struct, rename="camel"):
    prompt_token_count: int | None = None
    tool_use_prompt_token_count: int | None = None
    candidates_token_count: int | None = None
    thoughts_token_count: int | None = None
    cached_content_token_count: int | None = None


class _Error(msgspec.Struct):
    code: int | None = None
    message: str | None = None
    status: str | None = None


class _Chunk(msgspec.Struct, rename="camel"):
    candidates: list[_Candidate] | None = None
    prompt_feedback: _Feedback | None = None
    usage_metadata: _UsageMetadata | None = None
    error: _Error | None = None


_chunk_decoder = msgspec.json.Decoder(_Chunk)


class _Collected:
    """A streamed answer as it grows.

    `_parts` is how the answer was put together, for sending it back with its signatures in their places. It holds
    lengths and indexes instead of texts and arguments, which are in the message, there with secrets taken out.
    """

    def __init__(self, model: str, on_text: TextListener) -> None:
        self._model = model
        self._on_text = on_text
        self._text: list[str] = []
        self._calls: list[_FunctionCall] = []
        self._parts: list[dict[str, Any]] = []
        self._finish = ""
        self._said = ""
        self._usage = Usage()

    def add(self, chunk: _Chunk) -> None:
        if chunk.usage_metadata is not None:
            self._usage = _usage(chunk.usage_metadata)
        feedback = chunk.prompt_feedback
        if feedback is not None and feedback.block_reason:
            said = feedback.block_reason_message or ""
            raise ModelError(ModelFailure.REFUSED, f"the prompt was blocked ({feedback.block_reason}) {said}".rstrip())
        for candidate in (chunk.candidates or ())[:1]:
            self._finish = candidate.finish_reason or self._finish
            self._said = candidate.finish_message or self._said
            for part in (candidate.content.parts if candidate.content else None) or ():
                self._add_part(part)

    def _add_part(self, part: _Part) -> None:
        if part.function_call is not None:
            self._place({"call": len(self._calls)}, part)
            self._calls.append(part.function_call)
        elif part.thought:
            if part.thought_signature:
                self._place({"thought": clean(part.text or "")}, part)
        elif part.text is not None:
            text = part.text
            if text:
                self._text.append(text)
                self._on_text(clean(text))
            last = self._parts[-1] if self._parts else {}
            if "text" in last and "signature" not in last and not part.thought_signature:
                last["text"] += len(text)
            elif text or part.thought_signature:
                self._place({"text": len(text)}, part)

    def _place(self, what: dict[str, Any], part: _Part) -> None:
        self._parts.append({**what, "signature": part.thought_signature} if part.thought_signature else what)

    def answer(self) -> ModelAnswer:
        if not self._finish:
            raise ModelError(ModelFailure.MALFORMED, "the answer broke off before it was finished")
        stop = _STOPS.get(self._finish)
        if stop is None:
            said = f"the model gave up ({self._finish}) {one_line(self._said, 200)}".rstrip()
            raise ModelError(ModelFailure.MALFORMED, said)
        text = clean("".join(self._text))
        if not text and not self._calls:
            failure = ModelFailure.REFUSED if stop == "content_filter" else ModelFailure.MALFORMED
            raise ModelError(failure, f"the answer was empty (finish reason {self._finish!r})")
        problem = f"the answer was cut off (finish reason {self._finish!r})" if stop != "stop" else ""
        calls = tuple(_call(number, made, problem) for number, made in enumerate(self._calls))
        signed = any("signature" in part for part in self._parts)
        replay = {WIRE: {"model": self._model, "parts": self._parts}} if signed else {}
        if calls and not problem:
            stop = "tool_calls"
        return ModelAnswer(text=text, calls=calls, stop=stop, usage=self._usage, replay=replay)


def _call(number: int, made: _FunctionCall, problem: str) -> ToolCall:
    arguments = "" if made.args is None else json.dumps(made.args)
    found = call_of(made.id or f"call_{number}", made.name, arguments)
    return ToolCall(id=found.id, name=found.name, problem=problem) if problem else found


def _usage(told: _UsageMetadata) -> Usage:
    """Thinking is counted apart from the answer here, but paid as output all the same."""
    return Usage(
        input=(told.prompt_token_count or 0) + (told.tool_use_prompt_token_count or 0),
        output=(told.candidates_token_count or 0) + (told.thoughts_token_count or 0),
        cached=told.cached_content_token_count or 0,
    )


class Gemini:
    """A model behind Google's Gemini API."""

    provider = "gemini"

    def __init__(self, options: ProviderOptions) -> None:
        self.model = options.model.removeprefix("models/")
        path = f"/models/{quote(self.model, safe='')}:streamGenerateContent?alt=sse"
        self._exchange = Exchange.to(options.base_url or _DEFAULT_URL, path, options, _KEY)
        self._headers = {"content-type": "application/json", "accept-encoding": "identity"}
        if options.api_key:
            self._headers["x-goog-api-key"] = options.api_key
        self._head: tuple[Prefix | None, bytes, bytes] = (None, b"", b"")

    def body(self, request: ModelRequest) -> bytes:
        """The request as bytes: what stays the same first, then the transcript, then what may differ."""
        system, tools = self._prefix(request.prefix)
        if request.schema is not None and not request.may_call_tools and is_older(self.model):
            tools = b""
        transcript = request.transcript
        draft = draft_of(transcript, self.model)
        pieces = transcript.pieces(key_of(self.model), draft.piece)
        tail: dict[str, Any] = {}
        if tools and request.tool_choice != "auto":
            tail["toolConfig"] = {"functionCallingConfig": _calling(request.tool_choice)}
        config = self._config(request)
        if config:
            tail["generationConfig"] = config
        closing = b"]," + encoded(tail)[1:] if tail else b"]}"
        return b"".join((b"{", system, tools, b'"contents":[', *pieces, draft.ending("user"), closing))

    def _prefix(self, prefix: Prefix) -> tuple[bytes, bytes]:
        if self._head[0] is not prefix:
            system = encoded({"systemInstruction": {"parts": [{"text": prefix.system}]}})[1:-1] + b","
            declared = {"tools": [{"functionDeclarations": [_declared(tool) for tool in prefix.tools]}]}
            tools = encoded(declared)[1:-1] + b"," if prefix.tools else b""
            self._head = (prefix, system if prefix.system else b"", tools)
        return self._head[1:]

    def _config(self, request: ModelRequest) -> dict[str, Any]:
        config: dict[str, Any] = {}
        if request.max_tokens:
            config["maxOutputTokens"] = request.max_tokens
        thinking = effort_for(self.model, request.effort) if request.effort else None
        if thinking is not None:
            config["thinkingConfig"] = thinking
        if request.schema is not None:
            config["responseMimeType"] = "application/json"
            fitting = subset(request.schema)
            config |= {"responseJsonSchema": request.schema} if fitting is None else {"responseSchema": fitting}
        return config

    async def answer(self, request: ModelRequest, on_text: TextListener) -> ModelAnswer:
        """One streamed answer."""
        body = self.body(request)
        try:
            return await self._exchange.ask(body, self._headers, lambda chunks: self._collect(chunks, on_text))
        except ModelError as error:
            raise understood(error) from error

    async def _collect(self, chunks: AsyncIterator[bytes], on_text: TextListener) -> ModelAnswer:
        """There is no end mark, and some models name a reason to stop in every chunk: all is read to the end."""
        collected = _Collected(self.model, on_text)
        async for data in server_sent_events(chunks):
            chunk = decoded(data, _chunk_decoder)
            if chunk.error is not None:
                said = f"the endpoint reported: {one_line(clean(chunk.error.message or ''), 200)}"
                raise failure_of(chunk.error.code or 500, said, chunk.error.status or "", key_name=_KEY)
            collected.add(chunk)
        return collected.answer()

    async def close(self) -> None:
        """Connections belong to the loop, not to this model."""


def understood(error: ModelError) -> ModelError:
    """The error by what Google means by it: a bad key and a long prompt are plain 400s, a full minute is a quota."""
    said = str(error)
    words = said.lower()
    if error.failure is ModelFailure.BAD_REQUEST and "api key" in words:
        return ModelError(ModelFailure.AUTH, said, remedy=f"check {_KEY}")
    if error.failure is ModelFailure.BAD_REQUEST and "token count" in words and "exceeds" in words:
        return ModelError(ModelFailure.CONTEXT_TOO_LONG, said)
    if error.failure in (ModelFailure.QUOTA, ModelFailure.RATE_LIMIT) and "quota" in words and "perday" not in words:
        wait = _RETRY.search(said)
        return ModelError(ModelFailure.RATE_LIMIT, said, retry_after=float(wait[1]) if wait else error.retry_after)
    return error


def _declared(tool: ToolDeclaration) -> dict[str, Any]:
    declared: dict[str, Any] = {"name": tool.name, "description": tool.description}
    if not tool.parameters.get("properties") and tool.parameters.get("type", "object") == "object":
        return declared
    fitting = subset(tool.parameters)
    return {**declared, **({"parametersJsonSchema": tool.parameters} if fitting is None else {"parameters": fitting})}


def _calling(choice: str) -> dict[str, Any]:
    match choice:
        case "none":
            return {"mode": "NONE"}
        case "required":
            return {"mode": "ANY"}
        case _:
            return {"mode": "ANY", "allowedFunctionNames": [choice]}


def connect(options: ProviderOptions) -> Gemini:
    """A client for `gemini:NAME`."""
    if not options.model:
        raise ConfigError("gemini: needs a model name", remedy="write gemini:NAME")
    if not options.api_key and not options.base_url:
        raise ConfigError("gemini: needs a key", remedy="set GEMINI_API_KEY or GOOGLE_API_KEY")
    return Gemini(options)

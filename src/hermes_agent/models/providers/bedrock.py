"""Amazon Bedrock's converse-stream, for all models behind it.

`extra` of the options: `region`; `access_key_id`, `secret_access_key` and, for keys that expire, `session_token`;
`cache_ttl`: `5m`, `1h` or `off`, for models whose name does not tell whether they cache. The key of the options is a
bearer token and goes before the pair of keys.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import msgspec

from ...types.base import Value
from ...types.effort import Effort
from ...types.errors import ConfigError, ModelError, ModelFailure
from ...types.text import one_line
from ..client import ModelAnswer, ProviderOptions, TextListener
from ..exchange import Exchange, drained, error_words, failure_of
from ..request import ModelRequest, Prefix, ToolDeclaration
from ..wire.bedrock import USER, Writer, conversation_of
from ..wire.bedrock_answer import Collected, decoded_event
from ..wire.claude import Thinking, budget_for, claude
from ..wire.claude import effort_for as claude_effort
from ..wire.eventstream import CONTENT_TYPE, Frame, frames
from ..wire.parts import encoded, nearest
from ..wire.schema import closed
from ..wire.sigv4 import Credentials, Signer

_BEARER = "AWS_BEARER_TOKEN_BEDROCK"
_PAIR = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
_REGION = re.compile(r"[a-z0-9-]+")
_REGION_IN_HOST = re.compile(r"//bedrock-runtime(?:-fips)?\.([a-z0-9-]+)\.")
_REGION_IN_MODEL = re.compile(r"arn:[a-z-]+:bedrock:([a-z0-9-]+):")
_WITHOUT_CACHE = re.compile(r"claude-(?:v2|instant|3-(?:opus|sonnet|haiku)|3-5-sonnet-20240620)")
_WITHOUT_SCHEMA = re.compile(r"claude-(?:v2|instant|3-|(?:opus|sonnet)-4-(?:1-)?20)|amazon\.|meta\.|cohere\.|ai21\.")
_UP_TO_HIGH = (Effort.LOW, Effort.MEDIUM, Effort.HIGH)
_ANSWER = "final_answer"
_NO_CALLS = "Answer now, in words, without calling any tool."
_GONE = ToolDeclaration(
    name="unavailable", description="Tools were used before; there are none now.", parameters={"type": "object"}
)
_STATUS = {
    "throttlingException": 429,
    "modelNotReadyException": 429,
    "validationException": 400,
    "accessDeniedException": 403,
    "resourceNotFoundException": 404,
    "modelTimeoutException": 408,
}


def effort_for(model: str, effort: Effort, max_tokens: int = 0) -> dict[str, Any]:
    """The model's own fields for an effort, each family's in its own words; empty where there are none.

    `max_tokens` is the limit of the answer, which bounds budgets.
    """
    if "anthropic." in model or "claude" in model:
        facts = claude(model)
        if facts.thinking is Thinking.NONE:
            return {}
        if facts.thinking is Thinking.BUDGET:
            budget = budget_for(effort, max_tokens or facts.max_tokens)
            return {"thinking": {"type": "enabled", "budget_tokens": budget}} if budget else {}
        return {"thinking": {"type": "adaptive"}, "output_config": {"effort": claude_effort(model, effort)}}
    level = nearest(_UP_TO_HIGH, effort)
    if "amazon.nova-2" in model:
        with_limit = "medium" if max_tokens and level == "high" else level
        return {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": with_limit}}
    return {"reasoning_effort": level} if "openai.gpt-oss" in model else {}


def caches(model: str) -> bool:
    """Whether a model is known to take cache points; others refuse a request that has any."""
    if "amazon.nova" in model:
        return True
    return ("anthropic." in model or "claude" in model) and not _WITHOUT_CACHE.search(model)


class Authorization(Value, frozen=True, kw_only=True):
    """What opens the endpoint: a bearer token, or a signature over each request."""

    bearer: str = ""
    signer: Signer | None = None

    def headers(self, url: str, body: bytes, at: datetime) -> dict[str, str]:
        """All headers of a request."""
        plain = {"content-type": "application/json", "accept": CONTENT_TYPE}
        if self.signer is None:
            opened = {"authorization": f"Bearer {self.bearer}"}
        else:
            opened = self.signer.headers("POST", url, plain, body, at)
        return {**plain, **opened, "accept-encoding": "identity"}


def _now() -> datetime:
    return datetime.now(UTC)


class Bedrock:
    """A model behind Bedrock. `now` is the clock that signatures are dated by."""

    provider = "bedrock"

    def __init__(self, options: ProviderOptions, now: Callable[[], datetime] = _now) -> None:
        self.model = options.model
        self._now = now
        region = region_of(options)
        self._authorization = authorization_of(options, region)
        key_name = _PAIR if self._authorization.signer else _BEARER
        domain = "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"
        base_url = options.base_url or f"https://bedrock-runtime.{region}.{domain}"
        path = f"/model/{quote(self.model, safe='')}/converse-stream"
        self._exchange = Exchange.to(base_url, path, options, key_name)
        self._cache_point = _cache_point(self.model, options.extra.get("cache_ttl", ""))
        self._head: tuple[Prefix | None, bytes, bytes] = (None, b"", b"")

    def body(self, request: ModelRequest) -> bytes:
        """The request as bytes: what stays the same first, then the transcript, then what may differ.

        The transcript's cache point and the request for words only are not part of it: they stand at its end, as the
        last blocks of the last message, and are gone from there in the next request.
        """
        conversation, pieces = conversation_of(request.transcript, self.model)
        system, tools = self._prefix(request.prefix)
        last = [self._cache_point] if self._cache_point else []
        if request.prefix.tools and not request.may_call_tools and not self._wants_answer_tool(request):
            last.append({"text": _NO_CALLS})
        ending = conversation.draft.ending(USER, last)
        tool_config = self._tool_config(request, tools, conversation.writer)
        tail = self._tail(request, conversation.writer)
        closing = b"]," + encoded(tail)[1:] if tail else b"]}"
        return b"".join((b"{", system, tool_config, b'"messages":[', *pieces, ending, closing))

    def _prefix(self, prefix: Prefix) -> tuple[bytes, bytes]:
        """The system prompt and the tools, the latter without the brackets around them."""
        if self._head[0] is not prefix:
            point = [self._cache_point] if self._cache_point else []
            blocks = [{"text": prefix.system}, *point]
            system = encoded({"system": blocks})[1:-1] + b"," if prefix.system.strip() else b""
            tools = encoded([_declared(tool) for tool in prefix.tools])[1:-1]
            self._head = (prefix, system, tools)
        return self._head[1:]

    def _tool_config(self, request: ModelRequest, tools: bytes, writer: Writer) -> bytes:
        """The tools and, where it is not the usual one, the choice among them."""
        if self._wants_answer_tool(request):
            answer = ToolDeclaration(name=_ANSWER, description="Give the answer.", parameters=request.schema or {})
            tools = b",".join(filter(None, (tools, encoded(_declared(answer)))))
        elif not tools and writer.calls:
            tools = encoded(_declared(_GONE))
        if not tools:
            return b""
        choice = self._choice(request)
        chosen = b',"toolChoice":' + encoded(choice) if choice else b""
        return b'"toolConfig":{"tools":[' + tools + b"]" + chosen + b"},"

    def _choice(self, request: ModelRequest) -> dict[str, Any] | None:
        if self._wants_answer_tool(request):
            return {"any": {}} if request.may_call_tools else {"tool": {"name": _ANSWER}}
        match request.tool_choice:
            case "auto" | "none":
                return None
            case "required":
                return {"any": {}}
            case name:
                return {"tool": {"name": name}}

    def _tail(self, request: ModelRequest, writer: Writer) -> dict[str, Any]:
        tail: dict[str, Any] = {}
        fields = self._effort(request, writer)
        max_tokens = request.max_tokens
        if "budget_tokens" in fields.get("thinking", ()):
            max_tokens = max_tokens or claude(self.model).max_tokens
        if max_tokens:
            tail["inferenceConfig"] = {"maxTokens": max_tokens}
        if fields:
            tail["additionalModelRequestFields"] = fields
        if request.schema is not None and not self._wants_answer_tool(request):
            schema = encoded(closed(request.schema)).decode()
            structure = {"jsonSchema": {"schema": schema, "name": "answer"}}
            tail["outputConfig"] = {"textFormat": {"type": "json_schema", "structure": structure}}
        return tail

    def _effort(self, request: ModelRequest, writer: Writer) -> dict[str, Any]:
        """The fields for an effort, without what the rest of the request forbids.

        Thinking does not go together with a forced call. With a budget it also does not go together with a last answer
        that made calls without thinking, such as one of another provider.
        """
        if request.effort is None:
            return {}
        fields = effort_for(self.model, request.effort, request.max_tokens)
        thinking = fields.get("thinking")
        forced = self._choice(request) is not None
        if thinking and (forced or (thinking["type"] == "enabled" and not writer.thought)):
            del fields["thinking"]
        return fields

    def _wants_answer_tool(self, request: ModelRequest) -> bool:
        """Whether a schema is put to the model as a tool, for those that know no other way."""
        return request.schema is not None and bool(_WITHOUT_SCHEMA.search(self.model))

    async def answer(self, request: ModelRequest, on_text: TextListener) -> ModelAnswer:
        """One streamed answer."""
        body = self.body(request)
        headers = self._authorization.headers(self._exchange.url, body, self._now())
        asked = Collected(self.model, on_text, answer_tool=_ANSWER if self._wants_answer_tool(request) else "")
        try:
            found = await self._exchange.ask(body, headers, lambda chunks: self._collect(chunks, asked), CONTENT_TYPE)
        except ModelError as error:
            raise understood(error) from error
        if request.tool_choice == "none" and found.calls:
            if not found.text:
                raise ModelError(ModelFailure.MALFORMED, "the model only called tools when it was asked for words")
            return msgspec.structs.replace(found, calls=(), stop="stop", replay={})
        return found

    async def _collect(self, chunks: AsyncIterator[bytes], collected: Collected) -> ModelAnswer:
        async with aclosing(frames(chunks)) as stream:
            async for frame in stream:
                if frame.word(":message-type") != "event":
                    raise self._failure(frame)
                collected.add(frame.word(":event-type"), decoded_event(frame.payload))
                if collected.complete:
                    await drained(chunks)
                    break
        return collected.answer()

    def _failure(self, frame: Frame) -> ModelError:
        """What an exception inside the stream means."""
        kind = frame.word(":exception-type") or frame.word(":error-code")
        said = error_words(frame.payload)[0] or frame.word(":error-message")
        told = f"the endpoint reported {one_line(kind)}: {one_line(said, 200)}"
        return failure_of(_STATUS.get(kind, 500), told, kind, key_name=self._exchange.key_name)

    async def close(self) -> None:
        """Connections belong to the loop, not to this model."""


def understood(error: ModelError) -> ModelError:
    """The error by what Bedrock means by it: a long prompt, a spent quota and a model's own failure are plain 400s."""
    said = str(error)
    if error.failure is not ModelFailure.BAD_REQUEST:
        return error
    if "input is too long" in said.lower():
        return ModelError(ModelFailure.CONTEXT_TOO_LONG, said)
    if "service quota" in said.lower():
        return ModelError(ModelFailure.QUOTA, said, remedy="raise the quota in the AWS console")
    return ModelError(ModelFailure.OVERLOAD, said) if said.startswith("424 ") else error


def _declared(tool: ToolDeclaration) -> dict[str, Any]:
    described = {"description": tool.description} if tool.description.strip() else {}
    schema = {"json": {**tool.parameters, "type": "object"}}
    return {"toolSpec": {"name": tool.name, **described, "inputSchema": schema}}


def _cache_point(model: str, ttl: str) -> dict[str, Any] | None:
    match ttl:
        case "1h":
            return {"cachePoint": {"type": "default", "ttl": "1h"}}
        case "5m":
            return {"cachePoint": {"type": "default"}}
        case "":
            return {"cachePoint": {"type": "default"}} if caches(model) else None
        case "off":
            return None
        case _:
            raise ConfigError(f"bedrock: a cache is not kept for {ttl!r}", remedy="5m, 1h or off")


def region_of(options: ProviderOptions) -> str:
    """The region: as given, or as the model's ARN or the base URL name it. Only a bearer token can do without."""
    named = _REGION_IN_MODEL.match(options.model) or _REGION_IN_HOST.search(options.base_url)
    region = options.extra.get("region", "") or (named[1] if named else "")
    if not region and options.base_url and options.api_key:
        return ""
    if not _REGION.fullmatch(region):
        problem = f"{region!r} is no region" if region else "needs a region"
        raise ConfigError(f"bedrock: {problem}", remedy="set AWS_REGION, such as eu-central-1")
    return region


def authorization_of(options: ProviderOptions, region: str) -> Authorization:
    """The bearer token if there is one, else the pair of keys."""
    if options.api_key:
        return Authorization(bearer=options.api_key)
    keys = Credentials(
        access_key=options.extra.get("access_key_id", ""),
        secret_key=options.extra.get("secret_access_key", ""),
        session_token=options.extra.get("session_token", ""),
    )
    if not keys.access_key or not keys.secret_key:
        raise ConfigError("bedrock: needs keys", remedy=f"set {_BEARER}, or {_PAIR}")
    if not all(key.isascii() and key.isprintable() for key in (keys.access_key, keys.secret_key, keys.session_token)):
        raise ConfigError("a key holds characters that no key has", remedy=f"check {_PAIR} (and AWS_SESSION_TOKEN)")
    return Authorization(signer=Signer(credentials=keys, region=region, service="bedrock"))


def connect(options: ProviderOptions) -> Bedrock:
    """A client for `bedrock:ID`, where ID names a model, an inference profile or its ARN."""
    if not options.model:
        raise ConfigError("bedrock: needs a model id", remedy="write bedrock:ID")
    return Bedrock(options)

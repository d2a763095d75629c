"""One streamed request, whatever the wire format: everything that can go wrong on the way becomes a ModelError."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable

from ..types.base import Value
from ..types.errors import ConfigError, ModelError, ModelFailure
from ..types.text import clean, one_line
from .client import ModelAnswer, ProviderOptions
from .http import BrokenStream, beginning, http_client, retry_after
from .lean_httpx import httpx

EVENT_STREAM = "text/event-stream"
_DRAIN_SECONDS = 0.5
_TOO_LONG = (
    "context_length",
    "context window",
    "maximum context",
    "context limit",
    "too many tokens",
    "prompt is too long",
)
_OUT_OF_MONEY = ("insufficient_quota", "billing", "credit balance")


class Exchange(Value, frozen=True, kw_only=True):
    """Where requests go, and which variable holds the key that opens it."""

    url: str
    timeout: float
    connect_timeout: float
    key_name: str = ""

    @classmethod
    def to(cls, base_url: str, path: str, options: ProviderOptions, key_name: str) -> Exchange:
        """An exchange with `path` under a base URL, which is checked before anything is sent."""
        try:
            parsed = httpx.URL(base_url)
            fits = parsed.scheme in ("http", "https") and parsed.host and 0 < (parsed.port or 1) < 1 << 16
            problem = "" if fits else "it needs http:// or https://, a host, and a port below 65536 if any"
        except httpx.InvalidURL as error:
            problem = str(error)
        if problem:
            raise ConfigError(f"{base_url!r} is no base URL: {problem}", remedy="check --base-url")
        if not options.api_key.isascii() or not options.api_key.isprintable():
            raise ConfigError("the key holds characters that no key has", remedy=f"check {key_name}")
        return cls(
            url=base_url.rstrip("/") + path,
            timeout=options.timeout,
            connect_timeout=options.connect_timeout,
            key_name=key_name,
        )

    async def ask(
        self,
        body: bytes,
        headers: dict[str, str],
        read: Callable[[AsyncIterator[bytes]], Awaitable[ModelAnswer]],
        content_type: str = EVENT_STREAM,
    ) -> ModelAnswer:
        """Send `body` and let `read` make an answer of the stream that comes back."""
        timeout = httpx.Timeout(self.timeout, connect=self.connect_timeout)
        begun = False
        try:
            async with http_client(self.url).stream(
                "POST", self.url, content=body, headers=headers, timeout=timeout
            ) as response:
                if response.status_code != httpx.codes.OK:
                    raise refusal(response, await beginning(response), self.key_name)
                kind = response.headers.get("content-type", "")
                if not kind.lower().startswith(content_type):
                    said = one_line((await beginning(response)).decode("utf-8", "replace"), 200)
                    raise ModelError(ModelFailure.MALFORMED, f"the endpoint answered with {kind or 'no type'}: {said}")
                begun = True
                return await read(response.aiter_raw())
        except ModelError as error:
            error.billed = begun
            raise
        except (BrokenStream, httpx.HTTPError) as error:
            failed = self._failed(error)
            failed.billed = begun
            raise failed from error

    def _failed(self, error: BrokenStream | httpx.HTTPError) -> ModelError:
        """What went wrong, as the router wants it."""
        if isinstance(error, BrokenStream):
            return ModelError(ModelFailure.MALFORMED, str(error))
        if isinstance(error, httpx.TimeoutException):
            return ModelError(ModelFailure.NETWORK, f"{self.url} did not answer in time")
        detail = one_line(str(error)) or type(error).__name__
        remedy = "check --base-url and that the server runs"
        return ModelError(ModelFailure.NETWORK, f"{self.url}: {detail}", remedy=remedy)


async def drained(events: AsyncIterator[object]) -> None:
    """Read the end of a response, so that its connection can serve the next request. Never wait long for it."""
    with contextlib.suppress(TimeoutError, BrokenStream, httpx.HTTPError):
        async with asyncio.timeout(_DRAIN_SECONDS):
            async for _ in events:
                continue


def refusal(response: httpx.Response, body: bytes, key_name: str) -> ModelError:
    """The error behind a status code, by the provider's own words where they matter."""
    message, code = error_words(body)
    code = f"{code} {response.headers.get('x-amzn-errortype', '')}".lower()
    said = f"{response.status_code} from {response.url}: {message or response.reason_phrase}"
    return failure_of(response.status_code, said, code, wait=retry_after(response), key_name=key_name)


def failure_of(
    status: int, said: str, code: str, *, wait: float | None = None, key_name: str = "the key"
) -> ModelError:
    """What a status code and a provider's words mean for the router."""
    words = f"{code} {said}".lower()
    match status:
        case _ if any(sign in words for sign in _OUT_OF_MONEY):
            return ModelError(ModelFailure.QUOTA, said, remedy="the account has no credit left")
        case 401 | 403:
            return ModelError(ModelFailure.AUTH, said, remedy=f"check {key_name}")
        case 429:
            return ModelError(ModelFailure.RATE_LIMIT, said, retry_after=wait)
        case 404:
            return ModelError(ModelFailure.BAD_REQUEST, said, remedy="check the model name and --base-url")
        case 408 | 409:
            return ModelError(ModelFailure.NETWORK, said)
        case _ if status >= httpx.codes.INTERNAL_SERVER_ERROR:
            return ModelError(ModelFailure.OVERLOAD, said, retry_after=wait)
        case 413:
            return ModelError(ModelFailure.CONTEXT_TOO_LONG, said)
        case _ if any(sign in words for sign in _TOO_LONG):
            return ModelError(ModelFailure.CONTEXT_TOO_LONG, said)
        case _:
            return ModelError(ModelFailure.BAD_REQUEST, said)


def error_words(body: bytes) -> tuple[str, str]:
    """A provider's message and its code or type, in whichever of the known shapes it came."""
    try:
        document = json.loads(body)
        document = document[0] if isinstance(document, list) and document else document
        error = document.get("error", document)
        if isinstance(error, dict):
            codes = " ".join(str(error.get(key) or "") for key in ("code", "type", "status"))
            message = error.get("message") or error.get("Message") or error.get("detail") or ""
            return one_line(clean(str(message)), 300), codes
        return one_line(clean(str(error)), 300), ""
    except (ValueError, AttributeError, RecursionError):
        return one_line(body.decode("utf-8", "replace"), 200), ""

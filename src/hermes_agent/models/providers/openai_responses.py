"""OpenAI's responses format: the one its reasoning models answer best in."""

from __future__ import annotations

from ...types.errors import ConfigError
from ..client import ModelAnswer, ProviderOptions, TextListener
from ..exchange import Exchange
from ..request import ModelRequest
from ..wire.openai_models import effort_for
from ..wire.responses import Dialect, ResponsesBody
from ..wire.responses_stream import collected

__all__ = ["OpenAIResponses", "connect", "effort_for"]

_KEY = "OPENAI_API_KEY"
_DEFAULT_URL = "https://api.openai.com/v1"


class OpenAIResponses:
    """A model behind an endpoint that speaks OpenAI's responses format."""

    provider = "openai_responses"

    def __init__(self, options: ProviderOptions) -> None:
        self.model = options.model
        self._exchange = Exchange.to(options.base_url or _DEFAULT_URL, "/responses", options, _KEY)
        self._headers = {"content-type": "application/json", "accept-encoding": "identity"}
        if options.api_key:
            self._headers["authorization"] = f"Bearer {options.api_key}"
        self._body = ResponsesBody(options.model, self._exchange.url, Dialect())

    def body(self, request: ModelRequest) -> bytes:
        """The request as bytes."""
        return self._body.written(request)

    async def answer(self, request: ModelRequest, on_text: TextListener) -> ModelAnswer:
        """One streamed response."""
        by = self._body.by
        return await self._exchange.ask(
            self.body(request), self._headers, lambda chunks: collected(chunks, on_text, by, _KEY)
        )

    async def close(self) -> None:
        """Connections belong to the loop, not to this model."""


def connect(options: ProviderOptions) -> OpenAIResponses:
    """A client for `openai_responses:NAME`."""
    if not options.model:
        raise ConfigError("openai_responses: needs a model name", remedy="write openai_responses:NAME")
    if not options.api_key and not options.base_url:
        raise ConfigError("openai_responses: needs a key or another endpoint", remedy=f"set {_KEY}, or --base-url")
    return OpenAIResponses(options)

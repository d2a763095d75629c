"""OpenAI's models by way of a ChatGPT login: the responses format with the tokens that `codex login` left in a file."""

from __future__ import annotations

from pathlib import Path

from ...types.errors import ConfigError, ModelError, ModelFailure
from ..client import ModelAnswer, ProviderOptions, TextListener
from ..exchange import Exchange
from ..request import ModelRequest
from ..wire.codex_tokens import TOKEN_URL, TokenFile, Tokens
from ..wire.openai_models import effort_for
from ..wire.responses import Dialect, ResponsesBody
from ..wire.responses_stream import collected

__all__ = ["Codex", "connect", "effort_for"]

_DEFAULT_URL = "https://chatgpt.com/backend-api/codex"
_DEFAULT_FILE = "~/.codex/auth.json"
_LOGIN = "the login: run `codex login`"


class Codex:
    """A model that a ChatGPT account pays for. Its endpoint takes no limit on the output."""

    provider = "codex"

    def __init__(self, options: ProviderOptions, tokens: TokenFile) -> None:
        self.model = options.model
        self._tokens = tokens
        self._exchange = Exchange.to(options.base_url or _DEFAULT_URL, "/responses", options, _LOGIN)
        dialect = Dialect(limits_output=False, needs_instructions=True)
        self._body = ResponsesBody(options.model, self._exchange.url, dialect)

    def body(self, request: ModelRequest) -> bytes:
        """The request as bytes."""
        return self._body.written(request)

    async def answer(self, request: ModelRequest, on_text: TextListener) -> ModelAnswer:
        """One streamed response. Tokens that are refused although they have not expired are renewed once."""
        body = self.body(request)
        try:
            tokens = await self._tokens.current()
            try:
                return await self._ask(body, tokens, on_text)
            except ModelError as error:
                if error.failure is not ModelFailure.AUTH:
                    raise
            return await self._ask(body, await self._tokens.renewed(tokens.access), on_text)
        except ConfigError as error:
            raise ModelError(ModelFailure.AUTH, str(error), remedy=error.advice) from error

    async def _ask(self, body: bytes, tokens: Tokens, on_text: TextListener) -> ModelAnswer:
        headers = {
            "content-type": "application/json",
            "accept-encoding": "identity",
            "accept": "text/event-stream",
            "authorization": f"Bearer {tokens.access}",
            "openai-beta": "responses=experimental",
            "originator": "hermes_agent",
        }
        if tokens.account:
            headers["chatgpt-account-id"] = tokens.account
        by = self._body.by
        return await self._exchange.ask(body, headers, lambda chunks: collected(chunks, on_text, by, _LOGIN))

    async def close(self) -> None:
        """Connections belong to the loop, not to this model."""


def connect(options: ProviderOptions) -> Codex:
    """A client for `codex:NAME`. `extra["auth_file"]` is the file of the login, `extra["token_url"]` where it is
    renewed; both have the defaults of `codex login`."""
    if not options.model:
        raise ConfigError("codex: needs a model name", remedy="write codex:NAME")
    path = Path(options.extra.get("auth_file") or _DEFAULT_FILE).expanduser()
    tokens = TokenFile(path, options.extra.get("token_url") or TOKEN_URL, options.timeout)
    tokens.read()
    return Codex(options, tokens)

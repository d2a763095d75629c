"""The file in which `codex login` keeps its OAuth tokens, and their renewal.

A refresh token works once. So a renewal is done by one process at a time, the file is known to be writable before the
token is spent, and the new tokens are in the file before anybody uses them.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from base64 import urlsafe_b64decode
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ...types.base import Value
from ...types.errors import ConfigError, ModelError, ModelFailure
from ..exchange import error_words
from ..http import http_client
from ..lean_httpx import httpx

TOKEN_URL = "https://auth.openai.com/oauth/token"
_CLIENT = "app_EMoamEEZ73f0CkXaXp7hrann"
_CLAIMS = "https://api.openai.com/auth"
_EARLY_SECONDS = 60
_LOCK_SECONDS = 60
_LOG_IN = "run `codex login`"


class Tokens(Value, frozen=True, kw_only=True):
    """What a login left. `expires` is 0 when the token does not tell."""

    access: str
    refresh: str = ""
    account: str = ""
    expires: float = 0.0


class TokenFile:
    """The tokens in one file. `now` is the clock they expire by."""

    def __init__(
        self, path: Path, url: str = TOKEN_URL, timeout: float = 30.0, now: Callable[[], float] = time.time
    ) -> None:
        self.path = path
        self._url = url
        self._timeout = timeout
        self._now = now

    def read(self) -> Tokens:
        """The tokens as they are in the file."""
        return self._tokens(self._document())

    async def current(self) -> Tokens:
        """Tokens that can be used now, renewed if they have expired."""
        tokens = self.read()
        return await self.renewed(tokens.access) if self._expired(tokens) else tokens

    async def renewed(self, stale: str) -> Tokens:
        """Other tokens than `stale`: those that somebody else has put into the file meanwhile, or new ones."""
        from filelock import AsyncFileLock, Timeout

        try:
            async with AsyncFileLock(f"{self.path}.lock", timeout=_LOCK_SECONDS):
                tokens = self.read()
                if tokens.access != stale and not self._expired(tokens):
                    return tokens
                return await self._renew(tokens)
        except Timeout as error:
            raise ModelError(ModelFailure.AUTH, f"{self.path} is locked by another process") from error
        except OSError as error:
            raise self._unwritable(error) from error

    async def _renew(self, tokens: Tokens) -> Tokens:
        if not tokens.refresh:
            raise ModelError(ModelFailure.AUTH, f"the login in {self.path} has expired", remedy=_LOG_IN)
        handle, name = tempfile.mkstemp(dir=self.path.resolve().parent, prefix=".auth-", suffix=".json")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                document = self._merged(await self._ask(tokens.refresh))
                file.write(json.dumps(document, indent=2))
                file.flush()
                os.fsync(file.fileno())
            os.replace(name, self.path.resolve())
        finally:
            _forget(Path(name))
        return self._tokens(document)

    async def _ask(self, refresh: str) -> dict[str, Any]:
        """The endpoint's answer to a refresh token."""
        wanted = {"client_id": _CLIENT, "grant_type": "refresh_token", "refresh_token": refresh}
        try:
            response = await http_client(self._url).post(
                self._url, json={**wanted, "scope": "openid profile email"}, timeout=self._timeout
            )
        except httpx.HTTPError as error:
            raise ModelError(ModelFailure.NETWORK, f"the login could not be renewed at {self._url}: {error}") from error
        if response.status_code >= httpx.codes.INTERNAL_SERVER_ERROR or response.status_code == 429:
            raise ModelError(ModelFailure.OVERLOAD, f"{response.status_code} from {self._url}")
        if response.status_code != httpx.codes.OK:
            said = error_words(response.content)[0]
            raise ModelError(ModelFailure.AUTH, f"the login could not be renewed: {said}", remedy=_LOG_IN)
        try:
            answer = response.json()
        except ValueError:
            answer = None
        if not isinstance(answer, dict) or not isinstance(answer.get("access_token"), str):
            raise ModelError(ModelFailure.MALFORMED, f"{self._url} answered without a token")
        return answer

    def _merged(self, answer: dict[str, Any]) -> dict[str, Any]:
        """The file's content with the new tokens; whatever else it holds stays."""
        document = self._document()
        names = ("id_token", "access_token", "refresh_token")
        document["tokens"] |= {name: answer[name] for name in names if isinstance(answer.get(name), str)}
        document["last_refresh"] = datetime.fromtimestamp(self._now(), UTC).isoformat().replace("+00:00", "Z")
        return document

    def _expired(self, tokens: Tokens) -> bool:
        return bool(tokens.expires) and tokens.expires - _EARLY_SECONDS <= self._now()

    def _document(self) -> dict[str, Any]:
        try:
            document = json.loads(self.path.read_bytes())
        except FileNotFoundError as error:
            raise ConfigError(f"there is no login in {self.path}", remedy=_LOG_IN) from error
        except OSError as error:
            raise ConfigError(f"cannot read {self.path}: {error.strerror or error}", remedy=_LOG_IN) from error
        except ValueError as error:
            raise ConfigError(f"{self.path} is not JSON: {error}", remedy=_LOG_IN) from error
        tokens = document.get("tokens") if isinstance(document, dict) else None
        if not isinstance(tokens, dict) or not isinstance(tokens.get("access_token"), str):
            remedy = f"{_LOG_IN} with a ChatGPT account, or use openai_responses:NAME with a key"
            raise ConfigError(f"{self.path} holds no ChatGPT login", remedy=remedy)
        if not tokens["access_token"].isascii() or not tokens["access_token"].isprintable():
            raise ConfigError(f"the token in {self.path} holds characters that no token has", remedy=_LOG_IN)
        return dict(document)

    def _tokens(self, document: dict[str, Any]) -> Tokens:
        tokens = document["tokens"]
        claims = _claims(tokens["access_token"])
        expires = claims.get("exp")
        account = tokens.get("account_id") or _account(claims) or _account(_claims(tokens.get("id_token")))
        return Tokens(
            access=tokens["access_token"],
            refresh=tokens.get("refresh_token") or "",
            account=str(account),
            expires=float(expires) if isinstance(expires, int | float) else 0.0,
        )

    def _unwritable(self, error: OSError) -> ModelError:
        said = f"the login in {self.path} cannot be renewed: {error.strerror or error}"
        return ModelError(ModelFailure.AUTH, said, remedy="make the file and its folder writable")


def _forget(path: Path) -> None:
    path.unlink(missing_ok=True)


def _claims(token: Any) -> dict[str, Any]:
    """What a token says about itself. Nothing is verified: only the endpoint can, and it will."""
    try:
        payload = str(token).split(".")[1]
        claims = json.loads(urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    except (IndexError, ValueError):
        return {}
    return claims if isinstance(claims, dict) else {}


def _account(claims: dict[str, Any]) -> str:
    inner = claims.get(_CLAIMS)
    return str(inner.get("chatgpt_account_id") or "") if isinstance(inner, dict) else ""

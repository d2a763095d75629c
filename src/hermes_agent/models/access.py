"""Where a provider's keys and addresses come from.

By default `NAME_API_KEY` and `NAME_BASE_URL` for a provider called `name`; the table holds the exceptions, and the
endpoints that speak OpenAI's chat format under an address of their own. A key variable may hold several keys, parted by
commas: they are routes of their own.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..types.base import Value
from .client import ProviderOptions


class Access(Value, frozen=True, kw_only=True):
    """The variables that open a provider: the first one set holds. `address` is where it is when none says."""

    keys: tuple[str, ...]
    base_url: tuple[str, ...]
    address: str = ""
    extra: dict[str, tuple[str, ...]] = {}
    spoken_by: str = ""


def _compatible(name: str, address: str) -> Access:
    return Access(keys=(f"{name}_API_KEY",), base_url=(f"{name}_BASE_URL",), address=address, spoken_by="openai_chat")


_OPENAI = Access(keys=("OPENAI_API_KEY",), base_url=("OPENAI_BASE_URL",))
EXCEPTIONS: Mapping[str, Access] = {
    "openai": Access(keys=_OPENAI.keys, base_url=_OPENAI.base_url, spoken_by="openai_chat"),
    "openai_responses": _OPENAI,
    "codex": Access(keys=(), base_url=("CODEX_BASE_URL",), extra={"auth_file": ("CODEX_AUTH_FILE",)}),
    "anthropic": Access(
        keys=("ANTHROPIC_API_KEY",), base_url=("ANTHROPIC_BASE_URL",), extra={"cache_ttl": ("ANTHROPIC_CACHE_TTL",)}
    ),
    "gemini": Access(keys=("GEMINI_API_KEY", "GOOGLE_API_KEY"), base_url=("GEMINI_BASE_URL",)),
    "bedrock": Access(
        keys=("AWS_BEARER_TOKEN_BEDROCK",),
        base_url=("AWS_ENDPOINT_URL_BEDROCK_RUNTIME",),
        extra={
            "region": ("AWS_REGION", "AWS_DEFAULT_REGION"),
            "access_key_id": ("AWS_ACCESS_KEY_ID",),
            "secret_access_key": ("AWS_SECRET_ACCESS_KEY",),
            "session_token": ("AWS_SESSION_TOKEN",),
            "cache_ttl": ("BEDROCK_CACHE_TTL",),
        },
    ),
    "openrouter": _compatible("OPENROUTER", "https://openrouter.ai/api/v1"),
    "mistral": _compatible("MISTRAL", "https://api.mistral.ai/v1"),
    "ollama": _compatible("OLLAMA", "http://localhost:11434/v1"),
    "vllm": _compatible("VLLM", "http://localhost:8000/v1"),
    "llamacpp": _compatible("LLAMACPP", "http://localhost:8080/v1"),
}


def access_to(provider: str) -> Access:
    """How a provider is reached."""
    name = provider.upper()
    return EXCEPTIONS.get(provider) or Access(keys=(f"{name}_API_KEY",), base_url=(f"{name}_BASE_URL",))


def options_for(
    provider: str, model: str, variables: Mapping[str, str], base: ProviderOptions, configured: str = ""
) -> list[ProviderOptions]:
    """Options for each key there is, or one without a key.

    The address is the explicit one in `base`, else the environment's, else the `configured` one, else the usual one.
    """
    access = access_to(provider)
    keys = [key for part in _first(access.keys, variables).split(",") if (key := part.strip())] or [""]
    address = base.base_url or _first(access.base_url, variables) or configured or access.address
    extra = {key: found for key, names in access.extra.items() if (found := _first(names, variables))}
    return [
        ProviderOptions(
            model=model,
            provider=provider,
            base_url=address,
            api_key=key,
            timeout=base.timeout,
            connect_timeout=base.connect_timeout,
            extra={**extra, **base.extra},
        )
        for key in keys
    ]


def _first(names: tuple[str, ...], variables: Mapping[str, str]) -> str:
    return next((variables[name] for name in names if variables.get(name)), "")

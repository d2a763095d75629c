"""Model names: `provider:model`, and which file speaks for a provider."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from ..types.errors import UsageError
from .access import EXCEPTIONS, access_to, options_for
from .client import ModelClient, ProviderOptions

PROVIDERS = Path(__file__).parent / "providers"
_NAME = re.compile(r"[a-z][a-z0-9_]*")


def split_name(name: str) -> tuple[str, str]:
    """`openai:gpt-x` as its two parts. A provider without a model name is allowed: `apprentice`."""
    provider, _, model = name.partition(":")
    if not _NAME.fullmatch(provider):
        raise UsageError(f"{name!r} is no model name", remedy="write provider:model, such as openai:NAME")
    return provider, model


def provider_names() -> list[str]:
    """Every provider there is, by the name users write: a file each, and the compatible endpoints."""
    files = {path.stem for path in PROVIDERS.glob("*.py")} - {"__init__"}
    spoken_for = {access.spoken_by for access in EXCEPTIONS.values()}
    return sorted((files - spoken_for) | {name for name, access in EXCEPTIONS.items() if access.spoken_by})


def connect(name: str, options: ProviderOptions) -> ModelClient:
    """A client for a model name."""
    provider, _ = split_name(name)
    file = access_to(provider).spoken_by or provider
    if provider not in provider_names():
        known = ", ".join(provider_names())
        raise UsageError(
            f"there is no provider {provider!r}",
            remedy=f"known are: {known}; anything OpenAI-compatible works as openai:NAME with --base-url",
        )
    module = importlib.import_module(f"{__package__}.providers.{file}")
    make: Callable[[ProviderOptions], ModelClient] = module.connect
    return make(options)


def clients(name: str, variables: Mapping[str, str], base: ProviderOptions, configured: str = "") -> list[ModelClient]:
    """A client for each key of a model's provider. `base` holds an explicit address and the time limits, `configured`
    an address that stands behind the environment's."""
    provider, model = split_name(name)
    return [connect(name, options) for options in options_for(provider, model, variables, base, configured)]

"""Model names: `provider:model`, and which file speaks for a provider."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from pathlib import Path

from ..types.errors import UsageError
from .client import ModelClient, ProviderOptions

PROVIDERS = Path(__file__).parent / "providers"
_SPOKEN_BY = {"openai": "openai_chat"}
_NAME = re.compile(r"[a-z][a-z0-9_]*")


def split_name(name: str) -> tuple[str, str]:
    """`openai:gpt-x` as its two parts. A provider without a model name is allowed: `apprentice`."""
    provider, _, model = name.partition(":")
    if not _NAME.fullmatch(provider):
        raise UsageError(f"{name!r} is no model name", remedy="write provider:model, such as openai:NAME")
    return provider, model


def provider_names() -> list[str]:
    """Every provider there is a file for, by the name users write."""
    spoken = {file: name for name, file in _SPOKEN_BY.items()}
    return sorted(spoken.get(path.stem, path.stem) for path in PROVIDERS.glob("*.py") if path.stem != "__init__")


def connect(name: str, options: ProviderOptions) -> ModelClient:
    """A client for a model name."""
    provider, _ = split_name(name)
    file = _SPOKEN_BY.get(provider, provider)
    if not (PROVIDERS / f"{file}.py").exists():
        known = ", ".join(provider_names())
        raise UsageError(
            f"there is no provider {provider!r}",
            remedy=f"known are: {known}; anything OpenAI-compatible works as openai:NAME with --base-url",
        )
    module = importlib.import_module(f"{__package__}.providers.{file}")
    make: Callable[[ProviderOptions], ModelClient] = module.connect
    return make(options)

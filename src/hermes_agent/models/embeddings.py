"""Texts as vectors, from any endpoint that speaks OpenAI's embeddings format."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated

import msgspec

from ..types.base import Value
from ..types.errors import ConfigError, ModelError, ModelFailure
from ..types.text import clean, one_line
from .access import options_for
from .catalog import split_name
from .client import ProviderOptions

_USUAL = "https://api.openai.com/v1"
_LONGEST_TEXT = 8_000
_LARGEST_ANSWER = 32 * 1024 * 1024
_SECONDS = 10.0


class _Vector(Value, frozen=True, kw_only=True):
    index: int
    embedding: Annotated[list[float], msgspec.Meta(min_length=1, max_length=20_000)]


class _Answer(Value, frozen=True, kw_only=True):
    data: list[_Vector]


class Embeddings:
    """One embedding model. Vectors have length one, so that their product is their likeness."""

    def __init__(self, options: ProviderOptions) -> None:
        self._options = options
        self._url = f"{(options.base_url or _USUAL).rstrip('/')}/embeddings"

    async def vectors(self, texts: Sequence[str]) -> list[list[float]]:
        """A vector for each text, in order. Raises ModelError."""
        from .http import http_client
        from .lean_httpx import httpx

        body = {"model": self._options.model, "input": [clean(text)[:_LONGEST_TEXT] or " " for text in texts]}
        headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
        if self._options.api_key:
            headers["Authorization"] = f"Bearer {self._options.api_key}"
        try:
            response = await http_client(self._url).post(
                self._url, content=msgspec.json.encode(body), headers=headers, timeout=httpx.Timeout(_SECONDS)
            )
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            said = one_line(str(error)) or type(error).__name__
            raise ModelError(ModelFailure.NETWORK, f"embeddings: {self._url}: {said}") from error
        if response.status_code != 200:
            said = one_line(clean(response.text[:400]), 120)
            raise ModelError(ModelFailure.REFUSED, f"embeddings: {response.status_code} from {self._url}: {said}")
        return _read(response.content, len(texts))


def _read(content: bytes, count: int) -> list[list[float]]:
    try:
        found = msgspec.json.decode(content[:_LARGEST_ANSWER], type=_Answer).data
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ModelError(ModelFailure.MALFORMED, f"embeddings: {one_line(str(error), 120)}") from error
    placed = {vector.index: vector.embedding for vector in found}
    sizes = {len(vector) for vector in placed.values()}
    if sorted(placed) != list(range(count)) or len(sizes) > 1:
        raise ModelError(ModelFailure.MALFORMED, f"embeddings: {len(found)} vectors of sizes {sorted(sizes)} came back")
    return [_normed(placed[place]) for place in range(count)]


def _normed(vector: Sequence[float]) -> list[float]:
    length = math.sqrt(sum(value * value for value in vector))
    return [value / length for value in vector] if length > 0 and math.isfinite(length) else [0.0] * len(vector)


def embeddings(name: str, variables: Mapping[str, str], base_url: str = "") -> Embeddings:
    """The embedding model `provider:model`, with the first key there is."""
    provider, model = split_name(name)
    if not model:
        raise ConfigError(f"skills.embeddings is {name!r}", remedy="write provider:model, such as openai:NAME")
    options = options_for(provider, model, variables, ProviderOptions(model=model, base_url=base_url))
    return Embeddings(options[0])

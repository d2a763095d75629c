"""Finds tools by words: a small lexical ranking that gives the same answer every time."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterable

from ..types.tools import ToolSpec

_WORD = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_LONGEST_QUERY = 1_000
_LONGEST_TEXT = 4_000
_NAME, _FAMILY, _DESCRIPTION, _PARAMETER = 4.0, 2.0, 1.0, 0.5
_BEGINNING = 0.5
_SILENT = frozenset(
    (
        "a",
        "an",
        "and",
        "are",
        "at",
        "can",
        "do",
        "for",
        "from",
        "how",
        "i",
        "in",
        "is",
        "it",
        "me",
        "my",
        "of",
        "on",
        "or",
        "that",
        "the",
        "this",
        "to",
        "use",
        "want",
        "what",
        "with",
        "you",
    )
)


def rank(specs: Iterable[ToolSpec], query: str, limit: int) -> list[ToolSpec]:
    """The tools that fit `query`, best first, at most `limit`; without a word to go by, the first by name.

    A word counts more in a name than in a description, and more the fewer tools have it. An exact name comes first.
    """
    ordered = sorted(specs, key=lambda spec: spec.name)
    wanted = list(dict.fromkeys(_words(query[:_LONGEST_QUERY])))
    if not wanted:
        return ordered[: max(limit, 0)]
    weighed = [_weights(spec) for spec in ordered]
    worth = {word: _worth(word, weighed) for word in wanted}
    named = query.strip().casefold()
    scored = [
        (spec.name.casefold() == named, sum(worth[word] * _fit(word, weights) for word in wanted), spec)
        for spec, weights in zip(ordered, weighed, strict=True)
    ]
    fitting = [entry for entry in scored if entry[0] or entry[1] > 0]
    fitting.sort(key=lambda entry: (not entry[0], -entry[1], entry[2].name))
    return [spec for _, _, spec in fitting[: max(limit, 0)]]


def _weights(spec: ToolSpec) -> dict[str, float]:
    """Every word of a tool with the weight of the best place it stands in."""
    weights: dict[str, float] = {}
    properties = spec.parameters.get("properties", {})
    places = (
        (_PARAMETER, " ".join(map(str, properties)) if isinstance(properties, dict) else ""),
        (_DESCRIPTION, spec.description),
        (_FAMILY, spec.family),
        (_NAME, spec.name),
    )
    for weight, text in places:
        weights.update(dict.fromkeys(_words(text[:_LONGEST_TEXT]), weight))
    return weights


def _fit(word: str, weights: dict[str, float]) -> float:
    """How well a tool fits one word: by the word itself, else by a word that begins like it."""
    if word in weights:
        return weights[word]
    if len(word) < 4:
        return 0.0
    beginnings = (
        w for other, w in weights.items() if other.startswith(word) or (len(other) > 3 and word.startswith(other))
    )
    return _BEGINNING * max(beginnings, default=0.0)


def _worth(word: str, weighed: list[dict[str, float]]) -> float:
    holders = sum(word in weights for weights in weighed)
    return math.log(1 + (len(weighed) + 1) / (holders + 1))


@functools.lru_cache(maxsize=1024)
def _words(text: str) -> tuple[str, ...]:
    folded = (word.casefold() for word in _WORD.findall(_CAMEL.sub(" ", text)))
    return tuple(_stem(word) for word in folded if word not in _SILENT)


def _stem(word: str) -> str:
    """A word without its commonest English endings, so that `searching`, `searches` and `search` are one."""
    if not word.isascii():
        return word
    for ending, rest in (("ies", "y"), ("ing", ""), ("ers", ""), ("er", ""), ("ed", ""), ("es", ""), ("s", "")):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            word = word[: -len(ending)] + rest
            break
    return word.removesuffix("e") if len(word) > 3 else word

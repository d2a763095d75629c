"""What the library offers to a request: every usable skill with its likeness to it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from ..skills.conditions import unmet
from ..skills.history import text_of
from ..skills.index import is_compact
from ..skills.library import Held, Library
from ..skills.similarity import Vector, dot, telling_words, vector_of
from ..skills.skill import Circumstances, Health, Skill
from ..types.advice import Situation
from ..types.errors import HermesError
from ..types.text import one_line
from .recommending import Offer

_KEPT = 2_000
_DESCRIBED = 120
_TRIGGER_SHARE = 0.7
_TELLING = 2
"""A request that says less than so many words about its matter is like nothing much."""
Embed = Callable[[Sequence[str]], Awaitable[list[list[float]]]]
"""Texts as vectors of length one, from an embedding model."""


def vector_of_skill(skill: Skill) -> Vector:
    """What a skill is about, as a vector of words."""
    return vector_of(text_of(skill))


class Likeness:
    """How alike a request and skills are: by their words, or by an embedding model where one is configured. A model
    that fails costs its judgement, never the answer: words decide then, and `notify` hears of it once."""

    def __init__(self, embed: Embed | None = None, notify: Callable[[str], None] | None = None) -> None:
        self._embed = embed
        self._notify = notify
        self._words: dict[tuple[str, str], list[tuple[float, Vector]]] = {}
        self._meanings: dict[tuple[str, str], list[float]] = {}

    async def to(self, request: str, skills: Sequence[Held]) -> list[float]:
        """For each skill a number from 0 to 1."""
        if self._embed is not None and skills:
            try:
                return await self._by_meaning(self._embed, request, skills)
            except HermesError as error:
                if self._notify is not None:
                    self._notify(f"{error}; skills are compared by their words until the next start")
                self._embed = None
        asked = vector_of(request)
        share = min(1.0, len(telling_words(request)) / _TELLING)
        return [round(min(1.0, share * _likest(asked, self._word_vectors(held))), 6) for held in skills]

    async def _by_meaning(self, embed: Embed, request: str, skills: Sequence[Held]) -> list[float]:
        missing = [held for held in skills if (held.name, held.version) not in self._meanings]
        found = await embed([request, *(text_of(held.skill) for held in missing)])
        _bounded(self._meanings, len(missing))
        self._meanings.update({(held.name, held.version): one for held, one in zip(missing, found[1:], strict=True)})
        vectors = [self._meanings[held.name, held.version] for held in skills]
        return [max(0.0, sum(a * b for a, b in zip(found[0], vector, strict=True))) for vector in vectors]

    def _word_vectors(self, held: Held) -> list[tuple[float, Vector]]:
        key = (held.name, held.version)
        if key not in self._words:
            _bounded(self._words, 1)
            self._words[key] = _vectors_of(held.skill)
        return self._words[key]


def _vectors_of(skill: Skill) -> list[tuple[float, Vector]]:
    """What a request may be like: the skill as a whole, what it says it is for, or one of its triggers, which counts
    less because it is short. A skill for several kinds of requests is like each of them, not like their mean."""
    purpose = vector_of(f"{skill.name.replace('-', ' ')} {skill.description}")
    triggers = [(_TRIGGER_SHARE, vector_of(trigger)) for trigger in skill.triggers]
    return [(1.0, vector_of_skill(skill)), (1.0, purpose), *triggers]


def _likest(asked: Vector, vectors: Sequence[tuple[float, Vector]]) -> float:
    return max(share * dot(asked, vector) for share, vector in vectors)


def _bounded(known: dict[tuple[str, str], Any], more: int) -> None:
    if len(known) + more > _KEPT:
        known.clear()


class LibraryOffers:
    """The skills of a library as learning asks for them."""

    def __init__(self, library: Library, circumstances: Callable[[str], Circumstances], likeness: Likeness) -> None:
        self._library = library
        self._circumstances = circumstances
        self._likeness = likeness

    async def offers(self, situation: Situation) -> Sequence[Offer]:
        """The skills that are usable where the request comes from. Broken ones are left out, and those with programs
        that an agent wrote until validation has passed them."""
        if is_compact(situation.model):
            return []
        here = self._circumstances(situation.surface)
        usable = [
            held
            for held in await self._library.all(situation.workspace)
            if held.stats.health_status != Health.DEPRECATED
            and not unmet(held.skill.conditions, here)
            and not _unchecked(held)
        ]
        return [
            Offer(
                name=held.name,
                version=held.version,
                description=one_line(held.skill.description, _DESCRIBED),
                similarity=similarity,
                vouched=not held.origin.by_agent,
            )
            for held, similarity in zip(usable, await self._likeness.to(situation.request, usable), strict=True)
        ]


def _unchecked(held: Held) -> bool:
    """Whether an agent wrote a skill with executable parts whose version nobody validated."""
    return held.executable and held.origin.by_agent and held.stats.validated != held.version

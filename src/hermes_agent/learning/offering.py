"""What the library offers to a request: every usable skill with its likeness to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..skills.conditions import unmet
from ..skills.library import Held, Library
from ..skills.similarity import Vector, cosine, vector_of
from ..skills.skill import Circumstances, Health, Skill
from ..types.advice import Situation
from ..types.text import one_line
from .recommending import Offer

_KEPT = 2_000
_DESCRIBED = 120


def vector_of_skill(skill: Skill) -> Vector:
    """What a skill is about, from its own words."""
    return vector_of(" ".join((skill.name.replace("-", " "), skill.description, *skill.triggers, *skill.tags)))


class LibraryOffers:
    """The skills of a library as learning asks for them. What they are about is read once per version."""

    def __init__(self, library: Library, circumstances: Callable[[str], Circumstances]) -> None:
        self._library = library
        self._circumstances = circumstances
        self._vectors: dict[tuple[str, str], Vector] = {}

    async def offers(self, situation: Situation) -> Sequence[Offer]:
        """The skills that are usable where the request comes from; broken ones are left out."""
        here = self._circumstances(situation.surface)
        asked = vector_of(situation.request)
        return [
            Offer(
                name=held.name,
                version=held.version,
                description=one_line(held.skill.description, _DESCRIBED),
                similarity=cosine(asked, self._vector(held)),
                vouched=not held.origin.by_agent,
            )
            for held in await self._library.all(situation.workspace)
            if held.stats.health_status != Health.DEPRECATED and not unmet(held.skill.conditions, here)
        ]

    def _vector(self, held: Held) -> Vector:
        key = (held.name, held.version)
        if key not in self._vectors:
            if len(self._vectors) >= _KEPT:
                self._vectors.clear()
            self._vectors[key] = vector_of_skill(held.skill)
        return self._vectors[key]

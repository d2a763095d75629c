"""Skills that say the same: found from their words alone, without a model.

Two figures from `skills.similarity` (what a skill is for: name, description and triggers; and its body), and one that
looks at the wording: the share of runs of three words that both have. Words decide whether two skills are about the
same work; wording decides whether one is a copy of the other. The weights were chosen on skills written for the
purpose, so that 0.9 and 0.6 mean what they are called; `tests/learning/test_overlaps.py` holds them against others.
"""

from __future__ import annotations

import re
import zlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from enum import StrEnum
from itertools import combinations

from ..skills.similarity import Vector, cosine, vector_of
from ..skills.skill import Skill
from ..types.base import Value

DUPLICATE, OVERLAP = 0.9, 0.6
_ABOUT, _BODY = 0.6, 0.4
_ABOUT_BESIDE_STEPS, _STEPS = 0.4, 0.6
_SAME_NAME, _NAME_COUNTS_FROM = 0.1, 0.5
"""What names add that differ in a number or a date only, and the least likeness they add it to."""
_LEAST_PURPOSE = 0.2
"""Skills for different purposes are not one skill, however alike their wording."""
_COPIED_FROM = 0.4
"""The least share of common wording in a duplicate: alike words in another order are an overlap."""
_SHINGLE = 3
_LONGEST_BODY = 40_000
_LEAST_ABOUT = (OVERLAP - _SAME_NAME - _BODY) / _ABOUT
"""Below this no likeness of bodies makes an overlap, unless the wording is the same."""
_SKETCH = 8
_MANY, _COMMON = 500, 5
"""From so many skills on, features that more than a fifth of them have no longer make a pair worth a look."""
_WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*")
_NUMBER = re.compile(r"\d+")
_COUNTED = re.compile(r"(?:v|q|kw|no|nr)?\d+(?:st|nd|rd|th)?")
_MONTH = re.compile(
    "jan(uary)?|feb(ruary)?|mar(ch)?|apr(il)?|may|june?|july?|aug(ust)?|sep(tember)?|oct(ober)?|nov(ember)?|dec(ember)?"
)
_MADE_ANEW = frozenset({"new", "old", "copy", "final", "again", "improved", "updated"})


class Alike(StrEnum):
    """How alike two skills are."""

    DUPLICATE = "duplicate"
    OVERLAP = "overlap"


class Profile(Value, frozen=True, kw_only=True):
    """What a skill is compared by."""

    name: str
    stem: str
    about: Vector
    body: Vector
    shingles: frozenset[int]


class Overlap(Value, frozen=True, kw_only=True):
    """Two skills that are alike, `one` before `other` in the alphabet. `about`, `body` and `steps` are the figures
    behind `score`; `same_name` says that the names differ in a number or a date only."""

    one: str
    other: str
    kind: Alike
    score: float
    about: float
    body: float
    steps: float
    same_name: bool = False

    @property
    def why(self) -> str:
        """The figures in words."""
        named = ", names that differ in a number or a date" if self.same_name else ""
        return f"purpose {self.about:.2f}, text {self.body:.2f}, wording {self.steps:.2f}{named}"

    def of(self, name: str) -> str:
        """The other one of the two."""
        return self.other if name == self.one else self.one


def profile_of(skill: Skill) -> Profile:
    """What is compared of a skill; made once for all its pairs."""
    said = [skill.name.replace("-", " "), skill.description, *skill.triggers]
    return Profile(
        name=skill.name,
        stem=stem_of(skill.name),
        about=vector_of(". ".join(said)),
        body=vector_of(skill.body),
        shingles=shingles_of(skill.body),
    )


def stem_of(name: str) -> str:
    """A name without numbers, dates, and words that only say that it was made anew; the name itself when nothing else
    is in it."""
    words = [word for word in name.split("-") if word]
    kept = [word for word in words if not (_COUNTED.fullmatch(word) or _MONTH.fullmatch(word) or word in _MADE_ANEW)]
    return "-".join(word.removesuffix("s") for word in kept) or name


def shingles_of(text: str) -> frozenset[int]:
    """Runs of three words within a line, hashed; numbers are all alike. A shorter line is one run."""
    found = set()
    for line in text[:_LONGEST_BODY].splitlines():
        words = [_NUMBER.sub("0", word.lower()) for word in _WORD.findall(line)]
        if not words:
            continue
        for start in range(max(1, len(words) - _SHINGLE + 1)):
            found.add(zlib.crc32(" ".join(words[start : start + _SHINGLE]).encode("utf-8", "replace")))
    return frozenset(found)


def compared(first: Profile, second: Profile) -> Overlap | None:
    """What two skills have in common, or None when it is less than an overlap."""
    one, other = sorted((first, second), key=lambda profile: profile.name)
    about, body = cosine(one.about, other.about), cosine(one.body, other.body)
    steps = _shared(one.shingles, other.shingles)
    same_name = one.stem == other.stem
    if about < _LEAST_PURPOSE and not same_name and steps < DUPLICATE:
        return None
    words = _ABOUT * about + _BODY * body
    score = max(words, _ABOUT_BESIDE_STEPS * about + _STEPS * steps)
    if same_name and score >= _NAME_COUNTS_FROM:
        score += _SAME_NAME
    if steps < _COPIED_FROM:
        score = min(score, DUPLICATE - 0.01)
    score = round(min(1.0, score), 4)
    if score < OVERLAP:
        return None
    return Overlap(
        one=one.name,
        other=other.name,
        kind=Alike.DUPLICATE if score >= DUPLICATE else Alike.OVERLAP,
        score=score,
        about=about,
        body=body,
        steps=steps,
        same_name=same_name,
    )


def find_overlaps(skills: Iterable[Skill]) -> list[Overlap]:
    """All pairs that are alike, the most alike first. Names must differ."""
    profiles = [profile_of(skill) for skill in skills]
    found = [compared(profiles[one], profiles[other]) for one, other in sorted(_worth_a_look(profiles))]
    return sorted(
        (overlap for overlap in found if overlap), key=lambda overlap: (-overlap.score, overlap.one, overlap.other)
    )


def _shared(one: frozenset[int], other: frozenset[int]) -> float:
    either = len(one | other)
    return round(len(one & other) / either, 4) if either else 0.0


def _worth_a_look(profiles: Sequence[Profile]) -> set[tuple[int, int]]:
    """Pairs with a likeness of purpose without which they cannot overlap, and pairs with a run of words in common among
    the few with the smallest hashes, which skills that share most of their wording have almost surely."""
    holders: dict[int, list[int]] = defaultdict(list)
    sketches: dict[int, list[int]] = defaultdict(list)
    found: set[tuple[int, int]] = set()
    for place, profile in enumerate(profiles):
        for key in profile.about:
            holders[key].append(place)
        for shingle in sorted(profile.shingles)[:_SKETCH]:
            sketches[shingle].append(place)
    most = len(profiles) // _COMMON if len(profiles) > _MANY else len(profiles)
    for place, profile in enumerate(profiles):
        likeness: dict[int, float] = defaultdict(float)
        for key, weight in profile.about.items():
            if len(holders[key]) <= most:
                for other in holders[key]:
                    if other < place:
                        likeness[other] += weight * profiles[other].about[key]
        found |= {(other, place) for other, product in likeness.items() if product >= _LEAST_ABOUT - 0.01}
    for places in sketches.values():
        if len(places) <= most:
            found |= set(combinations(places, 2))
    return found

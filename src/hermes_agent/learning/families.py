"""Which family of tasks a request belongs to: one pass, no model, no second look at old requests.

A request becomes a vector of hashed features: its words and their pieces, the fields of work and the acts that they
speak of, suffixes of paths and names of tools. Numbers, paths and arguments are parameters and say nothing. A request
joins the family with the most similar centroid, or founds one. Where the first wordings of one job founded two, a
person may merge them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence

import msgspec

from ..skills.similarity import norm, telling_words, vector_of
from ..store.database import Connection
from ..store.families import (
    Centroid,
    Family,
    clean_name,
    count_task,
    family_by_id,
    mixed,
    read_families,
    resolved,
    save_family,
)
from ..types.base import Value
from ..types.ids import ALPHABET

SIMILAR = 0.26
_SETTLED = 30
_SKIPPED = 10
_MEMORY = 50
_NAMEABLE = re.compile(r"[a-z0-9]")
_NOWHERE: dict[int, float] = {}


class Placement(Value, frozen=True, kw_only=True):
    """Where a request belongs, and how similar it is to what is there."""

    family_id: str
    similarity: float
    is_new: bool


class Book:
    """All families of a store, in memory. Placing changes nothing; `put` and `remove` keep it up to date."""

    def __init__(self, families: Iterable[Family] = ()) -> None:
        self._families: dict[str, Family] = {}
        self._merged: dict[str, str] = {}
        self._order: list[str] = []
        self._slots: dict[str, int] = {}
        self._index: dict[int, dict[int, float]] = {}
        for family in families:
            self.put(family)

    def __len__(self) -> int:
        return len(self._families)

    def get(self, family_id: str) -> Family | None:
        """A family that was not merged away."""
        return self._families.get(family_id)

    def put(self, family: Family) -> None:
        """Add a family or replace what is known of it. A merged one is remembered as the way to its target."""
        self.remove(family.id)
        if family.merged_into:
            self._merged[family.id] = family.merged_into
            return
        self._merged.pop(family.id, None)
        self._families[family.id] = family
        slot = self._slots.setdefault(family.id, len(self._order))
        if slot == len(self._order):
            self._order.append(family.id)
        length = norm(family.centroid)
        for key, weight in family.centroid.items():
            self._index.setdefault(key, {})[slot] = weight / length

    def remove(self, family_id: str) -> None:
        """Forget a family."""
        known = self._families.pop(family_id, None)
        for key in known.centroid if known else ():
            entries = self._index[key]
            del entries[self._slots[family_id]]
            if not entries:
                del self._index[key]

    def refresh(self, connection: Connection) -> None:
        """Bring it up to date with the store. Centroids are large, so only those that may have changed are read: of new
        and renamed families, of those that learned from a request, and of those that others were merged into."""
        rows = connection.run("SELECT id, name, tasks, merged_into FROM families")
        changed = [(row[0], row[3]) for row in rows if not self._knows(*row)]
        for family in read_families(connection, sorted({name for pair in changed for name in pair if name})):
            self.put(family)
        for gone in (self._families.keys() | self._merged.keys()) - {row[0] for row in rows}:
            self.remove(gone)
            self._merged.pop(gone, None)

    def _knows(self, family_id: str, name: str, tasks: int, merged_into: str) -> bool:
        if merged_into:
            return self._merged.get(family_id) == merged_into
        known = self._families.get(family_id)
        return known is not None and (known.name, _lessons(known.tasks)) == (name, _lessons(tasks))

    def place(self, text: str) -> Placement:
        """The family of a request. The same request always founds the same family, on every replica."""
        vector = vector_of(text)
        best, similarity = self._nearest(vector)
        if best and similarity >= SIMILAR:
            return Placement(family_id=best, similarity=similarity, is_new=False)
        founded = _founded_id(vector, text)
        known = self._merged.get(founded, founded)
        return Placement(family_id=known, similarity=similarity, is_new=known not in self._families)

    def named(self, name: str) -> str:
        """The family that a caller means by a cleaned name: its id or its name, and what it was merged into."""
        known = self._merged.get(name, name)
        if known in self._families:
            return known
        return next((family.id for family in self._families.values() if family.name == name), known)

    def _nearest(self, vector: Centroid) -> tuple[str, float]:
        scores = [0.0] * len(self._order)
        for key, weight in vector.items():
            for slot, other in self._index.get(key, _NOWHERE).items():
                scores[slot] += weight * other
        top = max(scores, default=0.0)
        if top <= 0:
            return "", 0.0
        best = max(family_id for family_id, score in zip(self._order, scores, strict=True) if score == top)
        return best, round(min(1.0, top / norm(vector)), 6)


def _lessons(tasks: int) -> int:
    """A number that differs when the centroid of a family has learned in between; see `learn_family`."""
    return tasks if tasks < _SETTLED else _SETTLED + (tasks - 1) // _SKIPPED


def learned(centroid: Centroid, text: str, tasks: int) -> Centroid:
    """The centroid with one more request, after `tasks` others. Old ones fade once there are many: wording drifts."""
    return mixed(centroid, min(tasks, _MEMORY) if centroid else 0, vector_of(text), 1)


def only_counts(tasks: int) -> bool:
    """Whether a family that has seen so many tasks learns nothing from the next: most tasks of a settled one."""
    return tasks >= _SETTLED and bool(tasks % _SKIPPED)


def centroid_of(texts: Sequence[str]) -> Centroid:
    """The centroid of some requests."""
    centroid: Centroid = {}
    for tasks, text in enumerate(texts):
        centroid = learned(centroid, text, tasks)
    return centroid


def learn_family(connection: Connection, family_id: str, request: str, at: float, session: str = "") -> Family:
    """One more task of a family, which is founded if it is new; inside the transaction of the lesson. A settled family
    only counts most of its tasks, so that nobody has to read all families again after every run. `session` is
    remembered as the one whose words a new family is named with."""
    family = family_by_id(connection, resolved(connection, family_id))
    founded = family is None
    if family is None:
        found = _founded_id(vector_of(request), request) == family_id
        name = unique_name(request, _names(connection)) if found else family_id
        family = Family(id=family_id, name=name, named_by="text" if found else "user", created_at=at)
    latest = max(family.updated_at, at)
    if only_counts(family.tasks):
        count_task(connection, family.id, at)
        return msgspec.structs.replace(family, tasks=family.tasks + 1, updated_at=latest)
    centroid = learned(family.centroid, request, family.tasks)
    family = msgspec.structs.replace(family, centroid=centroid, tasks=family.tasks + 1, updated_at=latest)
    save_family(connection, family)
    if founded:
        connection.run("UPDATE families SET founded_by = ? WHERE id = ?", (session, family.id))
    return family


def _names(connection: Connection) -> set[str]:
    return {text for row in connection.run("SELECT id, name FROM families") for text in row}


def unique_name(text: str, taken: set[str]) -> str:
    """The most telling words of a request as a name that is not among `taken`; "task" where none is written in Latin
    letters."""
    words = telling_words(text)
    strongest = sorted(words, key=lambda word: -words[word])[:3]
    told = "-".join(word for word in words if word in strongest)
    name = clean_name(told if _NAMEABLE.search(told.lower()) else "task")
    number = 2
    unique = name
    while unique in taken:
        unique = f"{name[:35]}-{number}"
        number += 1
    return unique


def _founded_id(vector: Centroid, text: str) -> str:
    """The id of the family that a request founds: the same for requests that differ in parameters only."""
    said = ",".join(map(str, sorted(vector))) or " ".join(text.split())
    digest = hashlib.blake2b(said.encode("utf-8", "replace"), digest_size=10).digest()
    return "f" + "".join(ALPHABET[byte % 32] for byte in digest)

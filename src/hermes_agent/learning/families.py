"""Which family of tasks a request belongs to: one pass, no model, no second look at old requests.

A request becomes a vector of hashed features: its words and their pieces, the fields of work and the acts that they
speak of, suffixes of paths and names of tools. Numbers, paths and arguments are parameters and say nothing. A request
joins the family with the most similar centroid, or founds one. Where the first wordings of one job founded two, a
person may merge them.
"""

from __future__ import annotations

import hashlib
import math
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

import msgspec

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
from .vocabulary import ACTS, FIELDS, SILENT

SIMILAR = 0.26
_SETTLED = 30
_SKIPPED = 10
_MEMORY = 50
_LONGEST_TEXT = 4000
_WORD_WEIGHT, _FIELD_WEIGHT, _ACT_WEIGHT = 1.0, 1.2, 1.0
_PIECE_WEIGHT, _NAME_SHARE, _TOOL_WEIGHT, _KEY_WEIGHT, _SUFFIX_WEIGHT = 0.15, 0.5, 0.2, 0.1, 0.6
_PIECE = 4
_CALL = re.compile(r"\b([A-Za-z_][\w-]{0,60})\s*(?=\{)")
_OBJECT = re.compile(r"\{[^{}]*\}")
_KEY = re.compile(r'"([A-Za-z_]\w{0,40})"\s*:')
_ADDRESS = re.compile(r"\bhttps?://\S+|[\w.+-]{1,64}@[\w-]{1,64}\.[\w.-]{1,64}")
_PATH = re.compile(r"(?<!\w)[\w.~-]{0,100}/[\w./~-]*|\b[\w-]{1,100}\.[a-z][a-z0-9]{0,4}\b")
_SUFFIX = re.compile(r"\w(\.[A-Za-z][A-Za-z0-9]{0,4})$")
_WORD = re.compile(r"[^\W\d_](?:[^\W\d]|')*")
_NAMEABLE = re.compile(r"[a-z0-9]")
_NOWHERE: dict[int, float] = {}
_SENTENCE_ENDS = frozenset(".?!:\n")
_ENDINGS = ("ations", "ation", "ing", "ed", "er", "ly", "ment")


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
        length = _length(family.centroid)
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
        return best, round(min(1.0, top / _length(vector)), 6)


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
    words: dict[str, float] = {}
    for word, share in _words(_without_parameters(text[:_LONGEST_TEXT], {})):
        if word not in _SILENT and _stem(word) not in _SILENT and len(word) > 2:
            words.setdefault(word, share * (1 + 1.5 * (_stem(word) in _ACT_OF) + (_stem(word) in _FIELD_OF)))
    strongest = sorted(words, key=lambda word: -words[word])[:3]
    told = "-".join(word for word in words if word in strongest)
    name = clean_name(told if _NAMEABLE.search(told.lower()) else "task")
    number = 2
    unique = name
    while unique in taken:
        unique = f"{name[:35]}-{number}"
        number += 1
    return unique


def vector_of(text: str) -> Centroid:
    """A request as a vector of length one; empty when it says nothing."""
    weights: dict[int, float] = {}
    rest = _without_parameters(text[:_LONGEST_TEXT], weights)
    for word, share in _words(rest):
        for key, weight in _word_features(word):
            weights[key] = weights.get(key, 0.0) + weight * share
    damped = {key: weight if weight <= 1 else 1 + math.log(weight) for key, weight in weights.items()}
    length = _length(damped)
    return {key: weight / length for key, weight in damped.items()}


def _without_parameters(text: str, weights: dict[int, float]) -> str:
    """`text` without calls, objects, addresses and paths; what is general about them is added to `weights`."""
    for tool in _CALL.findall(text):
        weights[_hashed("t", tool.lower())] = _TOOL_WEIGHT
    rest = _CALL.sub(" ", text)
    for _ in range(3):
        found = _OBJECT.findall(rest)
        if not found:
            break
        for key in (key for each in found for key in _KEY.findall(each)):
            weights[_hashed("k", key.lower())] = _KEY_WEIGHT
        rest = _OBJECT.sub(" ", rest)
    rest = _ADDRESS.sub(" ", rest)
    for path in _PATH.findall(rest):
        if suffix := _SUFFIX.search(path[-12:]):
            ending = suffix[1].lower()
            weights[_hashed("s", ending)] = _SUFFIX_WEIGHT
            for field in _FIELD_OF.get(ending[1:], ()):
                key = _hashed("f", field)
                weights[key] = weights.get(key, 0.0) + _SUFFIX_WEIGHT * _FIELD_WEIGHT / 2
    return _PATH.sub(" ", rest)


def _words(text: str) -> Iterator[tuple[str, float]]:
    """The words of a text in lower case; a name in the middle of a sentence counts less, for it is a parameter."""
    last = "\n"
    end = 0
    for match in _WORD.finditer(text):
        gap = text[end : match.start()].strip(" ")
        last = gap[-1:] or ("\n" if not end else "a")
        end = match.end()
        word = match[0]
        is_name = word[0].isupper() and not word.isupper() and last not in _SENTENCE_ENDS
        yield word.lower().removesuffix("'s").strip("'"), _NAME_SHARE if is_name else 1.0


@lru_cache(maxsize=20_000)
def _word_features(word: str) -> tuple[tuple[int, float], ...]:
    """What one word contributes."""
    stem = _stem(word[:60])
    found: list[tuple[int, float]] = []
    if word not in _SILENT and stem not in _SILENT and len(stem) > 1:
        found.append((_hashed("w", stem), _WORD_WEIGHT))
        found += [(_hashed("p", piece), _PIECE_WEIGHT) for piece in dict.fromkeys((stem[:_PIECE], stem[-_PIECE:]))]
    for mark, weight, groups in (("f", _FIELD_WEIGHT, _FIELD_OF), ("a", _ACT_WEIGHT, _ACT_OF)):
        names = groups.get(stem, ())
        found += [(_hashed(mark, name), weight / math.sqrt(len(names))) for name in names]
    return tuple(found)


def _stem(word: str) -> str:
    """A word without its most common endings. Not linguistics: it only has to be the same for all forms."""
    if len(word) > 4 and word.endswith("ies"):
        word = word[:-3] + "y"
    elif len(word) > 4 and word.endswith(("sses", "shes", "ches", "xes")):
        word = word[:-2]
    elif len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    ending = next((one for one in _ENDINGS if word.endswith(one) and len(word) - len(one) >= 4), "")
    if ending:
        word = word[: -len(ending)]
        if word[-1] == word[-2] and word[-1] not in "lsz":
            word = word[:-1]
    return word[:-1] if len(word) > 4 and word.endswith("e") else word


def _by_stem(groups: dict[str, str]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for name, words in groups.items():
        for stem in sorted({_stem(word) for word in words.split()}):
            found[stem] = (*found.get(stem, ()), name)
    return found


def _hashed(mark: str, text: str) -> int:
    return zlib.crc32(f"{mark}:{text}".encode("utf-8", "replace"))


def _length(vector: Centroid) -> float:
    return math.sqrt(sum(weight * weight for weight in vector.values())) or 1.0


def _founded_id(vector: Centroid, text: str) -> str:
    """The id of the family that a request founds: the same for requests that differ in parameters only."""
    said = ",".join(map(str, sorted(vector))) or " ".join(text.split())
    digest = hashlib.blake2b(said.encode("utf-8", "replace"), digest_size=10).digest()
    return "f" + "".join(ALPHABET[byte % 32] for byte in digest)


_SILENT = frozenset(word for listed in SILENT.split() for word in (listed, _stem(listed)))
_FIELD_OF = _by_stem(FIELDS)
_ACT_OF = _by_stem(ACTS)

"""How alike two texts are, from their words alone: hashed features of words and their pieces, the fields of work and
the acts they speak of, suffixes of paths and names of tools. Numbers, paths and arguments are parameters and say
nothing. No model, no service, the same answer everywhere.
"""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Iterator
from functools import lru_cache

from .vocabulary import ACTS, FIELDS, SILENT

Vector = dict[int, float]
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
_SENTENCE_ENDS = frozenset(".?!:\n")
_ENDINGS = ("ations", "ation", "ing", "ed", "er", "ly", "ment")


def cosine(one: Vector, other: Vector) -> float:
    """How alike two vectors are, from 0 to 1; nothing is like an empty one."""
    if len(one) > len(other):
        one, other = other, one
    product = dot(one, other)
    both = norm(one) * norm(other)
    return round(min(1.0, max(0.0, product / both)), 6) if product else 0.0


def dot(one: Vector, other: Vector) -> float:
    """The likeness of two vectors of length one, as `vector_of` makes them."""
    found = other.get
    return sum(weight * found(key, 0.0) for key, weight in one.items())


def telling_words(text: str) -> dict[str, float]:
    """The words that say what a text is about, each with its weight, in the order in which they come."""
    words: dict[str, float] = {}
    for word, share in _words(_without_parameters(text[:_LONGEST_TEXT], {})):
        if word not in _SILENT and _stem(word) not in _SILENT and len(word) > 2:
            words.setdefault(word, share * (1 + 1.5 * (_stem(word) in _ACT_OF) + (_stem(word) in _FIELD_OF)))
    return words


def vector_of(text: str) -> Vector:
    """A request as a vector of length one; empty when it says nothing."""
    weights: dict[int, float] = {}
    rest = _without_parameters(text[:_LONGEST_TEXT], weights)
    for word, share in _words(rest):
        for key, weight in _word_features(word):
            weights[key] = weights.get(key, 0.0) + weight * share
    damped = {key: weight if weight <= 1 else 1 + math.log(weight) for key, weight in weights.items()}
    length = norm(damped)
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


def norm(vector: Vector) -> float:
    return math.sqrt(sum(weight * weight for weight in vector.values())) or 1.0


_SILENT = frozenset(word for listed in SILENT.split() for word in (listed, _stem(listed)))
_FIELD_OF = _by_stem(FIELDS)
_ACT_OF = _by_stem(ACTS)

"""Text as the rules read it: invisible characters gone, letters plain, words with their concepts."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import NamedTuple

from . import lexicon
from .confusables import letter
from .hidden import strip

_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]")
_TOKEN = re.compile(r"[^\W_]+")
_ADDRESS = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}\.\w")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff]")
_LEET = str.maketrans("0134578@$!|€+", "oieastbasiiet")
_LEET_WORD = re.compile(r"(?<![\w@$!|])(?=[a-z0-9@$!|€+]*[a-z])(?=[a-z]*[0-9@$!|€+])[a-z0-9@$!|€+]{2,30}")
_LONGEST_ENDING = 12


class Word(NamedTuple):
    """A word that carries concepts: its place among all words, its place in the text, what it may mean."""

    at: int
    start: int
    end: int
    concepts: int


def fold(text: str) -> str:
    """`text` in lower-case plain letters. Line breaks stay, so that lines keep their numbers."""
    if text.isascii():
        return text.lower()
    return _BEYOND_ASCII.sub(lambda found: letter(found[0]), strip(text)).lower()


def words(folded: str) -> list[Word]:
    """The words of a folded text that carry a concept, in order."""
    found: list[Word] = []
    index = 0
    before = ""
    for match in _TOKEN.finditer(folded):
        token = match[0]
        index += 1
        if not token.isascii() and _UNSPACED.search(token):
            index = _unspaced(token, match.start(), index, found)
            before = ""
            continue
        concepts = concepts_of(token)
        if before:
            concepts |= _pairs().get(before + "_" + token, 0)
        if concepts:
            found.append(Word(index, match.start(), match.end(), concepts))
        before = token
    if "@" in folded:
        found += [_address(match, found) for match in _ADDRESS.finditer(folded)]
        found.sort(key=lambda word: word.start)
    return found


def _address(match: re.Match[str], found: list[Word]) -> Word:
    nearest = 0
    low, high = 0, len(found)
    while low < high:
        middle = (low + high) // 2
        if found[middle].start <= match.start():
            nearest, low = found[middle].at, middle + 1
        else:
            high = middle
    return Word(nearest + 1, match.start(), match.end(), lexicon.PLACE)


def _unspaced(token: str, start: int, index: int, found: list[Word]) -> int:
    """Concepts inside a run of letters without spaces; about three letters make a word."""
    last = 0
    for begin, end in _inside(token):
        index += 1 + (begin - last) // 3
        last = end
        found.append(Word(index, start + begin, start + end, concepts_of(token[begin:end])))
    return index + (len(token) - last) // 3


def squeezed(letters: str) -> list[Word]:
    """Concepts inside English letters whose spaces were removed."""
    found: list[Word] = []
    index = last = 0
    for begin, end in _inside(letters):
        index += 1 + (begin - last) // 5
        last = end
        found.append(Word(index, begin, end, concepts_of(letters[begin:end])))
    return found


def _inside(letters: str) -> Iterator[tuple[int, int]]:
    """Known words in an unbroken run of letters, longest first, none overlapping another."""
    starts = _within()
    place = 0
    while place < len(letters):
        for word in starts.get(letters[place], ()):
            if letters.startswith(word, place):
                yield place, place + len(word)
                place += len(word) - 1
                break
        place += 1


def unleeted(folded: str) -> str:
    """`folded` with digits and signs inside words read as the letters they imitate, where words come out of it."""
    changed = 0

    def plain(match: re.Match[str]) -> str:
        nonlocal changed
        word = match[0].rstrip("!")
        letters = word.translate(_LEET)
        if letters.isalpha() and concepts_of(letters):
            changed += 1
        return letters + match[0][len(word) :]

    result = _LEET_WORD.sub(plain, folded)
    return result.translate(_LEET) if changed >= 2 else folded


@functools.lru_cache(maxsize=16384)
def concepts_of(token: str) -> int:
    """What a folded word may mean."""
    exact, stems = _lexicon()
    found = exact.get(token, 0)
    for length in range(2, min(len(token), _LONGEST_ENDING) + 1):
        found |= stems.get(token[:length], 0)
    return found


@functools.cache
def _lexicon() -> tuple[dict[str, int], dict[str, int]]:
    exact: dict[str, int] = {}
    stems: dict[str, int] = {}
    for concept, listed in lexicon.WORDS.items():
        english, _, foreign = listed.partition("|")
        for group, origin in ((english, lexicon.ENGLISH), (foreign, lexicon.FOREIGN)):
            for word in group.split():
                plain = fold(word)
                target = stems if plain.endswith("*") else exact
                key = plain.rstrip("*")
                target[key] = target.get(key, 0) | concept | origin
    return exact, stems


@functools.cache
def _pairs() -> dict[str, int]:
    return {word: concepts for word, concepts in _lexicon()[0].items() if "_" in word}


@functools.cache
def _within() -> dict[str, list[str]]:
    """By first letter: the words that can be recognised without spaces around them, in any script."""
    exact, stems = _lexicon()
    known = {
        word
        for word in (*exact, *stems)
        if (not word.isascii() and _UNSPACED.search(word))
        or (word.isascii() and word.isalpha() and len(word) >= (5 if word in exact else 7))
    }
    starts: dict[str, list[str]] = {}
    for word in sorted(known | {"all", "your"}, key=lambda word: (-len(word), word)):
        starts.setdefault(word[0], []).append(word)
    return starts

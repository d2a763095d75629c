"""What a reader cannot see or is led to misread: invisible characters, reordered text, letters in disguise.

Decided by Unicode category and neighbourhood, not by a list of known tricks: joiners belong between the letters of
scripts that join, selectors behind emoji, direction marks beside right-to-left text. Anywhere else they hide something.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator
from itertools import pairwise

from .confusables import is_alphabet_alike, is_full_width, is_styled
from .verdict import CERTAIN, Evidence

_OVERRIDES = frozenset("\u202d\u202e")
_DIRECTIONS = frozenset("\u202a\u202b\u202c\u2066\u2067\u2068\u2069")
_MARKS = frozenset("\u200e\u200f\u061c")
_JOINERS = frozenset("\u200c\u200d")
_SOFT_HYPHEN = "\u00ad"
_BLANKS = frozenset("\u115f\u1160\u3164\uffa0\u2800\u034f\u17b4\u17b5\u180b\u180c\u180d\u180f")
_KEPT_CONTROLS = frozenset("\n\t\r\f\v\x85")
_UNUSUAL = re.compile(
    r"[^\x20-\x7e\n\t\r\u00a0-\u00ac\u00ae-\u024f\u2010-\u2027\u2030-\u205e\u20a0-\u20bf\u2190-\u23ff\u2500-\u25ff]"
)
_BREAK = re.compile("\n")
_STRAY_LIMIT = 3
_RUN = 4
_PLAIN = 0x250


def is_invisible(char: str) -> bool:
    """Whether a character leaves no mark of its own on the page."""
    point = ord(char)
    if point < 0x300:
        return char == _SOFT_HYPHEN or (point < 0x20 and char not in _KEPT_CONTROLS) or 0x7F <= point < 0xA0
    if char in _BLANKS or _is_selector(point):
        return True
    return unicodedata.category(char) in ("Cf", "Co", "Cs") or _is_unassigned(point)


def strip(text: str) -> str:
    """`text` without invisible characters; tag characters and byte-carrying selectors become what they spell."""
    if text.isascii() and text.isprintable():
        return text
    return _UNUSUAL.sub(lambda found: _spelled(found[0]), text)


def _spelled(char: str) -> str:
    point = ord(char)
    if 0xE0020 <= point <= 0xE007E:
        return chr(point - 0xE0000)
    if 0xE0100 <= point <= 0xE01EF:
        byte = point - 0xE0100 + 16
        return chr(byte) if 0x20 <= byte < 0x7F else ""
    if 0xF020 <= point <= 0xF07E or 0xF0020 <= point <= 0xF007E:
        return chr(point & 0x7F)
    if char in "\u2028\u2029\x85\v\f":
        return "\n"
    return "" if is_invisible(char) else char


def hidden_text(text: str) -> Iterator[Evidence]:
    """Evidence of invisible characters, reordered text and letters in disguise."""
    places = [found.start() for found in _UNUSUAL.finditer(text)]
    if not places:
        return
    yield from _invisible(text, places)
    yield from _stacked(text, places)
    yield from _disguised(text, places)


def _invisible(text: str, places: list[int]) -> Iterator[Evidence]:
    stray: list[int] = []
    run = longest = 0
    previous = -2
    breaks = [found.start() for found in _BREAK.finditer(text)]
    right_to_left = _right_to_left_lines(text, places, breaks)
    for place in places:
        char = text[place]
        if not is_invisible(char):
            continue
        line = bisect_left(breaks, place)
        rule = _certain(char, ord(char), text, place)
        if rule:
            yield _evidence("hidden_" + rule[0], CERTAIN, place, rule[1])
        elif char in _DIRECTIONS and line not in right_to_left:
            yield _evidence("hidden_bidi", CERTAIN, place, "text direction is changed where nothing is right-to-left")
        elif not _belongs(text, place, line in right_to_left):
            stray.append(place)
            run = run + 1 if place == previous + 1 else 1
            longest = max(longest, run)
            previous = place
    if not stray:
        return
    inside = sum(1 for place in stray if _inside_word(text, place))
    certain = len(stray) >= _STRAY_LIMIT or longest >= _RUN or inside >= 2
    why = f"{len(stray)} invisible characters where the script has no use for them"
    yield _evidence("hidden_characters", CERTAIN if certain else 50, stray[0], why)


def _certain(char: str, point: int, text: str, place: int) -> tuple[str, str] | None:
    """What is never right, wherever it stands."""
    if char in _OVERRIDES:
        return "bidi", "text is shown in another order than it is read"
    if 0xE0000 <= point <= 0xE007F and not _in_flag(text, place):
        return "tags", "tag characters spell text that nobody sees"
    if 0xE0100 <= point <= 0xE01EF and not _is_ideograph(text[place - 1 : place]):
        return "selectors", "variation selectors carry text that nobody sees"
    if unicodedata.category(char) == "Cs":
        return "surrogate", "half a character: the text was not decoded properly"
    if char in "\x00\x08\x1b\x7f\x9b":
        return "control", "control characters change what a terminal shows"
    return None


def _belongs(text: str, place: int, beside_right_to_left: bool) -> bool:
    """Whether an invisible character does an ordinary job where it stands."""
    char = text[place]
    before, after = text[place - 1 : place], text[place + 1 : place + 2]
    if char == "\ufeff":
        return place == 0
    if 0xE0020 <= ord(char) <= 0xE007F:
        return True
    if "\x80" <= char <= "\x9f":
        return "\xc0" <= before <= "\xff"
    if _is_selector(ord(char)):
        return bool(before) and (
            unicodedata.category(before)[0] in "SPN" or _is_ideograph(before) or before == "\u200d"
        )
    if char in _JOINERS:
        return _joins(before) and (_joins(after) or not after.strip())
    if char in _MARKS or char in _DIRECTIONS:
        return beside_right_to_left
    if char == _SOFT_HYPHEN:
        return text[max(0, place - 2) : place].isalpha() and text[place + 1 : place + 3].isalpha()
    if char == "\u200b":
        return _spaceless(before) or _spaceless(after)
    if char in _BLANKS:
        return char == "\u2800" and not before.isascii()
    return unicodedata.category(char) == "Co" and not _is_private(before) and not before.isalpha()


def _joins(char: str) -> bool:
    """Letters of joining scripts, and emoji with what may follow them."""
    if not char:
        return False
    point = ord(char)
    return (
        0x600 <= point <= 0xDFF
        or 0x1000 <= point <= 0x109F
        or 0x1780 <= point <= 0x18AF
        or point in (0xFE0F, 0x20E3)
        or (point >= 0x2190 and unicodedata.category(char) in ("So", "Sk", "Cn", "Sm"))
    )


def _spaceless(char: str) -> bool:
    """Scripts written without spaces, where a zero-width space marks a break."""
    return bool(char) and (
        0xE00 <= ord(char) <= 0xEFF or 0x1000 <= ord(char) <= 0x109F or 0x1780 <= ord(char) <= 0x17FF
    )


def _inside_word(text: str, place: int) -> bool:
    before, after = text[place - 1 : place], text[place + 1 : place + 2]
    return before.isascii() and before.isalpha() and after.isascii() and after.isalpha()


def _right_to_left_lines(text: str, places: list[int], breaks: list[int]) -> frozenset[int]:
    """Numbers of the lines that hold right-to-left letters."""
    return frozenset(
        bisect_left(breaks, place)
        for place in places
        if "\u0590" <= text[place] <= "\u08ff" and unicodedata.bidirectional(text[place]) in ("R", "AL")
    )


def _in_flag(text: str, place: int) -> bool:
    """Tag characters are the end of a flag emoji: a black flag, at most six tags, the cancel tag."""
    start = place
    while start > 0 and place - start < 8 and 0xE0020 <= ord(text[start - 1]) <= 0xE007F:
        start -= 1
    if text[start - 1 : start] != "\U0001f3f4":
        return False
    end = text.find("\U000e007f", start, start + 8)
    return end >= 0 and all(0xE0020 <= ord(one) <= 0xE007F for one in text[start:end])


def _is_selector(point: int) -> bool:
    return 0xFE00 <= point <= 0xFE0F or 0xE0100 <= point <= 0xE01EF


def _is_private(char: str) -> bool:
    return bool(char) and unicodedata.category(char) == "Co"


def _is_ideograph(char: str) -> bool:
    return bool(char) and ("\u3400" <= char <= "\u9fff" or "\U00020000" <= char <= "\U0003ffff")


def _is_unassigned(point: int) -> bool:
    """Code points without a meaning. Blocks where newer Unicode versions add emoji and letters are left alone."""
    return point & 0xFFFE == 0xFFFE or 0xFDD0 <= point <= 0xFDEF or 0xE0000 <= point <= 0xE0FFF or point == 0x2065


def _stacked(text: str, places: list[int]) -> Iterator[Evidence]:
    """Marks piled on Latin letters that no spelling asks for."""
    marks = [
        place for place in places if unicodedata.category(text[place]) in ("Mn", "Me") and not is_invisible(text[place])
    ]
    if len(marks) < 2:
        return
    odd = [
        place
        for place in marks
        if (before := text[place - 1 : place])
        and (
            (before.isascii() and not before.isspace())
            or (unicodedata.category(before) in ("Mn", "Me") and ord(before) < 0x400)
        )
        and len(unicodedata.normalize("NFC", before + text[place])) > 1
        and text[place] != "\u20e3"
    ]
    if len(odd) >= 6:
        yield _evidence("hidden_marks", CERTAIN, odd[0], "combining marks are piled on letters to break up words")


def _disguised(text: str, places: list[int]) -> Iterator[Evidence]:
    """Words whose letters are borrowed from other alphabets or styles."""
    native = any(_is_native(text[place]) for place in places)
    asian = any("\u3040" <= text[place] <= "\u9fff" or "\uac00" <= text[place] <= "\ud7a3" for place in places)
    mixed: list[int] = []
    styled: list[int] = []
    letters = 0
    seen = -1
    for place in places:
        char = text[place]
        if place < seen:
            continue
        if is_styled(char) and not (asian and is_full_width(char)):
            letters += 1
            styled.append(place)
        elif is_alphabet_alike(char):
            begin, end = _word_around(text, place)
            seen = end
            if _is_mixed(text[begin:end], native):
                mixed.append(begin)
    if mixed:
        why = f"{len(mixed)} words mix look-alike letters of another alphabet into Latin ones"
        yield _evidence("confusable_words", CERTAIN if len(mixed) >= 2 else 60, mixed[0], why)
    if letters >= 12 and (_runs(styled) >= 2 or letters >= 20):
        yield _evidence("confusable_style", CERTAIN, styled[0], "words are written in symbols that look like letters")


def _word_around(text: str, place: int) -> tuple[int, int]:
    begin = end = place
    while begin > 0 and place - begin < 40 and text[begin - 1].isalpha():
        begin -= 1
    while end < len(text) and end - place < 40 and text[end].isalpha():
        end += 1
    return begin, end


def _is_native(char: str) -> bool:
    """A Cyrillic or Greek letter that looks like no Latin one: the text really uses that alphabet."""
    return "\u0370" <= char <= "\u052f" and char.isalpha() and not is_alphabet_alike(char)


def _is_mixed(word: str, native: bool) -> bool:
    latin = [char.isascii() for char in word]
    if len(word) < 3 or not any(latin) or all(latin):
        return False
    if not all(char.isascii() or is_alphabet_alike(char) or ord(char) < _PLAIN for char in word):
        return False
    changes = sum(1 for one, other in pairwise(latin) if one != other)
    greek = all(char.isascii() or "\u0370" <= char <= "\u03ff" for char in word)
    if changes == 1 and (native or greek):
        return False
    return sum(latin) >= 1


def _runs(places: list[int]) -> int:
    """How many groups of at least three neighbouring places there are."""
    groups, length = 0, 1
    for one, other in pairwise(places):
        length = length + 1 if other - one == 1 else 1
        groups += length == 3
    return groups


def _evidence(rule: str, weight: int, place: int, why: str) -> Evidence:
    return Evidence(rule=rule, weight=weight, start=place, end=place + 60, why=why)

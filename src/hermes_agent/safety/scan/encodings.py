"""What an encoded stretch of text says. Each decoding is tried once where its form appears; nothing is executed."""

from __future__ import annotations

import base64
import binascii
import functools
import html
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ...types.text import decode
from .normalise import concepts_of

MAX_DEPTH = 3
_BASE64 = re.compile(
    r"(?<![A-Za-z0-9+/_=-])(?:[A-Za-z0-9+/_-]{20,}\r?\n[ \t>]{0,8}){0,500}"
    r"[A-Za-z0-9+/_-]{14,}={0,2}(?![A-Za-z0-9+/_=-])"
)
_BASE32 = re.compile(r"(?<![A-Za-z0-9=])[A-Z2-7]{24,}={0,6}(?![A-Za-z0-9=])")
_HEX = re.compile(r"(?<![0-9A-Za-z])(?:(?:0x)?[0-9a-fA-F]{2}[ :,]{0,2}){10,}(?![0-9A-Za-z])")
_BITS = re.compile(r"(?<![0-9])(?:[01]{8}[ ,]{0,2}){6,}(?![0-9])")
_CODES = re.compile(r"(?<![0-9.])(?:[0-9]{2,3}[ ,;]{1,2}){7,}[0-9]{2,3}(?![0-9])")
_MORSE = re.compile(r"(?<![\w.-])(?:[.\-−–·]{1,6}[ /|]{1,3}){12,}[.\-−–·]{1,6}(?![\w.-])")
_ESCAPED = re.compile(r"\\x([0-9a-fA-F]{2})|\\u\{?([0-9a-fA-F]{4,5})\}?|\\([0-3][0-7]{2})|\\U([0-9a-fA-F]{8})")
_PERCENT = re.compile(r"(?:%[0-9a-fA-F]{2})+")
_QUOTED = re.compile(r"=(?:\r?\n|[0-9A-F]{2})")
_SPLIT = re.compile(r"(?<=\w)(?:[*~`]{1,2}|-\r?\n[ \t]{0,8}|</?[a-zA-Z]{1,8}>|<!--[^>\n]{0,20}-->)(?=\w)")
_DASHED = re.compile(r"(?<![a-zA-Z])[a-zA-Z]{1,12}(?:[-.][a-zA-Z]{1,12}){1,6}(?![a-zA-Z])")
_SPACED = re.compile(r"(?<!\w)(?:\w[ \n.\-_*|·,/\\~]{1,3}){7,}\w(?!\w)")
_NEEDLESS = re.compile(
    r"(?:\\x[0-9a-fA-F]{2}|\\u00[0-9a-fA-F]{2}|%[0-9a-fA-F]{2}|&#[xX]?[0-9a-fA-F]{2,3};|=[0-9A-F]{2}){16,}"
)
_LETTERS = re.compile(r"[^\W\d_]+")
_KEYS = (
    "instructions instruction ignore previous system prompt disregard password following reveal please forget secret "
    "execute credentials message assistant answer send data with user files delete server mention must follow your "
    "this that from have"
)
_MORSE_CODE = (
    ".- -... -.-. -.. . ..-. --. .... .. .--- -.- .-.. -- -. --- .--. --.- .-. ... - ..- ...- .-- -..- -.-- --.. "
    "----- .---- ..--- ...-- ....- ..... -.... --... ---.. ----."
)


class Decoded(NamedTuple):
    """What was read out of `form`, and where it stood."""

    text: str
    start: int
    form: str


def decoded(text: str, folded: str) -> Iterator[Decoded]:
    """Every reading of the text's encoded stretches that yields something readable."""
    plain = unescaped(text)
    if plain != text:
        yield Decoded(plain, 0, "escapes")
    for form, pattern, reading in _READINGS:
        for match in pattern.finditer(text):
            said = reading(match[0])
            if said and _readable(said):
                yield Decoded(said, match.start(), form)
    yield from _shifted(folded)


def unescaped(text: str) -> str:
    """`text` with URL, HTML, backslash and quoted-printable escapes resolved and marks inside words taken out."""
    if "&" in text and ";" in text:
        text = html.unescape(text)
    if "%" in text:
        text = _PERCENT.sub(lambda match: decode(bytes.fromhex(match[0].replace("%", ""))), text)
    if "\\" in text:
        text = _ESCAPED.sub(_character, text)
    if len(_QUOTED.findall(text)) >= 3:
        text = _QUOTED.sub(_quoted, text)
    if len(_SPLIT.findall(text)) >= 2:
        text = _SPLIT.sub("", text)
    return _undashed(text)


def _quoted(match: re.Match[str]) -> str:
    code = match[0][1:].strip()
    if not code:
        return ""
    return chr(int(code, 16)) if 0x20 <= int(code, 16) < 0x7F else match[0]


def _undashed(text: str) -> str:
    """`text` with the telling words joined that were cut into pieces by dashes or dots."""
    joined = 0

    def whole(match: re.Match[str]) -> str:
        nonlocal joined
        word = match[0].replace("-", "").replace(".", "")
        if not concepts_of(word.lower()):
            return match[0]
        joined += 1
        return word

    result = _DASHED.sub(whole, text)
    return result if joined >= 2 else text


def needless(text: str) -> int:
    """Where ordinary letters are written as escapes, which no format asks for; -1 when nowhere."""
    for match in _NEEDLESS.finditer(text):
        said = unescaped(match[0])
        if sum(1 for char in said if char.isascii() and (char.isalpha() or char == " ")) >= 0.8 * len(said):
            return match.start()
    return -1


def spaced(folded: str) -> Iterator[Decoded]:
    """Letters that stand apart, put together. What this yields has no spaces."""
    for match in _SPACED.finditer(folded):
        letters = "".join(char for char in match[0] if char.isalpha())
        if len(letters) >= 8:
            yield Decoded(letters, match.start(), "spaced letters")


def _character(match: re.Match[str]) -> str:
    octal = match[3]
    point = int(octal, 8) if octal else int(match[1] or match[2] or match[4], 16)
    return chr(point) if point <= 0x10FFFF and not 0xD800 <= point <= 0xDFFF else ""


def _from_base64(blob: str) -> str:
    raw = re.sub(r"[^A-Za-z0-9+/_-]", "", blob).replace("-", "+").replace("_", "/")
    if len(raw) % 4 == 1:
        raw = raw[:-1]
    return _as_text(lambda: base64.b64decode(raw + "=" * (-len(raw) % 4)))


def _from_base32(blob: str) -> str:
    raw = blob.rstrip("=")
    return _as_text(lambda: base64.b32decode(raw + "=" * (-len(raw) % 8)))


def _from_hex(blob: str) -> str:
    raw = re.sub(r"0x|[^0-9a-fA-F]", "", blob)
    return _as_text(lambda: bytes.fromhex(raw[: len(raw) // 2 * 2]))


def _from_bits(blob: str) -> str:
    return _as_text(lambda: bytes(int(group, 2) for group in re.findall(r"[01]{8}", blob)))


def _from_codes(blob: str) -> str:
    points = [int(number) for number in re.findall(r"[0-9]+", blob)]
    return "".join(map(chr, points)) if all(32 <= point < 127 or point == 10 for point in points) else ""


def _from_morse(blob: str) -> str:
    known = dict(zip(_MORSE_CODE.split(), "abcdefghijklmnopqrstuvwxyz0123456789", strict=True))
    plain = re.sub(r"[−–]", "-", blob.replace("·", "."))
    return " ".join(
        "".join(known.get(sign, "") for sign in part.split()) for part in re.split(r"[/|]|   ", plain)
    ).strip()


def _as_text(reading: Callable[[], bytes]) -> str:
    try:
        raw = reading()
        if raw[1::2].count(0) > len(raw) // 3:
            return raw.decode("utf-16-le")
        return raw.decode()
    except (binascii.Error, ValueError):
        return ""


def _readable(said: str) -> bool:
    if len(said) < 6:
        return False
    sane = sum(1 for char in said if char.isalnum() or char in " \n\t.,;:!?'\"-/_()=<>{}$|&@#*~\\`+%[]")
    return sane >= 0.95 * len(said) and any(char.isalpha() for char in said)


_READINGS: tuple[tuple[str, re.Pattern[str], Callable[[str], str]], ...] = (
    ("base64", _BASE64, _from_base64),
    ("base32", _BASE32, _from_base32),
    ("hex", _HEX, _from_hex),
    ("binary", _BITS, _from_bits),
    ("character codes", _CODES, _from_codes),
    ("Morse", _MORSE, _from_morse),
)


def _shifted(folded: str) -> Iterator[Decoded]:
    """Alphabet shifts, mirror alphabets and reversed words, recognised by what telling words become in them."""
    counts: dict[str, int] = {}
    for token in set(_LETTERS.findall(folded)) & _shifted_keys().keys():
        for form in _shifted_keys()[token]:
            counts[form] = counts.get(form, 0) + 1
    for form, count in counts.items():
        if count >= 3:
            said = folded[::-1] if form == "reversed" else folded.translate(_alphabets()[form])
            yield Decoded(said, 0, form)


@functools.cache
def _alphabets() -> dict[str, dict[int, int]]:
    plain = "abcdefghijklmnopqrstuvwxyz"
    tables = {f"shift by {shift}": str.maketrans(plain[shift:] + plain[:shift], plain) for shift in range(1, 26)}
    return tables | {"mirrored alphabet": str.maketrans(plain[::-1], plain)}


@functools.cache
def _shifted_keys() -> dict[str, tuple[str, ...]]:
    keys: dict[str, tuple[str, ...]] = {}
    for word in _KEYS.split():
        keys[word[::-1]] = (*keys.get(word[::-1], ()), "reversed")
        for form, table in _alphabets().items():
            back = {after: before for before, after in table.items()}
            hidden = word.translate(back)
            keys[hidden] = (*keys.get(hidden, ()), form)
    return keys

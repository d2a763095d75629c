"""Ways to hide or disguise a sentence, as functions. Each must leave something that a model could still read."""

from __future__ import annotations

import base64
import codecs
from collections.abc import Callable, Mapping
from types import MappingProxyType
from urllib.parse import quote

Disguise = Callable[[str], str]


def between(character: str) -> Disguise:
    """The character between all letters."""
    return lambda text: character.join(text)


def after_each(marks: str) -> Disguise:
    """Marks behind every letter."""
    return lambda text: "".join(char + marks if char.isalpha() else char for char in text)


def alphabet(upper: int, lower: int) -> Disguise:
    """Letters from another run of the alphabet."""
    return lambda text: "".join(
        chr(upper + ord(char) - 65)
        if "A" <= char <= "Z"
        else chr(lower + ord(char) - 97)
        if "a" <= char <= "z"
        else char
        for char in text
    )


def swapped(letters: str, others: str) -> Disguise:
    """Some letters replaced by others that look alike."""
    table = str.maketrans(letters, others)
    return lambda text: text.translate(table)


def each(form: str) -> Disguise:
    """Every character as its number in a form."""
    return lambda text: "".join(form.format(ord(char)) for char in text)


HIDDEN: Mapping[str, Disguise] = MappingProxyType(
    {
        "zero-width space": between("\u200b"),
        "zero-width joiner": between("\u200d"),
        "word joiner": between("\u2060"),
        "soft hyphen": between("\u00ad"),
        "byte order mark": between("\ufeff"),
        "invisible separator": between("\u2063"),
        "Hangul filler": between("\u3164"),
        "Mongolian vowel separator": between("\u180e"),
        "grapheme joiner": between("\u034f"),
        "one joiner a word": lambda text: " ".join(word[:2] + "\u200c" + word[2:] for word in text.split()),
        "tags": lambda text: "".join(chr(0xE0000 + ord(char)) for char in text),
        "selectors": lambda text: "x" + "".join(chr(0xE0100 + ord(char) - 16) for char in text),
        "low selectors": lambda text: "x" + "".join(chr(0xFE00 + int(half, 16)) for half in text.encode().hex()),
        "zero-width bits": lambda text: "".join(
            "\u200b\u200c"[int(bit)] for char in text for bit in f"{ord(char):08b}"
        ),
        "private use": lambda text: "".join(chr(0xF000 + ord(char)) for char in text),
        "right-to-left override": lambda text: "\u202e" + text[::-1] + "\u202c",
        "right-to-left isolate": lambda text: "\u2067" + text[::-1] + "\u2069",
        "right-to-left embedding": lambda text: "\u202b" + text + "\u202c",
        "struck out": after_each("\u0336"),
        "piled marks": after_each("\u0300\u0320\u0348"),
    }
)

CONFUSABLE: Mapping[str, Disguise] = MappingProxyType(
    {
        "Cyrillic": swapped("aeopcxyABEKMHOPCTX", "аеорсхуАВЕКМНОРСТХ"),
        "Cyrillic o": swapped("o", "о"),
        "Greek": swapped("aeiouvpAEHIKMNOPTXYZ", "αειουνρΑΕΗΙΚΜΝΟΡΤΧΥΖ"),
        "Armenian": swapped("oun", "օսո"),
        "Lisu": swapped("oeis", "ꓳꓰꓲꓢ"),
        "mathematical bold": alphabet(0x1D400, 0x1D41A),
        "mathematical script": alphabet(0x1D4D0, 0x1D4EA),
        "monospace": alphabet(0x1D670, 0x1D68A),
        "full width": alphabet(0xFF21, 0xFF41),
        "circled": alphabet(0x24B6, 0x24D0),
        "squared": alphabet(0x1F170, 0x1F170),
        "small capitals": swapped("abcdefghijklmnoprtuvwz", "ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀᴛᴜᴠᴡᴢ"),
    }
)

ENCODED: Mapping[str, Disguise] = MappingProxyType(
    {
        "base64": lambda text: base64.b64encode(text.encode()).decode(),
        "base64 twice": lambda text: base64.b64encode(base64.b64encode(text.encode())).decode(),
        "base32": lambda text: base64.b32encode(text.encode()).decode(),
        "hex": lambda text: text.encode().hex(),
        "hex in pairs": lambda text: text.encode().hex(" "),
        "binary": lambda text: " ".join(f"{ord(char):08b}" for char in text),
        "decimal": lambda text: " ".join(str(ord(char)) for char in text),
        "URL": quote,
        "URL, every letter": each("%{:02X}"),
        "HTML": each("&#{};"),
        "HTML in hex": each("&#x{:x};"),
        "quoted-printable": each("={:02X}"),
        "\\x": each("\\x{:02x}"),
        "\\u": each("\\u{:04x}"),
        "rot13": lambda text: codecs.encode(text, "rot13"),
        "shift by five": lambda text: "".join(
            chr((ord(char.lower()) - 97 + 5) % 26 + 97) if char.isalpha() else char for char in text
        ),
        "reversed": lambda text: text[::-1],
        "leetspeak": swapped("aeiost", "431057"),
        "upper case": str.upper,
        "underscores": lambda text: text.replace(" ", "_"),
        "one word a line": lambda text: text.replace(" ", "\n"),
        "spaced letters": between(" "),
        "dotted letters": lambda text: ".".join(text.replace(" ", "")),
        "bold inside words": lambda text: " ".join(f"{word[:2]}**{word[2:]}**" for word in text.split()),
        "cut words": lambda text: " ".join(
            f"{word[:3]}-{word[3:]}" if len(word) > 4 else word for word in text.split()
        ),
    }
)

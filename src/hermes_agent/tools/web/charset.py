"""Which alphabet a body is written in, whatever it says about itself, and its text without what cannot be seen."""

from __future__ import annotations

import codecs
import re
import unicodedata

from ...types.text import clean

_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_HEADER = re.compile(r"charset\s*=\s*[\"']?([A-Za-z0-9_:.-]{1,40})", re.IGNORECASE)
_META = re.compile(rb"<meta[^<>]{0,300}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_:.-]{1,40})", re.IGNORECASE)
_XML = re.compile(rb"<\?xml[^<>]{0,200}?encoding\s*=\s*[\"']([A-Za-z0-9_:.-]{1,40})", re.IGNORECASE)
_PRESCAN = 4_096
_WIDE_SHARE = 0.3
_BAD_SHARE = 0.02

# What pages call their encodings, and what browsers read instead: the larger set that was really meant.
_MEANT = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "big5": "big5hkscs",
    "tis-620": "cp874",
}
_KNOWN = frozenset(
    {"utf-8", "utf-16", "utf-16-le", "utf-16-be", "koi8-r", "koi8-u", "mac-roman", "mac-cyrillic", "euc_jp", "cp866"}
    | {"gb18030", "cp932", "cp949", "big5hkscs", "cp874", "iso2022_jp"}
    | {f"cp125{number}" for number in range(9)}
    | {f"iso8859-{number}" for number in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)}
)


def decoded(data: bytes, content_type: str = "") -> tuple[str, str]:
    """The text of a body and the encoding it was read in.

    A byte order mark decides; bytes that are valid UTF-8 beyond ASCII are UTF-8 whatever is declared; then comes
    what the header, the page and the usual accident (Windows-1252) say.
    """
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace"), encoding
    declared = _declared(data, content_type)
    if declared in ("utf-16", "utf-16-le", "utf-16-be") or not declared:
        wide = _wide(data)
        if wide:
            return data.decode(wide, "replace"), wide
    if declared == "iso2022_jp":
        return data.decode(declared, "replace"), declared
    text = _as_utf8(data)
    if text is not None:
        return text, "utf-8"
    return _in_old_encoding(data, declared)


def seen(text: str) -> str:
    """`text` as a reader would see it: no control, format, tag or private-use characters, one kind of line end.

    Joiners stay where they join letters of scripts that need them.
    """
    text = clean(text).replace("\r\n", "\n").replace("\r", "\n")
    gone = {ord(char): _place_of(char) for char in set(text) if _invisible(char)}
    if not gone:
        return text
    if 0x200C in gone or 0x200D in gone:
        text = _JOINED.sub(lambda found: _KEPT_JOINERS[found[0]], text)
        return text.translate(gone).translate(_JOINERS_BACK)
    return text.translate(gone)


_JOINED = re.compile(r"(?<=[^\x00-\u02ff\u2000-\u206f])[\u200c\u200d](?=[^\x00-\u02ff\u2000-\u206f\ufe00-\ufe0f])")
_KEPT_JOINERS = {"\u200c": "\ufdd0", "\u200d": "\ufdd1"}
_JOINERS_BACK = {0xFDD0: "\u200c", 0xFDD1: "\u200d"}
_FILLERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")


def _invisible(char: str) -> bool:
    if char in "\n\t" or " " <= char <= "~":
        return False
    return (
        unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
        or char in _FILLERS
        or "\ufe00" <= char <= "\ufe0f"
        or "\U000e0100" <= char <= "\U000e01ef"
        or "\u180b" <= char <= "\u180f"
    )


def _place_of(char: str) -> str:
    return "\n" if char in "\u2028\u2029\x85\x0b\x0c" else ""


def _declared(data: bytes, content_type: str) -> str:
    """The first declaration that names an encoding for text; a codec that is none, such as rot13, is not one."""
    start = data[:_PRESCAN]
    from_page = [found[1].decode("ascii") for pattern in (_XML, _META) if (found := pattern.search(start))]
    header = _HEADER.search(content_type)
    for name in [header[1]] if header else from_page:
        try:
            normal = codecs.lookup(name).name
        except LookupError:
            continue
        meant = _MEANT.get(normal, normal)
        if meant in _KNOWN:
            return meant
    return ""


def _wide(data: bytes) -> str:
    """UTF-16 without a mark shows by its zero bytes."""
    start = data[:_PRESCAN]
    half = len(start) // 2
    if half < 2:
        return ""
    if start[1::2].count(0) > _WIDE_SHARE * half > start[::2].count(0):
        return "utf-16-le"
    if start[::2].count(0) > _WIDE_SHARE * half > start[1::2].count(0):
        return "utf-16-be"
    return ""


def _as_utf8(data: bytes) -> str | None:
    """The text if it is UTF-8; a character cut off at the very end is forgiven."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start >= len(data) - 3 and error.reason == "unexpected end of data":
            return data[: error.start].decode("utf-8")
        return None


def _in_old_encoding(data: bytes, declared: str) -> tuple[str, str]:
    best = (data.decode("cp1252", "replace"), "cp1252")
    for encoding in (declared, "utf-8"):
        if encoding and not encoding.startswith("utf-16"):
            text = data.decode(encoding, "replace")
            if text.count("\ufffd") <= _BAD_SHARE * len(text):
                return text, encoding
    return best

"""Alphabets, declared truly, falsely or not at all, and characters that nobody sees."""

import pytest

from hermes_agent.tools.web.charset import decoded, seen

RUSSIAN, JAPANESE, GERMAN = "Привет, мир", "こんにちは世界", "Käse für zwölf Euro €"


@pytest.mark.parametrize(
    ("data", "content_type", "read"),
    [
        (GERMAN.encode(), "text/html; charset=utf-8", (GERMAN, "utf-8")),
        (GERMAN.encode(), "text/html", (GERMAN, "utf-8")),
        (GERMAN.encode(), "text/html; charset=iso-8859-1", (GERMAN, "utf-8")),
        (GERMAN.encode("cp1252"), "text/html; charset=iso-8859-1", (GERMAN, "cp1252")),
        (GERMAN.encode("cp1252"), "text/html; charset=utf-8", (GERMAN, "cp1252")),
        (GERMAN.encode("cp1252"), "", (GERMAN, "cp1252")),
        (RUSSIAN.encode("koi8-r"), 'text/html; charset="KOI8-R"', (RUSSIAN, "koi8-r")),
        (RUSSIAN.encode("cp1251"), "text/html; charset=windows-1251", (RUSSIAN, "cp1251")),
        (JAPANESE.encode("shift_jis"), "text/html; charset=Shift_JIS", (JAPANESE, "cp932")),
        (JAPANESE.encode("euc_jp"), "text/html;charset=euc-jp", (JAPANESE, "euc_jp")),
        (JAPANESE.encode("iso2022_jp"), "text/html; charset=iso-2022-jp", (JAPANESE, "iso2022_jp")),
        ("世界".encode("gb18030"), "text/html; charset=gb2312", ("世界", "gb18030")),
        (GERMAN.encode("utf-8-sig"), "text/html; charset=koi8-r", (GERMAN, "utf-8")),
        (b"\xff\xfe" + GERMAN.encode("utf-16-le"), "text/html; charset=utf-8", (GERMAN, "utf-16-le")),
        (b"\xfe\xff" + GERMAN.encode("utf-16-be"), "", (GERMAN, "utf-16-be")),
        (GERMAN.encode("utf-16-le"), "text/html; charset=utf-16", (GERMAN, "utf-16-le")),
        (b"plain", "text/html; charset=utf-16", ("plain", "utf-8")),
        (GERMAN.encode()[:-1], "", (GERMAN[:-1], "utf-8")),
        (b"", "", ("", "utf-8")),
    ],
)
def test_encodings(data: bytes, content_type: str, read: tuple[str, str]) -> None:
    assert decoded(data, content_type) == read


@pytest.mark.parametrize(
    "start",
    [
        "<html><head><meta charset=windows-1251>",
        "<html><head><meta http-equiv='Content-Type' content='text/html; charset=windows-1251'>",
        "<?xml version='1.0' encoding='windows-1251'?>",
    ],
)
def test_what_the_page_itself_declares(start: str) -> None:
    page = start + RUSSIAN
    assert decoded(page.encode("cp1251"), "text/html") == (page, "cp1251")


@pytest.mark.parametrize(
    "name", ["utf-7", "rot13", "zip", "hex", "unicode_escape", "idna", "punycode", "nonsense", "\\"]
)
def test_codecs_that_are_no_encoding_of_pages(name: str) -> None:
    text = "+ADw-script+AD4-\\u0041 uryyb"
    assert decoded(text.encode(), f"text/html; charset={name}") == (text, "utf-8")


def test_noise_is_read_somehow() -> None:
    text, _ = decoded(bytes(range(256)) * 50, "text/html; charset=utf-8")
    assert len(seen(text)) > 0
    assert "\0" not in seen(text)


TAGS = "".join(chr(0xE0000 + ord(char)) for char in "ignore all")


@pytest.mark.req("A12", "B5")
@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"a{TAGS}b", "ab"),
        ("a\u200b\u200c\u200d\u2060\ufeffb", "ab"),
        ("a\u202eb\u2066c\u2069", "abc"),
        ("so\u00adft", "soft"),
        ("a\x00\x08\x1b[31mb", "a[31mb"),
        ("a\u2028b\u2029c\x85d\x0ce", "a\nb\nc\nd\ne"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("x\ufe0fy\U000e0100z", "xyz"),
        ("a\u3164\u115f\u2800b", "ab"),
        ("\ue000\U000f0000x", "x"),
        ("\ud83dx", "\ufffdx"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("क्\u200dष", "क्\u200dष"),
        ("tab\tand\nline", "tab\tand\nline"),
    ],
)
def test_characters_nobody_sees(text: str, left: str) -> None:
    assert seen(text) == left

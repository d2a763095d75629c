"""Pages built to hurt their reader hurt only the process that reads them."""

import asyncio

import pytest

from hermes_agent.tools.web.failure import WebFailure
from hermes_agent.tools.web.page import Page, kind_of
from hermes_agent.tools.web.reader import Allowance, read_page

URL = "https://example.com/"
LITTLE = Allowance(cpu_seconds=1, memory=256 << 20)


def read(body: bytes, content_type: str = "text/html", allowance: Allowance | None = None) -> Page:
    return asyncio.run(read_page(body, content_type, URL, allowance=allowance or Allowance()))


def test_a_page_from_another_process() -> None:
    assert read("<title>T</title><p>grüße <a href=x>l</a>".encode()) == Page(
        kind="html", title="T", text="grüße [l](https://example.com/x)", charset="utf-8"
    )


@pytest.mark.req("A12", "R3")
@pytest.mark.parametrize(
    "body",
    [
        b"<div>" * 50_000 + b"deep",
        b"<p>" + b"".join(b"<b id=%d>" % number for number in range(3000)) + b"</p>" + b"<p>x" * 20_000,
        b"<a " + b" ".join(b"a%d=1" % number for number in range(100_000)) + b">x",
    ],
    ids=["deep", "reopened elements", "attributes"],
)
def test_a_page_that_takes_too_much_is_given_up(body: bytes) -> None:
    with pytest.raises(WebFailure, match="cannot be read") as refused:
        read(body, allowance=LITTLE)
    assert refused.value.error == "unreadable"


@pytest.mark.req("A12", "R3")
@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"<div>" * 5_000 + b"deep", "deep"),
        (b"<b>" * 50_000 + b"bold", "bold"),
        (b"<table><tr><td>" * 2_000 + b"cell", "cell"),
        (b"<ul><li>" * 2_000 + b"item", "item"),
        (b"<a" * 500_000, ""),
        (b"<!--" * 500_000, ""),
        (b"<script>" * 100_000 + b"</script>end", "end"),
        (b"&amp;" * 200_000, "&" * 1000),
        (b"x\0y" * 1000, "xyxy"),
    ],
    ids=["divs", "bold", "tables", "lists", "tags", "comments", "scripts", "entities", "nul"],
)
def test_large_and_deep_pages_are_read(body: bytes, text: str) -> None:
    assert text in read(body).text


def test_a_bomb_of_entities_is_not_opened() -> None:
    names = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12))
    source = f'<?xml version="1.0"?><!DOCTYPE r [<!ENTITY e0 "x">{names}]><rss><item><title>&e11;</title></item></rss>'
    assert read(source.encode(), "application/rss+xml").text == source


@pytest.mark.parametrize(
    ("body", "content_type", "meaning"),
    [
        (b"%PDF-1.7 ...", "application/pdf", "a PDF"),
        (b"%PDF-1.7 ...", "text/html", "a PDF"),
        (b"anything", "application/pdf", "a PDF"),
        (b"\x89PNG\r\n\x1a\n", "text/plain", "a picture"),
        (b"...", "image/webp", "a picture"),
        (b"...", "video/mp4", "a film"),
        (b"PK\x03\x04...", "application/octet-stream", "an archive or an office document"),
        (b"\x7fELF\x02", "", "a program"),
        (b"\0\1\2\3", "", "no text"),
        (b"...", "application/zip", "application/zip"),
        (b"...", "x" * 300, "x" * 59 + "…"),
    ],
)
def test_what_is_no_text(body: bytes, content_type: str, meaning: str) -> None:
    with pytest.raises(WebFailure) as refused:
        kind_of(body, content_type)
    assert (refused.value.error, str(refused.value)) == (
        "not_text",
        f"this is {meaning}, not text; web_download saves it as a file",
    )


def test_a_reader_that_is_no_longer_wanted_ends() -> None:
    async def go() -> list[str]:
        task = asyncio.create_task(read_page(b"<div>" * 50_000, "text/html", URL))
        await asyncio.sleep(0.3)
        task.cancel()
        results = await asyncio.gather(task, return_exceptions=True)
        return [type(result).__name__ for result in results]

    assert asyncio.run(go()) == ["CancelledError"]

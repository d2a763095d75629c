"""Answers of servers that mean no good: how much is taken, and for how long."""

import asyncio
import gzip
import zlib

import pytest

from hermes_agent.safety.urls import AddressRefused
from hermes_agent.tools.web.client import Limits, WebClient, WebRequest
from hermes_agent.types.tools import WebAccess
from tests.tools.web.site import Site
from tests.tools.web.visits import MOST, client, failure, fetch

TEXT = b"text" * 999


def bare(data: bytes) -> bytes:
    squeezing = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return squeezing.compress(data) + squeezing.flush()


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", gzip.compress(b"text" * 999, mtime=0)),
        ("deflate", zlib.compress(b"text" * 999)),
        ("deflate", bare(b"text" * 999)),
    ],
)
def test_compressed_bodies(site: Site, encoding: str, body: bytes) -> None:
    url = site.page("/", body, f"Content-Encoding: {encoding}")
    assert fetch(client(site), url)[2] == TEXT


@pytest.mark.req("A12")
def test_a_body_that_grows_without_measure(site: Site) -> None:
    url = site.page("/", gzip.compress(b"\0" * (20 << 20)), "Content-Encoding: gzip")
    assert failure(client(site), url, limit=1 << 40)[0] == "decompression_bomb"
    assert failure(client(site), url)[0] == "too_large"


def test_compression_lies(site: Site) -> None:
    assert failure(client(site), site.page("/a", "plain", "Content-Encoding: gzip"))[0] == "encoding"
    assert failure(client(site), site.page("/b", "plain", "Content-Encoding: br"))[0] == "encoding"
    assert failure(client(site), site.page("/c", "plain", "Content-Encoding: gzip, gzip"))[0] == "encoding"


async def endless(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
    while True:
        writer.write(b"x" * 65536)
        await writer.drain()


async def dripping(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
    while True:
        writer.write(b"x")
        await writer.drain()
        await asyncio.sleep(0.02)


async def dripping_headers(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        writer.write(b"X: y\r\n")
        await writer.drain()
        await asyncio.sleep(0.02)


async def promising(writer: asyncio.StreamWriter) -> None:
    while True:
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n" * 100)
        await writer.drain()
        await asyncio.sleep(0.01)


async def silent(writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(3600)


@pytest.mark.req("A12", "R3")
def test_a_server_that_takes_for_ever(site: Site) -> None:
    hasty = client(site, limits=Limits(seconds=0.3))
    for speak in (dripping, dripping_headers, promising, silent):
        assert failure(hasty, site.raw("/", speak)) == ("timeout", "no whole answer within 0.3 seconds")
    assert failure(client(site), site.raw("/", endless)) == ("too_large", f"the body is larger than {MOST} bytes")


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort",
        b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nshort",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nshort",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"\x00\x01\x02\x03" * 100,
        b"HTTP/1.1 200 OK\r\n" + b"X-Header: value\r\n" * 20_000 + b"\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 500_000,
        b"",
    ],
    ids=[
        "short",
        "negative",
        "two lengths",
        "no chunk",
        "half a chunk",
        "ssh",
        "noise",
        "headers",
        "header",
        "nothing",
    ],
)
def test_answers_that_are_no_http(site: Site, answer: bytes) -> None:
    error, text = failure(client(site), site.raw("/", answer))
    assert error in ("broken_reply", "connection")
    assert text.isprintable()


def test_a_body_longer_than_promised_ends_where_it_was_promised(site: Site) -> None:
    url = site.raw("/", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nshort and then more")
    assert fetch(client(site), url)[2] == b"short"


def test_a_promise_that_is_too_large_is_not_waited_for(site: Site) -> None:
    url = site.raw("/", b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n")
    assert failure(client(site), url)[0] == "too_large"


def test_nobody_listens(site: Site) -> None:
    gone = WebAccess(allowed=frozenset({"127.0.0.1:1"}))
    error, text = failure(WebClient(gone), "http://127.0.0.1:1/")
    assert (error, text.startswith("127.0.0.1 cannot be reached: ")) == ("connection", True)


def test_the_end_of_a_visit_closes_its_connection(site: Site) -> None:
    closed: list[bool] = []

    async def waiting(writer: asyncio.StreamWriter) -> None:
        try:
            await endless(writer)
        except (ConnectionError, OSError):
            closed.append(True)

    async def go() -> None:
        async with client(site).visit(WebRequest(url=site.raw("/", waiting))) as reply:
            await reply.beginning(10)
        for _ in range(500):
            if closed:
                return
            await asyncio.sleep(0.01)

    asyncio.run(go())
    assert closed == [True]


def test_refusals_are_permission_refusals() -> None:
    with pytest.raises(AddressRefused, match="no http or https address"):
        fetch(client(), "file:///etc/passwd")

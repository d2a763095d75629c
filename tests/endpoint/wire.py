"""Answers as bytes of HTTP/1.1, in whichever format was asked for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from http import HTTPStatus

import msgspec

from .formats import Event, Format, Head
from .replies import Answer, Request

CREATED = 1_700_000_000
FRAGMENT = 24
LAST_CHUNK = b"0\r\n\r\n"
PLACE = "\ue000"
"""A private character that stands for raw bytes no JSON encoder would write."""
_PHRASES = {529: "Site Overloaded"}


class Ending(Enum):
    """What becomes of the connection after the last piece."""

    KEEP = "keep"
    FIN = "fin"
    RST = "rst"
    HOLD = "hold"
    REFUSE = "refuse"


class Wire(msgspec.Struct, frozen=True, kw_only=True):
    """Pieces to write; with a pause they are written apart, so that the client reads them apart."""

    pieces: Sequence[bytes]
    delay: float = 0.0
    pause: float = 0.0
    ending: Ending = Ending.KEEP


def response(status: int, body: bytes, *, content_type: str = "application/json", headers: Iterable[str] = ()) -> bytes:
    lines = [
        f"HTTP/1.1 {status} {_PHRASES.get(status) or HTTPStatus(status).phrase}",
        f"content-type: {content_type}",
        f"content-length: {len(body)}",
        *headers,
    ]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def stream_headers(form: Format) -> bytes:
    return (
        b"HTTP/1.1 200 OK\r\ncontent-type: %b\r\ncache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n"
        % form.STREAM_TYPE.encode()
    )


def chunk(data: bytes) -> bytes:
    """One chunk of HTTP's chunked transfer coding."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def fragments(text: str) -> list[str]:
    return [text[start : start + FRAGMENT] for start in range(0, len(text), FRAGMENT)]


def render(form: Format, request: Request, head: Head, answer: Answer, *, raw: bytes = b"") -> Wire:
    """The whole response, streamed or not as the request asked; `raw` goes where `PLACE` stands."""
    if not head.stream:
        body = put(form.body(request, head, answer), raw)
        return Wire(pieces=(response(200, body),), delay=answer.delay)
    produced = [
        chunk(form.frame(Event(event.name, put(event.data, raw)))) for event in form.events(request, head, answer)
    ]
    return Wire(pieces=[stream_headers(form), *produced, LAST_CHUNK], delay=answer.delay, pause=answer.pace)


def put(data: bytes, raw: bytes) -> bytes:
    return data.replace(PLACE.encode(), raw) if raw else data

"""What a wire format is to the server: how it reads a request and how it says an answer, an error and a broken stream.

Each format is a module with these functions; the server and the faults know nothing else about it.
"""

from __future__ import annotations

from typing import Protocol

import msgspec

from .replies import Answer, Fail, Fault, Request


class InvalidRequest(Exception):
    """The request breaks the wire format; answered with status 400 if not told otherwise."""

    def __init__(self, message: str, *, status: int = 400, code: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a request that decides the form of the answer; `wants` is in the words of the format."""

    model: str
    stream: bool
    wants: frozenset[str] = frozenset()


class Event(msgspec.Struct, frozen=True):
    """One event of a stream before it is framed."""

    name: str
    data: bytes


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """An error to be said in the format's own shape; without a message, in its usual words."""

    fault: Fault
    message: str = ""
    code: str | None = None
    status: int | None = None
    retry_after: float | None = None


class Format(Protocol):
    STREAM_TYPE: str
    """The content type of a streamed answer."""

    def unauthorized(self, request: Request, key: str | None) -> Problem | None:
        """Why this client is not served; None when it is. Without a key, formats that need none ask for nothing."""

    def read(self, request: Request, *, strict: bool) -> Head:
        """Raises InvalidRequest; with `strict` the whole request is checked as the real service does."""

    def failure(self, request: Request, problem: Problem) -> bytes:
        """A whole HTTP response."""

    def body(self, request: Request, head: Head, answer: Answer) -> bytes:
        """The answer when it is not streamed."""

    def events(self, request: Request, head: Head, answer: Answer) -> list[Event]:
        """The streamed answer."""

    def interleaved(self, request: Request, head: Head, reply: Fail) -> list[Event]:
        """The reply's calls with their deltas in turn, the highest index first."""

    def broken(self, request: Request, head: Head, reply: Fail, after: int | None) -> Event:
        """An error said inside a stream, after so many events; None when it is the body of a plain answer."""

    def frame(self, event: Event) -> bytes: ...


def server_sent_event(event: Event) -> bytes:
    if not event.name:
        return b"data: %b\n\n" % event.data
    return b"event: %b\ndata: %b\n\n" % (event.name.encode(), event.data)

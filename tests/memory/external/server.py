"""A memory service on loopback that speaks one of several interfaces and goes wrong on demand."""

import gzip
import json
import threading
from collections.abc import Callable
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

import msgspec

KEY = "key-of-the-test-1234"


class Fault(StrEnum):
    """How the service goes wrong."""

    UNAUTHORIZED = "unauthorized"
    TOO_MANY = "too_many"
    BROKEN = "broken"
    HTML = "html"
    NOT_JSON = "not_json"
    CUT = "cut"
    HUGE = "huge"
    PACKED = "packed"
    DEEP = "deep"
    INVALID_UTF8 = "invalid_utf8"
    WRONG_SHAPE = "wrong_shape"
    REDIRECT = "redirect"
    HANG_UP = "hang_up"
    STALL = "stall"


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """One request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any = None


class Refused(Exception):
    """The request is not as the real service wants it."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Kept:
    """What the service remembers, by the place it was put: a user, a bank, a namespace."""

    def __init__(self) -> None:
        self.texts: dict[str, list[str]] = {}

    def add(self, place: str, text: str) -> None:
        self.texts.setdefault(place, []).append(text)

    def search(self, place: str, query: str, limit: int) -> list[tuple[str, float]]:
        words = set(query.lower().split())
        scored = [(text, len(words & set(text.lower().split())) / len(words)) for text in self.texts.get(place, [])]
        return sorted((pair for pair in scored if pair[1]), key=lambda pair: -pair[1])[:limit]


Speaks = Callable[[Asked, Kept], Any]


class MemoryServer:
    """The service. `asked` is everything that arrived; `fault` is what it does to the next requests."""

    def __init__(self, speaks: Speaks) -> None:
        self.asked: list[Asked] = []
        self.kept = Kept()
        self.fault: Fault | None = None
        self._released = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self, speaks))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def wait(self) -> None:
        """As long as the test lasts."""
        self._released.wait(30)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._released.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def _handler(server: MemoryServer, speaks: Speaks) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            raw = self.rfile.read(length)
            asked = Asked(
                method=self.command,
                path=self.path,
                headers={name.lower(): value for name, value in self.headers.items()},
                body=json.loads(raw) if raw else None,
            )
            server.asked.append(asked)
            if server.fault is not None:
                return self._spoiled(server.fault)
            try:
                self._send(200, json.dumps(speaks(asked, server.kept)).encode())
            except Refused as refused:
                self._send(refused.status, json.dumps({"detail": str(refused)}).encode())

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _answer

        def _spoiled(self, fault: Fault) -> None:
            match fault:
                case Fault.UNAUTHORIZED:
                    self._send(401, b'{"error": {"message": "no such key"}}')
                case Fault.TOO_MANY:
                    self._send(429, b'{"message": "slower"}', {"Retry-After": "3"})
                case Fault.BROKEN:
                    self._send(500, b"<h1>oops</h1>", {"Content-Type": "text/html"})
                case Fault.HTML:
                    self._send(200, b"<!doctype html><title>Sign in</title>", {"Content-Type": "text/html"})
                case Fault.NOT_JSON:
                    self._send(200, b'{"results": [')
                case Fault.CUT:
                    self._send(200, b'{"results": []}', {"Content-Length": "4000"})
                    self.close_connection = True
                case Fault.HUGE:
                    self._send(200, b'{"results": [' + b'"' + b"x" * 3_000_000 + b'"]}')
                case Fault.PACKED:
                    self._send(200, gzip.compress(b'{"results": []}'), {"Content-Encoding": "gzip"})
                case Fault.DEEP:
                    self._send(200, b"[" * 100_000 + b"]" * 100_000)
                case Fault.INVALID_UTF8:
                    self._send(200, b'{"results": ["\xff\xfe"]}')
                case Fault.WRONG_SHAPE:
                    self._send(200, b'{"results": {"memory": 7}, "data": null}')
                case Fault.REDIRECT:
                    self._send(307, b"", {"Location": server.url + "/elsewhere"})
                case Fault.HANG_UP:
                    self.close_connection = True
                case Fault.STALL:
                    server.wait()
                    self.close_connection = True

        def _send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
            with_length = {"Content-Type": "application/json", "Content-Length": str(len(body)), **(headers or {})}
            self.send_response(status)
            for name, value in with_length.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Quiet."""

    return Handler

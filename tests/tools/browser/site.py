"""A web site on loopback, and a browser to visit it with."""

import asyncio
import os
import socket
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import pytest

from hermes_agent.tools.builtin.browser import BROWSER, browser_close
from hermes_agent.types.errors import HermesError
from hermes_agent.types.tools import ToolResult, WebAccess
from tests.tools.context import Context

Answer = Callable[[BaseHTTPRequestHandler], None]
Value = TypeVar("Value")


class Site:
    """Serves what `pages` holds: HTML, or a function that answers by itself."""

    def __init__(self) -> None:
        self.pages: dict[str, str | Answer] = {}
        self.seen: list[tuple[str, str, str]] = []
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
                site.seen.append((self.command, self.path, body))
                page = site.pages.get(self.path.partition("?")[0])
                if callable(page):
                    page(self)
                else:
                    reply(self, 404 if page is None else 200, page or "<p>nothing here</p>")

            do_POST = do_GET

            def log_message(self, format: str, *args: Any) -> None:
                return

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            block_on_close = False

            def handle_error(self, request: Any, client_address: Any) -> None:
                return

        self._server = Server(("127.0.0.1", 0), Handler)
        self.place = f"127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def url(self, path: str = "/") -> str:
        return f"http://{self.place}{path}"

    def requests(self, path: str) -> list[tuple[str, str, str]]:
        return [request for request in self.seen if request[1].partition("?")[0] == path]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def reply(handler: BaseHTTPRequestHandler, status: int, body: str | bytes, **headers: str) -> None:
    """A whole answer; `_` in the name of a header is `-`."""
    data = body if isinstance(body, bytes) else body.encode("utf-8", "surrogatepass")
    handler.send_response(status)
    for name, value in {"Content_Type": "text/html; charset=utf-8", **headers}.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.send_header("Content-Length", str(len(data)))
    handler.end_headers()
    handler.wfile.write(data)


def redirect(location: str) -> Answer:
    return lambda handler: reply(handler, 302, "", Location=location)


class Visitor:
    """Calls browser tools one after another on one loop, as a session does."""

    def __init__(self, folder: Path, site: Site, *, hasty: bool = False) -> None:
        from hermes_agent.tools.browser.session import Browser, Patience

        self.site = site
        self.context = Context(folder)
        self.context.web = WebAccess(allowed=frozenset((site.place,)))
        patience = Patience(answer=3.0, load=1.5, action=1.5, reading=3.0) if hasty else Patience()
        self.runner = asyncio.Runner()
        self.browser = Browser(self.context.web, patience=patience)
        self.context.resources.made[BROWSER] = self.browser

    def __call__(self, tool: object, **arguments: Any) -> ToolResult:
        return self.runner.run(self.context.call(tool, **arguments))

    def run(self, work: Coroutine[Any, Any, Value]) -> Value:
        return self.runner.run(work)

    def close(self) -> None:
        self(browser_close)
        self.runner.close()


def need_chromium() -> None:
    """Skip where the browser is not installed; where CI promises it, its absence is a failure."""
    missing = "" if find_spec("playwright") else "playwright is not installed"
    if not missing:
        from hermes_agent.tools.browser.launch import find_chromium

        try:
            find_chromium()
        except HermesError as error:
            missing = str(error)
    if missing:
        if os.environ.get("CI") == "true":
            pytest.fail(f"{missing}, and CI=true promises it")
        pytest.skip(missing)


@contextmanager
def listening(kind: socket.SocketKind = socket.SOCK_STREAM) -> Iterator[socket.socket]:
    """A port of loopback that nobody may visit."""
    with socket.socket(socket.AF_INET, kind) as sock:
        sock.bind(("127.0.0.1", 0))
        if kind is socket.SOCK_STREAM:
            sock.listen()
        sock.settimeout(0.2)
        yield sock


def untouched(sock: socket.socket) -> bool:
    """Whether nothing has arrived at a port."""
    try:
        sock.accept() if sock.type is socket.SOCK_STREAM else sock.recv(1)
    except TimeoutError:
        return True
    return False

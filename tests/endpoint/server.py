"""The endpoint: a small HTTP/1.1 server on loopback, in a thread of the test or in a process of its own."""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, Self, assert_never

import msgspec

from .faults import render_fault
from .formats import Format, InvalidRequest, Problem
from .listing import list_models
from .replies import Fail, Fault, Request, Responder, ScriptExhausted
from .routes import DEFAULT, format_of, format_of_listing, is_listing
from .wire import Ending, Wire, render

_HOST = "127.0.0.1"
_RESET = struct.pack("ii", 1, 0)


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """`strict` checks requests as the real service does; `record` keeps them."""

    key: str | None = None
    models: tuple[str, ...] = ("scripted",)
    record: bool = True
    strict: bool = True


class Server:
    """Listens in the running event loop. The responder is called in that loop and must not block."""

    def __init__(self, responder: Responder, settings: Settings) -> None:
        self.requests: list[Request] = []
        self.accepted = 0
        self.arrived = threading.Condition()
        self._responder = responder
        self._settings = settings
        self._open: set[_Connection] = set()
        self._listener: asyncio.Server | None = None
        self._count = 0
        self.port = 0

    @property
    def origin(self) -> str:
        return f"http://{_HOST}:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.origin}/v1"

    async def listen(self, port: int) -> None:
        loop = asyncio.get_running_loop()
        self._listener = await loop.create_server(lambda: _Connection(self), _HOST, port, backlog=512)
        self.port = self._listener.sockets[0].getsockname()[1]

    def refuse(self) -> None:
        """From now on connections are refused; open ones end."""
        if self._listener is not None:
            self._listener.close()
            self._listener = None
        for connection in tuple(self._open):
            connection.abort()

    def opened(self, connection: _Connection) -> None:
        self.accepted += 1
        self._open.add(connection)

    def closed(self, connection: _Connection) -> None:
        self._open.discard(connection)

    def answer(self, method: str, target: str, headers: dict[str, str], body: bytes) -> Wire:
        path, _, query = target.partition("?")
        request = Request(number=self._count, method=method, path=path, headers=headers, body=body, query=query)
        self._count += 1
        if self._settings.record:
            with self.arrived:
                self.requests.append(request)
                self.arrived.notify_all()
        form = format_of(path)
        if form is not None:
            return self._converse(form, request)
        return Wire(pieces=(self._other(request),))

    def _converse(self, form: Format, request: Request) -> Wire:
        if request.method != "POST":
            return Wire(pieces=(_misdirected(form, request, 405),))
        stranger = form.unauthorized(request, self._settings.key)
        if stranger is not None:
            return Wire(pieces=(form.failure(request, stranger),))
        try:
            head = form.read(request, strict=self._settings.strict)
            reply = self._responder(request)
        except InvalidRequest as error:
            problem = Problem(fault=Fault.BAD_REQUEST, message=str(error), status=error.status, code=error.code)
            return Wire(pieces=(form.failure(request, problem),))
        except ScriptExhausted as error:
            problem = Problem(fault=Fault.BAD_REQUEST, message=str(error), code="script_exhausted")
            return Wire(pieces=(form.failure(request, problem),))
        if isinstance(reply, Fail):
            return render_fault(form, request, head, reply)
        return render(form, request, head, reply)

    def _other(self, request: Request) -> bytes:
        form = format_of_listing(request)
        stranger = form.unauthorized(request, self._settings.key)
        if stranger is not None:
            return form.failure(request, stranger)
        if is_listing(request.path):
            return list_models(request, self._settings.models)
        return _misdirected(form, request, 404)


class _Connection(asyncio.Protocol):
    """One connection: takes one request after the other, keeps what came early until its turn."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._buffer = bytearray()
        self._head: tuple[str, str, dict[str, str], int] | None = None
        self._busy: asyncio.Task[None] | None = None
        self._transport: asyncio.Transport
        self._close_after = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._server.opened(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._server.closed(self)
        if self._busy is not None:
            self._busy.cancel()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        self._advance()

    def abort(self) -> None:
        self._transport.abort()

    def _advance(self) -> None:
        while self._busy is None and not self._transport.is_closing():
            if self._head is None and not self._take_head():
                return
            assert self._head is not None
            method, target, headers, length = self._head
            if len(self._buffer) < length:
                return
            body = bytes(self._buffer[:length])
            del self._buffer[:length]
            self._head = None
            self._close_after = headers.get("connection", "").lower() == "close"
            self._send(self._server.answer(method, target, headers, body))

    def _take_head(self) -> bool:
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return False
        first, *lines = self._buffer[:end].decode("latin-1").split("\r\n")
        del self._buffer[: end + 4]
        parts = first.split(" ")
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        length = headers.get("content-length", "0")
        if len(parts) != 3 or not length.isdigit():
            self._refuse_request(400, "not an HTTP request")
            return False
        if "transfer-encoding" in headers:
            self._refuse_request(411, "send a content-length")
            return False
        if headers.get("expect", "").lower() == "100-continue":
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        self._head = (parts[0], parts[1], headers, int(length))
        return True

    def _refuse_request(self, status: int, message: str) -> None:
        problem = Problem(fault=Fault.BAD_REQUEST, status=status, message=message)
        nothing = Request(number=0, method="", path="", headers={}, body=b"")
        self._transport.write(DEFAULT.failure(nothing, problem))
        self._transport.close()

    def _send(self, wire: Wire) -> None:
        if wire.delay or wire.pause:
            self._busy = asyncio.get_running_loop().create_task(self._send_slowly(wire))
            return
        self._transport.write(b"".join(wire.pieces))
        self._end(wire.ending)

    async def _send_slowly(self, wire: Wire) -> None:
        await asyncio.sleep(wire.delay)
        if wire.pause:
            for piece in wire.pieces:
                self._transport.write(piece)
                await asyncio.sleep(wire.pause)
        else:
            self._transport.write(b"".join(wire.pieces))
        self._busy = None
        self._end(wire.ending)
        self._advance()

    def _end(self, ending: Ending) -> None:
        match ending:
            case Ending.KEEP:
                if self._close_after:
                    self._transport.close()
            case Ending.FIN:
                self._transport.close()
            case Ending.RST:
                self._transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                self._transport.abort()
            case Ending.HOLD:
                self._busy = asyncio.get_running_loop().create_task(asyncio.sleep(86_400))
            case Ending.REFUSE:
                self._server.refuse()
            case _:
                assert_never(ending)


class Endpoint:
    """The server in a background thread: `with Endpoint(responder) as endpoint: ... endpoint.url`."""

    def __init__(
        self,
        responder: Responder,
        *,
        key: str | None = None,
        models: tuple[str, ...] = ("scripted",),
        record: bool = True,
        strict: bool = True,
        port: int = 0,
    ) -> None:
        self._server = Server(responder, Settings(key=key, models=models, record=record, strict=strict))
        self._port = port
        self._ready = threading.Event()
        self._failed: OSError | None = None
        self._loop: asyncio.AbstractEventLoop
        self._stop: asyncio.Event
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), name="endpoint", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait()
        if self._failed is not None:
            raise self._failed
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    @property
    def url(self) -> str:
        """The base URL, ending in /v1; the same after `refuse` and `reopen`."""
        return self._server.url

    @property
    def origin(self) -> str:
        """The URL without a path: the base for the clients of Anthropic, Gemini and Bedrock."""
        return self._server.origin

    @property
    def requests(self) -> list[Request]:
        """All requests so far, in order of arrival."""
        return list(self._server.requests)

    @property
    def connections(self) -> int:
        """How many connections were accepted so far; a client that keeps them alive needs few."""
        return self._server.accepted

    def wait_for_requests(self, count: int, *, timeout: float = 30.0) -> list[Request]:
        """Waits until `count` requests have arrived; raises TimeoutError with what came instead."""
        with self._server.arrived:
            if not self._server.arrived.wait_for(lambda: len(self._server.requests) >= count, timeout):
                raise TimeoutError(f"{len(self._server.requests)} of {count} requests came in {timeout} s")
            return list(self._server.requests)

    def refuse(self) -> None:
        """Closes the listening socket and all connections."""
        self._in_loop(self._refuse())

    def reopen(self) -> None:
        """Listens again on the port it had."""
        self._in_loop(self._server.listen(self._server.port))

    def _in_loop(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _refuse(self) -> None:
        self._server.refuse()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        try:
            await self._server.listen(self._port)
        except OSError as error:
            self._failed = error
            return
        finally:
            self._ready.set()
        await self._stop.wait()
        self._server.refuse()


def _misdirected(form: Format, request: Request, status: int) -> bytes:
    message = f"Invalid URL ({request.method} {request.path})"
    return form.failure(request, Problem(fault=Fault.BAD_REQUEST, status=status, message=message))

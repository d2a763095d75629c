"""The only way out of the browser: a forward proxy on loopback that decides about every connection.

Whatever a page does (navigate, redirect, fetch, open a socket, start a worker) reaches the network through here. A name
is looked up once, the address is judged, and that very address is dialled, so a name that changes its mind between
the check and the connection gains nothing. The proxy wants a password made for this one launch.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hmac
import secrets
from collections.abc import Collection

import msgspec

from ...safety.urls import Address, AddressRefused, Resolve, check, resolve_by_system, resolve_public
from ...types.base import Value
from ...types.errors import HermesError

_CHUNK = 65536
_PER_HOP = frozenset(("connection", "proxy-connection", "proxy-authorization", "keep-alive", "te", "upgrade"))
_REMEMBERED = 20


class GateLimits(Value, frozen=True, kw_only=True):
    """What one page may use of the gate."""

    connections: int = 128
    head: int = 65536
    head_seconds: float = 20.0
    dial_seconds: float = 10.0
    idle_seconds: float = 120.0
    answer_bytes: int = 256 << 20


class Refusal(Value, frozen=True, kw_only=True):
    """An address that a page asked for and did not get."""

    place: str
    reason: str
    remedy: str
    times: int = 1


class _Denied(Exception):
    """What the browser gets instead of a connection. Without a status it gets nothing: a page that cannot be had
    must not look like one."""

    def __init__(self, status: str = "", header: str = "") -> None:
        super().__init__(status)
        self.status = status
        self.header = header


class Gate:
    """A proxy for one browser. `password` is the secret of this launch; `taken()` tells what was refused.

    `allowed` are the HOST:PORT pairs that may be private.
    """

    def __init__(
        self,
        allowed: Collection[str] = (),
        resolve: Resolve = resolve_by_system,
        limits: GateLimits | None = None,
    ) -> None:
        self.user = "browser"
        self.password = secrets.token_urlsafe(24)
        self.port = 0
        self._allowed = allowed
        self._resolve = resolve
        self._limits = limits or GateLimits()
        self._expected = b"basic " + base64.b64encode(f"{self.user}:{self.password}".encode())
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.Task[None]] = set()
        self._refused: dict[str, Refusal] = {}
        self._unreached: dict[str, str] = {}

    async def start(self) -> None:
        """Listen on a free port of loopback."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=self._limits.head)
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        """Stop listening and cut every connection."""
        if self._server is not None:
            self._server.close()
        for task in tuple(self._open):
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    def taken(self) -> list[Refusal]:
        """What was refused since the last time this was asked."""
        refused, self._refused = self._refused, {}
        return list(refused.values())

    def trouble(self, place: str) -> str:
        """Why HOST:PORT could not be reached the last time, if that is known."""
        return self._unreached.pop(place, "")

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is None or len(self._open) >= self._limits.connections:
            writer.transport.abort()
            return
        self._open.add(task)
        try:
            await self._serve(reader, writer)
        except (OSError, EOFError, ValueError, asyncio.LimitOverrunError):
            writer.transport.abort()
        except asyncio.CancelledError:
            writer.transport.abort()
        finally:
            self._open.discard(task)
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(self._limits.head_seconds):
            method, target, headers = _parsed(await reader.readuntil(b"\r\n\r\n"))
        length = 0 if method == "CONNECT" else _body_length(headers)
        try:
            self._authenticate(headers)
            authority, path = _split(method, target)
            upstream, out = await self._dial(authority, "https" if method == "CONNECT" else "http")
        except _Denied as denial:
            if method == "CONNECT" or denial.status:
                writer.write(_answer(denial))
                await writer.drain()
            return
        try:
            if method == "CONNECT":
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                await self._tunnel((reader, writer), (upstream, out))
            else:
                out.write(_request(method, path, headers))
                await self._exchange(reader, out, length, upstream, writer)
        finally:
            out.close()

    def _authenticate(self, headers: list[tuple[str, str]]) -> None:
        given = next((value for name, value in headers if name.lower() == "proxy-authorization"), "")
        scheme, _, secret = given.partition(" ")
        if not hmac.compare_digest(f"{scheme.lower()} {secret.strip()}".encode("utf-8", "replace"), self._expected):
            raise _Denied("407 Proxy Authentication Required", 'Proxy-Authenticate: Basic realm="browser"')

    async def _dial(self, authority: str, scheme: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        place = authority
        try:
            address = check(f"{scheme}://{authority}/")
            place = address.place
            async with asyncio.timeout(self._limits.dial_seconds):
                numbers = await resolve_public(address, self._allowed, self._resolve)
                return await self._connect(numbers, address)
        except AddressRefused as error:
            self._refuse(place, error)
            raise _Denied from error
        except (OSError, HermesError) as error:
            if len(self._unreached) >= _REMEMBERED:
                self._unreached.clear()
            self._unreached[place] = str(error) or "it does not answer"
            raise _Denied from error

    def _refuse(self, place: str, error: AddressRefused) -> None:
        before = self._refused.get(place)
        if before is not None:
            self._refused[place] = msgspec.structs.replace(before, times=before.times + 1)
        elif len(self._refused) < _REMEMBERED:
            self._refused[place] = Refusal(place=place, reason=str(error), remedy=error.advice)

    async def _connect(
        self, numbers: Collection[str], address: Address
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection to the first of the checked numbers that answers. No name is looked up here."""
        failure = OSError("no address")
        for number in numbers:
            try:
                return await asyncio.open_connection(number, address.port, limit=self._limits.head)
            except OSError as error:
                failure = error
        raise failure

    async def _tunnel(
        self,
        inner: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        outer: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    ) -> None:
        """Carry bytes both ways until one side has ended and the other has nothing more to say."""
        ways = [
            asyncio.create_task(self._carry(inner[0], outer[1])),
            asyncio.create_task(self._carry(outer[0], inner[1])),
        ]
        try:
            await asyncio.gather(*ways)
        finally:
            for way in ways:
                way.cancel()

    async def _carry(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        left = self._limits.answer_bytes
        while left > 0:
            async with asyncio.timeout(self._limits.idle_seconds):
                data = await source.read(_CHUNK)
                if not data:
                    break
                left -= len(data)
                sink.write(data)
                await sink.drain()
        if left <= 0:
            raise EOFError("more than one connection may carry")
        with contextlib.suppress(OSError):
            sink.write_eof()

    async def _exchange(
        self,
        reader: asyncio.StreamReader,
        out: asyncio.StreamWriter,
        length: int,
        upstream: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        """One request and its answer. The connection is not used again: the next request may be for another host,
        and must not reach this one."""
        sending = asyncio.create_task(self._send(reader, out, length))
        try:
            while True:
                async with asyncio.timeout(self._limits.idle_seconds):
                    head = await upstream.readuntil(b"\r\n\r\n")
                status, rest = _closing(head)
                writer.write(rest)
                if not 100 <= status < 200:
                    break
            await self._carry(upstream, writer)
        finally:
            sending.cancel()

    async def _send(self, reader: asyncio.StreamReader, out: asyncio.StreamWriter, length: int) -> None:
        with contextlib.suppress(OSError):
            while length > 0:
                async with asyncio.timeout(self._limits.idle_seconds):
                    data = await reader.read(min(length, _CHUNK))
                    if not data:
                        return
                    length -= len(data)
                    out.write(data)
                    await out.drain()


def _parsed(head: bytes) -> tuple[str, str, list[tuple[str, str]]]:
    first, *lines = head[:-4].decode("latin-1").split("\r\n")
    method, target, _ = first.split(" ", 2)
    headers = []
    for line in lines:
        name, found, value = line.partition(":")
        if not found or not name.strip():
            raise ValueError("a header without a name")
        headers.append((name.strip(), value.strip()))
    return method, target, headers


def _split(method: str, target: str) -> tuple[str, str]:
    """The authority and the path of a request line. The path is passed on as it is."""
    if method == "CONNECT":
        return target, ""
    if not target.startswith("http://"):
        raise _Denied("400 Bad Request")
    authority, _, path = target.removeprefix("http://").partition("/")
    return authority, f"/{path}"


def _body_length(headers: list[tuple[str, str]]) -> int:
    lengths = {value for name, value in headers if name.lower() == "content-length"}
    if len(lengths) > 1 or any(name.lower() == "transfer-encoding" for name, _ in headers):
        raise ValueError("a body without a plain length")
    return max(0, int(lengths.pop())) if lengths else 0


def _request(method: str, path: str, headers: list[tuple[str, str]]) -> bytes:
    kept = [f"{name}: {value}" for name, value in headers if name.lower() not in _PER_HOP]
    return "\r\n".join((f"{method} {path} HTTP/1.1", *kept, "Connection: close", "", "")).encode("latin-1")


def _closing(head: bytes) -> tuple[int, bytes]:
    """The status of an answer and its head, saying that the connection ends with it."""
    first, *lines = head[:-4].decode("latin-1").split("\r\n")
    status = int(first.split(" ", 2)[1])
    if 100 <= status < 200:
        return status, head
    kept = [line for line in lines if line.partition(":")[0].strip().lower() not in _PER_HOP]
    return status, "\r\n".join((first, *kept, "Connection: close", "", "")).encode("latin-1")


def _answer(denial: _Denied) -> bytes:
    lines = (
        f"HTTP/1.1 {denial.status or '502 Bad Gateway'}",
        *((denial.header,) if denial.header else ()),
        "Content-Length: 0",
        "Cache-Control: no-store",
        "Connection: close",
        "",
        "",
    )
    return "\r\n".join(lines).encode("latin-1")

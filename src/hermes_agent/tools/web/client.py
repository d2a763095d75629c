"""Visits to the web. Every hop is checked, resolved once and dialled at exactly the numbers that were checked.

Nothing outlives a visit: no cookies, no connections, no credentials. Proxies of the environment are not used, because
behind one it is the proxy that resolves names, and what was checked here would mean nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import re
import ssl
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Protocol

import msgspec

from ...safety.urls import Address, Resolve, check, follow, resolve_by_system, resolve_public
from ...types.base import Value
from ...types.text import one_line
from ...types.tools import WebAccess
from ...version import __version__
from .failure import WebFailure
from .inflate import Inflating

if TYPE_CHECKING:
    import httpcore

_REDIRECTS = (301, 302, 303, 307, 308)
_TRAVELS = frozenset({"accept", "accept-language", "content-type", "user-agent"})
_OURS = frozenset(
    {"host", "connection", "content-length", "transfer-encoding", "upgrade", "te", "trailer", "expect", "keep-alive"}
)
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_BARE = frozenset({"GET", "HEAD", "OPTIONS"})


class Limits(Value, frozen=True, kw_only=True):
    """How much a visit may take. `seconds` is for all of it, redirects and body included."""

    redirects: int = 8
    seconds: float = 30.0
    connect_seconds: float = 8.0
    numbers: int = 4


class WebRequest(Value, frozen=True, kw_only=True):
    """What to ask for."""

    url: str
    method: str = "GET"
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""


class Dial(Protocol):
    """Connects to a number; names never get here."""

    async def __call__(self, number: str, port: int, seconds: float) -> httpcore.AsyncNetworkStream: ...


class Reply:
    """An answer whose body has not been read yet."""

    def __init__(self, address: Address, response: httpcore.Response, hops: tuple[str, ...]) -> None:
        self.address = address
        self.hops = hops
        self.status = response.status
        self.headers = tuple(
            (name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in response.headers
        )
        self._response = response

    def header(self, name: str) -> str:
        """The first header of this name, or nothing."""
        return next((value for found, value in self.headers if found == name), "")

    async def chunks(self, limit: int) -> AsyncIterator[bytes]:
        """The body, unpacked. Raises WebFailure when it is longer than `limit`."""
        promised = self.header("content-length")
        if promised.isdecimal() and int(promised) > limit:
            raise _too_large(limit)
        given = 0
        inflating = Inflating(self.header("content-encoding"))
        async for data in self._response.aiter_stream():
            for piece in inflating.open(data):
                given += len(piece)
                if given > limit:
                    raise _too_large(limit)
                yield piece

    async def beginning(self, limit: int) -> tuple[bytes, bool]:
        """The body up to `limit`, and whether that is all of it."""
        held = bytearray()
        inflating = Inflating(self.header("content-encoding"))
        async for data in self._response.aiter_stream():
            for piece in inflating.open(data):
                held += piece
                if len(held) > limit:
                    return bytes(held[:limit]), False
        return bytes(held), True


class WebClient:
    """Visits addresses within limits. `allowed` of the access are the private places that may be visited."""

    def __init__(
        self,
        access: WebAccess,
        *,
        limits: Limits | None = None,
        resolve: Resolve = resolve_by_system,
        dial: Dial | None = None,
        trust: ssl.SSLContext | None = None,
    ) -> None:
        self._allowed = access.allowed
        self._agent = access.user_agent or f"hermes-harness/{__version__}"
        self._limits = limits or Limits()
        self._resolve = resolve
        self._dial = dial or _dial
        self._trust = trust

    @contextlib.asynccontextmanager
    async def visit(self, request: WebRequest) -> AsyncIterator[Reply]:
        """The answer to a request, redirects followed; the connection closes with the block."""
        import httpcore

        wanted = _checked(request)
        try:
            async with asyncio.timeout(self._limits.seconds), contextlib.AsyncExitStack() as connections:
                yield await self._follow(wanted, connections)
        except TimeoutError as error:
            raise WebFailure(
                "timeout", f"no whole answer within {self._limits.seconds:g} seconds", transient=True
            ) from error
        except httpcore.ProtocolError as error:
            raise WebFailure("broken_reply", f"the answer is not proper HTTP: {one_line(str(error))}") from error
        except (httpcore.NetworkError, httpcore.TimeoutException) as error:
            raise WebFailure("connection", f"the connection broke: {one_line(str(error))}", transient=True) from error

    async def _follow(self, request: WebRequest, connections: contextlib.AsyncExitStack) -> Reply:
        address = check(request.url)
        hops: list[str] = []
        while True:
            response = await self._ask(address, request, connections)
            hops.append(address.url)
            location = _location(response)
            if response.status not in _REDIRECTS or not location:
                return Reply(address, response, tuple(hops))
            if len(hops) > self._limits.redirects:
                raise WebFailure(
                    "redirects", f"more than {self._limits.redirects} redirects; the last to {address.host}"
                )
            target = follow(address, location)
            request = _redirected(request, response.status, address, target)
            address = target
            await connections.aclose()

    async def _ask(
        self, address: Address, request: WebRequest, connections: contextlib.AsyncExitStack
    ) -> httpcore.Response:
        import httpcore

        numbers = await resolve_public(address, self._allowed, self._resolve)
        stream = await self._connected(address, numbers[: self._limits.numbers])
        connections.push_async_callback(stream.aclose)
        host = address.host.encode()
        origin = httpcore.Origin(address.scheme.encode(), host, address.port)
        connection = httpcore.AsyncHTTP11Connection(origin, stream)
        return await connection.handle_async_request(
            httpcore.Request(
                request.method,
                httpcore.URL(scheme=origin.scheme, host=host, port=address.port, target=address.target),
                headers=self._headers(address, request),
                content=request.body or None,
            )
        )

    async def _connected(self, address: Address, numbers: Sequence[str]) -> httpcore.AsyncNetworkStream:
        import httpcore

        reason = ""
        for number in numbers:
            try:
                stream = await self._dial(number, address.port, self._limits.connect_seconds)
                if address.scheme == "http":
                    return stream
                trust = self._trust or _trust()
                return await stream.start_tls(trust, address.host, self._limits.connect_seconds)
            except (httpcore.NetworkError, httpcore.TimeoutException) as error:
                reason = one_line(str(error)) or type(error).__name__
        raise WebFailure("connection", f"{address.host} cannot be reached: {reason}", transient=True)

    def _headers(self, address: Address, request: WebRequest) -> list[tuple[str, str]]:
        given = {name.lower() for name, _ in request.headers}
        usual = {
            "User-Agent": self._agent,
            "Accept": "text/html,application/xhtml+xml,application/json;q=0.9,text/*;q=0.9,*/*;q=0.5",
            "Accept-Encoding": "gzip, deflate",
        }
        headers = [("Host", address.authority), ("Connection", "close")]
        headers += [(name, value) for name, value in usual.items() if name.lower() not in given]
        headers += request.headers
        if request.body or request.method not in _BARE:
            headers.append(("Content-Length", str(len(request.body))))
        return headers


async def _dial(number: str, port: int, seconds: float) -> httpcore.AsyncNetworkStream:
    import httpcore

    return await httpcore.AnyIOBackend().connect_tcp(number, port, timeout=seconds)


@functools.lru_cache(maxsize=1)
def _trust() -> ssl.SSLContext:
    """The authorities this machine trusts, and those every browser does."""
    import certifi

    trust = ssl.create_default_context()
    trust.load_verify_locations(certifi.where())
    return trust


def _checked(request: WebRequest) -> WebRequest:
    method = request.method.upper()
    if method not in _METHODS:
        raise WebFailure("bad_argument", f"the method is one of {', '.join(sorted(_METHODS))}")
    for name, value in request.headers:
        if not _TOKEN.fullmatch(name) or name.lower() in _OURS or name.lower().startswith("proxy-"):
            raise WebFailure("bad_argument", f"the header {one_line(name, 40)!r} cannot be set")
        if not value.isprintable() or not _latin(value):
            raise WebFailure("bad_argument", f"the header {name!r} holds characters that a header cannot hold")
    if request.body and method in _BARE:
        raise WebFailure("bad_argument", f"{method} has no body")
    return msgspec.structs.replace(request, method=method)


def _latin(value: str) -> bool:
    try:
        value.encode("latin-1")
    except UnicodeEncodeError:
        return False
    return True


def _location(response: httpcore.Response) -> str:
    found = next((value for name, value in response.headers if name.lower() == b"location"), b"")
    return found.decode("utf-8", "replace")


def _redirected(request: WebRequest, status: int, origin: Address, target: Address) -> WebRequest:
    """The request for the next hop. What was meant for one host does not go to another, least of all a body."""
    keeps_method = status in (307, 308) or request.method in _BARE
    headers = request.headers
    if not origin.same_origin(target):
        if keeps_method and request.method not in _BARE:
            raise WebFailure("redirected", f"{origin.host} passes this on to {target.host}; call that address to agree")
        headers = tuple(pair for pair in headers if pair[0].lower() in _TRAVELS)
    if keeps_method:
        return msgspec.structs.replace(request, headers=headers)
    headers = tuple(pair for pair in headers if pair[0].lower() != "content-type")
    return msgspec.structs.replace(request, method="GET", headers=headers, body=b"")


def _too_large(limit: int) -> WebFailure:
    return WebFailure("too_large", f"the body is larger than {limit} bytes")

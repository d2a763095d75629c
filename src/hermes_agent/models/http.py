"""One HTTP client per event loop, shared by all providers, and the reading of server-sent events."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import AsyncIterator
from email.utils import parsedate_to_datetime

from ..types.errors import ConfigError
from .lean_httpx import httpx

_clients: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, dict[bool, httpx.AsyncClient]]
_clients = weakref.WeakKeyDictionary()
_LONGEST_ERROR = 64 * 1024
_LONGEST_EVENT = 16 * 1024 * 1024
_LONGEST_STREAM = 256 * 1024 * 1024


def http_client(url: str) -> httpx.AsyncClient:
    """The client for this loop. Certificates are loaded only when a URL needs them."""
    secure = not url.startswith("http://")
    clients = _clients.setdefault(asyncio.get_running_loop(), {})
    if secure not in clients:
        limits = httpx.Limits(max_connections=100, max_keepalive_connections=20)
        try:
            clients[secure] = httpx.AsyncClient(verify=secure, limits=limits)
        except (OSError, ValueError, httpx.InvalidURL) as error:
            remedy = "check SSL_CERT_FILE and the proxy variables of the environment"
            raise ConfigError(f"no connection can be set up: {error}", remedy=remedy) from error
    return clients[secure]


async def close_clients() -> None:
    """Close this loop's clients."""
    for client in _clients.pop(asyncio.get_running_loop(), {}).values():
        await client.aclose()


async def beginning(response: httpx.Response) -> bytes:
    """As much of a body as an error message needs, however much comes."""
    body = b""
    async for part in response.aiter_bytes():
        body += part
        if len(body) >= _LONGEST_ERROR:
            break
    return body


def retry_after(response: httpx.Response) -> float | None:
    """The seconds an endpoint asks to wait. A date is read against the endpoint's own clock."""
    wish = response.headers.get("retry-after", "")
    try:
        return max(0.0, float(wish))
    except ValueError:
        pass
    try:
        wait = parsedate_to_datetime(wish) - parsedate_to_datetime(response.headers.get("date", ""))
        return max(0.0, wait.total_seconds())
    except (ValueError, TypeError):
        return None


class BrokenStream(ValueError):
    """The event stream is not one."""


async def server_sent_events(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The data of each event, however the bytes were cut into chunks. An unfinished last event is dropped.

    Chunks are joined only when a line ends, so that a long line costs its length once.
    """
    unfinished: list[bytes] = []
    data: list[bytes] = []
    event = stream = 0
    async for chunk in chunks:
        event += len(chunk)
        stream += len(chunk)
        unfinished.append(chunk)
        if b"\n" in chunk:
            *lines, rest = b"".join(unfinished).split(b"\n")
            unfinished = [rest]
            for line in lines:
                line = line.rstrip(b"\r")
                if line.startswith(b"data:"):
                    data.append(line[5:].removeprefix(b" "))
                elif not line:
                    event = len(rest)
                    if data:
                        yield b"\n".join(data)
                        data.clear()
        if event > _LONGEST_EVENT or stream > _LONGEST_STREAM:
            raise BrokenStream("an event or the whole stream is longer than any answer")

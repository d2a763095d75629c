"""One HTTP client per event loop, shared by all providers, and the reading of server-sent events."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import AsyncIterator

import httpx

_clients: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, dict[bool, httpx.AsyncClient]]
_clients = weakref.WeakKeyDictionary()
_LONGEST_EVENT = 16 * 1024 * 1024


def http_client(url: str) -> httpx.AsyncClient:
    """The client for this loop. Certificates are loaded only when a URL needs them."""
    secure = not url.startswith("http://")
    clients = _clients.setdefault(asyncio.get_running_loop(), {})
    if secure not in clients:
        limits = httpx.Limits(max_connections=100, max_keepalive_connections=20)
        clients[secure] = httpx.AsyncClient(verify=secure, limits=limits)
    return clients[secure]


async def close_clients() -> None:
    """Close this loop's clients."""
    for client in _clients.pop(asyncio.get_running_loop(), {}).values():
        await client.aclose()


class BrokenStream(ValueError):
    """The event stream is not one."""


async def server_sent_events(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The data of each event, however the bytes were cut into chunks. An unfinished last event is dropped."""
    buffer = b""
    data: list[bytes] = []
    async for chunk in chunks:
        buffer += chunk
        if len(buffer) > _LONGEST_EVENT:
            raise BrokenStream(f"an event is longer than {_LONGEST_EVENT} bytes")
        *lines, buffer = buffer.split(b"\n")
        for line in lines:
            line = line.rstrip(b"\r")
            if line.startswith(b"data:"):
                data.append(line[5:].removeprefix(b" "))
            elif not line and data:
                yield b"\n".join(data)
                data.clear()

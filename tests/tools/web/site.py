"""A web server that says exactly what a test tells it to, proper HTTP or not."""

import asyncio
import contextlib
import socket
import ssl
import threading
from collections.abc import Awaitable, Callable
from types import TracebackType

from hermes_agent.types.base import Value

Speak = Callable[[asyncio.StreamWriter], Awaitable[None]]


class Asked(Value, frozen=True, kw_only=True):
    """One request as it arrived."""

    line: str
    headers: tuple[tuple[str, str], ...]
    body: bytes = b""

    def header(self, name: str) -> str:
        return next((value for key, value in self.headers if key.lower() == name.lower()), "")


class Site:
    """Serves on 127.0.0.1 in a thread of its own until the block ends."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.asked: list[Asked] = []
        self.connections = 0
        self._answers: dict[str, bytes | Speak] = {}
        self._tls = tls
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self.port = 0

    def __enter__(self) -> "Site":
        self._thread.start()
        self._server = asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result()
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @property
    def place(self) -> str:
        return f"127.0.0.1:{self.port}"

    def url(self, path: str = "/") -> str:
        return f"http://{self.place}{path}"

    def page(
        self,
        path: str,
        body: str | bytes,
        *headers: str,
        kind: str = "text/html; charset=utf-8",
        status: str = "200 OK",
    ) -> str:
        """Answer `path` properly; gives its address."""
        data = body.encode() if isinstance(body, str) else body
        head = [f"HTTP/1.1 {status}", f"Content-Length: {len(data)}", *headers]
        if kind:
            head.append(f"Content-Type: {kind}")
        return self.raw(path, "\r\n".join(head).encode() + b"\r\n\r\n" + data)

    def redirect(self, path: str, location: str, status: str = "302 Found") -> str:
        return self.page(path, "", f"Location: {location}", status=status)

    def raw(self, path: str, answer: bytes | Speak) -> str:
        """Answer `path` with these bytes, or by speaking."""
        self._answers[path] = answer
        return self.url(path)

    async def _listen(self) -> asyncio.Server:
        return await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._tls)

    async def _close(self) -> None:
        self._server.close()
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            asked = await _request(reader)
            self.asked.append(asked)
            target = asked.line.split(" ")[1]
            found = self._answers.get(target, self._answers.get(target.partition("?")[0]))
            if found is None:
                found = b"HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nContent-Length: 7\r\n\r\nnothing"
            if isinstance(found, bytes):
                writer.write(found)
                await writer.drain()
            else:
                await found(writer)
            writer.close()
            await writer.wait_closed()


async def _request(reader: asyncio.StreamReader) -> Asked:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    line, *rest = head.strip().split("\r\n")
    headers = tuple((name, value.strip()) for name, _, value in (each.partition(":") for each in rest))
    asked = Asked(line=line, headers=headers)
    length = int(asked.header("content-length") or 0)
    return Asked(line=line, headers=headers, body=await reader.readexactly(length) if length else b"")

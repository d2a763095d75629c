"""The gate by itself: what it asks for, what it refuses, and what it carries."""

import asyncio
import base64
from collections.abc import Awaitable, Callable, Sequence
from http.server import BaseHTTPRequestHandler

import pytest

from hermes_agent.tools.browser.gate import Gate, GateLimits, Refusal
from tests.tools.browser.site import Site, reply

Talk = Callable[[Gate, "Line"], Awaitable[None]]


class Line:
    """A client's side of the gate."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    def secret(self, password: str = "") -> str:
        text = base64.b64encode(f"{self._gate.user}:{password or self._gate.password}".encode()).decode()
        return f"Proxy-Authorization: Basic {text}\r\n"

    async def say(self, request: str, more: bytes = b"") -> bytes:
        """Everything the gate answers to a request until it hangs up."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self._gate.port)
        try:
            writer.write(request.encode() + more)
            return await asyncio.wait_for(reader.read(), 20)
        except ConnectionResetError:
            return b""
        finally:
            writer.close()


def through(
    talk: Talk, *, allowed: Sequence[str] = (), limits: GateLimits | None = None, **names: Sequence[str]
) -> None:
    """Run `talk` with a gate that knows the addresses in `names`."""

    async def resolve(host: str, port: int) -> Sequence[str]:
        found = names.get(host.replace(".", "_"))
        if not found:
            raise OSError("no such name")
        return found

    async def main() -> None:
        gate = Gate(allowed, resolve, limits)
        await gate.start()
        try:
            await talk(gate, Line(gate))
        finally:
            await gate.close()

    asyncio.run(main())


@pytest.mark.req("A4")
def test_without_the_secret_of_the_launch_nothing_passes(site: Site) -> None:
    async def talk(gate: Gate, line: Line) -> None:
        for header in ("", line.secret("wrong"), "Proxy-Authorization: Basic ~~~\r\n", "Proxy-Authorization: x\r\n"):
            answer = await line.say(f"GET {site.url('/open')} HTTP/1.1\r\n{header}\r\n")
            assert answer.startswith(b"HTTP/1.1 407 ") and b'Proxy-Authenticate: Basic realm="browser"' in answer
        assert site.requests("/open") == []

    through(talk, allowed=[site.place])


def test_a_request_is_carried_without_what_is_the_gates_own(site: Site) -> None:
    headers: list[dict[str, str]] = []

    def answer(handler: BaseHTTPRequestHandler) -> None:
        headers.append(dict(handler.headers))
        reply(handler, 200, "hello")

    site.pages["/plain"] = answer

    async def talk(gate: Gate, line: Line) -> None:
        request = (
            f"POST {site.url('/plain?a=1|2')} HTTP/1.1\r\nHost: {site.place}\r\n{line.secret()}"
            "Proxy-Connection: keep-alive\r\nConnection: keep-alive\r\nContent-Length: 4\r\n\r\n"
        )
        answer = await line.say(request, b"bodyGET http://evil.example/ HTTP/1.1\r\n\r\n")
        assert (
            answer.startswith(b"HTTP/1.1 200 ") and answer.endswith(b"\r\n\r\nhello") and b"Connection: close" in answer
        )
        assert headers == [{"Host": site.place, "Content-Length": "4", "Connection": "close"}]
        assert site.requests("/plain") == [("POST", "/plain?a=1|2", "body")]

    through(talk, allowed=[site.place])


def test_a_tunnel_carries_both_ways(site: Site) -> None:
    site.pages["/tunnel"] = "through"

    async def talk(gate: Gate, line: Line) -> None:
        inner = b"GET /tunnel HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        answer = await line.say(f"CONNECT {site.place} HTTP/1.1\r\n{line.secret()}\r\n", inner)
        assert answer.startswith(b"HTTP/1.1 200 Connection established\r\n\r\nHTTP/1.1 200 ") and b"through" in answer

    through(talk, allowed=[site.place])


@pytest.mark.req("A4", "B5")
def test_private_addresses_are_refused_and_told(site: Site) -> None:
    async def talk(gate: Gate, line: Line) -> None:
        for _ in range(2):
            assert await line.say(f"GET {site.url('/never')} HTTP/1.1\r\n{line.secret()}\r\n") == b""
        tunnel = await line.say(f"CONNECT trick.example:443 HTTP/1.1\r\n{line.secret()}\r\n")
        assert tunnel.startswith(b"HTTP/1.1 502 ")
        assert [(refusal.place, refusal.reason, refusal.times) for refusal in gate.taken()] == [
            (site.place, "127.0.0.1 is not public (loopback)", 2),
            ("trick.example:443", "trick.example leads to 10.1.2.3, which is not public (private)", 1),
        ]
        assert gate.taken() == [] and site.requests("/never") == []

    through(talk, trick_example=["10.1.2.3"])


def test_a_name_that_changes_its_mind_is_asked_once_and_its_first_answer_is_dialled(site: Site) -> None:
    """The classic: public at the check, private at the connection."""
    asked: list[str] = []

    async def resolve(host: str, port: int) -> Sequence[str]:
        asked.append(host)
        return ["192.0.2.1"] if len(asked) == 1 else ["127.0.0.1"]

    async def main() -> list[Refusal]:
        gate = Gate([], resolve)
        await gate.start()
        port = site.place.partition(":")[2]
        line = Line(gate)
        first = await line.say(f"GET http://turn.example:{port}/rebound HTTP/1.1\r\n{line.secret()}\r\n")
        second = await line.say(f"GET http://turn.example:{port}/rebound HTTP/1.1\r\n{line.secret()}\r\n")
        assert (first, second) == (b"", b"")
        await gate.close()
        return gate.taken()

    assert [refusal.times for refusal in asyncio.run(main())] == [2]
    assert asked == ["turn.example"] * 2 and site.requests("/rebound") == []


def test_an_allowed_name_is_dialled_at_the_number_that_was_checked(site: Site) -> None:
    site.pages["/named"] = "named"
    port = site.place.partition(":")[2]

    async def talk(gate: Gate, line: Line) -> None:
        answer = await line.say(f"GET http://home.example:{port}/named HTTP/1.1\r\n{line.secret()}\r\n")
        assert answer.endswith(b"named")

    through(talk, allowed=[f"home.example:{port}"], home_example=["127.0.0.2", "127.0.0.1"])


@pytest.mark.parametrize(
    "request_line",
    [
        "GET / HTTP/1.1",
        "GET https://example.com/ HTTP/1.1",
        "GET file:///etc/passwd HTTP/1.1",
        "GET http://user@127.0.0.1/ HTTP/1.1",
        "GET http:///x HTTP/1.1",
        "CONNECT 127.0.0.1 HTTP/1.1",
        "CONNECT [::1]:443 HTTP/1.1",
        "CONNECT 0x7f000001:80 HTTP/1.1",
        "CONNECT :443 HTTP/1.1",
        "CONNECT a:b:c HTTP/1.1",
        "nonsense",
        "GET http://127.0.0.1:99999/ HTTP/1.1",
    ],
)
def test_strange_requests_reach_nobody(request_line: str) -> None:
    async def talk(gate: Gate, line: Line) -> None:
        answer = await line.say(f"{request_line}\r\n{line.secret()}\r\n")
        assert answer[:12] in (b"", b"HTTP/1.1 400", b"HTTP/1.1 502")

    through(talk)


def test_bodies_and_answers_that_could_be_read_in_two_ways_are_cut(site: Site) -> None:
    site.pages["/body"] = "read"

    async def talk(gate: Gate, line: Line) -> None:
        start = f"POST {site.url('/body')} HTTP/1.1\r\n{line.secret()}"
        for headers in (
            "Transfer-Encoding: chunked\r\n",
            "Content-Length: 1\r\nContent-Length: 2\r\n",
            "Content-Length: x\r\n",
        ):
            assert await line.say(f"{start}{headers}\r\n", b"0\r\n\r\n") == b""
        assert await line.say(f"{start}: nameless\r\n\r\n") == b""
        assert await line.say(f"{start}X: {'y' * 70000}\r\n\r\n") == b""
        assert site.requests("/body") == []

    through(talk, allowed=[site.place])


def test_limits_on_size_and_number_hold(site: Site) -> None:
    site.pages["/large"] = "x" * 300_000

    async def talk(gate: Gate, line: Line) -> None:
        answer = await line.say(f"GET {site.url('/large')} HTTP/1.1\r\n{line.secret()}\r\n")
        assert len(answer) < 250_000
        waiting = [await asyncio.open_connection("127.0.0.1", gate.port) for _ in range(2)]
        await asyncio.sleep(0.05)
        assert await line.say(f"GET {site.url('/large')} HTTP/1.1\r\n{line.secret()}\r\n") == b""
        for _, writer in waiting:
            writer.close()

    through(talk, allowed=[site.place], limits=GateLimits(connections=2, answer_bytes=100_000))


def test_a_slow_head_and_an_unknown_name_end(site: Site) -> None:
    async def talk(gate: Gate, line: Line) -> None:
        assert await line.say("GET http://example.com/ HTT") == b""
        assert await line.say(f"GET http://unknown.example/ HTTP/1.1\r\n{line.secret()}\r\n") == b""
        assert gate.trouble("unknown.example:80") == "unknown.example could not be resolved: no such name"
        assert gate.taken() == []

    through(talk, limits=GateLimits(head_seconds=0.1))

"""One request to a memory service: everything that can go wrong on the way becomes a MemoryFailed."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

import msgspec

from ..safety.urls import AddressRefused, check
from ..types.errors import ConfigError
from ..types.text import clean, head_and_tail, one_line
from .external import MemoryFailed, ProviderOptions, Recalled, Said

LONGEST_ANSWER = 1_000_000
LONGEST_MESSAGE = 20_000
SECONDS = 15.0
_HIGHEST_SCORE = 1e12
_HEADER = re.compile(r"[A-Za-z0-9-]+")


class Service:
    """A service behind one address. `headers` go with every request; a redirect is not followed, for it would carry
    the key and the user's words somewhere else."""

    def __init__(self, options: ProviderOptions, headers: Mapping[str, str], address: str = "") -> None:
        self.name = options.name
        self.address = address_of(options, address)
        self._key_name = options.key_name
        for name, value in headers.items():
            if not _HEADER.fullmatch(name) or not (value.isascii() and value.isprintable()):
                remedy = f"check memory.options and {options.key_name}"
                raise ConfigError(f"memory: the header {one_line(name, 40)!r} cannot be sent", remedy=remedy)
        self._headers = {
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            "Content-Type": "application/json",
            **headers,
        }

    async def ask(self, method: str, path: str, body: Any = None) -> Any:
        """The decoded answer to one request; None for an empty one. Raises MemoryFailed."""
        from ..models.http import http_client
        from ..models.lean_httpx import httpx

        url = path if path.startswith(("http://", "https://")) else self.address + path
        content = None if body is None else msgspec.json.encode(body)
        try:
            async with http_client(url).stream(
                method, url, content=content, headers=self._headers, timeout=httpx.Timeout(SECONDS, connect=5.0)
            ) as response:
                data = await self._read(response)
        except httpx.TimeoutException as error:
            raise MemoryFailed(f"{self.name}: {self.address} did not answer in time") from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            said = one_line(str(error)) or type(error).__name__
            raise MemoryFailed(f"{self.name}: {self.address}: {said}") from error
        return self._decoded(response.status_code, data)

    async def _read(self, response: Any) -> bytes:
        """The body as it was sent. A packed one is refused: it could unfold into more than memory holds."""
        packed = response.headers.get("content-encoding", "identity").lower()
        if packed != "identity":
            raise MemoryFailed(f"{self.name}: the answer is packed ({one_line(packed, 20)}), which was not asked for")
        data = bytearray()
        async for part in response.aiter_raw():
            data += part
            if len(data) > LONGEST_ANSWER:
                raise MemoryFailed(f"{self.name}: the answer is longer than {LONGEST_ANSWER} bytes")
        return bytes(data)

    def _decoded(self, status: int, data: bytes) -> Any:
        try:
            document = msgspec.json.decode(data) if data.strip() else None
            readable = True
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            document, readable = None, False
        if not 200 <= status < 300:
            raise self._refusal(status, document)
        if not readable:
            shown = one_line(clean(data[:400].decode("utf-8", "replace")), 80)
            remedy = "check memory.address: something else may be listening there"
            raise MemoryFailed(f"{self.name}: the answer is no JSON: {shown}", remedy=remedy)
        return document

    def _refusal(self, status: int, document: Any) -> MemoryFailed:
        said = _words(document)
        message = f"{self.name}: {status} from {self.address}" + (f": {said}" if said else "")
        match status:
            case 401 | 403:
                return MemoryFailed(message, remedy=f"check {self._key_name}")
            case 404:
                return MemoryFailed(message, remedy="check memory.address and memory.options")
            case 429:
                return MemoryFailed(message, remedy="the service asks to wait; it is left alone for a while")
            case _ if 300 <= status < 400:
                return MemoryFailed(message, remedy="put the address that it redirects to into memory.address")
            case _:
                return MemoryFailed(message)


async def trouble(question: Awaitable[object]) -> str:
    """Empty when a question is answered, else why not: what a provider's `check` says."""
    try:
        await question
    except MemoryFailed as failed:
        return failed.explain()
    return ""


def address_of(options: ProviderOptions, usual: str = "") -> str:
    """The configured address, else the provider's usual one, without a slash at its end. Only http and https."""
    text = options.address or usual
    if not text:
        raise ConfigError(
            f"{options.name} needs an address", remedy="`hermes config set memory.address https://HOST[:PORT]`"
        )
    try:
        address = check(text)
    except AddressRefused as refused:
        raise ConfigError(f"memory.address: {refused}", remedy="give an http or https address") from refused
    if "?" in address.target:
        raise ConfigError("memory.address holds a question mark", remedy="give the address without parameters")
    return address.url.rstrip("/")


def key_of(options: ProviderOptions, hosted: str) -> str:
    """The key, which a hosted service always asks for; a server of one's own may do without (`hosted` empty)."""
    key = options.key
    if not key and hosted and (not options.address or options.address.rstrip("/") == hosted):
        raise ConfigError(
            f"{options.name} needs a key", remedy=f"set {options.key_name}, or memory.address for a server of your own"
        )
    if not key.isascii() or not key.isprintable():
        raise ConfigError("the key holds characters that no key has", remedy=f"check {options.key_name}")
    return key


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"} if key else {}


def segment(text: str) -> str:
    """A name as one piece of a path, whatever is in it."""
    return quote(text, safe="").replace(".", "%2E") if set(text) <= {"."} else quote(text, safe="")


def as_messages(messages: Sequence[Said]) -> list[dict[str, str]]:
    """Messages as most services want them, each cut to what they take."""
    return [{"role": role, "content": head_and_tail(text, LONGEST_MESSAGE)} for role, text in messages]


def as_text(messages: Sequence[Said]) -> str:
    """Messages as one text, each with its speaker: never a bare address, which some services would go and fetch."""
    return "\n\n".join(f"{role}: {head_and_tail(text, LONGEST_MESSAGE)}" for role, text in messages)


def at(document: Any, path: str) -> Any:
    """What lies at a dotted path, such as `data.items`; None where the document has another shape."""
    for name in filter(None, path.split(".")):
        match document:
            case dict():
                document = document.get(name)
            case list() if name.isdecimal() and int(name) < len(document):
                document = document[int(name)]
            case _:
                return None
    return document


def found(items: Any, name: str, *, text: str, score: str = "", origin: str = "id") -> list[Recalled]:
    """The items of an answer as what was recalled; an item without text is passed over, anything but a list of items is
    a failure: silence would look like an empty memory."""
    if not isinstance(items, list):
        raise MemoryFailed(f"{name}: the answer has another shape than expected", remedy="check memory.address")
    recalled: list[Recalled] = []
    for item in items:
        words = at(item, text)
        if isinstance(words, str) and words.strip():
            weight = at(item, score) if score else 0.0
            sure = isinstance(weight, int | float) and not isinstance(weight, bool) and abs(weight) < _HIGHEST_SCORE
            place = at(item, origin) if isinstance(item, dict) else ""
            recalled.append(
                Recalled(
                    text=clean(words),
                    score=float(weight) if sure else 0.0,
                    origin=one_line(place) if isinstance(place, str) else "",
                )
            )
    return recalled


def _words(document: Any) -> str:
    """A service's own words about an error, in whichever of the usual shapes."""
    for path in ("error.message", "message", "detail", "error", "err"):
        said = at(document, path)
        if isinstance(said, str) and said.strip():
            return one_line(clean(said), 200)
    return ""

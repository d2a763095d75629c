"""Addresses on the web that may be visited: public ones, and the private ones a user has named.

An address is read once, strictly, into its parts; a host is resolved once, and whoever connects uses exactly the
numbers that were checked here. Two readers can then not understand the same text differently, and a name server that
answers differently the second time is not asked a second time.
"""

from __future__ import annotations

import asyncio
import re
import socket
import threading
from collections.abc import Collection, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Protocol
from urllib.parse import quote, urljoin

from ..types.base import Value
from ..types.errors import HermesError, PermissionRefused
from ..types.text import one_line

PORTS = {"http": 80, "https": 443}
_LONGEST = 8_192
_LONGEST_HOST = 253
_SPLIT = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(.*)", re.DOTALL)
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0[xX][0-9a-fA-F]*")
_PLAIN_IPV4 = re.compile(r"(?:0|[1-9][0-9]{0,2})(?:\.(?:0|[1-9][0-9]{0,2})){3}")
_UNSEEN = re.compile(r"[\x00-\x1f\x7f]")
_KEPT = "!#$%&'()*+,/:;=?@[]~"
_ASK = "give a public http or https address"
_ALLOW = "a private host can be allowed by its owner: add HOST:PORT to web.allowed in the configuration"

_IPV4 = {
    IPv4Network(text): meaning
    for text, meaning in {
        "0.0.0.0/8": "this machine",
        "10.0.0.0/8": "private",
        "100.64.0.0/10": "shared by a provider",
        "127.0.0.0/8": "loopback",
        "168.63.129.16/32": "metadata",
        "169.254.0.0/16": "link-local",
        "172.16.0.0/12": "private",
        "192.0.0.0/24": "reserved",
        "192.0.2.0/24": "reserved",
        "192.52.193.0/24": "reserved",
        "192.88.99.0/24": "reserved",
        "192.168.0.0/16": "private",
        "198.18.0.0/15": "reserved",
        "198.51.100.0/24": "reserved",
        "203.0.113.0/24": "reserved",
        "224.0.0.0/4": "multicast",
        "240.0.0.0/4": "reserved",
    }.items()
}
_IPV6 = {
    IPv6Network(text): meaning
    for text, meaning in {
        "::/128": "this machine",
        "::1/128": "loopback",
        "fc00::/7": "private",
        "fe80::/10": "link-local",
        "fec0::/10": "private",
        "ff00::/8": "multicast",
        "2001::/32": "a Teredo tunnel",
        "2001::/23": "reserved",
        "2001:db8::/32": "reserved",
        "2002::/16": "a 6to4 tunnel",
        "3ffe::/16": "reserved",
        "3fff::/20": "reserved",
    }.items()
}
_GLOBAL = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")
_ISATAP = (0x00005EFE, 0x02005EFE)
_OWN = frozenset({"private", "loopback", "shared by a provider"})

# Behind other ports listen protocols that obey lines of an HTTP request; browsers refuse them too.
_LOW_PORTS = frozenset({80, 81, 82, 443, 444, 591, 800, 808, 880, 888})
_OTHER_PROTOCOLS = frozenset({1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6379, 6566, 10080, 11211})
_CHAT_PORTS = range(6665, 6698)


class AddressRefused(PermissionRefused):
    """An address that must not be visited, or that no two readers would understand alike."""

    remedy = _ASK


class HostUnknown(HermesError):
    """A name that nothing answers to right now."""

    remedy = "check the spelling, or try again later"


class Address(Value, frozen=True, kw_only=True):
    """An address in parts. `host` is ASCII: a lower-case name, punycode for other alphabets, or a plain number.

    `target` is the path with its query, ready to be sent. There is no user, no password and no fragment.
    """

    scheme: str
    host: str
    port: int
    target: str

    @property
    def place(self) -> str:
        """HOST:PORT, as in `WebAccess.allowed`."""
        return f"{_bracketed(self.host)}:{self.port}"

    @property
    def authority(self) -> str:
        """What belongs in the Host header: the port only where it is not the usual one."""
        return _bracketed(self.host) if self.port == PORTS[self.scheme] else self.place

    @property
    def url(self) -> str:
        """The whole address in its one spelling."""
        return f"{self.scheme}://{self.authority}{self.target}"

    def same_origin(self, other: Address) -> bool:
        """Whether both are served by the same program as far as the address tells."""
        return (self.scheme, self.host, self.port) == (other.scheme, other.host, other.port)


class Resolve(Protocol):
    """The numbers of a host. Raises OSError when there are none."""

    async def __call__(self, host: str, port: int) -> Sequence[str]: ...


def check(url: str) -> Address:
    """The parts of `url`. Raises AddressRefused for everything but a plain http or https address.

    Only the text is judged here; where a name leads is known after `resolve_public`.
    """
    text = url.strip(" ")
    if len(text) > _LONGEST:
        raise AddressRefused(f"the address is longer than {_LONGEST} characters")
    if _UNSEEN.search(text):
        raise AddressRefused("the address holds a line break or another control character")
    found = _SPLIT.fullmatch(text)
    scheme = found[1].lower() if found else ""
    if found is None or scheme not in PORTS:
        raise AddressRefused(f"{one_line(text, 60)!r} is no http or https address")
    if not found[2].startswith("//"):
        raise AddressRefused(f"{one_line(text, 60)!r} names no host: two slashes belong behind the colon")
    authority, target = _parted(found[2][2:])
    if "@" in authority:
        raise AddressRefused("the address holds a user or a password", remedy="leave out everything before the @")
    host, port = _host_and_port(authority, PORTS[scheme])
    return Address(scheme=scheme, host=host, port=port, target=_target(target))


def follow(base: Address, location: str) -> Address:
    """Where a link or a redirect of `base` leads, checked like any other address."""
    if _UNSEEN.search(location.strip()):
        raise AddressRefused("the redirect holds a line break or another control character")
    try:
        return check(urljoin(base.url, location.strip()))
    except ValueError as error:
        raise AddressRefused(f"{one_line(location, 60)!r} is no usable address") from error


def check_host(text: str) -> str:
    """A host in its one spelling: a plain IPv4 number, an IPv6 number without brackets, or an ASCII name."""
    if text.startswith("["):
        return _ipv6(text)
    if "%" in text:
        raise AddressRefused("the host is percent-encoded", remedy="write the host plainly")
    name = text if text.isascii() else _ascii_name(text)
    name = name.lower().removesuffix(".")
    if not name:
        raise AddressRefused("the address names no host")
    if _NUMBER.fullmatch(name.rpartition(".")[2]):
        if not _PLAIN_IPV4.fullmatch(name):
            raise AddressRefused(f"{one_line(text, 60)!r} is an unusual spelling of a number; write four decimals")
        try:
            return str(IPv4Address(name))
        except ValueError as error:
            raise AddressRefused(f"{name!r} is no address") from error
    if len(name) > _LONGEST_HOST or not all(_LABEL.fullmatch(label) for label in name.split(".")):
        raise AddressRefused(f"{one_line(text, 60)!r} is no name of a host")
    return name


def not_public(number: str) -> str:
    """What a resolved number is, if it is not a public address; empty for a public one."""
    try:
        address = ip_address(number)
    except ValueError:
        return "no address"
    if isinstance(address, IPv6Address):
        return _not_public_ipv6(address)
    return next((meaning for network, meaning in _IPV4.items() if address in network), "")


async def resolve_by_system(host: str, port: int) -> Sequence[str]:
    """The numbers of `host` as this machine resolves names.

    In a daemon thread: a name server that does not answer holds up neither the loop nor the exit.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[list[str]] = loop.create_future()

    def settle(numbers: list[str], error: OSError | None) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(numbers)
        else:
            future.set_exception(error)

    def work() -> None:
        numbers: list[str] = []
        failure: OSError | None = None
        try:
            for *_, place in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
                numbers.append(str(place[0]))
        except (OSError, UnicodeError) as error:
            failure = error if isinstance(error, OSError) else OSError(str(error))
        try:
            loop.call_soon_threadsafe(settle, numbers, failure)
        except RuntimeError:  # the loop ended before the answer came
            return

    threading.Thread(target=work, name="hermes-resolve", daemon=True).start()
    return await future


async def resolve_public(
    address: Address, allowed: Collection[str] = (), resolve: Resolve = resolve_by_system
) -> tuple[str, ...]:
    """The numbers to connect to, and no others. Raises AddressRefused if any of them is not public.

    `allowed` are HOST:PORT pairs that may be private. A name among them may lead into private networks, but to
    link-local and metadata addresses only when the number itself was allowed: such a name would be a trick.
    """
    permitted = address.place in {_place(pair) for pair in allowed}
    if not permitted and not _speaks_http(address.port):
        raise AddressRefused(f"port {address.port} belongs to another protocol", remedy=_ALLOW)
    literal = _is_number(address.host)
    numbers = (address.host,) if literal else await _resolved(address, resolve)
    for number in numbers:
        meaning = not_public(number)
        if meaning and not (permitted and (literal or meaning in _OWN)):
            leads = "" if literal else f" leads to {one_line(number, 60)}, which"
            raise AddressRefused(f"{address.host}{leads} is not public ({meaning})", remedy=_ALLOW)
    return numbers


async def _resolved(address: Address, resolve: Resolve) -> tuple[str, ...]:
    try:
        numbers = tuple(dict.fromkeys(await resolve(address.host, address.port)))
    except OSError as error:
        raise HostUnknown(f"{address.host} could not be resolved: {error.strerror or error}") from error
    if not numbers:
        raise HostUnknown(f"{address.host} has no address")
    return numbers


def _parted(rest: str) -> tuple[str, str]:
    """Authority and the rest. A backslash is a slash to some readers and not to others: refused where it matters."""
    end = next((place for place, char in enumerate(rest) if char in "/?#"), len(rest))
    target = rest[end:].partition("#")[0]
    if "\\" in rest[:end] or "\\" in target.partition("?")[0]:
        raise AddressRefused("the address holds a backslash", remedy="write / or %5C")
    return rest[:end], target


def _host_and_port(authority: str, usual: int) -> tuple[str, int]:
    host, colon, digits = authority.rpartition(":")
    if not colon or authority.endswith("]"):
        host, digits = authority, ""
    if digits and not (digits.isascii() and digits.isdigit() and len(digits) <= 5):
        raise AddressRefused(f"{one_line(digits, 20)!r} is no port")
    port = int(digits) if digits else usual
    if not 0 < port < 65_536:
        raise AddressRefused(f"{port} is no port")
    return check_host(host), port


def _target(text: str) -> str:
    """Path and query as ASCII; what is encoded already stays as it is."""
    path = text if text.startswith("/") else f"/{text}"
    return quote(path.encode("utf-8", "replace"), safe=_KEPT)


def _ipv6(text: str) -> str:
    if not text.endswith("]") or "%" in text:
        raise AddressRefused(f"{one_line(text, 60)!r} is no host", remedy="leave the zone of an IPv6 address out")
    try:
        return IPv6Address(text[1:-1]).compressed
    except ValueError as error:
        raise AddressRefused(f"{one_line(text, 60)!r} is no IPv6 address") from error


def _ascii_name(text: str) -> str:
    """A name in another alphabet as the name server knows it; full-width digits and dots become plain ones."""
    import idna

    try:
        mapped = idna.uts46_remap(text, std3_rules=False, transitional=False)
        return mapped if mapped.isascii() else idna.encode(mapped).decode("ascii")
    except (idna.IDNAError, UnicodeError) as error:
        raise AddressRefused(f"{one_line(text, 60)!r} is no name of a host") from error


def _not_public_ipv6(address: IPv6Address) -> str:
    mapped = address.ipv4_mapped
    if mapped is None and address in _NAT64:
        mapped = IPv4Address(int(address) & 0xFFFFFFFF)
    if mapped is not None:
        return not_public(str(mapped))
    for network, meaning in _IPV6.items():
        if address in network:
            return meaning
    if (int(address) >> 32) & 0xFFFFFFFF in _ISATAP:
        return "an ISATAP tunnel"
    return "" if address in _GLOBAL else "reserved"


def _speaks_http(port: int) -> bool:
    return port in _LOW_PORTS if port < 1024 else port not in _OTHER_PROTOCOLS and port not in _CHAT_PORTS


def _is_number(host: str) -> bool:
    return ":" in host or _PLAIN_IPV4.fullmatch(host) is not None


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _place(pair: str) -> str:
    """An allowed pair in the spelling of `Address.place`; one that cannot be read allows nothing."""
    try:
        host, port = _host_and_port(pair.strip(), 0)
    except AddressRefused:
        return ""
    return f"{_bracketed(host)}:{port}"

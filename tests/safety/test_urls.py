"""Which addresses may be visited, in every spelling there is."""

import asyncio
from collections.abc import Iterator, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_agent.safety.urls import (
    Address,
    AddressRefused,
    HostUnknown,
    check,
    check_host,
    follow,
    not_public,
    resolve_public,
)

RANGES = [
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "168.63.129.16/32",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.52.193.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
]
NAMED = ("127.0.0.1", "169.254.169.254", "192.168.1.1", "10.0.0.1", "0.0.0.0", "255.255.255.255", "100.100.100.200")
FULL_WIDTH = str.maketrans("0123456789", "０１２３４５６７８９")
CIRCLED = str.maketrans("123456789", "①②③④⑤⑥⑦⑧⑨")


def samples() -> Iterator[IPv4Address]:
    yield from map(IPv4Address, NAMED)
    for text in RANGES:
        network = IPv4Network(text)
        yield from (network[0], network[network.num_addresses // 2], network[-1])


def spellings(number: IPv4Address) -> Iterator[str]:
    """One IPv4 number in every way that some reader understands."""
    plain, value = str(number), int(number)
    one, two, three, four = number.packed
    yield plain
    yield f"{plain}."
    yield str(value)
    yield hex(value)
    yield hex(value).upper()
    yield f"0{value:o}"
    yield f"0x{one:x}.0x{two:x}.0x{three:x}.0x{four:x}"
    yield f"0{one:o}.0{two:o}.0{three:o}.0{four:o}"
    yield f"{one:03d}.{two:03d}.{three:03d}.{four:03d}"
    yield f"{one:08o}.{two}.{three}.{four}"
    yield f"{one}.{two}.{(three << 8) + four}"
    yield f"{one}.{(two << 16) + (three << 8) + four}"
    yield f"0x{one:x}.{(two << 16) + (three << 8) + four}"
    yield f"{one}.{two}.0x{three:02x}.0{four:o}"
    yield plain.translate(FULL_WIDTH)
    yield plain.translate(CIRCLED)
    yield plain.replace(".", "。")
    yield plain.replace(".", "．")
    yield plain.replace(".", "%2e")
    yield "".join(f"%{byte:02x}" for byte in plain.encode())
    yield f"{plain[0]}\u00ad{plain[1:]}"
    yield f"{plain[0]}\u200b{plain[1:]}"
    high, low = value >> 16, value & 0xFFFF
    yield f"[::ffff:{plain}]"
    yield f"[0:0:0:0:0:ffff:{high:x}:{low:x}]"
    yield f"[::{plain}]"
    yield f"[::ffff:0:{plain}]"
    yield f"[64:ff9b::{plain}]"
    yield f"[64:ff9b:1::{plain}]"
    yield f"[2002:{high:x}:{low:x}::1]"
    yield f"[2001:0:{high:x}:{low:x}::1]"
    yield f"[2001:0:1234::{high ^ 0xFFFF:x}:{low ^ 0xFFFF:x}]"
    yield f"[2606:4700::5efe:{plain}]"
    yield f"[2606:4700::200:5efe:{plain}]"


async def nobody(host: str, port: int) -> Sequence[str]:
    raise AssertionError(f"{host} was asked for")


def visit(url: str, *allowed: str, answers: Sequence[str] | None = None) -> tuple[str, ...]:
    async def answered(host: str, port: int) -> Sequence[str]:
        assert answers is not None
        return answers

    return asyncio.run(resolve_public(check(url), allowed, nobody if answers is None else answered))


@pytest.mark.req("A12", "B5")
def test_no_spelling_of_a_private_number_gets_through() -> None:
    tried, through = 0, []
    for number in samples():
        for host in spellings(number):
            tried += 1
            try:
                visit(f"http://{host}/")
            except AddressRefused:
                continue
            through.append(host)
    assert through == []
    assert tried > 1500


@pytest.mark.req("A12")
@pytest.mark.parametrize(
    "number",
    [
        "::",
        "::1",
        "fc00::1",
        "fd00:ec2::254",
        "fdff::",
        "fe80::1",
        "febf::1",
        "fec0::1",
        "ff02::1",
        "ff0e::1",
        "100::1",
        "5f00::1",
        "2001:db8::1",
        "2001:2::1",
        "2001:10::1",
        "2001:20::1",
        "3ffe::1",
        "3fff::1",
        "4000::1",
        "e000::1",
    ],
)
def test_no_private_ipv6_number_gets_through(number: str) -> None:
    with pytest.raises(AddressRefused):
        visit(f"http://[{number}]/")
    with pytest.raises(AddressRefused):
        visit(f"http://[{IPv6Address(number).exploded}]:8080/")
    with pytest.raises(AddressRefused):
        visit("http://name.example/", answers=[number])


def test_the_neighbours_of_every_range_are_public() -> None:
    outside = []
    for text in RANGES:
        network = IPv4Network(text)
        for value in (int(network[0]) - 1, int(network[-1]) + 1):
            if 0 < value < 2**32 and not any(IPv4Address(value) in IPv4Network(other) for other in RANGES):
                outside.append(str(IPv4Address(value)))
    outside += ["8.8.8.8", "1.1.1.1", "2606:4700::1111", "2a00:1450:4001::200e", "::ffff:8.8.8.8", "64:ff9b::808:808"]
    assert len(outside) > 25
    assert [(number, not_public(number)) for number in outside] == [(number, "") for number in outside]


def test_what_a_number_is_said_to_be() -> None:
    meanings = {
        "127.0.0.1": "loopback",
        "::ffff:10.0.0.1": "private",
        "64:ff9b::a9fe:a9fe": "link-local",
        "168.63.129.16": "metadata",
        "::": "this machine",
        "::1": "loopback",
        "fd00::1": "private",
        "fe80::1": "link-local",
        "ff02::1": "multicast",
        "2001:0:1::1": "a Teredo tunnel",
        "2002:7f00:1::": "a 6to4 tunnel",
        "2606:4700::5efe:7f00:1": "an ISATAP tunnel",
        "nonsense": "no address",
    }
    assert {number: not_public(number) for number in meanings} == meanings


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("http://Example.COM", Address(scheme="http", host="example.com", port=80, target="/")),
        (" https://example.com:8443/a?b=c#d ", Address(scheme="https", host="example.com", port=8443, target="/a?b=c")),
        ("HTTP://example.com./?q", Address(scheme="http", host="example.com", port=80, target="/?q")),
        ("http://example.com?q=1", Address(scheme="http", host="example.com", port=80, target="/?q=1")),
        ("http://example.com:/x", Address(scheme="http", host="example.com", port=80, target="/x")),
        ("http://a_b.example/ü x", Address(scheme="http", host="a_b.example", port=80, target="/%C3%BC%20x")),
        ("http://x.example/a%2Fb%", Address(scheme="http", host="x.example", port=80, target="/a%2Fb%")),
        (
            "http://x.example/?u=http://u@y\\",
            Address(scheme="http", host="x.example", port=80, target="/?u=http://u@y%5C"),
        ),
        ("http://bücher.example/", Address(scheme="http", host="xn--bcher-kva.example", port=80, target="/")),
        ("http://аррӏе.com/", Address(scheme="http", host="xn--80ak6aa92e.com", port=80, target="/")),
        ("http://[2606:4700:0::1111]/", Address(scheme="http", host="2606:4700::1111", port=80, target="/")),
    ],
)
def test_the_parts_of_an_address(url: str, address: Address) -> None:
    assert check(url) == address
    assert check(address.url) == address


def test_how_an_address_is_spelt() -> None:
    six = check("https://[2606:4700::1111]:8443/x")
    assert (six.place, six.authority, six.url) == (
        "[2606:4700::1111]:8443",
        "[2606:4700::1111]:8443",
        "https://[2606:4700::1111]:8443/x",
    )
    plain = check("https://Example.com:443/")
    assert (plain.place, plain.authority, plain.url) == ("example.com:443", "example.com", "https://example.com/")


@pytest.mark.req("A12")
@pytest.mark.parametrize(
    "url",
    [
        "",
        "example.com",
        "//example.com/",
        "ftp://example.com/",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "http:",
        "data:text/html,x",
        "gopher://example.com/",
        "blob:http://example.com/x",
        "view-source:http://example.com/",
        "http:/example.com",
        "http:example.com",
        "http:///x",
        "http://",
        "http://:80/",
        "http://user@example.com/",
        "http://user:pass@example.com/",
        "http://example.com@127.0.0.1/",
        "http://example.com\\@127.0.0.1/",
        "http://exa mple.com/",
        "http://example.com/\r\nHost: x",
        "http://example.com/a\tb",
        "http://a\x00b/",
        "ht\ntp://x/",
        "http://example.com:0/",
        "http://example.com:65536/",
        "http://example.com:8o/",
        "http://example.com:-1/",
        "http://example.com:٨٠/",
        "http://a..b/",
        "http://.a/",
        "http://-a.example/",
        "http://" + "a" * 64 + ".example/",
        "http://" + "a." * 200 + "example/",
        "http://[::1%25eth0]/",
        "http://[fe80::1%eth0]/",
        "http://[v1.x]/",
        "http://[::1/",
        "http://::1/",
        "http://[::1]x/",
        "http://[]/",
        "http://exa<mple.com/",
        "http://a%00b/",
        "http://1.2.3.4.5/",
        "http://256.1.1.1/",
        "http://example.0x1/",
        "http://1.2.3/",
        "http://a\\b/",
        "http://☃☃/",
        "http://example.com/" + "a" * 9000,
    ],
)
def test_what_is_no_plain_address_is_refused(url: str) -> None:
    with pytest.raises(AddressRefused) as refused:
        check(url)
    assert refused.value.explain().isprintable()


def test_redirects_are_read_like_any_other_address() -> None:
    base = check("https://example.com/a/b?c")
    assert follow(base, "../d").url == "https://example.com/d"
    assert follow(base, " //other.example/x ").url == "https://other.example/x"
    assert follow(base, "?e").url == "https://example.com/a/b?e"
    for location in ("javascript:alert(1)", "http://u@x/", "/a\r\nb", "http://[::1", "file:///etc/passwd", "//0x7f.1/"):
        with pytest.raises(AddressRefused):
            follow(base, location)


def test_hosts_alone() -> None:
    assert [check_host(text) for text in ("LOCALHOST", "[::1]", "1.1.1.1", "bücher.de")] == [
        "localhost",
        "::1",
        "1.1.1.1",
        "xn--bcher-kva.de",
    ]


# where a name leads


def test_the_numbers_that_were_checked_are_the_numbers_that_come_back() -> None:
    assert visit("http://a.example/", answers=["8.8.8.8", "2606:4700::1", "8.8.8.8"]) == ("8.8.8.8", "2606:4700::1")
    assert visit("http://8.8.4.4/") == ("8.8.4.4",)


@pytest.mark.req("A12")
@pytest.mark.parametrize(
    "answers",
    [["127.0.0.1"], ["8.8.8.8", "10.0.0.1"], ["2606:4700::1", "::1"], ["::ffff:10.0.0.1"], ["fe80::1%2"], ["junk"]],
)
def test_one_private_answer_spoils_them_all(answers: list[str]) -> None:
    with pytest.raises(AddressRefused):
        visit("http://a.example/", answers=answers)


def test_the_machine_s_own_names() -> None:
    with pytest.raises(AddressRefused, match=r"localhost leads to (127\.0\.0\.1|::1), which is not public"):
        asyncio.run(resolve_public(check("http://localhost/")))


def test_a_name_without_an_answer() -> None:
    async def fails(host: str, port: int) -> Sequence[str]:
        raise OSError(2, "no such name")

    with pytest.raises(HostUnknown, match=r"a\.example could not be resolved: no such name"):
        asyncio.run(resolve_public(check("http://a.example/"), (), fails))
    with pytest.raises(HostUnknown):
        visit("http://a.example/", answers=[])


def test_what_a_user_allowed() -> None:
    assert visit("http://127.0.0.1:8080/", "127.0.0.1:8080") == ("127.0.0.1",)
    assert visit("http://[::1]:8080/", "[0:0::1]:8080") == ("::1",)
    assert visit("http://wiki.corp/", "Wiki.Corp.:80", answers=["10.1.2.3"]) == ("10.1.2.3",)
    assert visit("http://wiki.corp/", "wiki.corp:80", answers=["::1", "fd00::1", "fec0::1"]) == (
        "::1",
        "fd00::1",
        "fec0::1",
    )
    assert visit("http://mail.example:25/", "mail.example:25", answers=["8.8.8.8"]) == ("8.8.8.8",)


@pytest.mark.req("A12")
@pytest.mark.parametrize(
    ("url", "allowed", "answers"),
    [
        ("http://127.0.0.1:8081/", "127.0.0.1:8080", None),
        ("http://127.0.0.1:8080/", "127.0.0.1", None),
        ("http://127.0.0.1:8080/", "localhost:8080", None),
        ("http://127.0.0.2:8080/", "127.0.0.1:8080", None),
        ("http://sub.wiki.corp/", "wiki.corp:80", ["10.1.2.3"]),
        ("http://wiki.corp/", "wiki.corp:80", ["169.254.169.254"]),
        ("http://wiki.corp/", "wiki.corp:80", ["0.0.0.0"]),
        ("http://wiki.corp/", "*:80", ["10.1.2.3"]),
        ("http://wiki.corp/", "", ["10.1.2.3"]),
        ("http://mail.example:25/", "mail.example:26", ["8.8.8.8"]),
    ],
)
def test_what_a_user_did_not_allow(url: str, allowed: str, answers: list[str] | None) -> None:
    with pytest.raises(AddressRefused):
        visit(url, allowed, answers=answers)


def test_ports_of_other_protocols() -> None:
    for port in (22, 25, 53, 110, 143, 445, 465, 587, 993, 2049, 5060, 6379, 6667, 11211):
        with pytest.raises(AddressRefused, match="another protocol"):
            visit(f"http://8.8.8.8:{port}/")
    for port in (80, 81, 443, 3000, 8000, 8080, 8443, 9200):
        assert visit(f"http://8.8.8.8:{port}/") == ("8.8.8.8",)


URLS = st.one_of(
    st.text(max_size=60),
    st.builds(
        "http://{}{}{}".format, st.text(max_size=30), st.sampled_from(["", ":80", "/", "?", "@", "#"]), st.text()
    ),
    st.builds("http://{}/".format, st.text(alphabet="0123456789abcdefx.[]:%。１２", max_size=40)),
)


@settings(max_examples=300, deadline=None)
@given(URLS)
def test_any_text_is_an_address_or_refused(url: str) -> None:
    try:
        address = check(url)
    except AddressRefused:
        return
    assert address.url.isascii()
    assert address.url.isprintable()
    assert check(address.url) == address

"""Visits: what is connected to, what is followed, what is sent along, and how much is taken."""

import ssl
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from hermes_agent.tools.web.client import WebClient, WebRequest
from hermes_agent.types.tools import WebAccess
from tests.tools.web.names import PUBLIC, NameServer, Road
from tests.tools.web.site import Site
from tests.tools.web.visits import client, failure, fetch


def test_what_is_sent(site: Site) -> None:
    url = site.page("/a?b=c", "hello")
    assert fetch(client(site), url) == (200, url, b"hello")
    (asked,) = site.asked
    assert asked.line == "GET /a?b=c HTTP/1.1"
    assert {name.lower() for name, _ in asked.headers} == {
        "host",
        "connection",
        "user-agent",
        "accept",
        "accept-encoding",
    }
    assert (asked.header("host"), asked.header("connection")) == (site.place, "close")


# where a visit leads


@pytest.mark.req("A12", "B5")
def test_a_private_address_is_not_even_connected_to(site: Site) -> None:
    assert failure(client(), site.url())[0] == "AddressRefused"
    assert site.connections == 0


@pytest.mark.req("A12")
def test_redirects_are_followed_and_told(site: Site) -> None:
    site.redirect("/a", "/b", "301 Moved")
    site.redirect("/b", "c", "307 Temporary")
    site.page("/c", "there")
    assert fetch(client(site), site.url("/a")) == (200, site.url("/c"), b"there")


@pytest.mark.req("A12", "B5")
@pytest.mark.parametrize(
    "location",
    [
        "http://127.0.0.1:{port}/",
        "http://localhost:{port}/",
        "//[::1]:{port}/",
        "http://[::ffff:127.0.0.1]:{port}/",
        "http://169.254.169.254/latest/meta-data/",
        "http://0x7f000001:{port}/",
        "http://2130706433:{port}/",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "gopher://127.0.0.1:{port}/",
        "http://user:pass@127.0.0.1:{port}/",
        "http://0:{port}/",
        "http://127.1:{port}/",
        "http://127.0.0.1.:{port}/",
        "http://１２７.0.0.1:{port}/",
        "data:,x",
    ],
)
def test_a_redirect_to_a_private_address_ends_the_visit(site: Site, other: Site, location: str) -> None:
    site.redirect("/", location.format(port=other.port))
    assert failure(client(site), site.url())[0] == "AddressRefused"
    assert other.connections == 0


def test_a_redirect_with_a_line_break_in_it(site: Site) -> None:
    site.raw("/", b"HTTP/1.1 302 Found\r\nLocation: /a\x0bb\r\nContent-Length: 0\r\n\r\n")
    assert failure(client(site), site.url())[0] in ("AddressRefused", "broken_reply")


def test_redirects_without_an_end(site: Site) -> None:
    site.redirect("/a", "/b")
    site.redirect("/b", "/a")
    assert failure(client(site), site.url("/a")) == ("redirects", "more than 8 redirects; the last to 127.0.0.1")
    assert len(site.asked) == 9


@pytest.mark.req("A12", "B5")
def test_a_name_is_resolved_once_and_exactly_that_number_is_dialled(site: Site) -> None:
    site.page("/", "public")
    with NameServer([PUBLIC], ["127.0.0.1"]) as names:
        road = Road(site.port)
        visitor = WebClient(WebAccess(), resolve=names.resolve, dial=road)
        assert fetch(visitor, "http://rebind.example/") == (200, "http://rebind.example/", b"public")
        assert (names.questions, road.dialled) == (["rebind.example"], [PUBLIC])
        assert site.asked[0].header("host") == "rebind.example"

        error, text = failure(visitor, "http://rebind.example/")
        assert (error, "127.0.0.1, which is not public" in text) == ("AddressRefused", True)
        assert (len(names.questions), road.dialled, len(site.asked)) == (2, [PUBLIC], 1)


@pytest.mark.req("A12", "B5")
def test_a_name_that_changes_its_mind_between_two_hops(site: Site) -> None:
    site.redirect("/", "http://rebind.example/secret")
    site.page("/secret", "secret")
    with NameServer([PUBLIC], ["127.0.0.1"]) as names:
        road = Road(site.port)
        visitor = WebClient(WebAccess(), resolve=names.resolve, dial=road)
        assert failure(visitor, "http://rebind.example/")[0] == "AddressRefused"
        assert (len(names.questions), road.dialled, [asked.line for asked in site.asked]) == (
            2,
            [PUBLIC],
            ["GET / HTTP/1.1"],
        )


def test_a_public_number_beside_a_private_one(site: Site) -> None:
    with NameServer([PUBLIC, "127.0.0.1"]) as names:
        road = Road(site.port)
        visitor = WebClient(WebAccess(), resolve=names.resolve, dial=road)
        assert failure(visitor, "http://both.example/")[0] == "AddressRefused"
        assert road.dialled == []


def test_the_next_number_is_tried_when_one_does_not_answer(site: Site) -> None:
    async def names(host: str, port: int) -> Sequence[str]:
        return ["127.0.0.2", "127.0.0.1"]

    site.page("/", "second")
    place = f"two.example:{site.port}"
    visitor = WebClient(WebAccess(allowed=frozenset({place})), resolve=names)
    assert fetch(visitor, f"http://{place}/") == (200, f"http://{place}/", b"second")


# encryption


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for site.example with its key, in one file."""
    file = tmp_path_factory.mktemp("tls") / "site.pem"
    made = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=site.example"
    words = [*made.split(), "-addext", "subjectAltName=DNS:site.example", "-keyout", str(file), "-out", f"{file}.crt"]
    subprocess.run(words, check=True, capture_output=True)
    file.write_bytes(file.read_bytes() + Path(f"{file}.crt").read_bytes())
    return file


def test_the_name_stays_the_name_under_encryption(certificate: Path) -> None:
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(certificate)
    told: list[str | None] = []
    serving.sni_callback = lambda sock, name, context: told.append(name)
    trust = ssl.create_default_context(cafile=f"{certificate}.crt")
    with Site(serving) as site, NameServer([PUBLIC]) as names:
        site.page("/", "sealed")
        road = Road(site.port)
        visitor = WebClient(WebAccess(), resolve=names.resolve, dial=road, trust=trust)
        assert fetch(visitor, "https://site.example/") == (200, "https://site.example/", b"sealed")
        assert (told, road.dialled) == (["site.example"], [PUBLIC])
        assert site.asked[0].header("host") == "site.example"

        error, text = failure(visitor, "https://other.example/")
        assert (error, "certificate" in text.lower()) == ("connection", True)
        strangers = WebClient(WebAccess(), resolve=names.resolve, dial=road)
        error, text = failure(strangers, "https://site.example/")
        assert (error, "certificate" in text.lower()) == ("connection", True)
        assert len(site.asked) == 1


# what goes along


@pytest.mark.req("A12", "B5")
def test_credentials_stay_with_the_host_they_were_meant_for(site: Site, other: Site) -> None:
    secret = (("Authorization", "Bearer s3cret"), ("X-Api-Key", "s3cret"), ("Cookie", "a=b"), ("Accept", "text/plain"))
    site.redirect("/out", other.url("/in"))
    site.redirect("/home", "/again")
    site.page("/again", "kept")
    other.page("/in", "not kept")
    visitor = client(site, other)
    assert fetch(visitor, WebRequest(url=site.url("/home"), headers=secret))[2] == b"kept"
    assert site.asked[-1].header("authorization") == "Bearer s3cret"
    assert fetch(visitor, WebRequest(url=site.url("/out"), headers=secret))[2] == b"not kept"
    assert "s3cret" not in repr(other.asked)
    assert (other.asked[0].header("cookie"), other.asked[0].header("accept")) == ("", "text/plain")


@pytest.mark.req("A12", "B5")
def test_a_body_does_not_follow_a_redirect_to_another_host(site: Site, other: Site) -> None:
    site.redirect("/307", other.url("/"), "307 Temporary")
    site.redirect("/303", other.url("/"), "303 See Other")
    other.page("/", "thanks")
    visitor = client(site, other)
    post = WebRequest(url=site.url("/307"), method="POST", body=b"private")
    assert failure(visitor, post) == (
        "redirected",
        "127.0.0.1 passes this on to 127.0.0.1; call that address to agree",
    )
    assert other.connections == 0
    assert fetch(visitor, WebRequest(url=site.url("/303"), method="POST", body=b"private"))[2] == b"thanks"
    assert [(asked.line, asked.body) for asked in other.asked] == [("GET / HTTP/1.1", b"")]
    assert failure(visitor, WebRequest(url=site.url("/307"), method="DELETE"))[0] == "redirected"


def test_cookies_are_kept_nowhere(site: Site) -> None:
    site.page("/", "one", "Set-Cookie: session=1; Path=/", "Location: /two", status="302 Found")
    site.page("/two", "two", "Set-Cookie: session=2; Path=/")
    visitor = client(site)
    fetch(visitor, site.url())
    fetch(visitor, site.url())
    assert [(asked.line.split()[1], asked.header("cookie")) for asked in site.asked] == [
        ("/", ""),
        ("/two", ""),
        ("/", ""),
        ("/two", ""),
    ]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Host", "evil"),
        ("Content-Length", "3"),
        ("Transfer-Encoding", "chunked"),
        ("X: y\r\nZ", "a"),
        ("", "a"),
        ("X", "a\r\nHost: evil"),
        ("X", "a\x00b"),
        ("X", "ключ"),
        ("Proxy-Authorization", "x"),
        ("X Y", "a"),
    ],
)
def test_headers_that_would_change_the_request(site: Site, name: str, value: str) -> None:
    assert failure(client(site), WebRequest(url=site.url(), headers=((name, value),)))[0] == "bad_argument"
    assert site.connections == 0


def test_methods_and_bodies(site: Site) -> None:
    site.page("/", "ok")
    visitor = client(site)
    assert failure(visitor, WebRequest(url=site.url(), method="CONNECT"))[0] == "bad_argument"
    assert failure(visitor, WebRequest(url=site.url(), method="GET\r\nX: y"))[0] == "bad_argument"
    assert failure(visitor, WebRequest(url=site.url(), method="GET", body=b"x"))[0] == "bad_argument"
    fetch(visitor, WebRequest(url=site.url(), method="put", body=b"data"))
    assert (site.asked[0].line, site.asked[0].body) == ("PUT / HTTP/1.1", b"data")

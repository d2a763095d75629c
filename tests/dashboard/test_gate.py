"""Strangers at the door, with raw requests."""

from __future__ import annotations

import socket

import pytest

from hermes_agent.surfaces.dashboard.gate import HEADERS
from tests.dashboard.served import Served


def raw(served: Served, *lines: str, body: bytes = b"") -> tuple[int, str]:
    """One request as it is written, and the status and text that come back."""
    with socket.create_connection(("127.0.0.1", served.port), timeout=20) as line:
        line.sendall("\r\n".join([*lines, "Connection: close", "", ""]).encode("latin-1") + body)
        data = b""
        while part := line.recv(65536):
            data += part
    return int(data.split(b" ", 2)[1]), data.decode("latin-1")


@pytest.mark.req("R13")
def test_every_answer_has_the_headers_that_keep_other_pages_out(served: Served) -> None:
    for path in ("/", "/static/app.js", "/api/hello", "/nothing", "/metrics"):
        answer = served.get(path)
        assert {name: answer.headers[name] for name in HEADERS} == HEADERS
        assert "access-control-allow-origin" not in answer.headers and "server" not in answer.headers
    assert "unsafe" not in HEADERS["content-security-policy"]


def test_the_token_is_traded_for_a_strict_cookie(served: Served) -> None:
    answer = served.stranger.get(served.url)
    cookie = answer.headers["set-cookie"].lower()
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert "httponly" in cookie and "samesite=strict" in cookie
    from_elsewhere = served.stranger.get(served.url, headers={"sec-fetch-site": "cross-site"})
    assert from_elsewhere.status_code == 200 and "refresh" in from_elsewhere.text
    assert served.stranger.get("/?token=wrong").status_code == 401
    served.stranger.cookies.clear()
    name, value = answer.headers["set-cookie"].partition(";")[0].split("=")
    assert served.stranger.get("/api/hello", headers={"cookie": f"{name}={value}"}).status_code == 200
    assert served.stranger.get("/api/hello", headers={"cookie": f"{name}={value[:-1]}"}).status_code == 401


@pytest.mark.parametrize("path", ["/", "/static/app.js", "/api/hello", "/api/live", "/metrics", "/api/studies"])
def test_nothing_without_the_token(served: Served, path: str) -> None:
    refused = served.stranger.get(path)
    assert (refused.status_code, "open the address that `hermes dashboard` printed" in refused.text) == (401, True)
    assert served.stranger.get(path, headers=[(b"authorization", "Bearer é".encode())]).status_code == 401


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1:1", "127.0.0.1.evil.example:{port}", "", "[::1]", "a:b:c"])
def test_a_name_that_somebody_else_pointed_here(served: Served, host: str) -> None:
    asked = f"Host: {host.format(port=served.port)}"
    status, _ = raw(served, "GET /api/hello HTTP/1.1", asked, f"Authorization: Bearer {served.token}")
    assert status == 421


def test_host_given_twice_or_not_at_all(served: Served) -> None:
    bearer = f"Authorization: Bearer {served.token}"
    own = f"Host: 127.0.0.1:{served.port}"
    assert raw(served, "GET /api/hello HTTP/1.1", own, "Host: evil.example", bearer)[0] in (400, 421)
    assert raw(served, "GET /api/hello HTTP/1.1", bearer)[0] in (400, 421)
    assert raw(served, "GET /api/hello HTTP/1.1", own.replace("127.0.0.1", "LOCALHOST"), bearer)[0] == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:{port}", "http://127.0.0.1:1"])
def test_requests_for_other_sites_pages(served: Served, origin: str) -> None:
    named = origin.format(port=served.port)
    assert served.get("/api/hello", origin=named).status_code == 403
    assert served.post("/api/freeze", {"frozen": True}, origin=named).status_code == 403


def test_a_change_needs_the_word_of_the_page(served: Served) -> None:
    assert served.post("/api/freeze", {"frozen": False}).status_code == 200
    bearer = {"authorization": f"Bearer {served.token}", "content-type": "application/json"}
    url, body = served.base + "/api/freeze", b'{"frozen": true}'
    assert served.stranger.post(url, content=body, headers={**bearer, "origin": served.base}).status_code == 403
    word = served.json("/api/hello")["csrf"]
    assert served.stranger.post(url, content=body, headers={**bearer, "x-hermes-csrf": word}).status_code == 403, (
        "no origin"
    )
    assert served.post("/api/freeze", {"frozen": True}, **{"x-hermes-csrf": served.token}).status_code == 403
    assert served.get("/api/freeze").status_code == 405
    for method in ("PUT", "PATCH", "OPTIONS", "TRACE"):
        assert served.post("/api/freeze", {}, method).status_code == 405
    assert served.json("/api/sets")["frozen"] is False


@pytest.mark.parametrize(
    "path",
    [
        "/static/../server.py",
        "/static/..%2fserver.py",
        "/static/%2e%2e/gate.py",
        "/static//etc/passwd",
        "/static/",
        "/static/vendor/../../gate.py",
        "/static/app.js%00.py",
        "/static/views",
        "/..%5c..%5cgate.py",
    ],
)
def test_paths_out_of_the_folder(served: Served, path: str) -> None:
    host, bearer = f"Host: 127.0.0.1:{served.port}", f"Authorization: Bearer {served.token}"
    assert raw(served, f"GET {path} HTTP/1.1", host, bearer)[0] == 404


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"x" * 20_000, 413),
        (b'{"frozen": 1}', 400),
        (b'{"frozen": true, "more": 1}', 400),
        (b"", 400),
        (b"\xff", 400),
        (b"[" * 10_000, 400),
        (b"null", 400),
    ],
)
def test_bodies_that_are_no_change(served: Served, body: bytes, status: int) -> None:
    word = served.json("/api/hello")["csrf"]
    headers = {"authorization": f"Bearer {served.token}", "origin": served.base, "x-hermes-csrf": word}
    json_body = {**headers, "content-type": "application/json"}
    answer = served.stranger.post(served.base + "/api/freeze", content=body, headers=json_body)
    assert answer.status_code == status and answer.json()["remedy"]
    form = served.stranger.post(
        served.base + "/api/freeze", content=body, headers={**headers, "content-type": "text/plain"}
    )
    assert form.status_code == 400


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/api/heuristics/nobody", 404),
        ("/api/heuristics/%25", 404),
        ("/api/heuristics?stage=x", 400),
        ("/api/heuristics?offset=-1", 400),
        ("/api/heuristics?offset=1e9", 400),
        ("/api/learning?days=0", 400),
        ("/api/learning?days=99999999999999999999", 400),
        ("/api/learning?family=" + "x" * 500, 400),
        ("/api/learning?family=%27%20OR%201=1", 200),
        ("/api/sessions?before=nan", 400),
        ("/api/sessions/%27", 404),
        ("/api/runs/x'/steps", 404),
        ("/api/search?q=%22%20OR%20%00", 200),
        ("/api/cost?by=weather", 400),
        ("/api/skills/x", 404),
        ("/api/nothing", 404),
    ],
)
def test_odd_questions(served: Served, path: str, status: int) -> None:
    answer = served.get(path)
    assert answer.status_code == status, answer.text
    assert status == 200 or set(answer.json()) == {"error", "remedy"}


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/api/heuristics/nobody/approve", {}, 404),
        ("/api/heuristics/h1/approve", {}, 400),
        ("/api/heuristics/h1/love", {}, 400),
        ("/api/rollback", {"to": 999}, 404),
        ("/api/rollback", {"to": "1"}, 400),
        ("/api/skills/x/pinned", {"on": True}, 404),
        ("/api/skills/x/embedding", {"on": True}, 404),
        ("/api/replay", {"how": "set", "version": 999}, 404),
        ("/api/replay", {"how": "maybe"}, 400),
        ("/api/replay", {"how": "with", "heuristic": "h1", "days": -1}, 400),
    ],
)
def test_odd_changes(served: Served, path: str, body: object, status: int) -> None:
    answer = served.post(path, body)
    assert answer.status_code == status and set(answer.json()) == {"error", "remedy"}

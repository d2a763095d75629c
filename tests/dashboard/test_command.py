"""`hermes dashboard` as a command: addresses, ports, the token, how it ends; `/metrics` and the line of events."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from hermes_agent.surfaces.dashboard.address import bound, is_loopback, names_for, shown_host
from hermes_agent.surfaces.dashboard.live import LISTENERS
from hermes_agent.surfaces.dashboard.token import kept_token, token_path
from hermes_agent.types.errors import PermissionRefused, StoreUnwritable, UsageError
from tests.cli.command import Hermes, until
from tests.dashboard.served import Served


def attempt(hermes: Hermes, *arguments: str) -> tuple[int, str]:
    """A start that is refused: its exit code and what it says."""
    done = hermes.run("dashboard", *arguments)
    return done.returncode, done.stderr + done.stdout


def test_started_asked_and_ended(tmp_path: Path) -> None:
    hermes = Hermes(tmp_path)
    served = Served(hermes)
    assert served.base.startswith("http://127.0.0.1:")
    assert served.json("/api/sessions") == {"rows": [], "before": None}
    learning = served.json("/api/learning")
    assert learning == {"days": [], "pending": 0, "last": None, "drift": [], "latencies": [], "marks": []}
    assert served.json("/api/studies") == {"studies": [], "problems": [], "left_out": 0}
    assert served.json("/api/curve")["runs"] == 0 and served.json("/api/cost")["rows"] == []
    code, said = attempt(hermes, "--port", str(served.port), "--json")
    told = json.loads(said)
    assert code == 2 and told["error"].startswith(f"port {served.port} is in use by process {served.process.pid}")
    assert "--port 0" in told["remedy"]
    with served.stranger.stream("GET", "/api/live", headers={"authorization": f"Bearer {served.token}"}) as line:
        frames = line.iter_lines()
        assert next(frames) == "event: snapshot"
        assert served.stop() == 0, "an open page does not hold the end up"
    assert (hermes.home / "dashboard.token").stat().st_mode & 0o777 == 0o600


def test_hosts_that_others_reach_are_refused(tmp_path: Path) -> None:
    code, said = attempt(Hermes(tmp_path), "--host", "0.0.0.0", "--port", "0")
    assert code == 1 and "--allow-remote" in said
    with pytest.raises(UsageError, match="no address of this machine"):
        bound("not a host", 0, remote=True)
    with pytest.raises(PermissionRefused):
        bound("localhost.evil.example", 0, remote=False)
    with bound("::1", 0, remote=False) as listening, pytest.raises(UsageError, match="is in use by process"):
        bound("[::1]", listening.getsockname()[1], remote=False)


@pytest.mark.slow
def test_ports_that_are_none(tmp_path: Path) -> None:
    assert [attempt(Hermes(tmp_path), "--port", port)[0] for port in ("65536", "-1", "x")] == [2, 2, 2]


def test_names() -> None:
    assert [is_loopback(one) for one in ("127.0.0.1", "127.9.9.9", "::1", "[::1]", "localhost", "LOCALHOST")] == [
        True
    ] * 6
    assert [is_loopback(one) for one in ("0.0.0.0", "::", "10.0.0.1", "localhost.evil.example", "")] == [False] * 5
    assert names_for("127.0.0.1", 8) == {"127.0.0.1:8", "localhost:8", "[::1]:8"}
    assert (shown_host("0.0.0.0"), shown_host("::1")) == ("127.0.0.1", "[::1]")


def test_the_token_is_kept_and_private(tmp_path: Path) -> None:
    first = kept_token(tmp_path)
    assert kept_token(tmp_path) == first and len(first) >= 43
    token_path(tmp_path).chmod(0o644)
    second = kept_token(tmp_path)
    assert second != first, "one that others could read is not used again"
    token_path(tmp_path).write_bytes(b"\xff\xfe")
    assert kept_token(tmp_path) not in (first, second)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("x" * 43)
    elsewhere.chmod(0o600)
    token_path(tmp_path).unlink()
    token_path(tmp_path).symlink_to(elsewhere)
    assert kept_token(tmp_path) != "x" * 43
    with pytest.raises(StoreUnwritable):
        kept_token(tmp_path / "missing")


@pytest.mark.req("R13", "H12")
def test_metrics_for_a_scraper(served: Served) -> None:
    answer = served.get("/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    found = {one.name: one for one in text_string_to_metric_families(answer.text)}
    assert {"hermes_runs", "hermes_success_rate", "hermes_figures_age_seconds", "hermes_set_version"} <= set(found)
    assert found["hermes_set_version"].samples[0].value == served.json("/api/sets")["active"] >= 3


def test_so_many_lines_and_no_more(served: Served) -> None:
    """A page too many is told so; one that leaves makes room. A listener that never reads holds nobody up."""
    until_listening(served, 0)
    head = f"GET /api/live HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\nAuthorization: Bearer {served.token}\r\n\r\n"
    lines = [socket.create_connection(("127.0.0.1", served.port), timeout=20) for _ in range(LISTENERS)]
    for line in lines:
        line.sendall(head.encode())
        assert line.recv(12) == b"HTTP/1.1 200"
    try:
        until_listening(served, LISTENERS)
        refused = served.get("/api/live")
        assert refused.status_code == 503 and refused.json()["remedy"]
    finally:
        for line in lines:
            line.close()
    until_listening(served, 0)


def until_listening(served: Served, wanted: int) -> None:
    until(lambda: f"hermes_dashboard_listeners {wanted}\n" in served.get("/metrics").text)

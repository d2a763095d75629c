"""The services of the case study: quotes with a limit, an engine that takes small tables, on the loopback."""

import http.client
import json
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hermes_agent.bench.finance.inside import analysing, quoting
from hermes_agent.bench.finance.parameters import parameters
from hermes_agent.bench.finance.questions import rates_table, shown_rate
from hermes_agent.bench.finance.service import Limiter
from hermes_agent.bench.finance.world import World
from hermes_agent.types.errors import UsageError

QUICK = msgspec.structs.replace(
    parameters(), settle_seconds=0.0, engine_seconds=0.0, backend_seconds=0.0, quote_slow_seconds=0.0, quote_requests=5
)
TABLE = "reference,date,category,amount,currency\nA1,2024-01-05,Rent,-500.00,EUR\nA2,2024-01-06,Rent,,USD\n"


@pytest.fixture
def world() -> Iterator[World]:
    with World(31, QUICK) as made:
        yield made


def asked(
    world: World, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
) -> tuple[int, str]:
    connection = http.client.HTTPConnection(world.address, timeout=20)
    try:
        connection.request(method, path, body, headers or {})
        reply = connection.getresponse()
        return reply.status, reply.read().decode()
    finally:
        connection.close()


def test_a_quote_is_the_rate_of_the_seed(world: World) -> None:
    day = date(2024, 3, 1)
    right = {"rate": shown_rate(31, "USD", day)}
    status, text = asked(world, "GET", "/quote/USD/2024-03-01")
    assert (status, json.loads(text)) == (200, right)


def test_the_archive_has_every_day_of_a_period(world: World) -> None:
    right = rates_table(31, ["CHF", "USD"], date(2024, 2, 27), date(2024, 3, 2))
    assert asked(world, "GET", "/archive/CHF,USD/2024-02-27/2024-03-02") == (200, right)
    assert len(right.splitlines()) == 11


@pytest.mark.req("L9")
def test_a_client_is_refused_after_its_limit_and_others_are_not(world: World) -> None:
    seen = [asked(world, "GET", "/quote/USD/2024-03-01", headers={"X-Client": "one"})[0] for _ in range(7)]
    assert seen == [200] * 5 + [429] * 2
    assert asked(world, "GET", "/quote/USD/2024-03-01", headers={"X-Client": "two"})[0] == 200


def test_a_window_passes() -> None:
    limiter = Limiter(1, seconds=-1.0)
    assert [limiter.admit("one") for _ in range(3)] == [True] * 3
    limiter = Limiter(2, seconds=60.0)
    assert [limiter.admit("one") for _ in range(4)] == [True, True, False, False]


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/", 404),
        ("/quote/XXX/2024-01-01", 404),
        ("/quote/USD/yesterday", 400),
        ("/quote/USD/2024-02-30", 400),
        ("/quote/USD/2024-01-01/more", 404),
        ("/archive/USD/2024-01-02/2024-01-01", 400),
        ("/archive/USD/2020-01-01/2024-01-01", 400),
        ("/archive//2024-01-01/2024-01-02", 404),
        ("/../../etc/passwd", 404),
        ("/" + "a" * 5000, 404),
    ],
)
def test_what_makes_no_sense_is_refused(world: World, path: str, status: int) -> None:
    assert asked(world, "GET", path)[0] == status


def test_the_engine_answers_questions_about_small_tables(world: World) -> None:
    body = json.dumps({"question": "totals", "table": TABLE, "rates": ""}).encode()
    status, text = asked(world, "POST", "/analyse", body)
    assert (status, json.loads(text)) == (200, [{"category": "Rent", "total": -500.0}])
    large = TABLE + "".join(f"B{place},2024-01-06,Rent,1.00,EUR\n" for place in range(QUICK.engine_rows))
    status, text = asked(world, "POST", "/analyse", json.dumps({"question": "totals", "table": large}).encode())
    assert (status, text) == (503, f"the engine is busy: {QUICK.engine_rows + 2} rows are more than it takes now")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"\xff",
        b'{"question": "totals", "table": 5, "rates": ""}',
        b'{"question": "why", "table": "", "rates": ""}',
        b'{"question": "totals", "table": "reference,amount\\nA,x\\n", "rates": ""}',
        b'{"question": "trend", "table": "", "rates": ""}',
        b"[" * 50_000,
    ],
)
def test_the_engine_refuses_what_is_no_question(world: World, body: bytes) -> None:
    assert asked(world, "POST", "/analyse", body)[0] == 400


def test_the_engine_refuses_bodies_without_end(world: World) -> None:
    assert asked(world, "POST", "/analyse", b"x", {"Content-Length": "99999999"})[0] == 413
    assert asked(world, "POST", "/elsewhere", b"{}")[0] == 404


def test_services_run_between_start_and_stop() -> None:
    world = World(1, QUICK)
    with pytest.raises(UsageError):
        _ = world.address
    world.start()
    address = world.address
    world.start()
    assert world.address == address
    with World(1, QUICK) as other:
        assert other.address != address
    world.stop()
    world.stop()
    with pytest.raises(UsageError):
        _ = world.address


def quoted(world: World, folder: Path, way: str, table: str, cache: str = "") -> dict[str, Any]:
    (folder / "table.csv").write_text(table)
    (folder / "quotes.csv").write_text(cache)
    names = {"table": "table.csv", "output": "rates.csv", "cache": "quotes.csv"}
    paths = {name: str(folder / path) for name, path in names.items()}
    return quoting.run({**paths, "way": way, "wait": 0.0, "service": world.address, "client": f"{way}{len(table)}"})


def test_all_ways_to_quotes_bring_the_same_rates(world: World, tmp_path: Path) -> None:
    cache = rates_table(31, ["EUR", "USD"], date(2024, 1, 1), date(2024, 1, 31))
    right = (
        "currency,date,rate\nEUR,2024-01-05,1.0000\n" + f"USD,2024-01-06,{shown_rate(31, 'USD', date(2024, 1, 6))}\n"
    )
    for way in ("live", "cached", "archive", "monthly"):
        assert "error" not in quoted(world, tmp_path, way, TABLE, cache), way
        assert (tmp_path / "rates.csv").read_text() == right
        (tmp_path / "rates.csv").unlink()


@pytest.mark.req("L9")
def test_quotes_day_by_day_meet_the_limit_and_old_caches_are_stale(world: World, tmp_path: Path) -> None:
    days = "".join(f"C{day},2024-01-{day:02d},Rent,1.00,USD\n" for day in range(10, 25))
    live = quoted(world, tmp_path, "live", TABLE + days)
    assert (live["error"], live["transient"]) == ("rate_limit", True)
    old = rates_table(31, ["EUR", "USD"], date(2024, 1, 1), date(2024, 1, 12))
    assert quoted(world, tmp_path, "cached", TABLE + days, old)["error"] == "stale"
    assert not (tmp_path / "rates.csv").exists()
    assert "error" not in quoted(world, tmp_path, "archive", TABLE + days)


@pytest.mark.parametrize(
    "table", ["", "currency,date\n", "a,b\n1,2\n", "currency,date\nUSD\n", "currency,date\nXXX,soon\n"]
)
@pytest.mark.parametrize("way", ["live", "cached", "archive", "monthly"])
def test_tables_that_need_no_quotes_are_an_error(world: World, tmp_path: Path, way: str, table: str) -> None:
    assert quoted(world, tmp_path, way, table)["error"]
    assert not (tmp_path / "rates.csv").exists()


def test_a_service_that_is_gone_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text(TABLE)
    with World(1, QUICK) as gone:
        address = gone.address
    paths = {"table": str(tmp_path / "table.csv"), "output": str(tmp_path / "out")}
    live = quoting.run({**paths, "way": "live", "service": address, "client": "", "cache": "", "wait": 0.0})
    engine = analysing.run({**paths, "question": "totals", "engine": address})
    assert [live["error"], engine["error"]] == ["unreachable", "unreachable"]
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("more", "error"),
    [("", "unclean"), ("A1,2024-01-05,Rent,-500.00,EUR\n", "unclean"), ("A3,2024-01-05,Rent,many,EUR\n", "unclean")],
)
def test_the_strict_analysis_takes_clean_tables_only(tmp_path: Path, more: str, error: str) -> None:
    (tmp_path / "table.csv").write_text(TABLE + more)
    paths = {"table": str(tmp_path / "table.csv"), "output": str(tmp_path / "answer.json")}
    assert analysing.run({**paths, "question": "totals", "engine": ""})["error"] == error
    (tmp_path / "table.csv").write_text(TABLE.replace("A2,2024-01-06,Rent,,USD\n", ""))
    assert analysing.run({**paths, "question": "totals", "engine": ""}) == {
        "text": f"wrote {tmp_path / 'answer.json'}: 1 rows"
    }
    assert json.loads((tmp_path / "answer.json").read_text()) == [{"category": "Rent", "total": -500.0}]


@pytest.mark.parametrize("question", ["totals", "mom", "trend", "anomalies", "top", "fx"])
@pytest.mark.parametrize(
    "table", ["", "reference,date\n", "reference,date,category,amount,currency\nA,B\nC\n", "\0,\n"]
)
def test_the_strict_analysis_survives_what_is_no_table(tmp_path: Path, question: str, table: str) -> None:
    """An empty table has empty totals; whatever else there is ends in an answer or an error, never in a crash."""
    (tmp_path / "table.csv").write_text(table)
    paths = {"table": str(tmp_path / "table.csv"), "output": str(tmp_path / "answer.json")}
    done = analysing.run({**paths, "question": question, "engine": ""})
    assert ("error" in done) is not (tmp_path / "answer.json").exists()

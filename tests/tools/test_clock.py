"""The clock: zones, durations, differences, and what is none of these."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from hermes_agent.tools.builtin.clock import clock
from tests.tools.context import Context

pytestmark = pytest.mark.req("A4")


def first(tmp_path: Path, **arguments: str) -> str:
    result = Context(tmp_path).now(clock, **arguments)
    assert result.ok, result
    return result.text.splitlines()[0]


def test_now(tmp_path: Path) -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    told = datetime.fromisoformat(first(tmp_path, zone="Asia/Tokyo"))
    assert before <= told <= datetime.now(UTC)
    assert told.utcoffset() == datetime.fromisoformat("2024-01-01T00:00+09:00").utcoffset()


@pytest.mark.parametrize(
    ("at", "add", "zone", "expected"),
    [
        ("2024-01-31", "1mo", "UTC", "2024-02-29T00:00:00+00:00"),
        ("2024-02-29", "1y", "UTC", "2025-02-28T00:00:00+00:00"),
        ("2024-12-31", "1d", "UTC", "2025-01-01T00:00:00+00:00"),
        ("2024-03-31", "-1mo", "UTC", "2024-02-29T00:00:00+00:00"),
        ("2024-11-30", "1mo", "UTC", "2024-12-30T00:00:00+00:00"),
        ("2024-03-30T12:00", "1d", "Europe/Berlin", "2024-03-31T12:00:00+02:00"),
        ("2024-03-30T12:00", "24h", "Europe/Berlin", "2024-03-31T13:00:00+02:00"),
        ("2024-01-01T00:00:00Z", "1w 2d 3h 4m 5s", "UTC", "2024-01-10T03:04:05+00:00"),
        ("2024-01-01T00:00:00Z", "", "America/New_York", "2023-12-31T19:00:00-05:00"),
    ],
)
def test_adding(tmp_path: Path, at: str, add: str, zone: str, expected: str) -> None:
    assert first(tmp_path, at=at, add=add, zone=zone) == expected


def test_difference(tmp_path: Path) -> None:
    result = Context(tmp_path).now(clock, at="2024-02-28", until="2024-03-01T06:00")
    assert result.text.splitlines() == [
        "2024-02-28T00:00:00+00:00",
        "Wednesday, week 09, day 059 of the year",
        "until 2024-03-01T06:00:00+00:00: 2 days 06:00:00, 194400 seconds",
    ]
    assert "-1 days 00:00:00" in Context(tmp_path).now(clock, at="2024-01-02", until="2024-01-01").text


@pytest.mark.parametrize(
    "arguments",
    [
        {"zone": "Nowhere/Land"},
        {"zone": "../../etc/passwd"},
        {"zone": "/etc/passwd"},
        {"zone": ""},
        {"zone": "a\0b"},
        {"at": "yesterday"},
        {"at": "2024-13-01"},
        {"until": "x"},
        {"add": "soon"},
        {"add": "999999999y"},
        {"add": "999999999d"},
        {"add": "1" * 5000 + "d"},
        {"add": "1q"},
    ],
)
def test_bad_and_hostile(tmp_path: Path, arguments: dict[str, str]) -> None:
    result = Context(tmp_path).now(clock, **arguments)
    assert (result.ok, result.error) == (False, "bad_argument")

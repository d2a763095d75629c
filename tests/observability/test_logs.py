"""The log as it is read: any bytes, across rotated files, followed through rotation."""

import json
import time
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_agent.observability.logs import Entry, Filter, Level, Reader, level_of, parse_entry, parse_span
from hermes_agent.observability.sinks import LogFile
from hermes_agent.types.errors import UsageError


def written(path: Path, *entries: dict[str, Any], mode: str = "ab") -> None:
    with path.open(mode) as file:
        file.writelines(json.dumps(entry).encode() + b"\n" for entry in entries)


def line(number: int, kind: str = "n", **more: Any) -> dict[str, Any]:
    return {"at": 100.0 + number, "kind": kind, "run": f"run{number}", **more}


def read(path: Path, limit: int = 100, **filter: Any) -> tuple[list[float], list[str]]:
    """When the entries were written, and which files have broken lines."""
    broken: list[str] = []
    reader = Reader(path, Filter(**filter), broken.append)
    found = [entry.at - 100 for entry in reader.last(limit)]
    reader.close()
    return found, broken


@pytest.mark.req("R10")
def test_oldest_first_across_files_and_the_last_so_many(tmp_path: Path) -> None:
    path = tmp_path / "hermes.log"
    names = ("hermes.old.log", "hermes.log.3", "hermes.log.2", "hermes.log.1", "hermes.log")
    for place, name in enumerate(names):
        written(tmp_path / name, line(2 * place), line(2 * place + 1))
    assert read(path) == ([float(n) for n in range(10)], [])
    assert read(path, limit=3) == ([7.0, 8.0, 9.0], [])
    assert read(tmp_path / "nothing.log") == ([], [])


@pytest.mark.parametrize(
    ("filter", "numbers"),
    [
        ({"since": 103.0}, [3, 4]),
        ({"run": "run2"}, [2]),
        ({"run": "n4"}, [4]),
        ({"run": "un"}, []),
        ({"level": Level.WARNING}, [1, 3, 4]),
        ({"level": Level.ERROR}, [3]),
        ({"kinds": ("other", "call_finished")}, [1, 2]),
        ({"text": "NEEDLE"}, [2]),
        ({"text": "(.*"}, []),
        ({"text": "needle", "since": 103.0}, []),
    ],
)
def test_filters(tmp_path: Path, filter: dict[str, Any], numbers: list[int]) -> None:
    path = tmp_path / "hermes.log"
    written(
        path,
        line(0),
        line(1, "call_finished", status="error"),
        line(2, "other", text="a Needle in it"),
        line(3, "run_finished", status="failed"),
        line(4, level="warning"),
    )
    assert read(path, **filter) == ([float(n) for n in numbers], [])


@pytest.mark.parametrize(
    "bad",
    [
        b"no json",
        b"[1, 2]",
        b"{}",
        b'{"at": 1}',
        b'{"kind": "x"}',
        b'{"at": "soon", "kind": "x"}',
        b'{"at": true, "kind": "x"}',
        b'{"at": 1e300, "kind": "x"}',
        b'{"at": -1, "kind": "x"}',
        b'{"at": 1, "kind": 5}',
        b'{"at": 1, "kind": "\xff"}',
        b"\x00\xff\xfe",
        b'{"at": 1, "kind": "x", "a": ' + b"[" * 5000 + b"]" * 5000 + b"}",
        b'{"at": 1, "kind": "x", "a": "' + b"x" * (1 << 20) + b'"}',
    ],
)
def test_broken_lines_are_left_out_and_said_once(tmp_path: Path, bad: bytes) -> None:
    path = tmp_path / "hermes.log"
    written(path, line(0))
    with path.open("ab") as file:
        file.write(bad + b"\n" + bad + b"\n\n")
    written(path, line(1))
    assert read(path) == ([0.0, 1.0], ["hermes.log"])


def test_a_line_without_end_takes_no_memory_and_hides_only_itself(tmp_path: Path) -> None:
    path = tmp_path / "hermes.log"
    written(path, line(0))
    with path.open("ab") as file:
        for _ in range(5):
            file.write(b"x" * (1 << 20))
        file.write(b"\n")
    written(path, line(1))
    assert read(path) == ([0.0, 1.0], ["hermes.log"])


def test_following_through_halves_of_lines_rotation_and_truncation(tmp_path: Path) -> None:
    path = tmp_path / "hermes.log"
    broken: list[str] = []
    reader = Reader(path, Filter(), broken.append)

    def more() -> list[float]:
        return [entry.at - 100 for entry in reader.more()]

    assert more() == []
    written(path, line(0))
    assert more() == [0.0]
    raw = json.dumps(line(1)).encode() + b"\n"
    with path.open("ab", buffering=0) as file:
        file.write(raw[:10])
        assert more() == []
        file.write(raw[10:])
    assert more() == [1.0]
    written(path, line(2))
    path.rename(tmp_path / "hermes.log.1")
    written(path, line(3))
    assert more() == [2.0, 3.0]
    (tmp_path / "hermes.log.1").rename(tmp_path / "hermes.log.2")
    path.rename(tmp_path / "hermes.log.1")
    written(path, line(4))
    assert more() == [4.0]
    path.write_bytes(b"")
    assert more() == []
    written(path, line(5))
    assert (more(), broken) == ([5.0], [])
    reader.close()


def test_following_what_is_really_written_and_rotated(tmp_path: Path) -> None:
    path = tmp_path / "hermes.log"
    log = LogFile(path, largest=3_000)
    reader = Reader(path, Filter(), lambda name: pytest.fail(f"{name} is broken"))
    found: list[int] = []
    for number in range(300):
        log.note("n", number=number)
        if number % 7 == 0:
            found += [entry.rest["number"] for entry in reader.more()]
    found += [entry.rest["number"] for entry in reader.more()]
    assert found == list(range(300))
    reader.close()


def _write_many(path: str, count: int) -> None:
    log = LogFile(Path(path), largest=6_000)
    for number in range(count):
        log.note("n", number=number)
        time.sleep(0.0002)


def test_following_while_another_process_writes_and_rotates(tmp_path: Path) -> None:
    """Reads without a pause, so that looks fall into the middle of rotations."""
    path = tmp_path / "hermes.log"
    writer = get_context("forkserver").Process(target=_write_many, args=(str(path), 1500))
    reader = Reader(path, Filter(), lambda name: pytest.fail(f"{name} is broken"))
    writer.start()
    found: list[int] = []
    while writer.is_alive():
        found += [entry.rest["number"] for entry in reader.more()]
    found += [entry.rest["number"] for entry in reader.more()]
    reader.close()
    assert sorted(set(found)) == found and found[-1] == 1499


@pytest.mark.parametrize(
    ("text", "ago"),
    [("30s", 30), ("10m", 600), ("10min", 600), ("1.5h", 5400), ("7d", 604_800), (" 2W ", 1_209_600)],
)
def test_spans(text: str, ago: float) -> None:
    assert parse_span(text, 1e9) == 1e9 - ago


def test_dates() -> None:
    assert parse_span("2026-01-31", 0) == time.mktime((2026, 1, 31, 0, 0, 0, 0, 0, -1))


@pytest.mark.parametrize("text", ["", "soon", "10", "-5m", "10y", "1e9d", "9" * 400 + "d", "2026-13-01", "m", "٣m x"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is no time"):
        parse_span(text, 1e9)


@given(st.binary(max_size=200))
def test_any_bytes_are_an_entry_or_nothing(raw: bytes) -> None:
    found = parse_entry(raw)
    assert found is None or isinstance(found, Entry)


def test_levels() -> None:
    said: list[tuple[dict[str, Any], str]] = [
        ({"kind": "resume_failed"}, "error"),
        ({"kind": "recovered", "in_doubt": ["a"]}, "error"),
        ({"kind": "recovered"}, "warning"),
        ({"kind": "tool_left_out"}, "warning"),
        ({"kind": "call_finished", "status": "in_doubt"}, "error"),
        ({"kind": "call_finished", "status": "ok"}, "info"),
        ({"kind": "x", "level": "error"}, "error"),
        ({"kind": "x", "level": "loud"}, "info"),
        ({"kind": "x", "level": ["error"]}, "info"),
    ]
    assert [(given, level_of(given).value) for given, _ in said] == said

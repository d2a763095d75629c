"""The verifier of the case study: forgives rounding to cents and nothing else, and is not fooled by pictures."""

import json
import os
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hermes_agent.bench.finance.inside import drawing
from hermes_agent.bench.finance.tasks import Task, task
from hermes_agent.bench.finance.verify import verify
from hermes_agent.bench.verdict import Verdict


def of_family(family: str) -> Task:
    return next(made for number in range(7) if (made := task(21, number)).family == family)


def answered(folder: Path, answer: Any) -> Path:
    (folder / "answer.json").write_text(answer if isinstance(answer, str) else json.dumps(answer), "utf-8")
    return folder


@pytest.mark.req("L9")
@pytest.mark.parametrize("family", ["trend", "mom", "anomalies", "totals", "top", "fx"])
def test_the_right_answer_is_right(tmp_path: Path, family: str) -> None:
    made = of_family(family)
    assert verify(made, answered(tmp_path, made.truth)) == Verdict(ok=True)


def test_a_cent_is_forgiven_and_two_are_not(tmp_path: Path) -> None:
    made = of_family("totals")
    first, *rest = made.truth
    for cents, ok in ((0.01, True), (-0.01, True), (0.004, True), (0.02, False), (-0.02, False), (1.0, False)):
        changed = [first | {"total": first["total"] + cents}, *rest]
        assert verify(made, answered(tmp_path, changed)).ok is ok, cents


def test_a_whole_number_may_be_written_without_decimals(tmp_path: Path) -> None:
    made = of_family("totals")
    whole = [row | {"total": float(place)} for place, row in enumerate(made.truth)]
    shown = [row | {"total": place} for place, row in enumerate(made.truth)]
    changed = Task(**{name: getattr(made, name) for name in made.__struct_fields__} | {"truth": whole})
    assert verify(changed, answered(tmp_path, shown)) == Verdict(ok=True)


MISSES: dict[str, Callable[[list[dict[str, Any]]], Any]] = {
    "a row is missing": lambda rows: rows[:-1],
    "a row is too many": lambda rows: [*rows, rows[-1]],
    "other order": lambda rows: rows[::-1],
    "field is missing": lambda rows: [{"category": row["category"]} for row in rows],
    "field is too many": lambda rows: [row | {"note": ""} for row in rows],
    "text for a number": lambda rows: [row | {"total": str(row["total"])} for row in rows],
    "true for a number": lambda rows: [row | {"total": True} for row in rows],
    "nothing for a number": lambda rows: [row | {"total": None} for row in rows],
    "not a number": lambda rows: [row | {"total": float("nan")} for row in rows],
    "infinite": lambda rows: [row | {"total": float("inf")} for row in rows],
    "enormous": lambda rows: [row | {"total": 10**400} for row in rows],
    "other sign": lambda rows: [row | {"total": -row["total"]} for row in rows],
    "other case": lambda rows: [row | {"category": row["category"].upper()} for row in rows],
    "number for a text": lambda rows: [row | {"category": 1} for row in rows],
    "wrapped": lambda rows: {"answer": rows},
    "a list of lists": lambda rows: [list(row.values()) for row in rows],
    "empty": lambda rows: [],
    "null": lambda rows: None,
    "no JSON": lambda rows: "category,total",
    "twice": lambda rows: json.dumps(rows).replace('"total"', '"total": 1, "total"'),
    "deep": lambda rows: "[" * 100_000,
    "large": lambda rows: json.dumps(rows) + " " * (1 << 20),
    "no file content": lambda rows: "",
}


@pytest.mark.req("L9")
@pytest.mark.parametrize("miss", MISSES)
def test_near_misses_are_refused_with_a_reason(tmp_path: Path, miss: str) -> None:
    made = of_family("totals")
    verdict = verify(made, answered(tmp_path, MISSES[miss](made.truth)))
    assert not verdict.ok and verdict.why


def test_what_is_no_plain_file_is_refused(tmp_path: Path) -> None:
    made = of_family("totals")
    assert verify(made, tmp_path).why == "there is no answer.json of a decent size"
    place = tmp_path / "answer.json"
    elsewhere = answered(tmp_path, made.truth) / "answer.json"
    elsewhere.rename(tmp_path / "other.json")
    place.symlink_to(tmp_path / "other.json")
    assert not verify(made, tmp_path).ok
    place.unlink()
    os.mkfifo(place)
    assert not verify(made, tmp_path).ok
    place.unlink()
    place.mkdir()
    assert not verify(made, tmp_path).ok


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    (tmp_path / "answer.json").write_bytes(b"\xff\xfe[]\x00")
    assert verify(of_family("totals"), tmp_path).why == "answer.json is no JSON"


def chunk(kind: bytes, body: bytes, *, damaged: bool = False) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body) ^ damaged)


def png(width: int, height: int, line: Callable[[int], bytes], *, damaged: bool = False, tail: bytes = b"") -> bytes:
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    lines = zlib.compress(b"".join(line(place) for place in range(height)) + tail)
    parts = chunk(b"IHDR", head), chunk(b"IDAT", lines, damaged=damaged), chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def shaded(place: int) -> bytes:
    return b"\0" + bytes([place % 256, 20, 30] * 40)


def blank(place: int) -> bytes:
    return b"\0" + b"\xff" * 120


SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9">{}</svg>'
RECT = '<rect x="{}" y="1" width="{}" height="5"/>'
BARS = "".join(RECT.format(place, place + 1) for place in range(12))

GOOD: dict[str, bytes] = {"chart.svg": SVG.format(BARS).encode(), "chart.png": png(40, 30, shaded)}
BAD: dict[str, tuple[str, bytes]] = {
    "no picture": ("chart.svg", b"a chart"),
    "empty": ("chart.svg", b""),
    "nothing drawn": ("chart.svg", SVG.format("<text>bars</text>").encode()),
    "one bar": ("chart.svg", SVG.format(RECT.format(1, 2)).encode()),
    "the same bar again": ("chart.svg", SVG.format(RECT.format(1, 2) * 20).encode()),
    "bars of no width": ("chart.svg", SVG.format(BARS.replace('height="5"', 'height="0"')).encode()),
    "other root": ("chart.svg", SVG.format(BARS).replace("svg", "html").encode()),
    "entities": ("chart.svg", b'<!DOCTYPE svg [<!ENTITY a "b">]>' + GOOD["chart.svg"]),
    "deep": ("chart.svg", b"<svg>" + b"<g>" * 20_000),
    "unknown encoding": ("chart.svg", b'<?xml version="1.0" encoding="nonsense"?>' + GOOD["chart.svg"]),
    "not a png": ("chart.png", GOOD["chart.svg"]),
    "blank": ("chart.png", png(40, 30, blank)),
    "tiny": ("chart.png", png(8, 30, lambda place: shaded(place)[:25])),
    "cut": ("chart.png", GOOD["chart.png"][:-20]),
    "damaged": ("chart.png", png(40, 30, shaded, damaged=True)),
    "short of lines": ("chart.png", png(40, 60, lambda place: shaded(place) if place < 30 else b"")),
    "only a head": ("chart.png", b"\x89PNG\r\n\x1a\n"),
}


@pytest.mark.req("L9")
@pytest.mark.parametrize("name", GOOD)
def test_a_chart_is_a_picture_with_something_in_it(tmp_path: Path, name: str) -> None:
    made = of_family("report")
    answered(tmp_path, made.truth)
    assert verify(made, tmp_path).why == "there is no chart.svg or chart.png"
    (tmp_path / name).write_bytes(GOOD[name])
    assert verify(made, tmp_path) == Verdict(ok=True)
    answered(tmp_path, made.truth[:-1])
    assert not verify(made, tmp_path).ok


@pytest.mark.parametrize("case", BAD)
def test_what_is_no_chart_is_refused(tmp_path: Path, case: str) -> None:
    made = of_family("report")
    name, data = BAD[case]
    (answered(tmp_path, made.truth) / name).write_bytes(data)
    verdict = verify(made, tmp_path)
    assert not verdict.ok and verdict.why


def test_a_picture_that_claims_to_be_enormous_is_refused(tmp_path: Path) -> None:
    made = of_family("report")
    answered(tmp_path, made.truth)
    head = struct.pack(">IIBBBBB", 2**31 - 1, 2**31 - 1, 8, 2, 0, 0, 0)
    bomb = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"\0" * 10_000)) + chunk(b"IEND", b"")
    (tmp_path / "chart.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bomb)
    assert verify(made, tmp_path).why == "chart.png is no picture: it is too large"


def test_one_good_chart_is_enough(tmp_path: Path) -> None:
    made = of_family("report")
    answered(tmp_path, made.truth)
    (tmp_path / "chart.svg").write_bytes(b"broken")
    (tmp_path / "chart.png").write_bytes(GOOD["chart.png"])
    assert verify(made, tmp_path) == Verdict(ok=True)


@pytest.mark.parametrize("name", ["Rent", "Café & bar", "<b>", '"'])
def test_the_drawn_chart_passes_whatever_the_categories_are_called(tmp_path: Path, name: str) -> None:
    made = of_family("report")
    answered(tmp_path, [row | {"category": name} for row in made.truth])
    output = str(tmp_path / "chart.svg")
    drawn = drawing.run({"way": "svg", "data": str(tmp_path / "answer.json"), "output": output, "wait": 0})
    assert drawn == {"text": f"drew {output}: {len(made.truth)} bars"}
    answered(tmp_path, made.truth)
    assert verify(made, tmp_path) == Verdict(ok=True)


@pytest.mark.parametrize("content", ["", "{}x", '[{"category": "a"}]', "[1]", '{"a": 1}', "[" * 100_000])
def test_totals_that_cannot_be_drawn_are_an_error(tmp_path: Path, content: str) -> None:
    (tmp_path / "answer.json").write_text(content)
    data = str(tmp_path / "answer.json")
    drawn = drawing.run({"way": "svg", "data": data, "output": str(tmp_path / "chart.svg"), "wait": 0})
    assert drawn["error"] == "parse" and not (tmp_path / "chart.svg").exists()

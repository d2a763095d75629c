"""Case studies on the page: what is read from a home, and what is not."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hermes_agent.bench.report import Report
from hermes_agent.surfaces.dashboard.answers import answer
from hermes_agent.surfaces.dashboard.studies_page import (
    LARGEST,
    LONGEST,
    STUDIES,
    Line,
    Problem,
    ShownStudy,
    Studies,
    read_studies,
)
from tests.dashboard.case_studies import keep, sample_report
from tests.dashboard.served import HOSTILE

NOTHING = Studies(studies=(), problems=(), left_out=0)


def problem_of(home: Path, said: bytes | Report) -> str:
    """Why the only report of a home is not shown."""
    keep(home, "finance", said)
    found = read_studies(home)
    assert found == Studies(studies=(), problems=found.problems, left_out=0)
    (only,) = found.problems
    assert only == Problem(folder="finance", error=only.error) and "hermes bench" in only.remedy
    return only.error


def changed(**arm: Any) -> Report:
    """The sample with another first arm."""
    sample = sample_report()
    return msgspec.structs.replace(sample, arms=(msgspec.structs.replace(sample.arms[0], **arm), sample.arms[1]))


def test_nothing_there(tmp_path: Path) -> None:
    assert read_studies(tmp_path / "missing") == NOTHING
    (tmp_path / "bench" / "empty").mkdir(parents=True)
    (tmp_path / "bench" / "report.json").write_text("{}")
    assert read_studies(tmp_path) == NOTHING
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "bench").write_text("a file")
    assert read_studies(tmp_path / "other") == NOTHING


@pytest.mark.req("L9")
def test_a_report_as_it_was_kept(tmp_path: Path) -> None:
    sample = sample_report()
    path = keep(tmp_path, "finance", sample)
    found = read_studies(tmp_path)
    arms = tuple(msgspec.structs.replace(one, points=()) for one in sample.arms)
    curves = [one.curve for one in sample.arms]
    assert all(curves) and [one.gain is not None and one.gain.real for one in sample.arms] == [False, True]
    lines = tuple(
        Line(
            points=tuple((n + 1, share) for n, share in one.points),
            fitted=tuple((n + 1, one.curve.curve.at(n)) for n in range(24)) if one.curve else None,
            real=place == 1,
        )
        for place, one in enumerate(sample.arms)
    )
    study = ShownStudy(
        folder="finance",
        written_at=path.stat().st_mtime,
        report=msgspec.structs.replace(sample, arms=arms),
        lines=lines,
    )
    assert found == Studies(studies=(study,), problems=(), left_out=0)


def test_begun_only(tmp_path: Path) -> None:
    bare = changed(rows=(), gain=None, curve=None, points=())
    keep(tmp_path, "finance", bare)
    (only,) = read_studies(tmp_path).studies
    assert only.lines[0] == Line(points=(), fitted=None, real=False)


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b"\xff\xfe",
        b'{"name": "finance"}',
        b'{"x":' + b"[" * 100_000,
        msgspec.json.encode(sample_report())[:-200],
        msgspec.json.encode(sample_report()).replace(b'"arm":"on"', b'"arm":"sideways"'),
        msgspec.json.encode(sample_report()).replace(b'"success":', b'"success":1e999,"was":', 1),
    ],
    ids=["empty", "cut", "null", "list", "bytes", "part", "deep", "half", "arm", "infinite"],
)
def test_what_is_no_report(tmp_path: Path, said: bytes) -> None:
    assert problem_of(tmp_path, said).startswith("it is no report of this version")


@pytest.mark.parametrize(
    ("report", "error"),
    [
        (msgspec.structs.replace(sample_report(), iterations=0), "its arms or its iterations (1 to 2000) are none"),
        (msgspec.structs.replace(sample_report(), iterations=LONGEST + 1), "its arms or its iterations"),
        (msgspec.structs.replace(sample_report(), arms=sample_report().arms * 2), "its arms or its iterations"),
        (msgspec.structs.replace(sample_report(), iterations=20), "it has more figures than iterations"),
        (changed(rows=sample_report().arms[0].rows * 9), "it has more figures than iterations"),
        (changed(seeds=2**63), "it has figures that are out of bounds"),
        (changed(points=((0, 1e300),)), "it has figures that are out of bounds"),
        (changed(points=((0, 1.5),)), "it has shares beyond 0 and 1"),
        (changed(points=((1, 0.5), (0, 0.5))), "its points are not in order"),
        (changed(points=((24, 0.5),)), "its points are not in order"),
    ],
)
def test_figures_that_no_study_has(tmp_path: Path, report: Report, error: str) -> None:
    assert problem_of(tmp_path, report).startswith(error)


def test_a_curve_that_would_overflow(tmp_path: Path) -> None:
    fit = sample_report().arms[0].curve
    assert fit is not None
    steep = msgspec.structs.replace(fit, curve=msgspec.structs.replace(fit.curve, rate=-1e6))
    assert problem_of(tmp_path, changed(curve=steep)) == "its curve has no rate"


def test_large_files_links_pipes_and_folders(tmp_path: Path) -> None:
    huge = keep(tmp_path, "huge", b"{}")
    with huge.open("wb") as file:
        file.truncate(LARGEST * 1000)
    outside = tmp_path / "outside.json"
    outside.write_bytes(msgspec.json.encode(sample_report()))
    for name in ("link", "pipe", "folder"):
        (tmp_path / "bench" / name).mkdir()
    (tmp_path / "bench" / "link" / "report.json").symlink_to(outside)
    os.mkfifo(tmp_path / "bench" / "pipe" / "report.json")
    (tmp_path / "bench" / "folder" / "report.json").mkdir()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "report.json").write_bytes(outside.read_bytes())
    (tmp_path / "bench" / "linked").symlink_to(elsewhere)
    held = len(os.listdir("/proc/self/fd"))
    found = read_studies(tmp_path)
    assert len(os.listdir("/proc/self/fd")) == held, "nothing stays open"
    assert found.studies == () and {one.folder: one.error for one in found.problems} == {
        "huge": "it is larger than 2 MB",
        "link": "it cannot be read: Too many levels of symbolic links",
        "pipe": "it is no plain file",
        "folder": "it is no plain file",
    }


def test_the_newest_and_no_more(tmp_path: Path) -> None:
    for n in range(STUDIES + 3):
        path = keep(tmp_path, f"s{n:02}", b"{}" if n % 2 else sample_report())
        os.utime(path, (1e9 + n, 1e9 + n))
    found = read_studies(tmp_path)
    assert [one.folder for one in found.studies] == [f"s{n:02}" for n in range(22, 2, -2)]
    assert [one.folder for one in found.problems] == [f"s{n:02}" for n in range(21, 2, -2)]
    assert found.left_out == 3


def test_names_are_shown_and_do_nothing(tmp_path: Path) -> None:
    odd = msgspec.structs.replace(sample_report(), name=HOSTILE * 9, policy="a\x1b[2J\u202eb\nc")
    keep(tmp_path, os.fsdecode(b"a\xffb \xe2\x80\xaec"), odd)
    keep(tmp_path, "..;rm -rf", b"{}")
    found = read_studies(tmp_path)
    (only,) = found.studies
    assert (only.folder, only.report.policy) == ("a\\u{dcff}b \\u{202e}c", "a\\u{001b}[2J\\u{202e}b c")
    assert len(only.report.name) == 80 and [one.folder for one in found.problems] == ["..;rm -rf"]
    assert msgspec.json.decode(answer(found).body)["left_out"] == 0

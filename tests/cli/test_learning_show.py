"""`hermes learning show|sets|audit|curve|metrics` by the installed command, in a home where something was learned."""

import time
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from hermes_agent.store.heuristics import Heuristic, Kind, Stage
from hermes_agent.store.open import open_store
from hermes_agent.surfaces.cli.learning.curve import check_target, sparkline
from hermes_agent.surfaces.cli.learning.words import evidence_in_words
from hermes_agent.types.errors import UsageError
from tests.cli.forked import ForkedHermes
from tests.store.learning_samples import FAMILY, MODEL, START, fill, taught

SAYS = "`parse_csv` fails on invoices, use `read_file`"


@pytest.fixture
def taught_hermes(forked: ForkedHermes) -> ForkedHermes:
    forked.home.mkdir()
    taught("", forked.home, start=time.time() - 60 * 3600)
    return forked


@pytest.mark.req("H11", "H12")
def test_what_is_learned_and_one_of_it(taught_hermes: ForkedHermes) -> None:
    head, first, second = taught_hermes.run("learning", "show").stdout.splitlines()
    assert head.split() == ["id", "kind", "family", "stage", "confidence", "evidence", "what", "it", "says"]
    assert first == f"h1  avoid_tool  invoices if path.suffix=.csv  trusted  97%         failed 9 of 10, e 152  {SAYS}"
    assert second.startswith("h2  avoid_tool  invoices if path.suffix=.csv  retired ")
    (only,) = taught_hermes.json("learning", "show", "--family", FAMILY, "--model", MODEL, "--stage", "trusted")
    assert (only["id"], only["evidence"]) == ("h1", {"worked": 1, "failed": 9, "e": 152.25})
    told = taught_hermes.run("learning", "show", "h1").stdout
    lines = dict(line.split(maxsplit=1) for line in told.splitlines() if line)
    assert lines["says"] == SAYS and lines["instead"] == "read_file" and lines["evidence"] == "failed 9 of 10, e 152"
    assert lines["first"].endswith(", 90 s after it could act")
    assert [line.split("  ")[-1].strip() for line in told.splitlines()[-3:]] == ["why", "it failed", "it failed"]
    whole = taught_hermes.json("learning", "show", "h2")
    assert whole["feedback_latency_seconds"] is None
    assert [(one["was"], one["became"]) for one in whole["audit"]] == [
        ("probation", "retired"),
        ("candidate", "probation"),
    ]


@pytest.mark.req("H11")
def test_sets_and_audit(taught_hermes: ForkedHermes) -> None:
    sets = taught_hermes.run("learning", "sets").stdout.splitlines()
    assert [line.split()[:4] for line in sets[1:]] == [
        ["*", "3", "2", "1"],
        ["2", "1", "2", "1"],
        ["1", "0", "1", "1"],
        ["0", "-", "0", "-"],
    ]
    audit = taught_hermes.run("learning", "audit", "--since", "7d")
    assert [line.split("  ")[-1].strip() for line in audit.stdout.splitlines()] == [
        "why",
        "rolled back: success fell",
        "it failed",
        "it failed",
        "it failed",
    ]
    assert audit.stderr == "2 activated, 1 added, 1 retired\n"
    of_one = taught_hermes.json("learning", "audit", "h1", "--limit", "1")
    assert [(one["became"], one["run_id"], one["evidence"]) for one in of_one] == [
        ("trusted", "r1", {"worked": 1, "failed": 9})
    ]


@pytest.mark.req("L7", "H12")
def test_the_curve_as_table_plot_and_json(taught_hermes: ForkedHermes) -> None:
    plot = taught_hermes.workspace / "curve.svg"
    asked = ("learning", "curve", "--family", FAMILY, "--reference", "code_debugging")
    done = taught_hermes.run(*asked, "--plot", str(plot))
    assert (done.returncode, done.stderr) == (0, f"wrote {plot}\n")
    lines = done.stdout.splitlines()
    assert lines[5].split() == ["25-30", "50%", "4", "0%", "0%", "1.58", "-"]
    assert lines[6].split() == ["31-36", "100%", "2", "100%", "100%", "0.00", "2", "activated,", "1", "rolled", "back"]
    assert lines[12].startswith("success, mean of 20 runs: ")
    assert lines[12].endswith("100% (+25 points against the window before)")
    assert [line.split(":")[0] for line in lines[13:17]] == ["success", "seconds", "recovery", "reuse"]
    assert lines[17] == (
        "seed, code_debugging: from 45% towards 89%, rate 0.08; 80 % after 20 runs (its own table says 18)"
    )
    drawing = ET.parse(plot).getroot()
    assert drawing.tag.endswith("svg")
    found = taught_hermes.json(*asked, "--window", "5", "--last", "40")
    assert (len(found["runs"]), found["curves"]["window"], found["reference"]["label"]) == (40, 5, "seed")
    assert found["curves"]["success"]["fit"]["label"] == "measured"
    assert [(place, mark["change"]) for place, mark in found["events"]] == [
        (10, "activated"),
        (11, "activated"),
        (12, "rolled back"),
    ]


@pytest.mark.req("H12")
def test_metrics_for_a_scraper(taught_hermes: ForkedHermes) -> None:
    page = taught_hermes.run("learning", "metrics").stdout
    values = {
        sample.name: sample.value
        for family in text_string_to_metric_families(page)
        for sample in family.samples
        if sample.labels in ({}, {"family": FAMILY, "model": MODEL})
    }
    assert (values["hermes_success_rate"], values["hermes_set_version"]) == (0.8, 3)


def test_nothing_yet_says_what_to_do(forked: ForkedHermes) -> None:
    show = forked.run("learning", "show")
    assert (show.returncode, show.stdout) == (0, "") and "nothing is learned yet" in show.stderr
    curve = forked.run("learning", "curve", "--plot", "x.png")
    assert (curve.returncode, curve.stdout) == (0, "") and "no run was learned from yet" in curve.stderr
    assert not (forked.workspace / "x.png").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("show", "nobody"), "is no heuristic"),
        (("show", "--family", "nobody"), "is no family"),
        (("curve", "--model", "nobody"), "models with runs: none yet"),
        (("curve", "--reference", "cooking"), "choose one of code_debugging"),
    ],
)
def test_what_does_not_exist(forked: ForkedHermes, arguments: tuple[str, ...], said: str) -> None:
    done = forked.run("learning", *arguments)
    assert (done.returncode, done.stdout) == (2, "") and said in done.stderr


def test_where_a_plot_cannot_go(tmp_path: Path) -> None:
    there = tmp_path / "there.png"
    there.write_bytes(b"a picture")
    for target, said in (
        (there, "exists already"),
        (tmp_path / "x.gif", "neither"),
        (tmp_path / "no" / "x.svg", "no folder"),
    ):
        with pytest.raises(UsageError, match=said):
            check_target(target, replace=False)
    check_target(there, replace=True)
    check_target(tmp_path / "new.SVG", replace=False)


def test_hostile_text_does_not_reach_the_terminal(forked: ForkedHermes) -> None:
    forked.home.mkdir()
    store = open_store("", forked.home)
    evil = Heuristic(
        id="h0",
        kind=Kind.HINT,
        model=MODEL,
        family="a\x1b]0;owned\x07",
        subject="t",
        text="say \x1b[2J\u202e yes\nid  fake",
        stage=Stage.CANDIDATE,
        evidence={"note": "\x1b[31m", "worked": "many"},
        created_at=START,
    )
    fill(store, [], [evil])
    store.close()
    table = forked.run("learning", "show").stdout
    assert len(table.splitlines()) == 2 and "\x1b" not in table and "\u202e" not in table
    one = forked.run("learning", "show", "h0").stdout
    assert "\x1b" not in one and "\u202e" not in one


def test_evidence_in_words() -> None:
    assert evidence_in_words({}) == "none yet"
    assert evidence_in_words({"worked": 9, "failed": 1, "sessions": 2}) == "worked 9 of 10, sessions 2"
    assert evidence_in_words({"tasks": 40, "effect": 0.125, "e_helps": 21.5, "e_harms": 0.01}) == (
        "success +12 points with it, tasks 40, e helps 21.5, e harms 0.01"
    )
    assert evidence_in_words({"effect": None, "seen": [1, 2.5], "sure": True}) == "seen 1 2.5, sure yes"


def test_sparkline() -> None:
    assert sparkline([0.0, 0.5, 1.0]) == "▁▅█"
    assert sparkline([]) == ""
    assert len(sparkline([0.3] * 1000)) <= 60

"""`hermes bench`: the case studies as commands, from an empty home."""

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from hermes_agent.bench.catalog import folder_of
from hermes_agent.bench.families.convergence import FAMILIES
from tests.cli.command import HERMES, Hermes, until
from tests.cli.forked import ForkedHermes

TINY = ("--iterations", "3", "--seeds", "1", "--first-seed", "1000", "--workers", "1")


def lines_of(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@pytest.mark.parametrize("name", ["finance", "families"])
def test_help_names_every_option(forked: ForkedHermes, name: str) -> None:
    done = forked.run("bench", name, "--help")
    assert done.returncode == 0
    options = ("--policy", "--arms", "--seeds", "--first-seed", "--iterations", "--workers", "--plot", "--fresh")
    for option in (*options, "--json", *(("--only",) if name == "families" else ())):
        assert option in done.stdout
    assert "Interrupt it whenever you like" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("families", "--only", "nope"), "there is no family 'nope'"),
        (("families", "--only", "reports,,../x"), "there is no family '../x'"),
        (("families", "--only", " , "), "no family is named"),
        (("families", "--only", "finance"), "there are: reports, debugging, analysis"),
        (("families", "--policy", "clever"), "write apprentice, local, or provider:model"),
        (("families", "--arms", "maybe"), "there are: off, on, shuffled"),
        (("families", "--arms", ","), "no arm is named"),
        (("families", "--iterations", "0"), "0 is not in the range"),
        (("families", "--seeds", "-1"), "-1 is not in the range"),
        (("families", "--first-seed", "many"), "'many' is not a valid integer"),
        (("families", "--workers", "0"), "0 is not in the range"),
        (("families", "reports"), "unexpected extra argument"),
        (("finance", "--arms", "on,nope"), "there are: off, on, shuffled"),
        (("finance", "--policy", "clever"), "write apprentice, local, or provider:model"),
        (("finance", "--iterations", "1001"), "1001 is not in the range"),
        (("sports",), "sports"),
    ],
)
def test_bad_input_is_refused_with_what_to_do(forked: ForkedHermes, arguments: tuple[str, ...], said: str) -> None:
    done = forked.run("bench", *arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stdout == ""


def test_pictures_of_families_go_into_a_folder(forked: ForkedHermes, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("kept")
    done = forked.run("bench", "families", "--plot", str(tmp_path / "file"))
    assert done.returncode == 2 and "is no folder" in done.stderr
    assert (tmp_path / "file").read_text() == "kept"


@pytest.mark.req("L7")
@pytest.mark.slow
def test_families_measure_beside_the_first_description_and_nothing_is_done_twice(hermes: Hermes) -> None:
    asked = ("bench", "families", "--only", "open-ended,reports", "--arms", "off", *TINY, "--plot", "pictures")
    first = hermes.json(*asked)
    assert (first["policy"], first["simulated"]) == ("apprentice", True)
    assert [one["family"] for one in first["families"]] == ["reports", "open-ended"]
    report, control = (one["convergence"][0] for one in first["families"])
    assert report["reference"]["curve"] == {"initial": 0.67, "asymptote": 0.91, "rate": 0.04}
    assert (report["stated"], control["stated"], control["reference"]) == ("12", "60+", None)
    for one in first["families"]:
        kept = folder_of(hermes.home, one["family"], "apprentice", "off", 1000) / "tasks.jsonl"
        records = lines_of(kept)
        assert [record["number"] for record in records] == [0, 1, 2]
        figures = one["convergence"][0]
        assert (figures["seeds"], figures["tasks"], figures["curve"]) == (1, 3, None)
        assert figures["first_ten"] == round(sum(record["success"] for record in records) / 3, 4)
        assert figures["last_third"] == float(records[-1]["success"])
        picture = (hermes.workspace / "pictures" / f"{one['family']}.svg").read_text()
        assert picture.startswith("<svg") and "simulated policy apprentice" in picture
    before = sorted(hermes.home.glob("bench/*/*/*/tasks.jsonl"))
    texts = [path.read_bytes() for path in before]
    shown = hermes.run(*asked)
    assert [path.read_bytes() for path in before] == texts and len(texts) == 2
    assert "policy apprentice (a simulated policy, not a language model), 3 iterations" in shown.stdout
    row = next(line for line in shown.stdout.splitlines() if line.startswith("reports"))
    assert row.split()[:8] == ["reports", "67", "%", "91", "%", "0.040", "12", "-"]


@pytest.mark.req("L9")
@pytest.mark.slow
def test_a_study_that_was_interrupted_goes_on_where_it_stopped(hermes: Hermes) -> None:
    asked = ("bench", "finance", "--arms", "off", *TINY)
    kept = folder_of(hermes.home, "finance", "apprentice", "off", 1000) / "tasks.jsonl"
    process = subprocess.Popen(
        [HERMES, *asked],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=hermes.workspace,
        env=hermes.environment(),
        start_new_session=True,
    )
    until(lambda: lines_of(kept))
    os.killpg(process.pid, signal.SIGINT)
    process.communicate()
    before = lines_of(kept)
    assert process.returncode != 0 and 1 <= len(before) <= 2
    with kept.open("ab") as file:
        file.write(b'{"number": 1, "family')
    done = hermes.run(*asked, "--json")
    assert done.returncode == 0, done
    assert f"going on: {len(before)} of 3 tasks are on record" in done.stderr
    report = json.loads(done.stdout)["report"]
    assert (report["name"], report["simulated"], report["finished"]) == ("finance", True, True)
    assert [arm["arm"] for arm in report["arms"]] == ["off"]
    after = lines_of(kept)
    assert after[: len(before)] == before and [record["number"] for record in after] == [0, 1, 2]
    assert report["arms"][0]["rows"][0]["tasks"] == 3


def test_the_families_are_those_of_the_first_description() -> None:
    assert list(FAMILIES) == ["reports", "debugging", "analysis", "research", "administration", "open-ended"]

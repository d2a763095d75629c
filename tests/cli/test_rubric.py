"""`hermes learning rubric`: before anything ran, after runs of the kind, and on input that is none."""

import pytest

from tests.cli.command import Hermes, call, say
from tests.cli.forked import ForkedHermes
from tests.learning.test_rubric import BAD, GOOD


@pytest.mark.req("L8")
def test_good_and_bad_tasks(forked: ForkedHermes) -> None:
    good, bad = forked.json("learning", "rubric", GOOD[0]), forked.json("learning", "rubric", BAD[0])
    assert (good["verdict"], bad["verdict"]) == ("learnable", "not learnable")
    assert [one["name"] for one in good["scores"]] == [
        "repeatability",
        "clarity",
        "tool_diversity",
        "error_scenarios",
    ]
    assert good["history"] is None and good["total"] > 0.8 > 0.3 > bad["total"]
    text = forked.run("learning", "rubric", BAD[0])
    lines = text.stdout.splitlines()
    assert (text.returncode, text.stderr) == (0, "")
    assert lines[0].split()[:3] == ["repeatability", "0.15", "low"]
    assert lines[4].split(maxsplit=2) == ["total", "0.04", "not learnable: runs of it have little to teach"]
    assert [line[:2] for line in lines[5:]] == ["- "] * 4


@pytest.mark.req("L8")
@pytest.mark.slow
def test_runs_of_the_kind_count(hermes: Hermes) -> None:
    task = "Read notes.txt and count its words"
    (hermes.workspace / "notes.txt").write_text("a b c")
    before = hermes.json("learning", "rubric", task)
    for _ in range(2):
        model = hermes.script(call("read_file", path="notes.txt"), call("list_files"), say("three"))
        assert hermes.run("run", task, "-m", model, "--check", "true").returncode == 0
    after = hermes.json("learning", "rubric", task)
    assert before["history"] is None
    known = after["history"]
    assert (known["runs"], known["told"], known["successes"], known["mean_tools"]) == (2, 2, 2, 2.0)
    assert "2 runs of this kind so far" in after["scores"][0]["why"]
    assert "2 runs; of the last 2: 2 succeeded, 0 after an error" in hermes.run("learning", "rubric", task).stdout


@pytest.mark.parametrize("task", ["", "   ", "\n"])
def test_nothing_to_score(forked: ForkedHermes, task: str) -> None:
    done = forked.run("learning", "rubric", task)
    assert done.returncode == 2 and "there is no task to score" in done.stderr


def test_hostile_text_reaches_no_terminal(forked: ForkedHermes) -> None:
    done = forked.run("learning", "rubric", "Every day \x1b[2J delete 'x'; DROP TABLE runs; --")
    assert done.returncode == 0 and "\x1b" not in done.stdout
    assert forked.run("learning", "rubric").returncode == 2

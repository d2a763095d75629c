"""`hermes compare`: two runs beside each other, at the widths people have."""

import pytest

from tests.cli.command import Hermes, call, say
from tests.cli.terminal import Terminal

LONG = "look " * 40


def two_runs(hermes: Hermes) -> tuple[str, str]:
    (hermes.workspace / "a.txt").write_text("one")
    one = hermes.script(call("read_file", path="a.txt"), call("list_files", path="."), say("one way"))
    other = hermes.script(
        call("read_file", path="a.txt"), call("read_file", path="\x1b[31mb.txt"), say("\x1b[31mother")
    )
    runs = [hermes.json("run", LONG, "-m", model)["run"] for model in (one, other)]
    return runs[0], runs[1]


@pytest.mark.req("B2")
def test_two_runs_side_by_side(hermes: Hermes) -> None:
    left, right = two_runs(hermes)
    for columns in (80, 120):
        done = hermes.run("compare", left, right, env={"COLUMNS": str(columns)})
        assert done.returncode == 0
        lines = done.stdout.splitlines()
        assert max(map(len, lines)) <= columns
        assert "\x1b" not in done.stdout
        head = {line[:9].strip(): line[11:].split() for line in lines[: lines.index("")]}
        assert head["run"] == [left, right]
        assert head["status"] == ["done", "done"]
        assert head["calls"] == ["2", "2,", "1", "failed"]
        assert head["steps"] == ["3", "3"]
        assert set(head) >= {"request", "model", "set", "outcome", "answer", "tokens", "time", "cost"}
        (same,), (changed,) = ([line for line in lines if line.startswith(mark)] for mark in ("=", "≠"))
        assert same.split() == ["=", "1", "read_file(path=a.txt)", "1", "read_file(path=a.txt)"]
        assert changed.split()[:3] == ["≠", "2", "list_files(path=.)"] and changed.endswith("not_found")
        assert "they part at step 2: another call" in lines
        assert "different decisions" in lines
    told = hermes.json("compare", left, right)
    assert [row["match"] for row in told["rows"]] == ["same", "changed"]
    assert (told["parts"], told["same_decisions"], told["pinned"]) == ("at step 2: another call", False, False)
    assert [line["choice"] for line in told["only_right"]] == ["skip"]
    assert (told["left"]["run"], told["left"]["usd"], told["right"]["errors"]) == (left, 0.0, 1)
    alike = hermes.run("compare", left, left).stdout.splitlines()
    assert alike[-2:] == ["they do not part: same calls, same answer", "same decisions (0)"]


@pytest.mark.slow
def test_colours_are_for_terminals_and_can_be_switched_off(hermes: Hermes) -> None:
    run = hermes.json("run", "hello", "-m", hermes.script(say("hi")))["run"]
    for environment, coloured in (({}, True), ({"NO_COLOR": "1"}, False)):
        terminal = Terminal(hermes, "compare", run, "last", **environment)
        terminal.expect("same decisions (0)")
        assert terminal.wait() == 0
        assert (b"\x1b[1m" in terminal.raw) is coloured
        assert max(map(len, terminal.shown.splitlines())) <= 120
        terminal.close()
    hermes.run("sessions", "delete", "last", "--yes")
    failed = hermes.run("compare", run, run)
    assert failed.returncode == 2
    assert failed.stderr.startswith(f"error: the session of run {run} was deleted; nothing of it is left")

"""`hermes logs` on what real runs wrote, and on logs that others broke."""

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest

from hermes_agent.observability.sinks import LogFile
from tests.cli.command import HERMES, Hermes, call, say, until
from tests.cli.forked import ForkedHermes
from tests.cli.terminal import terminal


def _log(hermes: Hermes | ForkedHermes) -> Path:
    return hermes.home / "logs" / "hermes.log"


@pytest.mark.req("R10")
def test_after_a_run(hermes: Hermes) -> None:
    model = hermes.script(call("read_file", path="missing.txt"), say("a private answer"))
    run = hermes.json("run", "a private wish", "-m", model)["run"]
    done = hermes.run("logs", "--run", run)
    assert done.returncode == 0 and "\x1b" not in done.stdout
    kinds = [line.split()[3] for line in done.stdout.splitlines()]
    assert kinds.count("run_finished") == 1 and kinds.count("model_called") == 2 and kinds.count("call_finished") == 1
    assert "private" not in done.stdout
    assert "status=error" in next(line for line in done.stdout.splitlines() if " call_finished " in line)
    entries = [json.loads(line) for line in hermes.run("logs", "--level", "warning", "--json").stdout.splitlines()]
    assert [(entry["kind"], entry["tool"]) for entry in entries] == [("call_finished", "read_file")]


def test_filters_limits_and_hostile_text(forked: ForkedHermes) -> None:
    log = LogFile(_log(forked), clock=lambda: time.time() - 3600)
    for number in range(5):
        log.note("old", run=f"r{number}", number=number)
    LogFile(_log(forked)).note("new_failed", reason="\x1b[31mred\nforged", path="/x")
    assert len(forked.run("logs").stdout.splitlines()) == 6
    assert len(forked.run("logs", "-n", "2").stdout.splitlines()) == 2
    assert forked.run("logs", "--since", "10m").stdout.split(" ", 2)[2] == (
        "error   new_failed reason=\\u{001b}[31mred forged path=/x\n"
    )
    assert forked.run("logs", "--kind", "old", "--grep", 'NUMBER":3').stdout.endswith("info    old run=r3 number=3\n")
    nothing = forked.run("logs", "--grep", "(")
    assert (nothing.returncode, nothing.stdout, nothing.stderr) == (0, "", "no line of the log fits\n")


def test_broken_lines_are_said_once_beside_the_answer(forked: ForkedHermes) -> None:
    LogFile(_log(forked)).note("a")
    with _log(forked).open("ab") as file:
        file.write(b"\xff\xfe\n{not json\n" * 10)
    done = forked.run("logs", "--json")
    assert [json.loads(line)["kind"] for line in done.stdout.splitlines()] == ["a"]
    assert done.stderr == "hermes.log has lines that are no log lines; they are left out\n"


@pytest.mark.parametrize("arguments", [("--since", "soon"), ("--level", "loud"), ("-n", "0"), ("-n", "x"), ("extra",)])
def test_wrong_usage(forked: ForkedHermes, arguments: tuple[str, ...]) -> None:
    LogFile(_log(forked)).note("a")
    done = forked.run("logs", *arguments)
    assert done.returncode == 2 and done.stdout == "" and done.stderr


def test_before_the_first_run(forked: ForkedHermes) -> None:
    done = forked.run("logs")
    assert done.returncode == 2 and "there is no log in" in done.stderr and "hermes run" in done.stderr
    assert not forked.home.exists()


@pytest.mark.req("R10")
def test_following_through_a_rotation_until_interrupted(hermes: Hermes) -> None:
    log = LogFile(_log(hermes), largest=3_000)
    log.note("n", number=0)
    process = subprocess.Popen(
        [HERMES, "logs", "--follow", "--json"],
        stdout=(hermes.folder / "out").open("wb"),
        stderr=subprocess.PIPE,
        env=hermes.environment(),
    )

    def numbers() -> list[int]:
        return [json.loads(line)["number"] for line in (hermes.folder / "out").read_bytes().splitlines()]

    until(lambda: numbers() == [0])
    for number in range(1, 100):
        log.note("n", number=number)
    until(lambda: len(numbers()) >= 100)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert (process.returncode, said, numbers()) == (0, b"", list(range(100)))
    assert (hermes.home / "logs" / "hermes.log.1").exists()


def test_colours_on_a_terminal_only(hermes: Hermes) -> None:
    LogFile(_log(hermes)).note("x_failed")
    with terminal(hermes, "logs") as shown:
        shown.expect("x_failed")
        assert b"\x1b[31merror" in shown.raw

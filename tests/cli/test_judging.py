"""Judging a run afterwards: `hermes judge`, and `/good` and `/bad` in a chat."""

from typing import Any

import pytest

from tests.cli.command import Hermes, say


def judgements(hermes: Hermes) -> list[dict[str, Any]]:
    """What was said about the last session's runs."""
    events = hermes.json("sessions", "show", "last")["events"]
    return [entry["event"] for entry in events if entry["event"]["kind"] == "judged"]


@pytest.mark.req("H7")
def test_judge_and_judge_again(hermes: Hermes) -> None:
    run = hermes.json("run", "go", "-m", hermes.script(say("x")))["run"]
    bad = hermes.run("judge", run[-8:], "bad", "--reason", "wrong file")
    assert (bad.returncode, bad.stdout, bad.stderr) == (0, "", f"run {run} counts as bad\n")
    again = hermes.run("judge", "last", "bad", "--reason", "wrong file")
    assert again.stderr == f"run {run} counts as bad already\n"
    assert hermes.json("judge", "last", "good") == {
        "run": run,
        "before": {"status": "failed", "judged_by": "user", "reason": "wrong file"},
        "after": {"status": "done", "judged_by": "user", "reason": ""},
        "not_learned": "",
        "contradicts": True,
    }
    assert judgements(hermes) == [
        {"kind": "judged", "success": False, "by": "user", "reason": "wrong file"},
        {"kind": "judged", "success": True, "by": "user", "reason": ""},
    ]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        pytest.param(("judge",), "Missing argument", marks=pytest.mark.slow),
        pytest.param(("judge", "zzzz", "good"), "there is no run 'zzzz'", marks=pytest.mark.slow),
        pytest.param(("judge", "last", "good"), "there is no run 'last'", marks=pytest.mark.slow),
        (("judge", "%", "good"), "there is no run '%'"),
        (("judge", "last", "perhaps"), "'perhaps' is not one of"),
    ],
)
def test_what_cannot_be_judged(hermes: Hermes, given: tuple[str, ...], message: str) -> None:
    done = hermes.run(*given)
    assert (done.returncode, done.stdout) == (2, "") and message in done.stderr


def test_good_and_bad_in_a_chat(hermes: Hermes) -> None:
    secret = "sk-" + "a1B2c3D4" * 5
    lines = f"/good\none\n/good\ntwo\n/bad no total, key {secret}\n/good after all\n"
    done = hermes.run("chat", "-m", hermes.script(say("a"), say("b")), stdin=lines.encode())
    assert done.stdout == "a\nb\n"
    first, second, third, fourth, fifth = done.stderr.splitlines()
    assert first == "error: nothing was answered yet"
    assert second.endswith("counts as good") and third.endswith("counts as bad") and fourth.endswith("counts as good")
    assert second.split()[1] != third.split()[1] == fourth.split()[1]
    assert fifth.startswith("the user had said bad (no total, key ") and fifth.endswith("the last judgement counts")
    assert secret not in done.stderr
    assert [(one["success"], one["reason"][:8]) for one in judgements(hermes)] == [
        (True, ""),
        (False, "no total"),
        (True, "after al"),
    ]

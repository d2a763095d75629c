"""`hermes fork`: as a person uses it."""

import pytest

from tests.cli.command import Hermes, call, say, texts

SECRET = "sk-" + "q" * 40


@pytest.mark.req("B2")
def test_a_run_goes_another_way_from_one_of_its_steps(hermes: Hermes) -> None:
    model = hermes.script(
        call("write_file", path="a.txt", content="one"), call("read_file", path="a.txt"), say("it says one")
    )
    made = hermes.json("run", "make a.txt", "-m", model, "--yes")
    listed = hermes.run("fork", "last", "--steps")
    assert listed.stdout.splitlines() == [
        "step  ended  what the model did",
        "0            (the request alone)",
        "1     ok     write_file(path=a.txt, content=one)",
        "2     ok     read_file(path=a.txt)",
        "3            answered (no fork from here): it says one",
    ]
    (hermes.workspace / "a.txt").unlink()
    elsewhere = hermes.folder / "copy"
    elsewhere.mkdir()
    other = hermes.script(say("-"), call("write_file", path="b.txt", content="two"), say("other way"))
    words = ("--at", "1", "--say", f"write b.txt instead of {SECRET}", "-C", str(elsewhere))
    got = hermes.json("fork", made["session"], *words, "-m", other, "--yes")
    assert (got["answer"], got["resumed"], got["usage"]["model_calls"]) == ("other way", False, 2)
    origin = got["forked_from"]
    assert (origin["run"], origin["session"], origin["step"]) == (made["run"], made["session"], 1)
    assert [one["tool"] for one in got["calls"]] == ["write_file", "write_file"]
    assert sorted(path.name for path in elsewhere.iterdir()) == ["b.txt"]
    assert list(hermes.workspace.iterdir()) == [], "what was journaled is not done again"
    shown = hermes.json("sessions", "show", got["session"])
    assert shown["session"]["title"] == f"fork of {made['run']} at step 1: make a.txt"
    assert texts(shown["events"], "user_message")[1].startswith("write b.txt instead of [")
    assert SECRET not in str(shown)


@pytest.mark.req("B2")
def test_without_words_the_last_step_is_answered_anew_and_nobody_is_asked_twice(hermes: Hermes) -> None:
    hermes.home.mkdir()
    (hermes.home / "config.yaml").write_text("permissions: {files.write: ask}\n")
    model = hermes.script(call("write_file", path="made", content="x"), say("made"))
    refused = hermes.run("run", "make it", "-m", model)
    assert refused.returncode == 0 and not (hermes.workspace / "made").exists()
    done = hermes.run("fork", "last", "--at", "0", "--yes")
    assert (done.returncode, done.stdout) == (0, "made\n")
    assert "forked run " in done.stderr and " at step 0: session " in done.stderr
    assert (hermes.workspace / "made").exists()
    (hermes.workspace / "made").unlink()
    again = hermes.run("fork", "last")
    assert (again.returncode, again.stdout) == (0, "made\n")
    assert "crash" not in again.stderr
    assert not (hermes.workspace / "made").exists()


@pytest.mark.req("B2")
def test_what_cannot_be_forked_is_said(hermes: Hermes) -> None:
    run = hermes.json("run", "hello", "-m", hermes.script(say("hi")))["run"]
    for arguments, message in (
        (("nonsense",), "there is no run or session 'nonsense'"),
        ((run, "--at", "1"), f"step 1 is the final answer of run {run}: there is nothing to go on with"),
    ):
        failed = hermes.run("fork", *arguments)
        assert (failed.returncode, failed.stderr.splitlines()[0]) == (2, f"error: {message}")

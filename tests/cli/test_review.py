"""`hermes review`: what a background review changed is told, shown and taken back; nobody waits for it."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import Hermes, call, say, until
from tests.cli.forked import ForkedHermes
from tests.cli.terminal import terminal

SKILL = "---\nname: brew-tea\ndescription: Brew tea the way the user likes it.\n---\n# Brew tea\n\n1. Boil water.\n"
NOTE = call("memory", action="add", target="user", text="likes tea")
WRITE = call("skill_manage", action="create", name="brew-tea", content=SKILL)


def reviewed(hermes: Hermes, *, after: int = 1, skills: int = 0) -> None:
    """A review follows after so many messages, and after so many steps."""
    hermes.home.mkdir(exist_ok=True)
    settings = {"memory": {"nudge_interval": after}, "skills": {"creation_nudge_interval": skills}}
    (hermes.home / "config.yaml").write_text(json.dumps(settings))


def never(hermes: Hermes) -> None:
    reviewed(hermes, after=0)


def learned(work: dict[str, Any]) -> str:
    return f"learned: skill brew-tea created; noted: user add; undo with `hermes review undo {work['id']}`\n"


@pytest.mark.req("S3", "S4")
@pytest.mark.slow
def test_told_once_behind_the_next_answer_shown_and_undone(hermes: Hermes, forked: ForkedHermes) -> None:
    reviewed(hermes)
    model = hermes.script(say("ok"), NOTE, WRITE, say("made"))
    first = forked.run("run", "hi", "-m", model)
    assert (first.returncode, first.stdout, first.stderr) == (0, "ok\n", "")
    skill, user = hermes.home / "skills/brew-tea/SKILL.md", hermes.home / "memories/USER.md"
    assert (skill.read_text(), user.read_text()) == (SKILL, "- likes tea\n")
    never(hermes)
    (work,) = forked.json("review", "list")
    assert (work["kind"], work["status"], work["undone_at"]) == ("review", "done", None)
    plain = hermes.script(say("again"))
    assert forked.run("run", "hi", "-q", "-m", plain).stderr == ""
    assert "learned" not in json.dumps(forked.json("run", "hi", "-m", plain))
    told, silent = forked.run("run", "hi", "-m", plain), forked.run("run", "hi", "-m", plain)
    assert (told.stdout, told.stderr) == ("again\n", learned(work))
    assert (silent.stdout, silent.stderr) == ("again\n", "")
    shown = forked.run("review", "show", work["id"][-6:]).stdout
    assert f"after run {work['run_id']} of session {work['session_id']}" in shown
    assert "cost: 3 calls, " in shown and "+# Brew tea\n" in shown and "+- likes tea\n" in shown
    details = forked.json("review", "show", "last")
    assert [(one["name"], one["actions"], one["before"]) for one in details["skills"]] == [("brew-tea", ["create"], "")]
    assert [(one["file"], one["action"], one["taken_back"]) for one in details["notes"]] == [("USER.md", "add", False)]
    assert details["cost"]["used"]["calls"] == 3
    undone = forked.run("review", "undo", "last")
    assert undone.returncode == 0 and undone.stderr == f"{work['id']} is taken back\n"
    assert not skill.exists() and user.read_text() == ""
    assert forked.json("review", "list")[0]["undone_at"] is not None
    again = forked.run("review", "undo", work["id"])
    assert again.returncode != 0 and "was undone already" in again.stderr
    assert "there is nothing to take back" in forked.run("review", "undo", "last").stderr


@pytest.mark.req("S3")
@pytest.mark.slow
def test_the_answer_comes_first_and_a_skipped_review_is_told_and_undone_like_any_other(hermes: Hermes) -> None:
    reviewed(hermes)
    model = hermes.script(say("ok"), NOTE, say("late", seconds=300))
    process = hermes.start("run", "hi", "-m", model)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ok\n"
    note = hermes.home / "memories/USER.md"
    until(lambda: note.exists() and note.read_text())
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (0, b"", b"")
    never(hermes)
    told = hermes.run("run", "hi", "-m", hermes.script(say("again")))
    (work,) = hermes.json("review", "list")
    assert (work["status"], work["payload"]["reason"]) == ("interrupted", "it was skipped, or its process ended")
    assert told.stderr == f"learned: noted: user add; undo with `hermes review undo {work['id']}`\n"
    assert hermes.run("review", "undo", work["id"]).returncode == 0
    assert note.read_text() == ""


@pytest.mark.req("S3")
def test_a_terminal_is_told_about_the_wait_once_and_ctrl_c_skips_it(hermes: Hermes) -> None:
    reviewed(hermes)
    model = hermes.script(say("the answer"), say("late", seconds=300))
    with terminal(hermes, "run", "hi", "-m", model) as screen:
        screen.expect("the answer")
        screen.expect("looking back at this run; Ctrl-C skips it")
        screen.type("\x03")
        assert screen.wait() == 0
        assert screen.shown.count("looking back") == 1 and "Traceback" not in screen.shown


@pytest.mark.slow
def test_a_review_that_failed_says_why(hermes: Hermes, forked: ForkedHermes) -> None:
    reviewed(hermes)
    forked.run("run", "hi", "-m", hermes.script(say("ok"), {"failure": "auth"}))
    never(hermes)
    (work,) = forked.json("review", "list")
    shown = forked.run("review", "show", "last").stdout
    assert work["status"] == "failed" and "reason: " in shown and "the script says so" in shown
    refused = forked.run("review", "undo", work["id"])
    assert refused.returncode != 0 and "changed nothing that could be taken back" in refused.stderr
    assert forked.json("review", "list")[0]["undone_at"] is None


def test_a_skill_that_was_edited_since_is_left_alone(hermes: Hermes, forked: ForkedHermes) -> None:
    reviewed(hermes)
    forked.run("run", "hi", "-m", hermes.script(say("ok"), WRITE, say("made")))
    skill = hermes.home / "skills/brew-tea/SKILL.md"
    skill.write_text(SKILL + "2. Mine.\n")
    refused = forked.run("review", "undo", "last")
    assert refused.returncode == 1 and "brew-tea was changed since" in refused.stderr
    assert skill.read_text() == SKILL + "2. Mine.\n"


@pytest.mark.slow
def test_nothing_yet_and_hostile_ids(hermes: Hermes, forked: ForkedHermes) -> None:
    assert forked.json("review", "list") == []
    assert forked.run("review", "list").stderr == "nothing was done in the background yet\n"
    hostile = ("%", "_", "'; DROP TABLE sessions; --", "\x1b[2J", "x" * 5000)
    for arguments in (("show", "last"), ("undo", "last"), ("undo", "%"), *(("show", part) for part in hostile)):
        done = forked.run("review", *arguments)
        assert done.returncode != 0 and "error: " in done.stderr
        assert "Traceback" not in done.stderr and "\x1b" not in done.stderr
    assert forked.run("review", "list", "--limit", "0").returncode == 2


@pytest.mark.req("S5")
def test_the_policy_is_a_file_one_can_read_and_replace(hermes: Hermes, forked: ForkedHermes) -> None:
    shown = forked.run("review", "policy")
    assert "Never record:" in shown.stdout and "hermes config set review.policy FILE" in shown.stderr
    copy = Path(hermes.folder / "policy.md")
    assert forked.run("review", "policy", "--copy", str(copy)).returncode == 0
    assert copy.read_text().rstrip("\n") == shown.stdout.rstrip("\n")
    copy.write_text("Only look for tea.\n")
    written_over = forked.run("review", "policy", "--copy", str(copy))
    assert written_over.returncode == 2 and copy.read_text() == "Only look for tea.\n"
    nowhere = forked.run("review", "policy", "--copy", str(hermes.folder / "no/such/folder/p.md"))
    assert nowhere.returncode == 2 and "cannot be written" in nowhere.stderr
    forked.run("config", "set", "review.policy", str(copy))
    assert forked.json("review", "policy") == {"file": str(copy), "own": True, "text": "Only look for tea.\n"}
    copy.write_bytes(b"\xff")
    broken = forked.run("review", "policy")
    assert broken.returncode == 2 and "cannot be read" in broken.stderr

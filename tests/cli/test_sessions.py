"""`hermes sessions`: list, show, search, export, delete, prune."""

import json
import os
import pty
import subprocess

import pytest

from tests.cli.command import HERMES, Hermes, call, say, texts

MARKER = "zebrafinch"


def _two(hermes: Hermes) -> tuple[str, str]:
    model = hermes.script(call("write_file", path="n.txt", content=MARKER), say(f"wrote about the {MARKER}"))
    first = hermes.json("run", f"note {MARKER}", "-m", model)["session"]
    second = hermes.json("run", "something else", "-m", hermes.script(say("other answer")))["session"]
    return first, second


@pytest.mark.slow
def test_list_is_newest_first_and_limited(hermes: Hermes) -> None:
    assert hermes.run("sessions", "list").stderr.startswith("there are no sessions yet")
    assert hermes.json("sessions", "list") == []
    first, second = _two(hermes)
    assert [one["id"] for one in hermes.json("sessions", "list")] == [second, first]
    assert [one["id"] for one in hermes.json("sessions", "list", "--limit", "1")] == [second]
    lines = hermes.run("sessions", "list").stdout.splitlines()
    assert lines[0].split() == ["id", "used", "runs", "workspace", "title"]
    assert [line.split()[0] for line in lines[1:]] == [second, first]
    assert hermes.run("sessions", "list", "--limit", "0").returncode == 2


@pytest.mark.req("R10")
def test_show_is_readable(hermes: Hermes) -> None:
    first, _ = _two(hermes)
    shown = hermes.run("sessions", "show", first).stdout
    assert f"you: note {MARKER}" in shown
    assert f"→ write_file(path=n.txt, content={MARKER})" in shown
    assert f"hermes: wrote about the {MARKER}" in shown


@pytest.mark.parametrize("part", ["whole", "beginning", "end", "last"])
@pytest.mark.slow
def test_ids_may_be_short(hermes: Hermes, part: str) -> None:
    _, second = _two(hermes)
    name = {"whole": second, "beginning": second[:-1], "end": second[-5:], "last": "last"}[part]
    assert hermes.json("sessions", "show", name)["session"]["id"] == second


@pytest.mark.slow
def test_ids_that_fit_none_or_several(hermes: Hermes) -> None:
    first, second = _two(hermes)
    common = first[:3]
    assert second.startswith(common)
    several = hermes.run("sessions", "show", common)
    assert several.returncode == 2 and "fits more than one session" in several.stderr
    for name in ("nothere", "%", "", "'; DROP TABLE sessions; --"):
        none = hermes.run("sessions", "show", name)
        assert none.returncode == 2 and "there is no session" in none.stderr


@pytest.mark.slow
def test_search_finds_words_and_beginnings(hermes: Hermes) -> None:
    first, _ = _two(hermes)
    for words in ((MARKER,), ("ZEBRA",), ("about", MARKER[:6])):
        assert {one["session_id"] for one in hermes.json("sessions", "search", *words)} == {first}
    assert hermes.json("sessions", "search", "nobody", "said", "this") == []
    assert hermes.run("sessions", "search", '"AND', "NEAR(", "*").returncode == 0


@pytest.mark.req("H5")
@pytest.mark.slow
def test_export(hermes: Hermes) -> None:
    first, _ = _two(hermes)
    document = json.loads(hermes.run("sessions", "export", first).stdout)
    assert document == hermes.json("sessions", "show", first)
    lines = hermes.run("sessions", "export", first, "--format", "jsonl").stdout.splitlines()
    assert [json.loads(line) for line in lines] == document["events"]
    assert texts(document["events"], "user_message") == [f"note {MARKER}"]
    target = hermes.workspace / "out.json"
    assert hermes.run("sessions", "export", first, "-o", str(target)).returncode == 0
    assert json.loads(target.read_text()) == document
    again = hermes.run("sessions", "export", first, "-o", str(target))
    assert again.returncode == 2 and "exists already" in again.stderr
    nowhere = hermes.run("sessions", "export", first, "-o", "/no/such/folder/x")
    assert nowhere.returncode == 1 and "cannot write" in nowhere.stderr


@pytest.mark.req("R14")
@pytest.mark.slow
def test_delete_erases(hermes: Hermes) -> None:
    first, second = _two(hermes)
    asked = hermes.run("sessions", "delete", first)
    assert asked.returncode == 2 and "no terminal to ask" in asked.stderr
    got = hermes.json("sessions", "delete", first, "--yes")
    assert got == {"deleted": [first], "copies": []}
    assert [one["id"] for one in hermes.json("sessions", "list")] == [second]
    left = b"".join(path.read_bytes() for path in hermes.home.rglob("*") if path.is_file())
    assert MARKER.encode() not in left
    assert hermes.run("sessions", "show", first).returncode == 2


def _answering(hermes: Hermes, answer: bytes, *arguments: str) -> tuple[int, str]:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [HERMES, *arguments], stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=hermes.environment()
    )
    os.write(ours, answer)
    _, errors = process.communicate(timeout=60)
    os.close(ours)
    os.close(theirs)
    return process.returncode, errors.decode()


@pytest.mark.slow
def test_delete_asks_and_says_that_it_cannot_be_undone(hermes: Hermes) -> None:
    first, _ = _two(hermes)
    code, errors = _answering(hermes, b"n\n", "sessions", "delete", first)
    assert code == 1 and "this cannot be undone" in errors and "nothing was deleted" in errors
    assert len(hermes.json("sessions", "list")) == 2
    code, errors = _answering(hermes, b"y\n", "sessions", "delete", first)
    assert code == 0 and "1 session was erased" in errors
    assert len(hermes.json("sessions", "list")) == 1


@pytest.mark.slow
def test_delete_of_an_unknown_id_deletes_nothing(hermes: Hermes) -> None:
    first, _ = _two(hermes)
    assert hermes.run("sessions", "delete", first, "zzzzzz", "--yes").returncode == 2
    assert len(hermes.json("sessions", "list")) == 2


@pytest.mark.slow
def test_prune(hermes: Hermes) -> None:
    first, second = _two(hermes)
    assert hermes.json("sessions", "prune", "--older-than", "1")["found"] == []
    dry = hermes.json("sessions", "prune", "--older-than", "0", "--dry-run")
    assert ([one["id"] for one in dry["found"]], dry["deleted"]) == ([first, second], [])
    assert hermes.json("sessions", "prune", "--older-than", "0", "--yes")["deleted"] == [first, second]
    assert hermes.json("sessions", "list") == []
    assert hermes.run("sessions", "prune", "--older-than", "-1").returncode == 2


def test_hostile_answer_cannot_move_the_cursor(hermes: Hermes) -> None:
    hermes.run("run", "x", "-m", hermes.script(say("safe\x1b[2Jgone\u202eevil")))
    shown = hermes.run("sessions", "show", "last").stdout
    assert "\x1b" not in shown and "\u202e" not in shown

"""`hermes run`: every flag, every exit code, every wrong input."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.cli.command import HERMES, Hermes, call, say, texts
from tests.endpoint import Endpoint, by_results
from tests.endpoint import call as wire_call
from tests.endpoint import calls as wire_calls
from tests.endpoint import text as wire_text


def test_prints_the_answer_alone_on_stdout(hermes: Hermes) -> None:
    (hermes.workspace / "note.txt").write_text("x")
    done = hermes.run("run", "look", "-m", hermes.script(call("list_files"), say("One file.")))
    assert (done.returncode, done.stdout) == (0, "One file.\n")
    assert "→ list_files()" in done.stderr and "✓ list_files()" in done.stderr


def test_quiet_says_nothing_else(hermes: Hermes) -> None:
    done = hermes.run("run", "look", "-q", "-m", hermes.script(call("list_files"), say("done")))
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


@pytest.mark.req("R10", "R4")
def test_json_gives_session_run_answer_outcome_calls_usage(hermes: Hermes) -> None:
    (hermes.workspace / "a.txt").write_text("alpha\n")
    got = hermes.json("run", "read", "-m", hermes.script(call("read_file", path="a.txt"), say("It says alpha.")))
    (record,) = got["calls"]
    assert {key: record[key] for key in ("tool", "input", "status", "call_id", "effect", "attempts", "run_id")} == {
        "tool": "read_file",
        "input": {"path": "a.txt"},
        "status": "ok",
        "call_id": "call_0_0",
        "effect": "none",
        "attempts": 1,
        "run_id": got["run"],
    }
    assert "alpha" in record["output"] and record["duration"] > 0
    assert {key: got[key] for key in ("answer", "outcome", "resumed", "in_doubt")} == {
        "answer": "It says alpha.",
        "outcome": {"status": "done", "judged_by": "inferred", "reason": ""},
        "resumed": False,
        "in_doubt": [],
    }
    assert got["usage"]["model_calls"] == 2


def test_session_goes_on(hermes: Hermes) -> None:
    model = hermes.script(say("first"), say("second"))
    first = hermes.json("run", "one", "-m", model)
    second = hermes.json("run", "two", "-m", model, "--session", first["session"])
    by_end = hermes.json("run", "three", "-m", model, "-s", first["session"][-6:])
    assert [second["session"], by_end["session"]] == [first["session"]] * 2
    assert [first["answer"], second["answer"], by_end["answer"]] == ["first", "second", "(the script is over)"]


@pytest.mark.slow
def test_a_session_works_where_it_began(hermes: Hermes, tmp_path: Path) -> None:
    model = hermes.script(say("a"), say("b"))
    hermes.run("run", "one", "-m", model)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    done = hermes.run("run", "two", "-m", model, "-s", "last", "-C", str(elsewhere))
    assert f"this session works in {hermes.workspace}" in done.stderr
    hermes.workspace.rename(tmp_path / "gone")
    hermes.workspace = elsewhere
    gone = hermes.run("run", "three", "-m", model, "-s", "last")
    assert gone.returncode == 2 and "not there any more" in gone.stderr


def test_directory_is_the_workspace(hermes: Hermes, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    model = hermes.script(call("write_file", path="x.txt", content="hello"), say("ok"))
    assert hermes.run("run", "write", "-C", str(other), "-m", model).returncode == 0
    assert (other / "x.txt").read_text() == "hello"


def test_task_from_standard_input(hermes: Hermes) -> None:
    got = hermes.run("run", "-m", hermes.script(say("yes")), stdin="grüße\nzweite Zeile".encode())
    assert got.stdout == "yes\n"
    shown = hermes.json("sessions", "show", "last")
    assert texts(shown["events"], "user_message") == ["grüße\nzweite Zeile"]


@pytest.mark.slow
def test_ten_megabytes_from_standard_input(hermes: Hermes) -> None:
    done = hermes.run("run", "-q", "-m", hermes.script(say("long")), stdin=b"word " * 2_000_000)
    assert (done.returncode, done.stdout) == (0, "long\n")


@pytest.mark.parametrize("given", [("run", ""), ("run",), ("run", "   ")])
def test_nothing_to_do_is_a_usage_error(hermes: Hermes, given: tuple[str, ...]) -> None:
    done = hermes.run(*given)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == 'error: there is nothing to do\n  try: say what: hermes run "TEXT"\n'


def test_argument_that_is_not_utf8(hermes: Hermes) -> None:
    done = hermes.run("run", b"caf\xe9", "--json", "-m", hermes.script(say("ok")))
    assert done.returncode == 0 and json.loads(done.stdout)["answer"] == "ok"
    wrong = hermes.run("run", "x", "--json", "-m", hermes.script(say("ok")), "--session", b"\xff\xfe")
    assert wrong.returncode == 2 and "there is no session" in json.loads(wrong.stdout)["error"]


def test_failure_as_text_and_as_json(hermes: Hermes) -> None:
    model = hermes.script({"failure": "auth"})
    done = hermes.run("run", "x", "-m", model)
    assert (done.returncode, done.stdout) == (1, "") and "failed: the script says so" in done.stderr
    got = hermes.json("run", "x", "-m", model, code=1)
    assert (got["outcome"]["status"], got["answer"]) == ("failed", "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run", "x"), "no model is configured"),
        (("run", "x", "-m", "nowhere:x"), "there is no provider 'nowhere'"),
        (("run", "x", "-m", "NOT A NAME"), "is no model name"),
        (("run", "x", "-m", "scripted:/no/such/file"), "cannot read the script"),
        (("run", "x", "--session", "zzzz", "-m", "apprentice"), "there is no session 'zzzz'"),
        (("run", "x", "-C", "/no/such/folder"), "does not exist"),
        (("run", "x", "--frobnicate"), "No such option"),
        (("rnu", "x"), "did you mean `hermes run`?"),
    ],
)
def test_wrong_input_is_one_line_and_code_2(hermes: Hermes, arguments: tuple[str, ...], message: str) -> None:
    done = hermes.run(*arguments)
    assert done.returncode == 2 and message in done.stderr and "Traceback" not in done.stderr
    as_json = hermes.run(*arguments, "--json")
    assert as_json.returncode == 2 and message in json.loads(as_json.stdout)["error"]


def test_what_would_be_asked_is_refused_without_a_terminal_and_allowed_by_yes(hermes: Hermes) -> None:
    hermes.run("config", "set", "permissions.shell", "ask")
    model = hermes.script(call("terminal", command="touch made"), say("done"))
    refused = hermes.json("run", "x", "-m", model)
    assert [one["status"] for one in refused["calls"]] == ["refused"]
    assert not (hermes.workspace / "made").exists()
    allowed = hermes.json("run", "x", "-m", model, "--yes")
    assert [one["status"] for one in allowed["calls"]] == ["ok"]
    assert (hermes.workspace / "made").exists()


def test_home_that_cannot_be_written(hermes: Hermes) -> None:
    blocked = hermes.folder / "file"
    blocked.write_text("")
    done = hermes.run("run", "x", "-m", hermes.script(say("a")), env={"HERMES_HOME": str(blocked / "home")})
    assert done.returncode in (1, 2) and "Traceback" not in done.stderr and "try:" in done.stderr


def test_home_is_private(hermes: Hermes) -> None:
    hermes.run("run", "x", "-m", hermes.script(say("a")))
    assert hermes.home.stat().st_mode & 0o077 == 0


@pytest.mark.slow
def test_closed_pipe_is_quiet(hermes: Hermes) -> None:
    model = hermes.script(say("line\n" * 50_000))
    read_end, write_end = os.pipe()
    process = subprocess.Popen(
        [HERMES, "run", "x", "-m", model],
        stdin=subprocess.DEVNULL,
        stdout=write_end,
        stderr=subprocess.PIPE,
        cwd=hermes.workspace,
        env=hermes.environment(),
    )
    os.close(write_end)
    os.close(read_end)
    _, errors = process.communicate(timeout=60)
    assert b"Traceback" not in errors and b"Broken" not in errors
    assert "its answer may not have been seen" in hermes.run("run", "y", "-m", hermes.script(say("b"))).stderr


def test_closed_standard_output(hermes: Hermes) -> None:
    command = f"exec {HERMES} run x -m {hermes.script(say('a'))} >&-"
    done = subprocess.run(
        ["sh", "-c", command],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        cwd=hermes.workspace,
        env=hermes.environment(),
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_answer_that_the_encoding_cannot_show(hermes: Hermes) -> None:
    done = hermes.run("run", "x", "-m", hermes.script(say("snow ☃")), env={"PYTHONIOENCODING": "latin-1"})
    assert (done.returncode, done.stdout) == (0, "snow ?\n")


def test_no_escape_sequences_when_piped(hermes: Hermes) -> None:
    done = hermes.run("run", "x", "-m", hermes.script(call("list_files"), say("plain")))
    assert "\x1b" not in done.stdout + done.stderr


def test_secret_in_the_message_is_not_stored(hermes: Hermes) -> None:
    secret = "correct-horse-battery"
    done = hermes.run("run", f"use {secret} now", "-m", hermes.script(say("ok")), env={"MY_API_KEY": secret})
    assert "a secret in your message was replaced" in done.stderr
    stored = b"".join(path.read_bytes() for path in hermes.home.rglob("*") if path.is_file())
    assert secret.encode() not in stored


@pytest.mark.slow
def test_openai_compatible_endpoint(hermes: Hermes) -> None:
    (hermes.workspace / "a.txt").write_text("alpha\n")
    with Endpoint(by_results([wire_calls(wire_call("read_file", path="a.txt")), wire_text("alpha it is")])) as endpoint:
        by_flag = hermes.json("run", "read a.txt", "-m", "openai:test", "--base-url", endpoint.url)
        by_environment = hermes.run(
            "run", "read a.txt", env={"HERMES_MODEL": "openai:test", "OPENAI_BASE_URL": endpoint.url}
        )
    assert (by_flag["answer"], by_flag["calls"][0]["status"]) == ("alpha it is", "ok")
    assert by_environment.stdout == "alpha it is\n"


def test_endpoint_that_refuses(hermes: Hermes) -> None:
    hermes.run("config", "set", "model.attempts", "1")
    done = hermes.run("run", "x", "-m", "openai:test", "--base-url", "http://127.0.0.1:1/v1")
    assert done.returncode == 1 and "failed:" in done.stderr and "Traceback" not in done.stderr

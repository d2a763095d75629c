"""`hermes run` and signals, crashes, and a second process on the same session."""

import json
import signal
from pathlib import Path

import pytest

from tests.cli.command import Hermes, call, say, texts, until


def _stubborn(marker: Path) -> str:
    return f"trap '' TERM INT; touch {marker}; i=0; while [ $i -lt 100 ]; do sleep 0.1; i=$((i+1)); done"


def test_one_ctrl_c_ends_the_turn_cleanly(hermes: Hermes) -> None:
    marker = hermes.workspace / "began"
    process = hermes.start("run", "x", "-y", "-m", hermes.script(call("terminal", command=f"touch {marker}; sleep 60")))
    until(marker.exists)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130 and b"stopping; press Ctrl-C again" in errors
    events = [entry["event"] for entry in hermes.json("sessions", "show", "last")["events"]]
    end = next(event for event in events if event["kind"] == "run_finished")
    assert (end["status"], end["outcome"]["reason"]) == ("interrupted", "interrupted by the user")
    assert hermes.json("resume", "--list") == []


@pytest.mark.req("R2")
def test_two_ctrl_c_leave_at_once_and_the_next_start_goes_on(hermes: Hermes) -> None:
    marker = hermes.workspace / "began"
    model = hermes.script(call("terminal", command=_stubborn(marker)), say("finished after all"))
    process = hermes.start("run", "x", "-y", "-m", model)
    until(marker.exists)
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    until(lambda: b"stopping" in process.stderr.readline())  # type: ignore[union-attr]
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    (left,) = hermes.json("resume", "--list")
    done = hermes.run("run", "next", "-m", hermes.script(say("me first")))
    assert done.returncode == 0 and done.stdout == "me first\n"
    assert f"resuming run {left['run']}, which was interrupted" in done.stderr
    shown = hermes.json("sessions", "show", left["session"])
    assert texts(shown["events"], "assistant_message") == ["", "finished after all"]


def test_sigterm_is_like_ctrl_c(hermes: Hermes) -> None:
    marker = hermes.workspace / "began"
    process = hermes.start("run", "x", "-y", "-m", hermes.script(call("terminal", command=f"touch {marker}; sleep 60")))
    until(marker.exists)
    process.terminate()
    process.communicate(timeout=60)
    assert process.returncode == 130


@pytest.mark.req("R2")
def test_killed_run_of_this_session_is_finished_first(hermes: Hermes) -> None:
    marker = hermes.workspace / "began"
    model = hermes.script(call("terminal", command=f"touch {marker}; sleep 60"), say("picked up"), say("second"))
    hermes.killed_in_tool(model, marker)
    done = hermes.run("run", "and now?", "-s", "last", "-m", model, "--json")
    assert (done.returncode, json.loads(done.stdout)["answer"]) == (0, "second")
    assert "which this session had to finish first, is done" in done.stderr


def test_resume_can_be_switched_off(hermes: Hermes) -> None:
    marker = hermes.workspace / "began"
    hermes.killed_in_tool(hermes.script(call("terminal", command=f"touch {marker}; sleep 60"), say("x")), marker)
    hermes.run("config", "set", "runtime.resume", "off")
    hermes.run("run", "other", "-m", hermes.script(say("y")))
    assert len(hermes.json("resume", "--list")) == 1


@pytest.mark.slow
@pytest.mark.req("R14")
def test_two_processes_on_one_session_are_both_answered(hermes: Hermes) -> None:
    model = hermes.script(say("zero"), say("one", seconds=1.0), say("two", seconds=1.0))
    session = hermes.json("run", "begin", "-m", model)["session"]
    both = [hermes.start("run", word, "-s", session, "-m", model, "--json") for word in ("left", "right")]
    outputs = [process.communicate(timeout=60) for process in both]
    assert [process.returncode for process in both] == [0, 0]
    answers = [json.loads(output)["answer"] for output, _ in outputs]
    assert sorted(answers) == ["one", "two"]
    assert any(b"another terminal is driving this session" in errors for _, errors in outputs)
    events = hermes.json("sessions", "show", session)["events"]
    spoken = [
        entry["event"]["text"] for entry in events if entry["event"]["kind"] in ("user_message", "assistant_message")
    ]
    asked = spoken[2::2]
    assert spoken[:2] == ["begin", "zero"] and sorted(asked) == ["left", "right"] and spoken[3::2] == ["one", "two"]


@pytest.mark.slow
def test_leaving_the_queue_takes_the_message_back(hermes: Hermes) -> None:
    model = hermes.script(say("zero"), say("one", seconds=6.0), say("two"))
    session = hermes.json("run", "begin", "-m", model)["session"]
    first = hermes.start("run", "first", "-s", session, "-m", model)
    until(lambda: hermes.json("status")["open_runs"])
    second = hermes.start("run", "second", "-s", session, "-m", model)
    assert second.stderr is not None
    until(lambda: b"waiting" in second.stderr.readline())  # type: ignore[union-attr]
    second.send_signal(signal.SIGINT)
    second.communicate(timeout=60)
    assert second.returncode == 130 and hermes.json("status")["waiting"] == []
    assert first.communicate(timeout=60)[0] == b"one\n"

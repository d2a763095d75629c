"""`hermes run --check`, `--family`, `--pin`, `--seed`, `--reset`: verdicts, exit codes, a crash in the middle."""

import pytest
from _pytest.mark import ParameterSet

from tests.cli.command import Hermes, say, until


def slow(*case: object) -> ParameterSet:
    """A case that is left to the full sweep; the library's tests have its like."""
    return pytest.param(*case, marks=pytest.mark.slow)


def test_passed_is_said_and_is_success(hermes: Hermes) -> None:
    (hermes.workspace / "made").write_text("x")
    done = hermes.run("run", "go", "-m", hermes.script(say("did it")), "--check", "cat made; echo; echo fine")
    assert (done.returncode, done.stdout) == (0, "did it\n")
    assert done.stderr == "checking: cat made; echo; echo fine\ncheck passed\n  x\n  fine\n"


@pytest.mark.req("H7")
@pytest.mark.slow
def test_failed_is_exit_code_one_as_text_and_as_json(hermes: Hermes) -> None:
    model = hermes.script(say("did it"))
    done = hermes.run("run", "go", "-q", "-m", model, "--check", "exit 4")
    assert (done.returncode, done.stdout, done.stderr) == (1, "did it\n", "")
    options = ("--family", "sums", "--pin", "0", "--seed", "-7", "--reset", "git checkout .")
    got = hermes.json("run", "go", "-m", model, "--check", "echo no; exit 4", *options, code=1)
    assert {key: got[key] for key in ("answer", "outcome", "check")} == {
        "answer": "did it",
        "outcome": {"status": "failed", "judged_by": "verifier", "reason": "no\n[exit code 4]"},
        "check": {"verdict": "failed", "reason": "no\n[exit code 4]"},
    }
    events = [entry["event"] for entry in hermes.json("sessions", "show", got["session"])["events"]]
    stored = next(event["options"] for event in events if event["kind"] == "run_started")
    assert {key: stored[key] for key in ("family", "pin", "seed", "reset", "check")} == {
        "family": "sums",
        "pin": 0,
        "seed": -7,
        "reset": "git checkout .",
        "check": "echo no; exit 4",
    }
    assert [event["choice"] for event in events if event["kind"] == "decided"] == ["failed"]


def test_confined_as_commands_are_and_no_verdict_is_said(hermes: Hermes) -> None:
    outside = hermes.folder / "outside"
    outside.mkdir()
    done = hermes.run("run", "go", "-m", hermes.script(say("x")), "--check", f"touch {outside}/y; missing-command")
    assert done.returncode == 1 and "check gave no verdict" in done.stderr and "not found" in done.stderr
    assert list(outside.iterdir()) == []


@pytest.mark.req("R2")
def test_killed_in_the_check_it_runs_again(hermes: Hermes) -> None:
    marker, gate = hermes.workspace / "began", hermes.workspace / "gate"
    check = f"echo x >> {marker}; while [ ! -e {gate} ]; do sleep 0.05; done; echo looked"
    process = hermes.start("run", "go", "-m", hermes.script(say("once"), say("twice")), "--check", check)
    until(lambda: marker.exists() and marker.read_text() == "x\n")
    process.kill()
    process.communicate()
    gate.touch()
    (resumed,) = hermes.json("resume")["resumed"]
    assert (resumed["answer"], resumed["resumed"]) == ("once", True)
    assert resumed["outcome"] == {"status": "done", "judged_by": "verifier", "reason": "looked"}
    assert marker.read_text() == "x\nx\n"
    assert resumed["usage"]["model_calls"] == 1


@pytest.mark.req("B1")
@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("--pin", "7"), "there is no heuristic set 7"),
        slow(("--pin", "-1"), "pin must be a whole number from 0"),
        slow(("--pin", "x"), "not a valid integer"),
        slow(("--seed", "1.5"), "not a valid integer"),
        slow(("--family", ""), "a family needs a name"),
        (("--check", " "), "check must be a command"),
    ],
)
def test_wrong_options_are_usage_errors(hermes: Hermes, given: tuple[str, str], message: str) -> None:
    done = hermes.run("run", "go", "-m", hermes.script(say("x")), *given)
    assert (done.returncode, done.stdout) == (2, "") and message in done.stderr

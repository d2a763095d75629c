"""`hermes resume` and `hermes status`: what was interrupted, who drives what."""

import os

import pytest

from tests.cli.command import Hermes, call, say, until


def test_nothing_is_interrupted(hermes: Hermes) -> None:
    assert hermes.run("resume").stderr == "nothing is interrupted\n"
    assert hermes.json("resume") == {"resumed": [], "failed": [], "unseen": []}
    assert hermes.json("resume", "--list") == []


@pytest.mark.req("R2")
def test_killed_run_goes_on_and_says_what_is_in_doubt(hermes: Hermes) -> None:
    marker = hermes.workspace / "began"
    model = hermes.script(call("terminal", command=f"echo x >> {marker}; sleep 60"), say("went on"))
    hermes.killed_in_tool(model, marker)
    (listed,) = hermes.json("resume", "--list")
    (status,) = hermes.json("status")["interrupted_runs"]
    assert (status["run"], status["plan"]) == (listed["run"], {"step": 1, "pending": ["terminal"], "retries_left": 4})
    done = hermes.run("resume")
    assert (done.returncode, done.stdout) == (0, "went on\n")
    assert "in doubt: terminal may or may not have had its effect" in done.stderr
    assert marker.read_text() == "x\n"
    assert hermes.json("resume", "--list") == []


@pytest.mark.slow
@pytest.mark.req("R2")
def test_one_of_two_by_a_part_of_its_id_as_json(hermes: Hermes) -> None:
    for name in ("a", "b"):
        marker = hermes.workspace / name
        hermes.killed_in_tool(hermes.script(call("terminal", command=f"touch {marker}; sleep 60"), say(name)), marker)
        hermes.run("config", "set", "runtime.resume", "off")
    listed = hermes.json("resume", "--list")
    got = hermes.json("resume", listed[1]["run"][-6:])
    assert [(one["run"], one["answer"], one["resumed"]) for one in got["resumed"]] == [(listed[1]["run"], "b", True)]
    assert [one["run"] for one in hermes.json("resume", "--list")] == [listed[0]["run"]]


def test_run_that_is_over_or_unknown(hermes: Hermes) -> None:
    run = hermes.json("run", "x", "-m", hermes.script(say("y")))["run"]
    over = hermes.run("resume", run)
    assert over.returncode == 2 and f"run {run} is done; there is nothing to resume" in over.stderr
    assert hermes.run("resume", "zzzz").returncode == 2


@pytest.mark.req("R10")
def test_run_whose_driver_lives_is_refused_with_its_name_and_status_shows_it(hermes: Hermes) -> None:
    marker = hermes.workspace / "began"
    model = hermes.script(call("terminal", command=f"touch {marker}; sleep 60"), say("x"))
    process = hermes.start("run", "long work", "-y", "-m", model)
    until(marker.exists)
    try:
        status = hermes.json("status")
        (driven,) = status["open_runs"]
        assert {key: driven[key] for key in ("agent", "model", "request", "plan")} == {
            "agent": "hermes",
            "model": model,
            "request": "long work",
            "plan": {"step": 1, "pending": ["terminal"], "retries_left": 4},
        }
        assert driven["driver"] == {"pid": process.pid, "host": os.uname().nodename, "life": "alive"}
        assert (status["database"], status["home"], status["interrupted_runs"]) == ("sqlite", str(hermes.home), [])
        refused = hermes.run("resume", driven["run"])
        assert refused.returncode == 1 and f"is being driven by process {process.pid} on" in refused.stderr
        shown = hermes.run("status").stdout
        assert f"driven by pid {process.pid} on" in shown and "step 1, pending: terminal, retries left: 4" in shown
    finally:
        process.kill()
        process.communicate()
        hermes.run("resume")


def test_model_that_is_gone_keeps_the_run_open_until_another_is_named(hermes: Hermes) -> None:
    marker = hermes.workspace / "began"
    model = hermes.script(call("terminal", command=f"touch {marker}; sleep 60"), say("never"))
    hermes.killed_in_tool(model, marker)
    os.unlink(model.removeprefix("scripted:"))
    failed = hermes.json("resume", code=2)
    assert failed["resumed"] == [] and "cannot read the script" in failed["failed"][0]["error"]
    other = hermes.script(say("unused"), say("another model answered"))
    assert hermes.run("resume", "--model", other).stdout == "another model answered\n"
    calls = [entry["event"] for entry in hermes.json("sessions", "show", "last")["events"]]
    models = [event["model"] for event in calls if event["kind"] == "model_called"]
    assert models == [model.removeprefix("scripted:"), other.removeprefix("scripted:")]


def test_status_shows_background_processes_and_nothing_else(hermes: Hermes) -> None:
    model = hermes.script(call("terminal", command="sleep 30", background=True), say("started"))
    session = hermes.json("run", "serve", "-y", "-m", model)["session"]
    (alive,) = hermes.json("status")["processes"]
    try:
        assert (alive["session"], alive["command"]) == (session, "sleep 30")
        assert f"{alive['process']}, pid {alive['pid']}: sleep 30" in hermes.run("status").stdout
    finally:
        os.killpg(alive["pid"], 9)
    until(lambda: hermes.json("status")["processes"] == [])

"""`hermes doctor`: what it finds, what it says to do, and the repair."""

from typing import Any

import pytest

from tests.cli.command import Hermes, call, say
from tests.endpoint import Endpoint, sequence


def _states(report: dict[str, Any]) -> dict[str, str]:
    return {one["name"]: one["state"] for one in report["checks"]}


def test_fresh_home_is_fine_and_stays_untouched(hermes: Hermes) -> None:
    report = hermes.json("doctor")
    assert report["ok"] and _states(report)["model"] == "warn"
    assert not (hermes.home / "hermes.db").exists()


@pytest.mark.slow
def test_used_home(hermes: Hermes) -> None:
    hermes.run("run", "x", "-m", hermes.script(say("y")))
    states = _states(hermes.json("doctor"))
    expected = ("python", "hermes", "home", "config", "database", "journal", "runs")
    assert {name: states[name] for name in expected} == dict.fromkeys(expected, "ok")
    hermes.run("config", "set", "sandbox.kind", "none")
    shown = hermes.run("doctor").stdout
    assert "sandbox.kind is none, commands run with your own rights" in shown and "try: " in shown


@pytest.mark.req("R3")
def test_the_sandbox_in_force_is_named_with_the_reason(hermes: Hermes) -> None:
    def shown() -> str:
        (line,) = [one["text"] for one in hermes.json("doctor")["checks"] if one["name"] == "sandbox"]
        return str(line)

    assert shown().startswith("bubblewrap")
    hermes.run("config", "set", "sandbox.kind", "landlock")
    assert shown().lower().startswith("landlock")


@pytest.mark.req("R14")
def test_broken_configuration_is_named_with_its_place(hermes: Hermes) -> None:
    hermes.home.mkdir()
    (hermes.home / "config.yaml").write_text("model:\n  name: [unclosed\n")
    done = hermes.run("doctor")
    assert done.returncode == 1 and "line 3, column 1" in done.stdout and "Traceback" not in done.stderr


@pytest.mark.req("R14")
@pytest.mark.slow
def test_damaged_database_is_found_and_repaired(hermes: Hermes) -> None:
    turns = [turn for _ in range(20) for turn in (call("list_files"), say("y"))]
    said = "".join(f"task {number}\n" for number in range(20))
    assert hermes.run("chat", "-m", hermes.script(*turns), stdin=said.encode()).returncode == 0
    database = hermes.home / "hermes.db"
    data = bytearray(database.read_bytes())
    data[-4096 * 3 : -4096 * 2] = b"\xff" * 4096
    database.write_bytes(data)
    found = hermes.json("doctor", code=1)
    assert _states(found)["database"] == "fail" and database.exists()
    repaired = hermes.run("doctor", "--repair")
    assert repaired.returncode == 0, repaired
    assert "the damaged file is kept as" in repaired.stdout
    assert len(list(hermes.home.glob("hermes.db.damaged-*"))) >= 1
    after = hermes.json("doctor")
    assert (_states(after)["database"], _states(after)["set aside"]) == ("ok", "warn")
    assert len(hermes.json("sessions", "list", "--limit", "50")) > 0


@pytest.mark.req("R14")
@pytest.mark.slow
def test_flipped_bits_in_a_payload_are_found_and_taken_out(hermes: Hermes) -> None:
    hermes.run("run", "zebrafinch", "-m", hermes.script(say("y")))
    hermes.run("run", "other", "-m", hermes.script(say("z")))
    database = hermes.home / "hermes.db"
    data = database.read_bytes()
    place = data.index(b'"text":"zebrafinch"') + len(b'"text":"zeb')
    database.write_bytes(data[:place] + b"R" + data[place + 1 :])
    report = hermes.json("doctor", code=1)
    (journal,) = [one for one in report["checks"] if one["name"] == "journal"]
    assert journal["state"] == "fail" and "does not match its checksum" in journal["text"]
    assert hermes.run("doctor", "--repair").returncode == 0
    assert hermes.json("doctor")["ok"]


def test_repair_of_a_sound_database_does_nothing(hermes: Hermes) -> None:
    hermes.run("run", "x", "-m", hermes.script(say("y")))
    assert "nothing was done" in hermes.run("doctor", "--repair").stdout
    assert list(hermes.home.glob("*.damaged-*")) == []
    assert hermes.run("doctor", "--repair", "/no/such/file").returncode == 2


def test_endpoint_is_asked_only_online(hermes: Hermes) -> None:
    with Endpoint(sequence([])) as endpoint:
        settings = {"HERMES_MODEL": "openai:test", "OPENAI_BASE_URL": endpoint.url}
        hermes.run("doctor", env=settings)
        assert endpoint.requests == []
        assert f"{endpoint.url}/models answers" in hermes.run("doctor", "--online", env=settings).stdout
    gone = hermes.run("doctor", "--online", env=settings)
    assert gone.returncode == 1 and "does not answer" in gone.stdout


def test_interrupted_runs_are_named(hermes: Hermes) -> None:
    marker = hermes.workspace / "began"
    hermes.killed_in_tool(hermes.script(call("terminal", command=f"touch {marker}; sleep 60"), say("x")), marker)
    report = hermes.json("doctor")
    (runs,) = [one for one in report["checks"] if one["name"] == "runs"]
    assert runs["state"] == "warn" and runs["remedy"] == "`hermes resume` goes on with them"
    hermes.run("resume")


def test_home_that_is_no_folder(hermes: Hermes) -> None:
    blocked = hermes.folder / "file"
    blocked.write_text("")
    done = hermes.run("doctor", env={"HERMES_HOME": str(blocked)})
    assert done.returncode == 1 and "cannot be written to" in done.stdout

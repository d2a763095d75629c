"""`hermes learning replay` on lessons that are really stored, and tasks that are really done again."""

import json
import random
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from hermes_agent.agent import Agent
from hermes_agent.store.database import Connection
from hermes_agent.store.families import Family, save_family
from hermes_agent.store.heuristics import (
    Heuristic,
    Kind,
    Stage,
    activate_members,
    active_set,
    lock_sequence,
    save_heuristic,
)
from hermes_agent.store.journal import read_run
from hermes_agent.store.lessons import Lesson, add_lesson
from hermes_agent.store.open import Store, open_store
from hermes_agent.surfaces.cli.learning.replay import command, parse_since
from hermes_agent.types.errors import UsageError
from hermes_agent.types.events import RunStarted
from hermes_agent.types.trace import AdviceItem, Judge
from tests.cli.command import Hermes, call, say

MODEL = "scripted:m"
ARMS = ("having", "lacking")
HEURISTIC = Heuristic(
    id="h7k2m9q4x1ab",
    kind=Kind.WORKFLOW,
    model=MODEL,
    family="f1",
    subject="plan:1",
    text="read the header first",
    stage=Stage.PROBATION,
)


def _kept(store: Store, lessons: list[Lesson], *heuristics: Heuristic) -> None:
    def unit(connection: Connection) -> None:
        save_family(connection, Family(id="f1", name="reading tables"))
        for heuristic in heuristics:
            save_heuristic(connection, heuristic)
        activate_members(connection, [heuristic.id for heuristic in heuristics], "test", "", 1.0)
        for lesson in lessons:
            add_lesson(connection, lesson, lock_sequence(connection, store.database.backend), "local")

    store.database.write_now(unit)
    store.close()


def _lesson(run_id: str, at: float, success: bool, applied: bool, **more: Any) -> Lesson:
    item = AdviceItem(id=HEURISTIC.id, text="", applied=applied, propensity=0.5)
    told = {"session_id": "s", "family": "f1", "model": MODEL, "judged_by": Judge.VERIFIER, "set_version": 1}
    return Lesson(run_id=run_id, at=at, success=success, items=(item,), **{**told, **more})


def _month() -> list[Lesson]:
    """400 runs in which the workflow helps by thirty points."""
    rng = random.Random(4)
    lessons = []
    for place in range(400):
        applied = rng.random() < 0.5
        lessons.append(_lesson(f"r{place}", 1000.0 + place, rng.random() < (0.8 if applied else 0.5), applied))
    return lessons


def _prepared(hermes: Hermes, url: str = "") -> Store:
    hermes.home.mkdir(exist_ok=True)
    if url:
        (hermes.home / "config.yaml").write_text(f"store: {{url: '{url}'}}\n")
    return open_store(url, hermes.home)


@pytest.mark.req("H13")
def test_the_table_and_the_answer(hermes: Hermes, store_url: str) -> None:
    _kept(_prepared(hermes, store_url), _month(), HEURISTIC)
    done = hermes.run("learning", "replay", "--without", HEURISTIC.id[:6])
    head, row, labels, answer = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (0, "")
    assert head.split()[:4] == ["heuristic", "verdict", "effect", "sample"]
    assert row.split()[:2] == [HEURISTIC.id, "helps"] and row.endswith("0%          workflow: read the header first")
    assert labels == (
        f"400 runs without {HEURISTIC.id}: 0 decided the same, 0 done again, 400 weighed, 0 cannot be judged (0%)"
    )
    assert answer.startswith(f"would they have gone better without {HEURISTIC.id}? no, worse: ")
    done_again = _invoked(hermes, "--set", "1", "--family", "reading tables", "-m", MODEL, "--json")
    got = json.loads(done_again.stdout)
    assert got["replay"]["labels"] == {"same": 400, "reexecuted": 0, "weighted": 0, "unsupported": 0}
    assert (got["replay"]["verdict"], got["replay"]["judged"]["difference"]) == ("unknown", 0.0)
    assert got["texts"] == {HEURISTIC.id: "read the header first"}


def test_too_little_to_say_and_nothing_at_all(hermes: Hermes) -> None:
    _kept(_prepared(hermes), _month()[:20], HEURISTIC)
    done = _invoked(hermes, "--without", HEURISTIC.id)
    assert "unknown: the effective sample is " in done.stdout and "and 50 are needed" in done.stdout
    assert "%" not in done.stdout.splitlines()[-1]
    empty = hermes.run("learning", "replay", "--set", "0", "-m", "scripted:other")
    assert (empty.returncode, empty.stdout) == (0, "")
    assert (
        empty.stderr == "there are no such runs to replay: they are kept from now on, whenever `learning.mode` is on\n"
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "say what to replay"),
        (("--set", "1", "--without", "h7"), "say what to replay"),
        (("--set", "99"), "there is no heuristic set 99"),
        (("--set", "9" * 30), "--set"),
        (("--set", "-1"), "--set"),
        (("--set", "new"), "--set"),
        (("--without", "nothing"), "'nothing' is no heuristic"),
        (("--with", "%"), "'%' is no heuristic"),
        (("--without", "h7", "--family", "no such"), "'no such' is no family"),
        (("--without", "h7", "--since", "yesterday"), "'yesterday' is no time"),
        (("--without", "h7", "--since", "99999-01-01"), "is no time"),
        (("--without", "h7", "--rerun", "0"), "--rerun"),
        (("--with", "h7", "--rerun", "1", "-y"), "in the set in force already"),
        (("--set", "1", "--rerun", "1", "-y"), "set 1 is in force already"),
        (("--without", "h7", "--rerun", "1", "-y"), "there is no run to do again: nothing would have been decided"),
    ],
)
def test_wrong_usage_is_told(settled: Hermes, arguments: tuple[str, ...], said: str) -> None:
    done = _invoked(settled, *arguments)
    if done.exit_code == 2:
        assert said in done.stderr
    else:
        assert (
            isinstance(done.exception, UsageError) and said in str(done.exception) and done.exception.advice is not None
        )


def _invoked(hermes: Hermes, *arguments: str) -> Result:
    """The command inside this process: what `group.run_command` makes of its errors is tested elsewhere."""
    return CliRunner(env={"HERMES_HOME": str(hermes.home)}).invoke(command, arguments)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", 0.0), ("24h", 13_600.0), ("1d", 13_600.0), ("2w", 0.0), ("1970-01-01T00:01:00+00:00", 60.0)],
)
def test_since(text: str, expected: float) -> None:
    assert parse_since(text, 100_000.0) == expected


@pytest.fixture(scope="module")
def settled(tmp_path_factory: pytest.TempPathFactory) -> Hermes:
    """A home with one heuristic in force and no lesson; nothing here changes it."""
    hermes = Hermes(tmp_path_factory.mktemp("settled"))
    _kept(_prepared(hermes), [], HEURISTIC)
    return hermes


def _worked(hermes: Hermes, model: str, **options: str) -> str:
    """A run of the task, journaled with what is needed to do it again."""
    agent = Agent(name="hermes", model=model, workspace=hermes.workspace, home=hermes.home)
    try:
        return agent.run("write it", options={"consent": "all", **options}).run_id
    finally:
        agent.close()


@pytest.mark.req("H13")
def test_tasks_are_done_again_twice_from_a_clean_start(hermes: Hermes) -> None:
    model = hermes.script(call("write_file", path="done.txt", content="x"), say("written"))
    _prepared(hermes).close()
    (hermes.home / "config.yaml").write_text("learning: {mode: 'off'}\n")
    resets = Path(hermes.folder / "work" / "resets")
    options = {"check": "test -e done.txt", "reset": "rm -f done.txt; echo reset >> resets"}
    first, plain = _worked(hermes, model, **options), _worked(hermes, model)
    (hermes.home / "config.yaml").write_text("learning: {explore: 0}\n")
    lessons = [_lesson(first, 1.0, False, True, model=model), _lesson(plain, 2.0, True, True, model=model)]
    _kept(open_store("", hermes.home), lessons, _against_writing(model))
    refused = _invoked(hermes, "--without", HEURISTIC.id, "--rerun", "5")
    assert str(refused.exception) == "doing tasks again needs your consent" and not resets.exists()
    assert "1 runs cannot be done again: it was made without --check and --reset" in refused.stderr
    got = hermes.json("learning", "replay", "--without", HEURISTIC.id, "--rerun", "5", "-y")
    assert resets.read_text() == "reset\nreset\n"
    (pair,) = got["rerun"]["pairs"]
    assert (pair["run_id"], pair["having"]["success"], pair["lacking"]["success"]) == (first, False, True)
    assert (got["rerun"]["evidence"]["wins"], got["rerun"]["evidence"]["losses"]) == (0, 1)
    assert got["rerun"]["e_helps"] < 1 < got["rerun"]["e_harms"]
    assert got["rerun"]["refused"] == {"it was made without --check and --reset": 1}
    assert got["replay"]["labels"] == {"same": 0, "reexecuted": 1, "weighted": 1, "unsupported": 0}
    store = open_store("", hermes.home)
    in_force = store.database.read_now(active_set)
    begun = {name: store.database.read_now(partial(read_run, run_id=pair[name]["run_id"]))[0].event for name in ARMS}
    store.close()
    pins = {name: event.options["pin"] for name, event in begun.items() if isinstance(event, RunStarted)}
    assert (pins, in_force.version, in_force.members) == ({"having": 1, "lacking": 0}, 1, (HEURISTIC.id,))


def _against_writing(model: str) -> Heuristic:
    """Steers away from the only call that the script makes, so that the task fails with it."""
    return Heuristic(
        id=HEURISTIC.id,
        kind=Kind.AVOID_TOOL,
        model=model,
        family="*",
        subject="write_file",
        better="patch",
        text="it fails here",
        stage=Stage.TRUSTED,
    )

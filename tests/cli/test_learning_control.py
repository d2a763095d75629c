"""`hermes learning approve|reject|rollback|freeze|reset` as a person uses them."""

from pathlib import Path

import pytest

from hermes_agent.config.settings import LearningSettings
from hermes_agent.learning.learner import Learner
from hermes_agent.store.heuristics import Heuristic, Kind
from hermes_agent.store.open import open_store
from tests.cli.command import Hermes
from tests.learning.tables import absorb, dump, failing, named


@pytest.fixture
def waiting(hermes: Hermes) -> Heuristic:
    """A home in which one thing waits for approval and two are trusted; returns what waits."""
    hermes.home.mkdir(mode=0o700)
    store = open_store("", hermes.home)
    learner = Learner(store.database, settings=LearningSettings(approve=("avoid_tool",)), clock=lambda: 5000.0)
    absorb(store, learner, *(failing(number) for number in range(9)))
    found = named(store, Kind.AVOID_TOOL)
    store.close()
    return found


def tables(home: Path) -> object:
    store = open_store("", home)
    found = dump(store)
    store.close()
    return found


@pytest.mark.req("H10")
def test_what_waits_is_listed_approved_and_rejected(hermes: Hermes, waiting: Heuristic) -> None:
    listed = hermes.run("learning", "approve").stdout
    assert all(part in listed for part in (waiting.id, "avoid_tool", "ledgers", "`bad` failed"))
    approved = hermes.run("learning", "approve", waiting.id[:6])
    assert (approved.returncode, approved.stdout) == (0, f"{waiting.id} is trusted now: {waiting.text}\n")
    (rejected,) = hermes.json("learning", "reject", waiting.id)
    assert (rejected["id"], rejected["stage"]) == (waiting.id, "rejected")
    before = tables(hermes.home)
    again = hermes.run("learning", "approve", waiting.id)
    assert (again.returncode, f"{waiting.id} is rejected, it does not wait" in again.stderr) == (2, True), again
    twice = hermes.json("learning", "reject", waiting.id, code=2)
    assert twice["error"].startswith(f"{waiting.id} is rejected already")
    assert tables(hermes.home) == before


def test_of_several_ids_one_that_is_wrong_changes_nothing(hermes: Hermes, waiting: Heuristic) -> None:
    before = tables(hermes.home)
    done = hermes.run("learning", "approve", waiting.id, "nothing")
    assert (done.returncode, "'nothing' is no heuristic" in done.stderr) == (2, True), done
    assert tables(hermes.home) == before


@pytest.mark.req("H9")
def test_a_rollback_is_said_and_undone(hermes: Hermes, waiting: Heuristic) -> None:
    back = hermes.json("learning", "rollback", "--to", "0")
    assert (back["version"], len(back["stopped"]), back["acting_again"]) == (0, 2, [])
    undone = hermes.run("learning", "rollback", "--to", str(back["was"]))
    assert undone.stdout == f"set {back['was']} is in force (it was 0)\n" + "".join(
        f"  acts again: {name}\n" for name in back["stopped"]
    )
    assert "undo with `hermes learning rollback --to 0`" in undone.stderr
    before = tables(hermes.home)
    unknown = hermes.run("learning", "rollback", "--to", "99")
    assert (unknown.returncode, "there is no heuristic set 99" in unknown.stderr) == (2, True), unknown
    assert tables(hermes.home) == before


def test_freezing_and_thawing(hermes: Hermes, waiting: Heuristic) -> None:
    first = hermes.json("learning", "freeze")
    assert (first["frozen"], first["changed"]) == (True, True)
    assert hermes.run("learning", "freeze", "--off").stdout == f"set {first['set']} may change\n"


@pytest.mark.req("H16")
def test_a_reset_asks_first_and_names_what_it_forgot(hermes: Hermes, waiting: Heuristic) -> None:
    before = tables(hermes.home)
    asked = hermes.run("learning", "reset", "--model", "m")
    assert (asked.returncode, "say --yes" in asked.stderr) == (2, True), asked
    unknown = hermes.run("learning", "reset", "--model", "other", "--yes")
    assert (unknown.returncode, "nothing was learned about the model 'other'" in unknown.stderr) == (2, True), unknown
    assert tables(hermes.home) == before
    done = hermes.json("learning", "reset", "--model", "m", "--yes")
    assert (done["model"], done["retired"], done["forgotten"] > 3) == ("m", 3, True)

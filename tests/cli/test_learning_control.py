"""`hermes learning approve|reject|rollback|freeze|reset` as a person uses them."""

from pathlib import Path

import pytest

from hermes_agent.config.settings import LearningSettings
from hermes_agent.learning.learner import Learner
from hermes_agent.store.heuristics import Heuristic, Kind
from hermes_agent.store.open import open_store
from tests.cli.forked import ForkedHermes
from tests.learning.tables import absorb, dump, failing, named


@pytest.fixture
def waiting(forked: ForkedHermes) -> Heuristic:
    """A home in which one thing waits for approval and two are trusted; returns what waits."""
    forked.home.mkdir(mode=0o700)
    store = open_store("", forked.home)
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
def test_what_waits_is_listed_approved_and_rejected(forked: ForkedHermes, waiting: Heuristic) -> None:
    listed = forked.run("learning", "approve").stdout
    assert all(part in listed for part in (waiting.id, "avoid_tool", "ledgers", "`bad` failed"))
    approved = forked.run("learning", "approve", waiting.id[:6])
    assert (approved.returncode, approved.stdout) == (0, f"{waiting.id} is trusted now: {waiting.text}\n")
    (rejected,) = forked.json("learning", "reject", waiting.id)
    assert (rejected["id"], rejected["stage"]) == (waiting.id, "rejected")
    before = tables(forked.home)
    again = forked.run("learning", "approve", waiting.id)
    assert (again.returncode, f"{waiting.id} is rejected, it does not wait" in again.stderr) == (2, True), again
    twice = forked.json("learning", "reject", waiting.id, code=2)
    assert twice["error"].startswith(f"{waiting.id} is rejected already")
    assert tables(forked.home) == before


def test_of_several_ids_one_that_is_wrong_changes_nothing(forked: ForkedHermes, waiting: Heuristic) -> None:
    before = tables(forked.home)
    done = forked.run("learning", "approve", waiting.id, "nothing")
    assert (done.returncode, "'nothing' is no heuristic" in done.stderr) == (2, True), done
    assert tables(forked.home) == before


@pytest.mark.req("H10")
def test_of_several_ids_one_that_was_rejected_changes_nothing_and_the_same_twice_counts_once(
    forked: ForkedHermes, waiting: Heuristic
) -> None:
    store = open_store("", forked.home)
    other = named(store, Kind.PREFER_TOOL)
    store.close()
    forked.run("learning", "reject", other.id)
    before = tables(forked.home)
    done = forked.run("learning", "approve", waiting.id, other.id)
    assert (done.returncode, done.stderr.splitlines()) == (
        2,
        [
            f"error: {other.id} is rejected, it does not wait for approval",
            "  try: nothing was changed; `hermes learning show --stage awaiting_approval` lists what does",
        ],
    )
    refused = forked.run("learning", "reject", waiting.id, other.id)
    assert (refused.returncode, "rollback` brings back what acted" in refused.stderr) == (2, True), refused
    assert tables(forked.home) == before
    twice = forked.run("learning", "approve", waiting.id, waiting.id[:6])
    assert (twice.returncode, twice.stdout) == (0, f"{waiting.id} is trusted now: {waiting.text}\n")


@pytest.mark.req("H9")
def test_a_rollback_is_said_and_undone(forked: ForkedHermes, waiting: Heuristic) -> None:
    back = forked.json("learning", "rollback", "--to", "0")
    assert (back["version"], len(back["stopped"]), back["acting_again"]) == (0, 2, [])
    undone = forked.run("learning", "rollback", "--to", str(back["was"]))
    assert undone.stdout == f"set {back['was']} is in force (it was 0)\n" + "".join(
        f"  acts again: {name}\n" for name in back["stopped"]
    )
    assert "undo with `hermes learning rollback --to 0`" in undone.stderr
    before = tables(forked.home)
    unknown = forked.run("learning", "rollback", "--to", "99")
    assert (unknown.returncode, "there is no heuristic set 99" in unknown.stderr) == (2, True), unknown
    assert tables(forked.home) == before


def test_freezing_and_thawing(forked: ForkedHermes, waiting: Heuristic) -> None:
    first = forked.json("learning", "freeze")
    assert (first["frozen"], first["changed"]) == (True, True)
    assert forked.run("learning", "freeze", "--off").stdout == f"set {first['set']} may change\n"


@pytest.mark.req("H16")
def test_a_reset_asks_first_and_names_what_it_forgot(forked: ForkedHermes, waiting: Heuristic) -> None:
    before = tables(forked.home)
    asked = forked.run("learning", "reset", "--model", "m")
    assert (asked.returncode, "say --yes" in asked.stderr) == (2, True), asked
    unknown = forked.run("learning", "reset", "--model", "other", "--yes")
    assert (unknown.returncode, "nothing was learned about the model 'other'" in unknown.stderr) == (2, True), unknown
    assert tables(forked.home) == before
    done = forked.json("learning", "reset", "--model", "m", "--yes")
    assert (done["model"], done["retired"], done["forgotten"] > 3) == ("m", 3, True)

"""`hermes learning families` as a person uses it."""

from pathlib import Path

import pytest

from hermes_agent.learning.families import centroid_of
from hermes_agent.store.database import Connection
from hermes_agent.store.families import Family, save_family
from hermes_agent.store.lessons import Lesson, add_lesson
from hermes_agent.store.open import open_store
from tests.cli.forked import ForkedHermes


def stored(home: Path) -> None:
    """Two families: one of two runs, one of one."""
    home.mkdir(mode=0o700, exist_ok=True)
    store = open_store("", home)
    store.database.write_now(_fill)
    store.close()


def _fill(connection: Connection) -> None:
    for name, texts in (("totals", ["sum the column", "total the column"]), ("letters", ["translate the letter"])):
        save_family(connection, Family(id=f"f{name}", name=name, centroid=centroid_of(texts), tasks=len(texts)))
    for seq, (run, where) in enumerate((("run1", "ftotals"), ("run2", "ftotals"), ("run3", "fletters")), start=1):
        lesson = Lesson(run_id=run, session_id="s", family=where, model="m", at=1.0, success=run != "run2")
        add_lesson(connection, lesson, seq, "local")


@pytest.mark.req("H2")
def test_families_are_listed_renamed_merged_and_split(forked: ForkedHermes) -> None:
    stored(forked.home)
    listed = forked.json("learning", "families")
    assert [(one["id"], one["tasks"], one["success_rate"]) for one in listed] == [
        ("fletters", 1, 1.0),
        ("ftotals", 2, 0.5),
    ]
    renamed = forked.json("learning", "families", "rename", "tot", "Column Sums")
    assert renamed == {"id": "ftotals", "was": "totals", "name": "column-sums"}
    split = forked.run("learning", "families", "split", "column-sums", "--runs", "run2, run1", "--name", "odd", "-y")
    assert (split.returncode, "evidence of column-sums stays" in split.stderr) == (0, True), split
    merged = forked.run("learning", "families", "merge", "odd", "letters", "--yes")
    assert (merged.returncode, "2 lessons of odd are now of letters" in merged.stderr) == (0, True), merged
    text = forked.run("learning", "families").stdout
    assert [line.split()[:3] for line in text.splitlines()[1:]] == [
        ["fletters", "letters", "3"],
        ["ftotals", "column-sums", "0"],
    ]


def test_nothing_changes_without_consent_or_with_an_unknown_family(forked: ForkedHermes) -> None:
    stored(forked.home)
    before = forked.json("learning", "families")
    asked = forked.run("learning", "families", "merge", "totals", "letters")
    assert (asked.returncode, "say --yes" in asked.stderr, "retire" in asked.stderr) == (2, True, True), asked
    unknown = forked.run("learning", "families", "merge", "nope", "letters", "-y")
    assert (unknown.returncode, "'nope' is no family" in unknown.stderr) == (2, True), unknown
    wrong = forked.json("learning", "families", "split", "totals", "--runs", "run3", "--name", "x", "-y", code=2)
    assert wrong["error"].startswith("run3: nothing was learned from it in the family 'totals'")
    assert forked.json("learning", "families") == before

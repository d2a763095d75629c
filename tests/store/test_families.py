"""Families as people change them: one transaction each, the same on both databases."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

import msgspec
import pytest

from hermes_agent.store.database import Connection
from hermes_agent.store.families import (
    LARGEST_CENTROID,
    Families,
    Family,
    FamilyLine,
    Merged,
    Split,
    mixed,
    read_families,
    resolved,
    save_family,
)
from hermes_agent.store.heuristics import (
    AuditEntry,
    Heuristic,
    Kind,
    Stage,
    activate_members,
    active_set,
    read_heuristics,
    save_heuristic,
    value_of,
    write_cells,
)
from hermes_agent.store.lessons import Lesson, add_lesson, lesson_of
from hermes_agent.store.open import Store
from hermes_agent.types.errors import NotFound, UsageError

T = TypeVar("T")
LEDGER = Family(id="fa", name="ledger-totals", centroid={1: 0.8, 2: 0.6}, tasks=3, created_at=1.0, updated_at=9.0)
TABLES = Family(id="fb", name="ledger-tables", centroid={2: 0.5, 3: 0.5}, tasks=1, created_at=2.0, updated_at=5.0)
RUNS = {"r1": ("fa", True), "r2": ("fa", False), "r3": ("fa", None), "r4": ("fb", True)}


def heuristic(name: str, family: str, stage: Stage) -> Heuristic:
    return Heuristic(
        id=name, kind=Kind.AVOID_TOOL, model="m", family=family, subject="t", text=name, stage=stage,
        evidence={"e": 21}, updated_at=4.0,
    )  # fmt: skip


def fill(connection: Connection) -> None:
    for family in (LEDGER, TABLES):
        save_family(connection, family)
    for seq, (run, (where, success)) in enumerate(RUNS.items(), start=1):
        lesson = Lesson(run_id=run, session_id="s", family=where, model="m", at=float(seq), success=success)
        add_lesson(connection, lesson, seq, "local")
    write_cells(connection, {("m", where, "tool:t", ""): "{}" for where in ("fa", "fb", "*")})
    for name, where, stage in (
        ("h1", "fa", Stage.TRUSTED),
        ("h2", "fa", Stage.CANDIDATE),
        ("h3", "fa", Stage.RETIRED),
        ("h4", "fb", Stage.TRUSTED),
    ):
        save_heuristic(connection, heuristic(name, where, stage))
    activate_members(connection, ["h1", "h4"], "test", "", 1.0)
    for where in ("fa", "fa~inferred", "fb"):
        connection.run("INSERT INTO watches (family, model, watching, payload) VALUES (?, 'm', 1, '{}')", (where,))


@pytest.fixture
def families(store: Store) -> Families:
    """Two families with lessons, evidence and heuristics; the time is 50."""
    store.database.write_now(fill)
    return Families(store.database, clock=lambda: 50.0)


def see(store: Store, unit: Callable[[Connection], T]) -> T:
    return store.database.write_now(unit)


def everything(store: Store) -> list[list[str]]:
    """All rows of every table of learning, as text."""
    tables = ("families", "lessons", "cells", "heuristics", "heuristic_sets", "heuristic_audit", "watches", "learning")

    def unit(connection: Connection) -> list[list[str]]:
        return [sorted(map(repr, connection.run(f"SELECT * FROM {table}"))) for table in tables]

    return see(store, unit)


@pytest.mark.req("H2")
def test_they_are_listed_with_how_they_fare(families: Families) -> None:
    first = FamilyLine(
        id="fa",
        name="ledger-totals",
        tasks=3,
        lessons=3,
        judged=2,
        success_rate=0.5,
        last_used=9.0,
        active_heuristics=1,
    )
    second = FamilyLine(
        id="fb",
        name="ledger-tables",
        tasks=1,
        lessons=1,
        judged=1,
        success_rate=1.0,
        last_used=5.0,
        active_heuristics=1,
    )
    assert asyncio.run(families.lines(10)) == [first, second]
    assert asyncio.run(families.lines(1)) == [first]
    assert asyncio.run(families.all()) == [LEDGER, TABLES]


def test_a_family_is_found_by_id_name_or_beginning(families: Families) -> None:
    parts = ("fa", "ledger-totals", "ledger-ta", "fb")
    assert [asyncio.run(families.get(part)).id for part in parts] == ["fa", "fa", "fb", "fb"]


def test_an_unknown_family_is_refused(families: Families) -> None:
    for part in ("ledger", "f"):
        with pytest.raises(NotFound, match="more than one"):
            asyncio.run(families.get(part))
    for part in ("", "nope", "%", "' OR 1=1 --", "\x00", "\ud800"):
        with pytest.raises(NotFound, match="is no family"):
            asyncio.run(families.get(part))


def test_rename_keeps_the_id_and_tells_copies(store: Store, families: Families) -> None:
    before = see(store, lambda connection: value_of(connection, "families"))
    renamed = asyncio.run(families.rename("fa", "Monthly Ledger"))
    assert renamed == msgspec.structs.replace(LEDGER, name="monthly-ledger", named_by="user")
    assert asyncio.run(families.get("monthly-ledger")) == renamed
    assert see(store, lambda connection: value_of(connection, "families")) == before + 1
    assert see(store, lambda connection: value_of(connection, "sequence")) == 0


def test_what_makes_no_sense_changes_nothing(store: Store, families: Families) -> None:
    before = everything(store)
    for name in ("ledger-tables", "fb", "", "漢"):
        with pytest.raises(UsageError):
            asyncio.run(families.rename("fa", name))
    for source, target in (("fa", "fa"), ("fa", "nope"), ("nope", "fb"), ("ledger", "fb")):
        with pytest.raises(UsageError):
            asyncio.run(families.merge(source, target))
    for runs in ([], ["r1", "r4"], ["nope"], ["%"], ["\ud800", "\x00"], [f"run{number}" for number in range(1200)]):
        with pytest.raises(UsageError):
            asyncio.run(families.split("fa", runs, "new", {}))
    for name in ("fb", "ledger-tables", "fa", "!!"):
        with pytest.raises(UsageError):
            asyncio.run(families.split("fa", ["r1"], name, {}))
    assert everything(store) == before


def test_merge_moves_lessons_and_retires_what_was_learned(store: Store, families: Families) -> None:
    merged = asyncio.run(families.merge("fa", "fb"))
    assert merged == Merged(
        source="fa", target="fb", lessons=3, runs=("r1", "r2", "r3"), retired=("h1", "h2"), cells=1, version=2
    )
    whole = msgspec.structs.replace(TABLES, centroid={1: 0.6, 2: 0.575, 3: 0.125}, tasks=4, updated_at=9.0)
    gone = msgspec.structs.replace(LEDGER, merged_into="fb", tasks=0)
    assert see(store, read_families) == [gone, whole]
    assert asyncio.run(families.get("fa")) == whole, "the old id leads to the target"
    assert see(store, lambda connection: resolved(connection, "fa")) == "fb"
    assert see(store, lambda connection: [row[0] for row in connection.run("SELECT family FROM lessons")]) == ["fb"] * 4
    cells = see(store, lambda connection: connection.run("SELECT family FROM cells ORDER BY family"))
    assert cells == [("*",), ("fb",)]
    assert see(store, lambda connection: connection.run("SELECT family FROM watches")) == [("fb",)]
    assert see(store, active_set).members == ("h4",)
    stages = see(store, lambda connection: read_heuristics(connection, ["h1", "h2", "h3", "h4"]))
    retired = Stage.RETIRED
    assert [stages[name].stage for name in sorted(stages)] == [retired, retired, retired, Stage.TRUSTED]
    audit = asyncio.run(store.heuristics.audit("h1"))
    assert audit == [
        AuditEntry(
            seq=1, heuristic_id="h1", kind="avoid_tool", model="m", family="fa", was="trusted", became="retired",
            cause="family merged into ledger-tables", run_id="", evidence={"e": 21}, set_version=2, at=50.0,
        )
    ]  # fmt: skip


def test_what_a_person_rejected_stays_rejected_in_a_merge(store: Store, families: Families) -> None:
    see(store, lambda connection: save_heuristic(connection, heuristic("h5", "fa", Stage.REJECTED)))
    assert asyncio.run(families.merge("fa", "fb")).retired == ("h1", "h2")
    assert see(store, lambda connection: read_heuristics(connection, ["h5"]))["h5"].stage is Stage.REJECTED
    assert asyncio.run(store.heuristics.audit("h5")) == []


def test_merges_in_a_row_lead_to_the_last(store: Store, families: Families) -> None:
    see(store, lambda connection: save_family(connection, Family(id="fc", name="third")))
    asyncio.run(families.merge("fa", "fb"))
    asyncio.run(families.merge("fb", "third"))
    ids = ("fa", "fb", "fc")
    assert see(store, lambda connection: [resolved(connection, one) for one in ids]) == ["fc"] * 3


def test_split_takes_runs_and_leaves_the_evidence(store: Store, families: Families) -> None:
    before = everything(store)
    done = asyncio.run(families.split("fa", ["r2", "r1", "r2"], "Odd Ones", {7: 1.0}))
    made = Family(
        id="odd-ones", name="odd-ones", named_by="user", centroid={7: 1.0}, tasks=2, created_at=50.0, updated_at=50.0
    )
    assert done == Split(source="fa", family=made, runs=("r2", "r1"))
    rest = msgspec.structs.replace(LEDGER, tasks=1)
    assert see(store, read_families) == [rest, TABLES, made]
    lessons = see(store, lambda connection: [lesson_of(connection, run) for run in ("r1", "r2", "r3")])
    assert [lesson and lesson.family for lesson in lessons] == ["odd-ones", "odd-ones", "fa"]
    assert everything(store)[2:7] == before[2:7], "cells, heuristics, sets, audit and watches stay"


def test_a_merge_is_undone_by_a_split_under_the_old_name(store: Store, families: Families) -> None:
    asyncio.run(families.split("fa", ["r1"], "extra", {}))
    asyncio.run(families.merge("extra", "fa"))
    asyncio.run(families.split("fa", ["r1"], "extra", {5: 1.0}))
    back = asyncio.run(families.get("extra"))
    assert (back.id, back.merged_into, back.tasks, back.centroid) == ("extra", "", 1, {5: 1.0})


def test_a_mean_of_centroids_is_weighted_and_bounded() -> None:
    assert mixed({1: 1.0}, 3, {1: 0.2, 2: 0.8}, 1) == {1: 0.8, 2: 0.2}
    assert mixed({1: 1.0}, 0, {}, 0) == {}
    many = {key: 1 / (key + 1) for key in range(900)}
    assert list(mixed(many, 1, {}, 0)) == list(range(LARGEST_CENTROID))

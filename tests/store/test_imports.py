"""Imports in the store: one transaction in, the exact state before back out, and nothing learned here is touched."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import msgspec
import pytest

from hermes_agent.store.database import Connection, Row
from hermes_agent.store.heuristics import (
    EVERY_FAMILY,
    Heuristic,
    Kind,
    Stage,
    activate_members,
    active_set,
    read_cells,
    read_heuristics,
    save_heuristic,
    write_cells,
)
from hermes_agent.store.imports import FamilyMatch, Import, Imports, Incoming, Plan, Prior, claim_id
from hermes_agent.store.open import Store
from hermes_agent.types.errors import NotFound, UsageError

pytestmark = pytest.mark.req("B7")
T = TypeVar("T")
TABLES = ("cells", "heuristics", "families", "heuristic_sets", "lessons", "watches")


def avoid(tool: str, family: str = "parse-csv", **more: Any) -> Heuristic:
    base = {"confidence": 0.4, "text": f"{tool} fails", "better": "query", "evidence": {"elsewhere": {"failed": 9}}}
    return Heuristic(id="", kind=Kind.AVOID_TOOL, model="m", family=family, subject=tool, **{**base, **more})


def prior(tool: str, good: float, total: float, family: str = "parse-csv") -> Prior:
    return Prior(model="m", family=family, tool=tool, good=good, all=total)


def bundle(digest: str = "d1", key: str = "SHA256:one", **more: Any) -> Incoming:
    base = {"heuristics": (avoid("read"),), "priors": (prior("read", 1.0, 4.0),)}
    return Incoming(fingerprint=key, digest=digest, **{**base, **more})


def write(store: Store, unit: Callable[[Connection], T]) -> T:
    return store.database.write_now(unit)


def rows(store: Store, table: str) -> list[Row]:
    return sorted(store.database.read_now(lambda connection: connection.run(f"SELECT * FROM {table}")), key=repr)


def state(store: Store) -> dict[str, list[Row]]:
    """Every table that learning acts on."""
    return {table: rows(store, table) for table in TABLES}


def payloads(store: Store) -> dict[str, str]:
    return {row[2]: row[4] for row in rows(store, "cells")}


def run(store: Store, work: Callable[[Imports], Awaitable[T]]) -> T:
    async def scenario() -> T:
        return await work(Imports(store.database))

    return asyncio.run(scenario())


def nobody(connection: Connection, heuristic: Heuristic) -> None:
    raise AssertionError("nothing of it has acted")


def take(store: Store, incoming: Incoming, at: float = 100.0) -> Import:
    return run(store, lambda imports: imports.take_in(incoming, at))


def stored(store: Store, heuristic_id: str) -> Heuristic:
    return store.database.read_now(lambda c: read_heuristics(c, [heuristic_id]))[heuristic_id]


def test_an_import_writes_candidates_and_priors_and_its_undo_restores_every_row(store: Store) -> None:
    before = state(store)
    taken = take(store, bundle())
    expected = avoid("read", source=f"import:{taken.id}", created_at=100.0, updated_at=100.0)
    expected = msgspec.structs.replace(expected, id=claim_id(expected))
    assert stored(store, expected.id) == expected
    assert expected.stage is Stage.CANDIDATE
    assert payloads(store) == {"prior:read": '{"good":1.0,"all":4.0,"sessions":0}'}
    assert [(row[0], row[1], row[2], row[4]) for row in state(store)["families"]] == [
        ("parse-csv", "parse-csv", "import", 0)
    ]
    (entry,) = asyncio.run(store.heuristics.audit())
    assert (entry.heuristic_id, entry.was, entry.became, entry.cause) == (
        expected.id,
        "",
        "candidate",
        "imported from SHA256:one",
    )
    assert write(store, active_set).members == ()

    undone = run(store, lambda imports: imports.undo(taken.id[:12], 200.0, nobody))
    assert (undone.removed, undone.retired, undone.cells, undone.families) == ((expected.id,), (), 1, ("parse-csv",))
    assert state(store) == before
    last = asyncio.run(store.heuristics.audit())[0]
    assert (last.was, last.became, last.cause) == (
        "candidate",
        "",
        f"import {taken.id} from SHA256:one was undone",
    )
    (record,) = run(store, lambda imports: imports.all())
    assert record == msgspec.structs.replace(taken, undone_at=200.0)


def test_the_same_bundle_twice_changes_nothing_and_may_come_back_after_an_undo(store: Store) -> None:
    taken = take(store, bundle())
    before = state(store)
    assert run(store, lambda imports: imports.plan(bundle())).already == taken.id
    with pytest.raises(UsageError, match=f"in already, as import {taken.id}"):
        take(store, bundle())
    assert state(store) == before
    run(store, lambda imports: imports.undo(taken.id, 200.0, nobody))
    assert take(store, bundle()).id != taken.id


def test_what_was_learned_here_stays_as_it_is(store: Store) -> None:
    ours = avoid("read", family="f1", stage=Stage.TRUSTED, confidence=0.99, text="ours")
    ours = msgspec.structs.replace(ours, id=claim_id(ours))
    columns = "id, name, named_by, centroid, tasks, merged_into, created_at, updated_at"

    def unit(connection: Connection) -> None:
        save_heuristic(connection, ours)
        activate_members(connection, [ours.id], "test", "", 1.0)
        write_cells(connection, {("m", "f1", "tool:read", ""): '{"evidence":{}}'})
        for row in (("f0", "old", "f1"), ("f1", "parse-csv", "")):
            connection.run(f"INSERT INTO families ({columns}) VALUES (?, ?, 'cluster', '{{}}', 3, ?, 1, 1)", row)

    write(store, unit)
    before = state(store)
    plan = run(store, lambda imports: imports.plan(bundle(heuristics=(avoid("read"), avoid("sort", family="old")))))
    coming = avoid("sort", family="f1")
    assert plan == Plan(
        families=(
            FamilyMatch(name="parse-csv", id="f1", new=False),
            FamilyMatch(name="old", id="f1", new=False),
        ),
        heuristics=(msgspec.structs.replace(coming, id=claim_id(coming)),),
        known=(ours,),
        priors=(prior("read", 1.0, 4.0, family="f1"),),
    )
    assert state(store) == before
    taken = take(store, bundle())
    assert stored(store, ours.id) == ours
    run(store, lambda imports: imports.undo(taken.id, 200.0, nobody))
    assert state(store) == before


def test_priors_of_several_keys_add_up_to_five_and_a_newer_bundle_of_a_key_replaces_its_older_one(store: Store) -> None:
    cell = ("m", "parse-csv", "prior:read", "")
    write(store, lambda connection: write_cells(connection, {cell: '{"good":0.5,"all":1.0}'}))
    before = state(store)
    first = take(store, bundle("d1", "SHA256:one", priors=(prior("read", 4.0, 4.0),)), 100.0)
    second = take(store, bundle("d2", "SHA256:two", priors=(prior("read", 0.0, 4.0),)), 101.0)
    assert payloads(store)["prior:read"] == '{"good":2.5,"all":5.0,"sessions":0}'
    third = take(store, bundle("d3", "SHA256:one", priors=(prior("read", 1.0, 1.0),)), 102.0)
    assert payloads(store)["prior:read"] == '{"good":1.0,"all":5.0,"sessions":0}'
    run(store, lambda imports: imports.undo(first.id, 200.0, nobody))
    assert payloads(store)["prior:read"] == '{"good":1.0,"all":5.0,"sessions":0}'
    run(store, lambda imports: imports.undo(second.id, 201.0, nobody))
    assert payloads(store)["prior:read"] == '{"good":1.0,"all":1.0,"sessions":0}'
    undone = run(store, lambda imports: imports.undo(third.id, 202.0, nobody))
    assert write(store, lambda connection: read_cells(connection, [cell])) == {cell: '{"good":0.5,"all":1.0}'}
    assert undone.kept == ()
    assert state(store) == before


def test_undoing_one_of_two_imports_leaves_what_the_other_brought(store: Store) -> None:
    alone = take(store, bundle("d2", "SHA256:two", heuristics=(avoid("read", confidence=0.1),)), 101.0)
    as_if = state(store)["heuristics"]
    run(store, lambda imports: imports.undo(alone.id, 102.0, nobody))
    first = take(store, bundle("d1"), 100.0)
    second = take(store, bundle("d2", "SHA256:two", heuristics=(avoid("read", confidence=0.1),)), 101.0)
    undone = run(store, lambda imports: imports.undo(first.id, 200.0, nobody))
    found = stored(store, undone.kept[0])
    assert (found.source, found.confidence, found.created_at) == (f"import:{second.id}", 0.1, 101.0)
    assert len(state(store)["heuristics"]) == len(as_if) == 1
    assert state(store)["families"] != []
    undone = run(store, lambda imports: imports.undo(second.id, 201.0, nobody))
    assert undone.removed == (found.id,)
    assert (state(store)["heuristics"], state(store)["cells"]) == ([], [])


def test_one_that_acted_is_retired_and_leaves_the_active_set(store: Store) -> None:
    taken = take(store, bundle(heuristics=(avoid("read"), avoid("sort"))))
    acting = taken.written.heuristics[0]

    def promoted(connection: Connection) -> None:
        save_heuristic(connection, msgspec.structs.replace(acting, stage=Stage.PROBATION, updated_at=150.0))
        activate_members(connection, [acting.id], "approved", "", 150.0)

    write(store, promoted)
    stopped: list[str] = []
    undone = run(store, lambda imports: imports.undo(taken.id, 200.0, lambda _, one: stopped.append(one.id)))
    assert stopped == [acting.id]
    assert (undone.removed, undone.retired) == ((taken.written.heuristics[1].id,), (acting.id,))
    assert undone.families == ()
    assert stored(store, acting.id).stage is Stage.RETIRED
    assert write(store, active_set).members == ()


def test_what_a_person_rejected_stays_rejected(store: Store) -> None:
    taken = take(store, bundle())
    rejected = msgspec.structs.replace(taken.written.heuristics[0], stage=Stage.REJECTED, updated_at=150.0)
    write(store, lambda connection: save_heuristic(connection, rejected))
    assert run(store, lambda imports: imports.undo(taken.id, 200.0, nobody)).retired == ()
    assert run(store, lambda imports: imports.plan(bundle())).known == (rejected,)


def test_what_holds_in_all_families_needs_no_family(store: Store) -> None:
    take(store, bundle(heuristics=(avoid("read", family=EVERY_FAMILY),), priors=()))
    assert state(store)["families"] == []
    assert [row[3] for row in state(store)["heuristics"]] == [EVERY_FAMILY]


def test_names_that_no_id_can_hold_get_one(store: Store) -> None:
    hard = ("Größe & Maß", "日本", "x" * 200, "'; DROP TABLE cells; --")
    take(store, bundle(heuristics=tuple(avoid("read", family=name) for name in hard), priors=()))
    found = {row[1]: row[0] for row in state(store)["families"]}
    assert set(found) == set(hard)
    assert all(len(family) <= 40 and family.isascii() for family in found.values())
    assert run(store, lambda imports: imports.plan(bundle("d9", heuristics=(avoid("z", family="日本"),)))).families[
        0
    ] == FamilyMatch(name="日本", id=found["日本"], new=False)


def test_an_unknown_import_is_no_import_and_none_is_undone_twice(store: Store) -> None:
    taken = take(store, bundle())
    before = state(store)
    for part in ("", "zzzz", "%", "'; --", "../x"):
        with pytest.raises(NotFound, match="is no import"):
            asyncio.run(Imports(store.database).undo(part, 1.0, nobody))
    assert state(store) == before
    run(store, lambda imports: imports.undo(taken.id, 2.0, nobody))
    with pytest.raises(UsageError, match="was taken back already"):
        run(store, lambda imports: imports.undo(taken.id, 3.0, nobody))


def test_two_at_once_take_a_bundle_in_once(store: Store) -> None:
    async def scenario() -> list[object]:
        imports = Imports(store.database)
        works = [imports.take_in(bundle(), 100.0) for _ in range(4)]
        return list(await asyncio.gather(*works, return_exceptions=True))

    results = asyncio.run(scenario())
    assert sorted(type(result).__name__ for result in results) == ["Import", "UsageError", "UsageError", "UsageError"]
    assert len(state(store)["heuristics"]) == 1

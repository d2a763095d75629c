"""What can be read from a damaged file is saved; the file itself is kept."""

import asyncio
import os
import sqlite3
from pathlib import Path

import pytest

from hermes_agent.store.backends.sqlite import Sqlite
from hermes_agent.store.backends.sqlite_repair import Salvage
from hermes_agent.store.open import Store, open_store
from hermes_agent.types.errors import StoreDamaged
from hermes_agent.types.events import AssistantMessage, Fragment, Recorded
from hermes_agent.types.tools import ToolCall
from tests.store.samples import begun, finish

RUNS = 12
STEPS = 20
EVENTS = RUNS * (STEPS + 3)
TABLES = {
    "background_work": 0,
    "budgets": 0,
    "cells": 0,
    "counted": 4,
    "counts": 0,
    "decisions": 0,
    "events": EVENTS,
    "families": 0,
    "heuristic_audit": 0,
    "heuristic_sets": 1,
    "heuristics": 0,
    "imports": 0,
    "inbox": RUNS,
    "judgements": 0,
    "learning": 5,
    "lessons": 0,
    "model_calls": 0,
    "outbox": 0,
    "outcomes": RUNS,
    "prefix_epochs": 0,
    "prefixes": 0,
    "runs": RUNS,
    "session_values": RUNS,
    "sessions": RUNS,
    "skill_uses": 0,
    "skill_versions": 0,
    "skills": 0,
    "tool_calls": RUNS * STEPS,
    "watches": 0,
}
Journal = dict[str, list[Recorded]]


def said(number: int, step: int) -> AssistantMessage:
    calls = (ToolCall(id=f"c{step}", name="read_file", arguments={"path": f"{number}/{step}"}),)
    return AssistantMessage(text=f"word{number}x{step} " + "filler " * 120, calls=calls)


def filled(home: Path) -> Journal:
    """A closed database with several finished runs, and what their journals hold."""
    store = open_store("", home)

    async def scenario() -> Journal:
        journal = {}
        for number in range(RUNS):
            run = await begun(store, title=f"session {number}")
            for step in range(STEPS):
                await store.journal.append(run.id, 1, [said(number, step)])
            await store.values(run.session_id).set("todo", f"item {number}")
            await finish(store, run)
            journal[run.id] = await store.journal.run_events(run.id)
        return journal

    journal = asyncio.run(scenario())
    store.close()
    return journal


def repaired(home: Path, damaged: Path | None = None) -> tuple[Salvage, Store]:
    salvage = Sqlite(home / "hermes.db").repair(damaged)
    store = open_store("", home)
    assert store.database.backend.check() == []
    return salvage, store


def read(store: Store, journal: Journal) -> Journal:
    async def scenario() -> Journal:
        return {run_id: await store.journal.run_events(run_id) for run_id in journal}

    return asyncio.run(scenario())


def pages_of(path: Path, table: str) -> list[int]:
    """The pages of a table, leaves last."""
    with sqlite3.connect(path) as connection:
        rows = connection.execute("SELECT pageno FROM dbstat WHERE name = ? ORDER BY pagetype, pageno", (table,))
        return [row[0] for row in rows]


def scratch(path: Path, page: int) -> None:
    with path.open("r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(os.urandom(4096))


@pytest.mark.req("R14")
def test_a_healthy_database_comes_through_whole(home: Path) -> None:
    journal = filled(home)
    before = (home / "hermes.db").read_bytes()
    salvage, store = repaired(home)
    assert salvage == Salvage(kept=TABLES, lost=dict.fromkeys(TABLES, 0), aside=salvage.aside)
    assert salvage.aside.read_bytes() == before
    assert read(store, journal) == journal

    async def scenario() -> None:
        assert [found.seq for found in await store.sessions.search("word3x7", 10)] == [10]
        sessions = await store.sessions.recent(50)
        assert sorted(session.title for session in sessions) == sorted(f"session {n}" for n in range(RUNS))
        assert await store.values(sessions[0].id).get("todo") == f"item {RUNS - 1}"
        run = await store.runs.get(next(iter(journal)))
        await store.journal.append(run.id, run.epoch, [Fragment(source="s", text="goes on")])

    asyncio.run(scenario())
    store.close()


@pytest.mark.req("R14")
def test_flipped_bits_in_payloads_cost_only_those_events(home: Path) -> None:
    journal = filled(home)
    path = home / "hermes.db"
    data = bytearray(path.read_bytes())
    for text in (b'"text":"word4x4 ', b'"text":"word9x1 '):
        data[data.index(text) + 10] ^= 1
    path.write_bytes(data)
    salvage, store = repaired(home)
    assert salvage.kept == TABLES | {"events": EVENTS - 2}
    assert salvage.lost == dict.fromkeys(TABLES, 0) | {"events": 2}
    lost = [said(4, 4), said(9, 1)]
    expected = {run: [entry for entry in entries if entry.event not in lost] for run, entries in journal.items()}
    assert read(store, journal) == expected
    store.close()


@pytest.mark.req("R14")
@pytest.mark.parametrize("table", ["events", "runs", "sessions", "inbox", "tool_calls"])
def test_a_lost_page_costs_only_its_rows(home: Path, table: str) -> None:
    journal = filled(home)
    path = home / "hermes.db"
    scratch(path, pages_of(path, table)[-1])
    salvage, store = repaired(home)
    others = {name: count for name, count in TABLES.items() if name != table}
    assert {name: salvage.kept[name] for name in others} == others
    assert salvage.kept[table] + salvage.lost[table] == TABLES[table]
    assert salvage.lost[table] > 0
    found = read(store, journal)
    assert sum(map(len, found.values())) == salvage.kept["events"]
    assert all(entry in journal[run] for run, entries in found.items() for entry in entries)

    async def scenario() -> None:
        sessions = await store.sessions.recent(100)
        assert len(sessions) == RUNS, "a session whose row was lost is made anew from its runs"
        runs = [run for session in sessions for run in await store.runs.of_session(session.id)]
        assert {run.id for run in runs} == set(journal)

    asyncio.run(scenario())
    store.close()


@pytest.mark.req("R14")
@pytest.mark.parametrize("vacuumed", [False, True])
def test_a_lost_first_page(home: Path, vacuumed: bool) -> None:
    journal = filled(home)
    path = home / "hermes.db"
    if vacuumed:
        Sqlite(path).compact()
    scratch(path, 1)
    with pytest.raises(StoreDamaged):
        open_store("", home)
    (aside,) = home.glob("hermes.db.damaged-*")
    before = aside.read_bytes()
    salvage, store = repaired(home, aside)
    assert salvage == Salvage(kept=TABLES, lost=dict.fromkeys(TABLES, 0), aside=aside)
    assert aside.read_bytes() == before
    assert read(store, journal) == journal
    store.close()


@pytest.mark.req("R14")
def test_two_thirds_of_a_file(home: Path) -> None:
    journal = filled(home)
    path = home / "hermes.db"
    data = path.read_bytes()
    path.write_bytes(data[: len(data) * 2 // 3 // 4096 * 4096 + 77])
    salvage, store = repaired(home)
    found = read(store, journal)
    assert 0 < salvage.kept["events"] < EVENTS and salvage.lost["events"] > 0
    assert sum(map(len, found.values())) <= salvage.kept["events"]
    assert all(entry in journal[run] for run, entries in found.items() for entry in entries)
    store.close()


@pytest.mark.req("R14")
def test_what_was_written_since_stays(home: Path) -> None:
    journal = filled(home)
    aside = Sqlite(home / "hermes.db").set_aside()
    store = open_store("", home)
    run = asyncio.run(begun(store, "written since"))
    later = asyncio.run(store.journal.run_events(run.id))
    store.close()
    salvage, store = repaired(home, aside)
    assert salvage.kept == TABLES
    assert read(store, {**journal, run.id: later}) == {**journal, run.id: later}
    assert len(asyncio.run(store.sessions.search("since", 5))) == 1
    store.close()


def test_nothing_to_be_read(home: Path) -> None:
    filled(home)
    (home / "hermes.db").write_bytes(os.urandom(50_000))
    with pytest.raises(StoreDamaged, match="nothing can be read"):
        Sqlite(home / "hermes.db").repair()
    assert len(list(home.glob("hermes.db.damaged-*"))) == 1
    assert not list(home.glob("repair-*"))

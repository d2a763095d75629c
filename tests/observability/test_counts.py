"""Sums over the history: exact before, while and after they are settled, whoever settles them."""

import asyncio
import time
from functools import partial
from pathlib import Path
from threading import Thread

import pytest

from hermes_agent.store import counts
from hermes_agent.store.counts import Sums, count_lessons, read_sums, settle, unsettled
from hermes_agent.store.database import Connection
from hermes_agent.store.families import Families
from hermes_agent.store.learning_views import Totals, totals
from hermes_agent.store.open import Store, open_store
from tests.store.learning_samples import FAMILY, MODEL, START, fill, history, lesson

_MANY = (
    "INSERT INTO model_calls (run_id, seq, session_id, owner, provider, model, failure, input_tokens, output_tokens,"
    " cached_tokens, latency_ms, at) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count})"
    " SELECT 'r', i, 's', 'o', 'p', CASE WHEN i % 3 = 0 THEN 'a' ELSE 'b' END, CASE WHEN i % 5 = 0 THEN 'network' ELSE"
    " '' END, i, 1, 0, 1000, {at} FROM n"
)


def call_models(store: Store, count: int, at: str) -> None:
    store.database.write_now(lambda connection: connection.run(_MANY.format(count=count, at=at)))


def sums(store: Store) -> Sums:
    return store.database.read_now(read_sums)


def settled(store: Store) -> int:
    """Settle all that is worth it; how many rounds it took."""
    rounds = 0
    while store.database.read_now(unsettled):
        store.database.write_now(lambda connection: settle(connection, store.database.backend))
        rounds += 1
        assert rounds < 100
    return rounds


def stored(store: Store) -> float:
    rows = store.database.read_now(
        lambda connection: connection.run("SELECT SUM(value) FROM counts WHERE subject = 'models.calls'")
    )
    return float(rows[0][0] or 0)


@pytest.mark.req("R13")
def test_settling_moves_rows_and_changes_no_figure(store: Store) -> None:
    count = counts.AT_ONCE * 2 + 700
    call_models(store, count, "1000 + i")
    call_models(store, 40, f"{time.time()} - 1")
    before = sums(store)
    assert before["models.calls"] == {("p", "a"): count // 3 + 13, ("p", "b"): count - count // 3 + 27}
    assert before["models.input"][("p", "a")] == sum(range(3, count + 1, 3)) + sum(range(3, 41, 3))
    assert stored(store) == 0
    assert settled(store) == 3
    assert (sums(store), stored(store)) == (before, count)
    assert settled(store) == 0 and sums(store) == before


def test_rows_of_one_moment_are_settled_together(home: Path) -> None:
    store = open_store("", home)
    call_models(store, counts.AT_ONCE + 10, "1000")
    assert settled(store) == 2 and stored(store) == counts.AT_ONCE + 10
    assert sum(sums(store)["models.calls"].values()) == counts.AT_ONCE + 10
    store.close()


def test_too_little_is_left_alone(home: Path) -> None:
    store = open_store("", home)
    call_models(store, counts.WORTH_IT - 1, "1000 + i")
    assert settled(store) == 0 and stored(store) == 0
    call_models(store, 1, "5000")
    assert settled(store) == 1 and stored(store) == counts.WORTH_IT
    store.close()


def test_replicas_that_settle_at_once_count_each_row_once(store_url: str, home: Path) -> None:
    stores = [open_store(store_url, home) for _ in range(3)]
    call_models(stores[0], counts.AT_ONCE + 900, "1000 + i")
    before = sums(stores[0])
    threads = [Thread(target=settled, args=(one,)) for one in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [sums(one) for one in stores] == [before] * 3
    assert stored(stores[0]) == counts.AT_ONCE + 900
    for one in stores:
        one.close()


def lessons_counted(store: Store) -> list[Totals]:
    """What is counted, which must be what there is."""
    found = store.database.write_now(lambda connection: count_lessons(connection, store.database.backend))
    assert found == store.database.read_now(totals)
    return found


def _judged(connection: Connection, run_id: str) -> None:
    connection.run("UPDATE learning SET value = value + 1 WHERE id = 'sequence'")
    ((seq,),) = connection.run("SELECT value FROM learning WHERE id = 'sequence'")
    connection.run("INSERT INTO judgements VALUES (?, ?, 's1', 0, 'user', 1)", (seq, run_id))
    connection.run("UPDATE lessons SET success = 0 WHERE run_id = ?", (run_id,))


@pytest.mark.req("H12")
def test_lessons_are_counted_as_they_come_are_judged_and_move(store: Store) -> None:
    assert lessons_counted(store) == []
    fill(store, history())
    assert sum(one.runs for one in lessons_counted(store)) == 60
    fill(store, [lesson(n, at=START + n, family="other", success=None) for n in range(5)])
    assert Totals(family="other", model=MODEL, outcome="unknown", runs=5) in lessons_counted(store)
    for run_id in ("other-scripted:a-000001", f"{FAMILY}-{MODEL}-000058"):
        store.database.write_now(partial(_judged, run_id=run_id))
        lessons_counted(store)
    fill(store, [lesson(9, at=START, family="other")])
    store.database.write_now(lambda connection: _judged(connection, "other-scripted:a-000009"))
    counted = {(one.family, one.outcome): one.runs for one in lessons_counted(store)}
    assert counted == {
        ("other", "unknown"): 4,
        ("other", "failure"): 2,
        (FAMILY, "failure"): 16,
        (FAMILY, "success"): 44,
    }


def test_lessons_are_counted_anew_when_families_are_split_and_merged(home: Path) -> None:
    store = open_store("", home)
    fill(store, [lesson(n, at=START + n) for n in range(6)])
    sql = "INSERT INTO families VALUES (?, ?, 'text', '{}', 6, '', '', 1, 1)"
    store.database.write_now(lambda connection: connection.run(sql, (FAMILY, FAMILY)))
    lessons_counted(store)
    families = Families(store.database)
    asyncio.run(families.split(FAMILY, [f"{FAMILY}-{MODEL}-000001"], "apart", {1: 1.0}))
    assert {one.family: one.runs for one in lessons_counted(store)} == {FAMILY: 5, "apart": 1}
    asyncio.run(families.merge("apart", FAMILY))
    assert {one.family: one.runs for one in lessons_counted(store)} == {FAMILY: 6}
    store.close()


def test_many_new_lessons_are_counted_along_the_index(home: Path) -> None:
    store = open_store("", home)
    fill(store, [lesson(n, at=START + n) for n in range(3)])
    lessons_counted(store)
    store.database.write_now(
        lambda connection: connection.run(
            "UPDATE learning SET value = value + ? WHERE id = 'sequence'", (counts.RECOUNT + 1,)
        )
    )
    fill(store, [lesson(n, at=START + n) for n in range(3, 9)])
    assert sum(one.runs for one in lessons_counted(store)) == 9
    store.close()

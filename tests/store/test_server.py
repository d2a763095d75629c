"""What only a server can do to us: hang up, and find deadlocks."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from hermes_agent.store.database import Connection
from hermes_agent.store.open import Store, open_store
from hermes_agent.types.errors import StoreError
from hermes_agent.types.events import Fragment
from tests.store.samples import begun, new_session

pytestmark = pytest.mark.postgres


@pytest.fixture
def server_store(postgres_url: str, home: Path) -> Iterator[Store]:
    store = open_store(postgres_url, home)
    yield store
    store.close()


def hang_up(url: str) -> None:
    """End every other connection to the database, as a restart of the server would."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()"
            " AND pid <> pg_backend_pid()"
        )


@pytest.mark.req("R14")
def test_an_idle_connection_that_broke_is_opened_anew(server_store: Store, postgres_url: str) -> None:
    async def scenario() -> None:
        run = await begun(server_store)
        assert len(await server_store.journal.run_events(run.id)) == 2
        hang_up(postgres_url)
        await server_store.journal.append(run.id, 1, [Fragment(source="s", text="after")])
        assert len(await server_store.journal.run_events(run.id)) == 3

    asyncio.run(scenario())


@pytest.mark.req("R14")
def test_a_connection_that_breaks_before_the_commit_is_an_error_and_nothing_is_written_twice(
    server_store: Store, postgres_url: str
) -> None:
    async def scenario() -> None:
        session_id = await new_session(server_store)
        entered, release = threading.Event(), threading.Event()

        def hold(connection: Connection) -> None:
            entered.set()
            release.wait()

        writer = threading.Thread(target=server_store.database.write_now, args=(hold,))
        writer.start()
        entered.wait()
        runs: list[int] = []

        def cut(connection: Connection) -> None:
            connection.run("UPDATE sessions SET runs = runs + 1 WHERE id = ?", (session_id,))
            runs.append(1)
            if len(runs) == 2:
                hang_up(postgres_url)

        tasks = [asyncio.ensure_future(server_store.database.write(cut)) for _ in range(2)]
        await asyncio.sleep(0)
        release.set()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        writer.join()
        assert [type(result) for result in results] == [StoreError, StoreError]
        assert "not reachable" in str(results[0]) and len(runs) == 2, "a commit nobody knows about is not repeated"
        assert (await server_store.sessions.get(session_id)).runs == 0

    asyncio.run(scenario())


@pytest.mark.req("H15", "R14")
def test_a_deadlock_is_resolved_by_running_once_more(server_store: Store, postgres_url: str, home: Path) -> None:
    first, second = asyncio.run(new_session(server_store)), asyncio.run(new_session(server_store))
    other = open_store(postgres_url, home)
    meet, won = threading.Barrier(2), threading.Event()
    tries: list[str] = []

    def touch(order: tuple[str, str]) -> None:
        def unit(connection: Connection) -> None:
            tries.append(order[0])
            if tries.count(order[0]) > 1:
                assert won.wait(30), "the winner must get through once the loser has let go"
            connection.run("UPDATE sessions SET runs = runs + 1 WHERE id = ?", (order[0],))
            if tries.count(order[0]) == 1:
                meet.wait()
            connection.run("UPDATE sessions SET runs = runs + 1 WHERE id = ?", (order[1],))

        (server_store if order[0] == first else other).database.write_now(unit)
        won.set()

    threads = [threading.Thread(target=touch, args=(order,)) for order in ((first, second), (second, first))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [asyncio.run(server_store.sessions.get(session)).runs for session in (first, second)] == [2, 2]
    assert len(tries) == 3
    other.close()

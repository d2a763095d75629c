"""Migrations: forward with a backup, never backward, and once."""

import asyncio
import hashlib
import sqlite3
from pathlib import Path

import psycopg
import pytest

from hermes_agent.store import schema
from hermes_agent.store.backends.postgres import Postgres
from hermes_agent.store.backends.sqlite import Sqlite
from hermes_agent.store.database import Backend, Database
from hermes_agent.store.open import Store, open_store
from hermes_agent.types.errors import StoreTooNew
from hermes_agent.types.events import InboxMode
from hermes_agent.types.trace import RunStatus
from tests.store.samples import SAMPLES, race

FUTURE = schema.Migration(number=9999, name="9999_future", sql="CREATE TABLE tomorrow (id BIGINT)")

OLD_SESSION = (
    "INSERT INTO sessions (id, owner, agent, surface, workspace, title, created_at, updated_at)"
    " VALUES ('s1', 'local', 'hermes', 'terminal', '/tmp', 'a task', 1, 1)"
)


def backend(url: str, home: Path, migrations: tuple[schema.Migration, ...]) -> Backend:
    return Postgres(url, migrations) if url else Sqlite(home / "hermes.db", migrations)


def known(url: str) -> tuple[schema.Migration, ...]:
    return schema.migrations("postgres" if url else "sqlite")


def make_old(url: str, home: Path) -> tuple[str, str]:
    """A database with the first migration only and one run in it; returns (run, session)."""
    database = Database(backend(url, home, known(url)[:1]))
    assert list(database.open()) == []
    old = Store(database, home, "local", 15.0)

    async def begin() -> tuple[str, str]:
        await database.write(lambda connection: connection.run(OLD_SESSION))
        await old.inbox.put("s1", "hello", InboxMode.QUEUE)
        run = await old.runs.begin("s1", "me", "scripted")
        assert run is not None
        await old.journal.append(run.id, 1, SAMPLES[:13])
        return run.id, run.session_id

    began = asyncio.run(begin())
    old.close()
    return began


@pytest.mark.req("R2")
def test_an_upgrade_makes_a_backup_first(store_url: str, home: Path) -> None:
    run_id, session_id = make_old(store_url, home)
    store = open_store(store_url, home)
    (notice,) = store.notices
    assert notice.startswith(f"the database was upgraded from schema 1 to {known(store_url)[-1].number}; backup: ")
    where = notice.rpartition("backup: ")[2]
    copied = saved(store_url, where)
    assert copied["runs"] == [(run_id, session_id, "open")]
    assert copied["versions"] == [(1,)]
    assert copied["events"] == [(seq,) for seq in range(1, 16)]
    assert store.database.backend.copies() == [where]

    async def scenario() -> None:
        assert [entry.event for entry in (await store.journal.run_events(run_id))[2:]] == list(SAMPLES[:13])
        assert (await store.runs.get(run_id)).status is RunStatus.OPEN
        assert {found.run_id for found in await store.sessions.search("hello", 5)} == {run_id}

    asyncio.run(scenario())
    store.close()
    again = open_store(store_url, home)
    assert list(again.notices) == []
    again.close()


def saved(url: str, where: str) -> dict[str, list[tuple[object, ...]]]:
    """What a backup holds."""
    prefix = where.removeprefix("schema ") + "." if url else ""
    queries = {
        "runs": f"SELECT id, session_id, status FROM {prefix}runs",
        "versions": f"SELECT version FROM {prefix}schema_versions",
        "events": f"SELECT seq FROM {prefix}events ORDER BY seq",
    }
    if url:
        with psycopg.connect(url) as connection:
            return {name: connection.execute(query.encode()).fetchall() for name, query in queries.items()}
    with sqlite3.connect(where) as copy:
        assert copy.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return {name: copy.execute(query).fetchall() for name, query in queries.items()}


def test_a_newer_database_is_refused_and_left_alone(store_url: str, home: Path) -> None:
    newer = Database(backend(store_url, home, (*known(store_url), FUTURE)))
    newer.open()
    newer.close()
    before = fingerprint(store_url, home)
    with pytest.raises(StoreTooNew) as caught:
        open_store(store_url, home)
    assert "9999" in str(caught.value) and "upgrade" in caught.value.advice
    assert fingerprint(store_url, home) == before


def fingerprint(url: str, home: Path) -> object:
    """What must not change: the file, or the tables and versions on the server."""
    if not url:
        return hashlib.sha256((home / "hermes.db").read_bytes()).hexdigest()
    with psycopg.connect(url) as connection:
        tables = connection.execute("SELECT schemaname, tablename FROM pg_tables ORDER BY 1, 2").fetchall()
        return tables, connection.execute("SELECT * FROM hermes.schema_versions ORDER BY 1").fetchall()


def test_two_upgrade_at_once_and_one_backup_is_made(store_url: str, home: Path) -> None:
    run_id, _ = make_old(store_url, home)
    notices: list[str] = []

    def upgrade(number: int) -> None:
        store = open_store(store_url, home)
        notices.extend(store.notices)
        assert len(asyncio.run(store.journal.run_events(run_id))) == 15
        store.close()

    race(4, upgrade)
    assert len(notices) == 1


def test_a_migration_that_fails_leaves_the_old_schema(store_url: str, home: Path) -> None:
    make_old(store_url, home)
    broken = schema.Migration(
        number=3, name="0003_broken", sql="CREATE TABLE half (id BIGINT); SELECT nonsense FROM void"
    )
    database = Database(backend(store_url, home, (*known(store_url), broken)))
    with pytest.raises(Exception, match="void"):
        database.open()
    database.close()
    store = open_store(store_url, home)
    last = known(store_url)[-1].number
    assert [notice.split(";")[0] for notice in store.notices] == [f"the database was upgraded from schema 1 to {last}"]
    store.close()


def test_migrations_are_numbered_without_gaps() -> None:
    for dialect in ("sqlite", "postgres"):
        numbers = [migration.number for migration in schema.migrations(dialect)]
        assert numbers == list(range(1, len(numbers) + 1))


def test_statements_of_a_migration() -> None:
    sql = "-- words; about it\nCREATE TABLE a (b BIGINT);\n\n-- more\nCREATE INDEX c ON a (b);\n"
    assert schema.statements(sql) == ["CREATE TABLE a (b BIGINT)", "CREATE INDEX c ON a (b)"]

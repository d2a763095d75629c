"""PostgreSQL: many processes and machines on one store, in a schema of its own."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ...types.errors import HermesError, MissingExtra, StoreDamaged, StoreError, StoreUnwritable
from .. import schema
from ..database import Connection, Entry, Row, Statement

if TYPE_CHECKING:
    import psycopg

SCHEMA = "hermes"
_BACKUP = f"{SCHEMA}_backup_"
_MIGRATION_LOCK = 7_417_004_031


@lru_cache(maxsize=512)
def _placeholders(sql: str) -> str:
    """Our `?` as the driver's `%s`. Our own statements hold neither character inside literals."""
    return sql.replace("?", "%s")


class PostgresConnection:
    """A connection with explicit transactions and prepared statements."""

    def __init__(self, dsn: str, begin: str = "BEGIN") -> None:
        import psycopg

        self._raw: psycopg.Connection[Row] = psycopg.connect(
            dsn, autocommit=True, connect_timeout=10, application_name="hermes", options=f"-c search_path={SCHEMA}"
        )
        self._raw.prepare_threshold = 2
        self._begin = begin

    def run(self, sql: str, params: Sequence[Any] = ()) -> list[Row]:
        cursor = self._raw.execute(_placeholders(sql), params or None)
        return cursor.fetchall() if cursor.description else []

    def run_all(self, statements: Sequence[Statement]) -> None:
        with self._raw.pipeline():
            for sql, params in statements:
                self._raw.execute(_placeholders(sql), params)

    def now(self) -> float:
        return float(self.run("SELECT extract(epoch FROM clock_timestamp())")[0][0])

    def begin(self) -> None:
        self._raw.execute(self._begin)

    def commit(self) -> None:
        self._raw.execute("COMMIT")

    def rollback(self) -> None:
        if self._raw.closed:
            raise ConnectionError("the connection to PostgreSQL is closed")
        self._raw.execute("ROLLBACK")

    def close(self) -> None:
        self._raw.close()


class Postgres:
    """The server engine."""

    name = "postgres"
    row_lock = " ORDER BY id FOR UPDATE"

    def __init__(self, dsn: str, migrations: Sequence[schema.Migration] | None = None) -> None:
        self._dsn = dsn
        self._migrations = migrations or schema.migrations(self.name)

    def connect(self) -> Connection:
        return PostgresConnection(self._dsn)

    def connect_reader(self) -> Connection:
        """One snapshot for all statements of a read."""
        return PostgresConnection(self._dsn, begin="BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")

    def prepare(self) -> Sequence[str]:
        try:
            import psycopg  # noqa: F401
        except ImportError as error:
            raise MissingExtra(
                "PostgreSQL needs the package psycopg", remedy="pip install 'hermes-harness[postgres]'"
            ) from error
        connection = self.connect()
        try:
            if self._version(connection) == self._migrations[-1].number:
                return []
            connection.begin()
            connection.run("SELECT pg_advisory_xact_lock(?)", (_MIGRATION_LOCK,))
            notices = self._migrate(connection)
            connection.commit()
        except BaseException:
            connection.rollback()
            raise
        finally:
            connection.close()
        return notices

    def _version(self, connection: Connection) -> int:
        """Asks the catalog's tables, not `to_regclass`: its cache does not notice what was made while we waited."""
        tables = connection.run(
            "SELECT 1 FROM pg_tables WHERE schemaname = ? AND tablename = 'schema_versions'", (SCHEMA,)
        )
        return schema.current_version(connection) if tables else 0

    def _migrate(self, connection: Connection) -> list[str]:
        """Inside the transaction that holds the lock: another process may have migrated while we waited for it."""
        known = self._migrations
        found = self._version(connection)
        schema.refuse_newer(found, known, "the PostgreSQL database")
        if found == known[-1].number:
            return []
        notices = []
        if found:
            backup = self._backup(connection, found)
            notices.append(f"the database was upgraded from schema {found} to {known[-1].number}; backup: {backup}")
        else:
            connection.run(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
            schema.create_version_table(connection)
        schema.apply(connection, [step for step in known if step.number > found])
        return notices

    def _backup(self, connection: Connection, version: int) -> str:
        """Copies of all tables in a schema beside ours: needs no server tools and no rights we do not have."""
        name = f"{_BACKUP}{version}_{time.strftime('%Y%m%d%H%M%S')}"
        connection.run(f"CREATE SCHEMA {name}")
        for (table,) in connection.run("SELECT tablename FROM pg_tables WHERE schemaname = ?", (SCHEMA,)):
            connection.run(f"CREATE TABLE {name}.{table} AS TABLE {SCHEMA}.{table}")
        return f"schema {name}"

    def translate(self, error: Exception) -> HermesError | None:
        import psycopg

        if not isinstance(error, psycopg.Error | ConnectionError):
            return None
        message = (str(error).strip().splitlines() or [type(error).__name__])[0].replace(self._dsn, "store.url")
        if isinstance(error, psycopg.errors.DiskFull | psycopg.errors.ReadOnlySqlTransaction):
            return StoreUnwritable(f"PostgreSQL cannot write: {message}")
        if isinstance(error, psycopg.errors.DataCorrupted | psycopg.errors.IndexCorrupted):
            return StoreDamaged(f"PostgreSQL found damage: {message}", remedy="restore the server's own backup")
        if isinstance(error, psycopg.errors.DeadlockDetected | psycopg.errors.SerializationFailure):
            return StoreError(f"PostgreSQL is too busy: {message}", remedy="try again")
        if isinstance(error, psycopg.OperationalError | ConnectionError):
            return StoreError(
                f"PostgreSQL is not reachable: {message}",
                remedy="check store.url and that the server runs; nothing was lost, the run resumes",
            )
        return StoreError(f"PostgreSQL refused: {message}", remedy="run `hermes doctor`")

    def may_retry(self, error: Exception) -> bool:
        import psycopg

        return isinstance(error, psycopg.errors.DeadlockDetected | psycopg.errors.SerializationFailure)

    def index(self, connection: Connection, entries: Sequence[Entry]) -> None:
        sql = (
            "INSERT INTO search (session_id, run_id, seq, role, words)"
            " VALUES (?, ?, ?, ?, array_to_tsvector(CAST(? AS TEXT[])))"
        )
        rows = [(entry.session_id, entry.run_id, entry.seq, entry.role, list(entry.words)) for entry in entries]
        connection.run_all([(sql, row) for row in rows])

    def search(self, connection: Connection, words: Sequence[str], limit: int) -> list[Row]:
        query = " & ".join(f"'{word}':*" for word in words)
        return connection.run(
            "SELECT session_id, run_id, seq, role FROM search WHERE words @@ CAST(? AS TSQUERY)"
            " ORDER BY run_id DESC, seq DESC LIMIT ?",
            (query, limit),
        )

    def forget(self, connection: Connection, session_id: str) -> None:
        connection.run("DELETE FROM search WHERE session_id = ?", (session_id,))

    def compact(self) -> None:
        connection = self.connect()
        try:
            for (table,) in connection.run("SELECT tablename FROM pg_tables WHERE schemaname = ?", (SCHEMA,)):
                connection.run(f"VACUUM (FULL, ANALYZE) {SCHEMA}.{table}")
        finally:
            connection.close()

    def copies(self) -> list[str]:
        connection = self.connect()
        try:
            rows = connection.run("SELECT nspname FROM pg_namespace WHERE nspname LIKE ? ORDER BY 1", (f"{_BACKUP}%",))
            return [f"schema {name}" for (name,) in rows]
        finally:
            connection.close()

    def check(self) -> list[str]:
        connection = self.connect()
        try:
            connection.run("SELECT COUNT(*) FROM events")
        finally:
            connection.close()
        return []

    def size(self) -> int:
        connection = self.connect()
        try:
            rows = connection.run(
                "SELECT COALESCE(SUM(pg_total_relation_size(c.oid)), 0) FROM pg_class c"
                " JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = ? AND c.relkind = 'r'",
                (SCHEMA,),
            )
            return int(rows[0][0])
        finally:
            connection.close()

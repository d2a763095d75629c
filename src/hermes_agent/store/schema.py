"""Numbered migrations: which exist, which a database has, and how it gets the rest."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..types.base import Value
from ..types.errors import StoreTooNew
from ..version import __version__
from .database import Connection

FOLDER = Path(__file__).parent / "migrations"


class Migration(Value, frozen=True, kw_only=True):
    """One step of the schema."""

    number: int
    name: str
    sql: str


def migrations(dialect: str, folder: Path = FOLDER) -> tuple[Migration, ...]:
    """The migrations for an engine, in order: portable ones (`0001_x.sql`) and its own (`0002_y.sqlite.sql`)."""
    found = []
    for path in sorted(folder.glob("*.sql")):
        parts = path.name.split(".")
        if len(parts) == 3 and parts[1] != dialect:
            continue
        found.append(Migration(number=int(path.name[:4]), name=parts[0], sql=path.read_text()))
    return tuple(found)


def statements(sql: str) -> list[str]:
    """The statements of a migration file, comments dropped. Our migrations hold no semicolons inside statements."""
    code = "\n".join(line for line in sql.splitlines() if not line.lstrip().startswith("--"))
    return [part.strip() for part in code.split(";") if part.strip()]


def current_version(connection: Connection) -> int:
    """The number of the newest migration a database has. Raises the engine's own error when there is no table."""
    rows = connection.run("SELECT MAX(version) FROM schema_versions")
    return int(rows[0][0] or 0)


def create_version_table(connection: Connection) -> None:
    """The table that says which migrations were applied."""
    connection.run(
        "CREATE TABLE IF NOT EXISTS schema_versions ("
        "version BIGINT PRIMARY KEY, name TEXT NOT NULL, product TEXT NOT NULL, at DOUBLE PRECISION NOT NULL)"
    )


def refuse_newer(found: int, known: Sequence[Migration], where: str) -> None:
    """A database from the future is left alone."""
    newest = known[-1].number
    if found > newest:
        raise StoreTooNew(f"{where} has schema {found}, this hermes {__version__} knows up to {newest}")


def apply(connection: Connection, pending: Sequence[Migration]) -> None:
    """Run the pending migrations inside the caller's transaction."""
    for migration in pending:
        for statement in statements(migration.sql):
            connection.run(statement)
        connection.run(
            "INSERT INTO schema_versions (version, name, product, at) VALUES (?, ?, ?, ?)",
            (migration.number, migration.name, __version__, connection.now()),
        )

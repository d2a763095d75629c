"""SQLite: write-ahead log, full synchronisation, one file under the home."""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...types.errors import HermesError, StoreDamaged, StoreError, StoreUnwritable
from .. import schema
from ..database import Connection, Entry, Row, Statement

if TYPE_CHECKING:
    from .sqlite_repair import Salvage

NETWORK_FILE_SYSTEMS = ("nfs", "cifs", "smb", "9p", "afs", "ceph", "fuse.sshfs", "glusterfs", "lustre", "beegfs")
_BUSY_SECONDS = 60.0
_CHECKPOINT_TRIES = 3


def _sql(statement: Statement) -> str:
    return statement[0]


class SqliteConnection:
    """A connection with explicit transactions."""

    def __init__(self, path: Path) -> None:
        self._raw = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        try:
            self._raw.execute("PRAGMA journal_mode=WAL")
            self._raw.execute("PRAGMA synchronous=FULL")
            self._raw.execute("PRAGMA secure_delete=ON")
        except BaseException:
            self._raw.close()
            raise
        self._cursor = self._raw.cursor()

    def run(self, sql: str, params: Sequence[Any] = ()) -> list[Row]:
        return self._cursor.execute(sql, params).fetchall()

    def run_all(self, statements: Sequence[Statement]) -> None:
        for sql, run in itertools.groupby(statements, _sql):
            self._cursor.executemany(sql, [params for _, params in run])

    def now(self) -> float:
        return time.time()

    def begin(self) -> None:
        self._cursor.execute("BEGIN IMMEDIATE")

    def commit(self) -> None:
        self._cursor.execute("COMMIT")

    def rollback(self) -> None:
        if self._raw.in_transaction:
            self._cursor.execute("ROLLBACK")

    def close(self) -> None:
        self._raw.close()


class SqliteReader(SqliteConnection):
    """A connection whose transactions take no write lock."""

    def begin(self) -> None:
        self._cursor.execute("BEGIN")


class Sqlite:
    """The embedded engine."""

    name = "sqlite"
    row_lock = ""

    def __init__(
        self, path: Path, migrations: Sequence[schema.Migration] | None = None, mounts: str | None = None
    ) -> None:
        self.path = path
        self._mounts = mounts
        self._migrations = migrations or schema.migrations(self.name)
        self._marker = path.with_name(path.name + ".made")

    def connect(self) -> Connection:
        return SqliteConnection(self.path)

    def connect_reader(self) -> Connection:
        return SqliteReader(self.path)

    def prepare(self) -> Sequence[str]:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        kind = file_system_of(self.path.parent, self._mounts)
        if kind.startswith(NETWORK_FILE_SYSTEMS):
            raise StoreUnwritable(
                f"{self.path.parent} is on a network file system ({kind}), where SQLite loses data",
                remedy="move HERMES_HOME to a local disk, or set store.url to a PostgreSQL database",
            )
        if self._is_current():
            return []
        with self.alone():
            return self._make_or_upgrade()

    def _is_current(self) -> bool:
        """Whether there is nothing to do: the usual case, decided without a lock. A problem is met again under it."""
        if not self._marker.exists() or not self.path.exists() or not self.path.stat().st_size:
            return False
        try:
            with contextlib.closing(SqliteConnection(self.path)) as connection:
                return self._version(connection) == self._migrations[-1].number
        except sqlite3.Error:
            return False

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Making, upgrading, repairing: one process at a time. A file that is being made looks like a lost one."""
        with self.path.with_name(self.path.name + ".lock").open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _make_or_upgrade(self) -> list[str]:
        notices = self._refuse_loss()
        try:
            with contextlib.closing(SqliteConnection(self.path)) as connection:
                return notices + self._migrate(connection)
        except sqlite3.DatabaseError as error:
            if not _is_damage(error):
                raise
            raise self._damaged(str(error)) from error

    def _refuse_loss(self) -> list[str]:
        """A database that vanished is said, one that was emptied is set aside: never silently a new one."""
        made_before = self._marker.exists()
        if not self.path.exists():
            kept = "".join(f"; {path} is still there" for path in self.copies())
            return [f"the database {self.path} is gone; a new, empty one was made{kept}"] if made_before else []
        if made_before and not self.path.stat().st_size:
            raise self._damaged("the file is empty")
        return []

    def _damaged(self, problem: str) -> StoreDamaged:
        aside = self.set_aside()
        return StoreDamaged(
            f"{self.path} is damaged ({problem}); it was set aside as {aside}",
            remedy=f"`hermes doctor --repair {aside}` saves what can be read, or restore a file from the backups"
            " folder; otherwise the next command begins a new database",
        )

    def set_aside(self) -> Path:
        """Rename the database and its log files; nothing is deleted."""
        stamp = time.strftime("%Y%m%d-%H%M%S")
        number = 0
        while (aside := self.path.with_name(f"{self.path.name}.damaged-{stamp}-{number}")).exists():
            number += 1
        for suffix in ("", "-wal", "-shm"):
            source = self.path.with_name(self.path.name + suffix)
            if source.exists():
                source.rename(aside.with_name(aside.name + suffix))
        return aside

    def repair(self, damaged: Path | None = None) -> Salvage:
        """Save what can be read from a damaged file: this database, or one that was set aside earlier.

        No other process may have the database open.
        """
        from .sqlite_repair import salvage

        with self.alone():
            aside = damaged or self.set_aside()
            self._make_or_upgrade()
            return salvage(self, aside)

    def _migrate(self, connection: Connection) -> list[str]:
        known = self._migrations
        found = self._version(connection)
        schema.refuse_newer(found, known, str(self.path))
        notices = []
        if 0 < found < known[-1].number:
            backup = self.backup(f"schema-{found}")
            notices.append(f"the database was upgraded from schema {found} to {known[-1].number}; backup: {backup}")
        connection.begin()
        try:
            schema.create_version_table(connection)
            found = schema.current_version(connection)
            schema.apply(connection, [step for step in known if step.number > found])
            connection.commit()
        except BaseException:
            connection.rollback()
            raise
        self._marker.touch()
        return notices

    def _version(self, connection: Connection) -> int:
        if not connection.run("SELECT 1 FROM sqlite_master WHERE name = 'schema_versions'"):
            return 0
        return schema.current_version(connection)

    def backup(self, label: str) -> Path:
        """A consistent copy of the whole database under `backups/`."""
        folder = self.path.parent / "backups"
        folder.mkdir(exist_ok=True)
        target = folder / f"{self.path.stem}-{label}-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.db"
        unfinished = target.with_suffix(".part")
        try:
            with (
                contextlib.closing(sqlite3.connect(self.path)) as source,
                contextlib.closing(sqlite3.connect(unfinished)) as copy,
            ):
                source.backup(copy)
            unfinished.rename(target)
        finally:
            unfinished.unlink(missing_ok=True)
        return target

    def copies(self) -> list[str]:
        backups = self.path.parent.glob(f"backups/{self.path.stem}-*.db")
        asides = self.path.parent.glob(f"{self.path.name}.damaged-*[0-9]")
        return sorted(str(path) for path in (*backups, *asides))

    def translate(self, error: Exception) -> HermesError | None:
        if isinstance(error, OSError) and not isinstance(error, ConnectionError):
            return StoreUnwritable(f"cannot write to {self.path.parent}: {error.strerror or error}")
        if not isinstance(error, sqlite3.Error):
            return None
        name = getattr(error, "sqlite_errorname", "")
        if _is_damage(error):
            return StoreDamaged(
                f"{self.path} is damaged: {error}",
                remedy="`hermes doctor --repair` saves what can be read into a new database and keeps this file",
            )
        if name.startswith(("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
            return StoreUnwritable(f"cannot write to {self.path}: {error}")
        if name.startswith("SQLITE_BUSY"):
            return StoreError(
                f"{self.path} was locked for {_BUSY_SECONDS:.0f} seconds",
                remedy="another program holds it open for writing; close that one and try again",
            )
        return StoreError(f"the database refused: {error}", remedy="run `hermes doctor`")

    def may_retry(self, error: Exception) -> bool:
        return False

    def index(self, connection: Connection, entries: Sequence[Entry]) -> None:
        sql = "INSERT INTO search (session_id, run_id, seq, role, words) VALUES (?, ?, ?, ?, ?)"
        rows = [(entry.session_id, entry.run_id, entry.seq, entry.role, " ".join(entry.words)) for entry in entries]
        connection.run_all([(sql, row) for row in rows])

    def search(self, connection: Connection, words: Sequence[str], limit: int) -> list[Row]:
        query = " ".join(f'"{word}"*' for word in words)
        return connection.run(
            "SELECT session_id, run_id, seq, role FROM search WHERE search MATCH ?"
            " ORDER BY run_id DESC, seq DESC LIMIT ?",
            (query, limit),
        )

    def forget(self, connection: Connection, session_id: str) -> None:
        connection.run("DELETE FROM search WHERE session_id = ?", (session_id,))

    def compact(self) -> None:
        with contextlib.closing(SqliteConnection(self.path)) as connection:
            connection.run("INSERT INTO search (search) VALUES ('optimize')")
            connection.run("VACUUM")
            for _ in range(_CHECKPOINT_TRIES):
                if not connection.run("PRAGMA wal_checkpoint(TRUNCATE)")[0][0]:
                    return
        raise StoreError(
            "the deleted text is gone from the tables but still in the log file, which another process is reading",
            remedy="close other hermes processes and delete once more",
        )

    def check(self) -> list[str]:
        try:
            with contextlib.closing(SqliteConnection(self.path)) as connection:
                rows = connection.run("PRAGMA integrity_check(20)")
        except sqlite3.DatabaseError as error:
            return [str(error)]
        return [str(row[0]) for row in rows if row[0] != "ok"]

    def size(self) -> int:
        names = (self.path, self.path.with_name(self.path.name + "-wal"))
        return sum(path.stat().st_size for path in names if path.exists())


def _is_damage(error: sqlite3.Error) -> bool:
    return getattr(error, "sqlite_errorname", "").startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB"))


def file_system_of(folder: Path, mounts: str | None = None) -> str:
    """The file system type a folder lives on, from the mount table; empty where there is none to read."""
    if mounts is None:
        table = Path("/proc/self/mounts")
        mounts = table.read_text() if table.exists() else ""
    target = str(folder.resolve())
    best, kind = -1, ""
    for line in mounts.splitlines():
        fields = line.split()
        if len(fields) < 3:
            continue
        point = fields[1].replace("\\040", " ")
        inside = target == point or target.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= best:
            best, kind = len(point), fields[2]
    return kind

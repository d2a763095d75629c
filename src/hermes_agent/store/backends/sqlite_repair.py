"""Saves what can be read from a damaged SQLite file into the present database.

Tables are read in ranges of row numbers; where reading fails, the range is halved until the unreadable rows are
alone. Work is done on a copy: the damaged file stays as it was found.
"""

from __future__ import annotations

import contextlib
import itertools
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ...types.base import Value
from ...types.errors import StoreDamaged, StoreTooNew
from ..codec import decode
from ..database import Connection, Row
from ..search import index_run

if TYPE_CHECKING:
    from .sqlite import Sqlite

_RANGE = 256
_BARREN_RANGES = 64
"""Where a table's end is unknown, so many ranges without a readable row are taken for it."""
_REBUILT = {"runs": ("indexed",)}
"""Columns that tell about the search index, which is made anew and not copied."""


class Salvage(Value, frozen=True, kw_only=True):
    """What became of the rows of a damaged database, by table, and where the damaged file lies.

    Where not even an index says how many rows there were, `lost` counts the gaps between row numbers, and one more
    where the table's end is gone: at least so many.
    """

    kept: dict[str, int]
    lost: dict[str, int]
    aside: Path


def salvage(engine: Sqlite, aside: Path) -> Salvage:
    """Copy every readable row of `aside` into the engine's database; rows it has already are left as they are."""
    with tempfile.TemporaryDirectory(dir=engine.path.parent, prefix="repair-") as folder:
        source_path = _readable_copy(engine, aside, Path(folder))
        target = engine.connect()
        try:
            with contextlib.closing(sqlite3.connect(source_path, isolation_level=None)) as source:
                target.begin()
                counts = {table: _copy(source, target, table) for table in _tables(target)}
                _reconnect(target)
                for run_id, session_id in target.run("SELECT id, session_id FROM runs WHERE indexed < seq"):
                    index_run(target, engine, run_id, session_id)
                target.commit()
        finally:
            target.rollback()
            target.close()
    return Salvage(
        kept={table: kept for table, (kept, _) in counts.items()},
        lost={table: lost for table, (_, lost) in counts.items()},
        aside=aside,
    )


def _readable_copy(engine: Sqlite, aside: Path, folder: Path) -> Path:
    """A copy whose list of tables can be read; a first page that cannot be is replaced by one we know."""
    for donor in ("", "fresh", "vacuumed"):
        copy = folder / f"copy{donor}.db"
        for suffix in ("", "-wal"):
            part = aside.with_name(aside.name + suffix)
            if part.exists():
                shutil.copyfile(part, copy.with_name(copy.name + suffix))
        if donor:
            copy.with_name(copy.name + "-wal").unlink(missing_ok=True)
            _transplant(engine, copy, folder / f"{donor}.db", donor)
        if _has_journal(copy):
            return copy
    raise StoreDamaged(
        f"nothing can be read from {aside}", remedy="the file was kept; restore a file from the backups folder"
    )


def _has_journal(path: Path) -> bool:
    """Whether the journal's table is where the first page says: its rows look like events."""
    try:
        with contextlib.closing(sqlite3.connect(path)) as connection:
            rows = connection.execute("SELECT typeof(seq), typeof(payload), typeof(crc) FROM events LIMIT 1").fetchall()
            names = connection.execute("SELECT name FROM sqlite_master WHERE name = 'runs'").fetchall()
    except sqlite3.OperationalError:
        return False
    except sqlite3.DatabaseError:
        return _lists_tables(path)
    return bool(names) and rows in ([], [("integer", "text", "integer")])


def _lists_tables(path: Path) -> bool:
    try:
        with contextlib.closing(sqlite3.connect(path)) as connection:
            return bool(connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'events'").fetchall())
    except sqlite3.DatabaseError:
        return False


def _transplant(engine: Sqlite, damaged: Path, donor: Path, kind: str) -> None:
    """Overwrite the first page by an empty list of tables, and fill it from an empty database of the same schema.

    The numbers of the tables' root pages depend on the schema alone: one way in a database as it was made, another in
    one that was vacuumed. Where the list itself goes on behind its first page depends on the data, for a vacuum writes
    the views last; so it is written anew, behind everything else. What lay behind the end of a file that was cut off is
    not listed.
    """
    made = type(engine)(donor)
    made.prepare()
    with contextlib.closing(sqlite3.connect(donor)) as connection:
        if kind == "vacuumed":
            connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute("PRAGMA journal_mode=DELETE")
        listed = connection.execute("SELECT type, name, tbl_name, rootpage, sql FROM sqlite_master").fetchall()
    with donor.open("rb") as file:
        header = bytearray(file.read(100))
    size = int.from_bytes(header[16:18], "big")
    pages = damaged.stat().st_size // size
    header[28:32] = pages.to_bytes(4, "big")
    header[32:40] = bytes(8)
    empty_leaf = b"\x0d" + bytes(4) + size.to_bytes(2, "big") + bytes(1)
    with damaged.open("r+b") as file:
        file.write((bytes(header) + empty_leaf).ljust(size, b"\x00"))
        file.truncate(max(pages, 1) * size)
    with contextlib.closing(sqlite3.connect(damaged)) as connection:
        connection.execute("PRAGMA writable_schema=ON")
        found = [entry for entry in listed if 0 < entry[3] <= pages]
        connection.executemany("INSERT INTO sqlite_master VALUES (?, ?, ?, ?, ?)", found)
        connection.commit()


def _tables(connection: Connection) -> list[str]:
    rows = connection.run("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
    return [name for (name,) in rows if not name.startswith(("sqlite_", "search")) and name not in ("schema_versions",)]


def _copy(source: sqlite3.Connection, target: Connection, table: str) -> tuple[int, int]:
    """How many rows of a table were kept, and how many lost."""
    wanted = [row[1] for row in target.run(f"PRAGMA table_info({table})") if row[1] not in _REBUILT.get(table, ())]
    try:
        present = {row[1] for row in source.execute(f"PRAGMA table_info({table})")}
    except sqlite3.DatabaseError:
        return 0, 0
    columns = [name for name in wanted if name in present]
    if not columns:
        return 0, 0
    names, marks = ", ".join(columns), ", ".join("?" * len(columns))
    insert = f"INSERT OR IGNORE INTO {table} ({names}) VALUES ({marks})"
    select = f"SELECT rowid, {names} FROM {table} NOT INDEXED"
    first, last = _bounds(source, table)
    kept, newest = 0, first - 1
    for low, high in _ranges(first, last):
        rows = list(_rows(source, select, low, high))
        if last is None and not rows and low > newest + _RANGE * _BARREN_RANGES:
            break
        for number, *row in rows:
            newest = number
            if table != "events" or _is_event(dict(zip(columns, row, strict=True))):
                target.run(insert, row)
                kept += 1
    span = (newest + 1 if last is None else last) - first + 1
    return kept, max(0, _total(source, table, span) - kept)


def _bounds(source: sqlite3.Connection, table: str) -> tuple[int, int | None]:
    """The first and last row number; no last one where the page that holds it cannot be read."""
    try:
        first, last = source.execute(f"SELECT MIN(rowid), MAX(rowid) FROM {table} NOT INDEXED").fetchone()
    except sqlite3.DatabaseError:
        return 1, None
    return (first, last) if first is not None else (1, 0)


def _ranges(first: int, last: int | None) -> Iterator[tuple[int, int]]:
    """Ranges of row numbers up to `last`, or without end."""
    starts = itertools.count(first, _RANGE) if last is None else range(first, last + 1, _RANGE)
    return ((low, low + _RANGE - 1) for low in starts)


def _rows(source: sqlite3.Connection, select: str, low: int, high: int) -> Iterator[Row]:
    """The readable rows between two row numbers."""
    try:
        found = source.execute(f"{select} WHERE rowid BETWEEN ? AND ?", (low, high)).fetchall()
    except sqlite3.DatabaseError:
        if low < high:
            middle = (low + high) // 2
            yield from _rows(source, select, low, middle)
            yield from _rows(source, select, middle + 1, high)
        return
    yield from found


def _total(source: sqlite3.Connection, table: str, span: int) -> int:
    """How many rows a table had: by its key's index where that is whole, else by its row numbers."""
    try:
        return int(source.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0])
    except sqlite3.DatabaseError:
        return span


def _is_event(row: dict[str, object]) -> bool:
    """Whether a journal row is what was once written."""
    kind, version, payload, crc = row["kind"], row["version"], row["payload"], row["crc"]
    if not (isinstance(kind, str) and isinstance(version, int) and isinstance(payload, str) and isinstance(crc, int)):
        return False
    try:
        decode(kind, version, payload, crc)
    except (StoreDamaged, StoreTooNew):
        return False
    return True


_ORPHAN_RUNS = (
    "INSERT INTO runs (id, session_id, owner, agent, ordinal, status, epoch, seq, holder, lease_until, model,"
    " started_at) SELECT e.run_id, k.session_id, k.owner, COALESCE(s.agent, ''), 1000000 + MIN(e.rowid), 'failed', 1,"
    " MAX(e.seq), '', 0, '', MIN(e.at) FROM events e JOIN (SELECT run_id, session_id, owner FROM inbox"
    " UNION SELECT run_id, session_id, owner FROM tool_calls UNION SELECT run_id, session_id, owner FROM model_calls"
    " UNION SELECT run_id, session_id, owner FROM outcomes) k ON k.run_id = e.run_id"
    " LEFT JOIN sessions s ON s.id = k.session_id WHERE e.run_id NOT IN (SELECT id FROM runs) GROUP BY e.run_id"
)
_ORPHAN_SESSIONS = (
    "INSERT INTO sessions (id, owner, agent, surface, workspace, title, created_at, updated_at)"
    " SELECT session_id, MIN(owner), MIN(agent), '', '', 'recovered', MIN(started_at), MAX(started_at) FROM runs"
    " WHERE session_id NOT IN (SELECT id FROM sessions) GROUP BY session_id"
)
_LAST_EVENT = (
    "UPDATE runs SET seq = MAX(seq, COALESCE((SELECT MAX(seq) FROM events WHERE run_id = runs.id), 0))"
    " WHERE id NOT IN (SELECT run_id FROM search)"
)
_COUNTERS = (
    "UPDATE sessions SET"
    " runs = MAX(runs, COALESCE((SELECT MAX(ordinal) FROM runs WHERE session_id = sessions.id), 0)),"
    " messages = MAX(messages, COALESCE((SELECT MAX(ordinal) FROM inbox WHERE session_id = sessions.id), 0))"
)


def _reconnect(target: Connection) -> None:
    """Make the rows fit together again: owners of orphans are made anew from what tells of them, counters catch up."""
    for statement in (_ORPHAN_RUNS, _ORPHAN_SESSIONS, _LAST_EVENT, _COUNTERS):
        target.run(statement)

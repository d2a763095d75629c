"""Files that hold several tables: workbooks with sheets, SQLite databases."""

from __future__ import annotations

import sqlite3
import time
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from ...safety.paths import Scope
from .formats import copied
from .refusal import Refused
from .staging import identifier

_UNPACKED_BYTES = 300 << 20
_MEMBERS = 5_000
_CELLS = 30_000_000
_DATABASE_BYTES = 1 << 30
_SECONDS = 60.0


class Parted(Protocol):
    """A file with named tables in it."""

    def names(self) -> list[str]: ...

    def rows(self, name: str) -> tuple[list[str], Iterator[Sequence[Any]]]:
        """The columns of a table, and its rows."""


class Workbook:
    """The sheets of an Excel or OpenDocument file. The first row of a sheet names its columns."""

    def __init__(self, file: BinaryIO, shown: str) -> None:
        _refuse_bomb(file, shown)
        try:
            from python_calamine import CalamineError, CalamineWorkbook
        except ImportError as error:
            raise Refused("missing", "reading workbooks needs: pip install 'hermes-harness[data]'") from error
        self._shown = shown
        self._failures: tuple[type[Exception], ...] = (CalamineError, ValueError, OSError)
        try:
            self._book = CalamineWorkbook.from_filelike(file)
        except self._failures as error:
            raise Refused("damaged", f"{shown} is no readable workbook: {error}") from error

    def names(self) -> list[str]:
        """The sheets, in their order."""
        return list(self._book.sheet_names)

    def rows(self, name: str) -> tuple[list[str], Iterator[Sequence[Any]]]:
        """A sheet. Empty cells are missing values."""
        try:
            sheet = self._book.get_sheet_by_name(name)
            if sheet.width * sheet.height > _CELLS:
                raise Refused("too_large", f"{self._shown}#{name} has more than {_CELLS} cells")
            found = sheet.iter_rows()
        except self._failures as error:
            raise Refused("damaged", f"{self._shown}#{name} cannot be read: {error}") from error
        header = [str(cell) for cell in next(found, [])]
        if not header:
            raise Refused("empty", f"{self._shown}#{name} is empty")
        return header, ([None if cell == "" else cell for cell in row] for row in found)


class SqliteFile:
    """The tables and views of an SQLite file, read from a copy: nothing is written beside the original."""

    def __init__(self, file: BinaryIO, shown: str, scope: Scope, folder: Path) -> None:
        path = copied(file, folder / "copy.db", _DATABASE_BYTES)
        try:
            with scope.open_read(f"{shown}-wal") as log:
                copied(log, folder / "copy.db-wal", _DATABASE_BYTES)
        except OSError:
            pass
        self._shown = shown
        self._database = sqlite3.connect(path)
        self._database.text_factory = lambda data: data.decode("utf-8", "replace")
        self._database.execute("PRAGMA trusted_schema = OFF")
        until = time.monotonic() + _SECONDS
        self._database.set_progress_handler(lambda: int(time.monotonic() > until), 100_000)

    def names(self) -> list[str]:
        """Tables and views, as they were made."""
        query = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'"
        return [str(name) for (name,) in self._run(query)]

    def rows(self, name: str) -> tuple[list[str], Iterator[Sequence[Any]]]:
        """A table or view."""
        cursor = self._run(f"SELECT * FROM {identifier(name)}")
        return [column[0] for column in cursor.description], self._each(cursor)

    def _run(self, query: str) -> sqlite3.Cursor:
        try:
            return self._database.execute(query)
        except sqlite3.Error as error:
            raise Refused("damaged", f"{self._shown} cannot be read: {error}") from error

    def _each(self, cursor: sqlite3.Cursor) -> Iterator[Sequence[Any]]:
        try:
            yield from cursor
        except sqlite3.Error as error:
            raise Refused("damaged", f"{self._shown} cannot be read: {error}") from error


def _refuse_bomb(file: BinaryIO, shown: str) -> None:
    """A packed file that says it unpacks to more than we hold is refused before anything is unpacked."""
    file.seek(0)
    if file.read(2) != b"PK":
        file.seek(0)
        return
    try:
        members = zipfile.ZipFile(file).infolist()
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError) as error:
        raise Refused("damaged", f"{shown} is no readable workbook: {error}") from error
    finally:
        file.seek(0)
    if len(members) > _MEMBERS or sum(member.file_size for member in members) > _UNPACKED_BYTES:
        raise Refused("too_large", f"{shown} unpacks to more than {_UNPACKED_BYTES >> 20} MB")

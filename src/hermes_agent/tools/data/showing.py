"""Rows as compact text for a model, and as CSV for whoever wants them all."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ...types.text import one_line

if TYPE_CHECKING:
    import duckdb

_CELL = 160
_TEXT = 8_000
_KEPT_ROWS = 20_000
_KEPT_TEXT = 1 << 20
_COLUMNS = 100


class Fetched(NamedTuple):
    """The first rows of a result. `complete` says whether these are all."""

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    complete: bool


def fetch(result: duckdb.DuckDBPyConnection, most: int = _KEPT_ROWS) -> Fetched:
    """Rows up to `most`."""
    columns = tuple(str(column[0]) for column in result.description or ())
    rows = result.fetchmany(most + 1)
    return Fetched(columns, rows[:most], len(rows) <= most)


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Columns and rows, cells separated by ` | `, control characters escaped, long cells cut."""
    lines = [" | ".join(one_line(name, 60) for name in columns[:_COLUMNS])]
    lines += [" | ".join(map(cell, row[:_COLUMNS])) for row in rows]
    if len(columns) > _COLUMNS:
        lines.append(f"[{len(columns) - _COLUMNS} more columns; name the ones you need]")
    return "\n".join(lines)


def cell(value: Any) -> str:
    """One value on one line."""
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).lower()
        case float():
            return format(value, ".12g")
        case bytes():
            return f"0x{value[:40].hex()}" + ("…" if len(value) > 40 else "")
        case _:
            return one_line(str(value), _CELL)


def shown(fetched: Fetched, limit: int) -> tuple[str, int]:
    """The first rows as text, and how many of them fit."""
    count = min(limit, len(fetched.rows))
    while count > 1 and len(text := table(fetched.columns, fetched.rows[:count])) > _TEXT:
        count = max(1, count * _TEXT // len(text) - 1)
    return table(fetched.columns, fetched.rows[:count]), count


def as_csv(fetched: Fetched) -> tuple[str, int]:
    """All rows as CSV, up to a size, and how many they are."""
    target = io.StringIO()
    writer = csv.writer(target, lineterminator="\n")
    writer.writerow(fetched.columns)
    for number, row in enumerate(fetched.rows):
        if target.tell() > _KEPT_TEXT:
            return target.getvalue(), number
        writer.writerow(row)
    return target.getvalue(), len(fetched.rows)

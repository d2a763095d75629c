"""Rows from formats that the engine does not read itself, laid out as a file that it does."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from .refusal import Refused

_NULL = "\\N"
_STAGED_BYTES = 1 << 30
_COLUMNS = 2_000


def quoted(text: str) -> str:
    """A string constant of the engine."""
    return "'" + text.replace("'", "''") + "'"


def identifier(name: str) -> str:
    """A quoted name of the engine."""
    return '"' + name.replace('"', '""') + '"'


def stage(header: Sequence[str], rows: Iterable[Sequence[Any]], target: Path) -> str:
    """Write rows to `target`; returns the expression that reads them with the types that were seen."""
    if len(header) > _COLUMNS:
        raise Refused("too_large", f"{len(header)} columns are more than {_COLUMNS}")
    seen: list[set[str]] = [set() for _ in header]
    width, written = len(header), 0
    with target.open("w", encoding="utf-8", errors="replace", newline="") as file:
        for row in rows:
            cells = [*row[:width], *[None] * (width - len(row))]
            for kinds, cell in zip(seen, cells, strict=True):
                if cell is not None:
                    kinds.add(_kind(cell))
            written += file.write(",".join(map(_cell, cells)) + "\n")
            if written > _STAGED_BYTES:
                raise Refused("too_large", f"the table is larger than {_STAGED_BYTES >> 20} MB")
    columns = ", ".join(
        f"{quoted(name)}: {quoted(_type(kinds))}" for name, kinds in zip(distinct(header), seen, strict=True)
    )
    return (
        f"read_csv({quoted(str(target))}, auto_detect=false, header=false, delim=',', quote='\"', escape='\"',"
        f" nullstr={quoted(_NULL)}, allow_quoted_nulls=false, max_line_size=67108864, columns={{{columns}}})"
    )


def distinct(header: Sequence[str]) -> list[str]:
    """Column names without gaps and repetitions, also where only case differs."""
    names: list[str] = []
    taken: set[str] = set()
    for place, given in enumerate(header, 1):
        name = stem = " ".join(given.replace("\0", "").split())[:100] or f"column{place}"
        number = 1
        while name.lower() in taken:
            number += 1
            name = f"{stem}_{number}"
        taken.add(name.lower())
        names.append(name)
    return names


def _kind(value: Any) -> str:
    match value:
        case bool():
            return "BOOLEAN"
        case int():
            return "BIGINT" if -(1 << 63) <= value < 1 << 63 else "DOUBLE"
        case float():
            return "BIGINT" if value.is_integer() and abs(value) < 1e15 else "DOUBLE"
        case datetime.datetime():
            return "TIMESTAMP"
        case datetime.date():
            return "DATE"
        case datetime.time():
            return "TIME"
        case _:
            return "VARCHAR"


def _type(kinds: set[str]) -> str:
    """The one type that holds all values that were seen."""
    if len(kinds) == 1:
        return next(iter(kinds))
    if kinds == {"BIGINT", "DOUBLE"}:
        return "DOUBLE"
    return "TIMESTAMP" if kinds == {"DATE", "TIMESTAMP"} else "VARCHAR"


def _cell(value: Any) -> str:
    match value:
        case None:
            return _NULL
        case bool():
            return "true" if value else "false"
        case float() if value.is_integer() and abs(value) < 1e15:
            return str(int(value))
        case int() | float():
            return repr(value)
        case bytes():
            return f'"{value.hex()}"'
        case _:
            text = str(value).replace("\0", "\N{REPLACEMENT CHARACTER}")
            return '"' + text.replace('"', '""') + '"'

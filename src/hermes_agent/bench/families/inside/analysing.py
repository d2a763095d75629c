"""Loads measurements from files of several kinds as one table, and answers questions about it.

Runs as a program of its own in the sandbox: one JSON object on standard input, one on standard output.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import sys
from pathlib import Path
from typing import Any

COLUMNS = ("reference", "site", "units")
Rows = list[dict[str, str]]


class Refused(Exception):
    """A way does not understand a file, or is not made for a question."""

    def __init__(self, error: str, text: str) -> None:
        super().__init__(text)
        self.error = error


def _delimited(text: str, delimiter: str) -> Rows:
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)
    if tuple(reader.fieldnames or ()) != COLUMNS:
        raise Refused("parse", f"the columns are {reader.fieldnames!r:.80}")
    rows = list(reader)
    if any(None in row or None in row.values() for row in rows):
        raise Refused("parse", "a line does not have as many fields as the header")
    return rows


def by_commas(text: str) -> Rows:
    """Fields between commas."""
    return _delimited(text, ",")


def by_tabs(text: str) -> Rows:
    """Fields between tabs."""
    return _delimited(text, "\t")


def by_lines(text: str) -> Rows:
    """A JSON object on each line."""
    try:
        found = [json.loads(line) for line in text.splitlines() if line.strip()]
        return [{name: str(row[name]) for name in COLUMNS} for row in found]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise Refused("parse", f"a line is no record: {error!r}") from error


def by_columns(text: str) -> Rows:
    """Fields at the places that the first line marks."""
    head, *lines = text.splitlines() or [""]
    starts = [head.find(name) for name in COLUMNS]
    if starts != sorted(starts) or starts[0] != 0 or head[starts[1] - 1 : starts[1]] != " ":
        raise Refused("parse", "the first line does not mark columns by spaces")
    ends = [*starts[1:], None]
    return [
        {name: line[start:end].strip() for name, start, end in zip(COLUMNS, starts, ends, strict=True)}
        for line in lines
        if line.strip()
    ]


_READERS = (by_commas, by_tabs, by_lines, by_columns)
LOAD = {"load_comma": 1, "load_delimited": 2, "load_records": 3, "load_any": 4}
"""How many of the readers a way has."""
ANSWER = {"answer_sum": ("total",), "answer_groups": ("total", "groups")}
"""Which questions a way is made for."""


def loaded(way: str, text: str) -> Rows:
    """The rows, as the first reader that understands them has them."""
    *earlier, last = _READERS[: LOAD[way]]
    for reader in earlier:
        with contextlib.suppress(Refused):
            return reader(text)
    return last(text)


def answered(way: str, rows: Rows, question: str) -> dict[str, int]:
    """The answer to a question that a way is made for."""
    if question not in ANSWER[way]:
        raise Refused("unsupported", f"this way is made for {' and '.join(ANSWER[way])}, not for {question[:40]!r}")
    if question == "total":
        return {"total": sum(int(row["units"]) for row in rows)}
    sums: dict[str, int] = {}
    for row in rows:
        sums[row["site"]] = sums.get(row["site"], 0) + int(row["units"])
    return dict(sorted(sums.items()))


def run(asked: dict[str, Any]) -> dict[str, Any]:
    """One request: load or answer, and write."""
    try:
        if asked["way"] in LOAD:
            rows = loaded(asked["way"], Path(asked["data"]).read_text("utf-8"))
            written = io.StringIO()
            table = csv.DictWriter(written, COLUMNS, lineterminator="\n")
            table.writeheader()
            table.writerows(rows)
            text = written.getvalue()
        else:
            rows = _delimited(Path(asked["table"]).read_text("utf-8"), ",")
            text = json.dumps(answered(asked["way"], rows, asked["question"]))
    except Refused as error:
        return {"error": error.error, "text": str(error)}
    except (OSError, UnicodeDecodeError) as error:
        return {"error": "not_found", "text": f"it cannot be read: {error}"}
    except ValueError as error:
        return {"error": "parse", "text": f"a number is none: {error}"}
    Path(asked["output"]).write_text(text, "utf-8")
    return {"text": f"wrote {asked['output']}: {len(rows)} rows read"}


if __name__ == "__main__":
    json.dump(run(json.load(sys.stdin)), sys.stdout)

"""The data worker: one request as JSON on standard input, one answer as JSON on standard output.

It runs in the sandbox, in a process of its own: a file made to exhaust memory or time, or to break the engine, takes
this process down and nothing else. Whatever libraries print goes nowhere; the answer is the only output.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...safety.paths import Scope
from ...types.errors import PermissionRefused
from ...types.text import head_and_tail
from . import drawing, showing
from .opening import Tables
from .question import read_question
from .refusal import Refused
from .staging import quoted

if TYPE_CHECKING:
    import duckdb

_SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "threads": 2,
    "memory_limit": "1GB",
    "max_temp_directory_size": "2GB",
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "python_enable_replacements": False,
}
_ADDRESS_SPACE = 6 << 30
_CPU_SECONDS = 300
_GROUPS = "/sys/fs/cgroup"
_PLOTTED_ROWS = 100_000
_WRITERS = {
    "csv": "FORMAT csv, HEADER",
    "parquet": "FORMAT parquet, COMPRESSION zstd",
    "json": "FORMAT json, ARRAY true",
    "ndjson": "FORMAT json",
    "jsonl": "FORMAT json",
}


class Job:
    """One request over one workspace. `folder` is for intermediate files."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, scope: Scope, folder: Path) -> None:
        self._connection = connection
        self._scope = scope
        self._folder = folder

    def query(self, sql: str, files: list[str], limit: int) -> dict[str, Any]:
        """The rows of a question: the first as text, and all of them as CSV when there are more."""
        tables = Tables(self._connection, self._scope, self._folder, files)
        tables.prepare(read_question(self._connection, sql))
        tables.close()
        fetched = showing.fetch(self._connection.execute(sql))
        text, count = showing.shown(fetched, limit)
        answer: dict[str, Any] = {"text": text, "shown": count, "rows": len(fetched.rows), "all": fetched.complete}
        answer["read"] = tables.read
        if count < len(fetched.rows):
            answer["csv"], answer["kept"] = showing.as_csv(fetched)
        return answer

    def describe(self, path: str) -> dict[str, Any]:
        """What a table holds: columns, types, ranges, missing values, first rows."""
        tables = Tables(self._connection, self._scope, self._folder)
        parts = tables.parts(path) if "#" not in path else []
        relation = tables.relation(path)
        tables.close()
        columns = (
            "column_name AS column, column_type AS type, null_percentage AS missing_percent,"
            " approx_unique AS distinct_about, min, max, avg AS mean"
        )
        found = showing.fetch(self._connection.execute(f"SELECT {columns} FROM (SUMMARIZE SELECT * FROM {relation})"))
        rows = self._connection.execute(f"SELECT count(*) FROM {relation}").fetchone() or (0,)
        first = showing.fetch(self._connection.execute(f"SELECT * FROM {relation} LIMIT 5"))
        summary, count = showing.shown(found, 200)
        lines = [f"{path}: {rows[0]} rows, {len(found.rows)} columns"]
        if len(parts) > 1:
            lines.append(f"this is {parts[0]!r}; read others as {path}#NAME: {', '.join(parts[:50])}")
        lines += [summary, *([f"[{len(found.rows) - count} more columns]"] if count < len(found.rows) else [])]
        text = "\n".join([*lines, "first rows:", showing.shown(first, 5)[0]])
        return {"text": text, "read": tables.read}

    def plot(self, source: str, kind: str, x: str, y: list[str], title: str, output: str) -> dict[str, Any]:
        """A picture of the rows of a question or a file."""
        question, tables = self._prepared(source)
        tables.close()
        fetched = showing.fetch(self._connection.execute(question), _PLOTTED_ROWS)
        if not fetched.complete:
            raise Refused("too_many", f"more than {_PLOTTED_ROWS} rows; aggregate or sample them in SQL")
        made = self._folder / "plot.png"
        drawn = drawing.draw(fetched, drawing.Wish(kind, x, tuple(y), title), made)
        return {"text": f"{output}: {drawn}, {self._keep(made, output)} bytes", "read": tables.read}

    def convert(self, source: str, output: str) -> dict[str, Any]:
        """The rows of a question or a file, written in the format of the output's suffix."""
        writer = _WRITERS.get(output.rpartition(".")[2].lower())
        if writer is None:
            raise Refused("bad_argument", f"output must end in one of: {', '.join('.' + name for name in _WRITERS)}")
        made = self._folder / "converted"
        question, tables = self._prepared(source)
        tables.close()
        written = self._connection.execute(f"COPY ({question}\n) TO {quoted(str(made))} ({writer})").fetchone()
        rows = written[0] if written else 0
        return {"text": f"{output}: {rows} rows, {self._keep(made, output)} bytes", "read": tables.read}

    def _prepared(self, source: str) -> tuple[str, Tables]:
        """A query for a file or a question, with its tables made."""
        tables = Tables(self._connection, self._scope, self._folder)
        if not _is_question(source):
            return f"SELECT * FROM {tables.relation(source)}", tables
        tables.prepare(read_question(self._connection, source))
        return source.strip().rstrip(";"), tables

    def _keep(self, made: Path, output: str) -> int:
        """Put a finished file in its place in the workspace; returns its size."""
        with made.open("rb") as source, self._scope.open_write(output) as target:
            shutil.copyfileobj(source, target, 1 << 20)
        return made.stat().st_size


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """The answer to one request: a result, or an error with what to do about it."""
    try:
        import duckdb
    except ImportError:
        return {"error": "missing", "text": "data tools need: pip install 'hermes-harness[data]'"}
    if _hidden(_GROUPS):
        return {"error": "sandbox", "text": f"the data engine must read {_GROUPS}: add it to sandbox.readable"}
    scope = Scope(Path(request["workspace"]))
    with tempfile.TemporaryDirectory(prefix="hermes-data-") as folder:
        settings = {**_SETTINGS, "temp_directory": f"{folder}/spill"}
        connection = duckdb.connect(":memory:", config=settings)
        try:
            job = Job(connection, scope, Path(folder))
            done: dict[str, Any] = getattr(job, request["do"])(**request["with"])
            return done
        except Refused as refused:
            return {"error": refused.error, "text": refused.text}
        except PermissionRefused as refused:
            return {"error": "permission", "text": refused.explain()}
        except MemoryError:
            return {"error": "too_large", "text": "it needs more memory than there is; select fewer rows or columns"}
        except duckdb.Error as error:
            return _engine_error(error)
        except OSError as error:
            return {"error": "os", "errno": error.errno or 0, "path": str(error.filename or ""), "text": str(error)}
        finally:
            connection.close()


def main() -> None:
    """Serve one request. Limits are set here, so that they hold whichever sandbox there is."""
    out = os.dup(1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    for limit, value in ((resource.RLIMIT_AS, _ADDRESS_SPACE), (resource.RLIMIT_CPU, _CPU_SECONDS)):
        _, most = resource.getrlimit(limit)
        resource.setrlimit(limit, (value if most == resource.RLIM_INFINITY else min(value, most), most))
    with os.fdopen(out, "w") as stream:
        json.dump(answer(json.load(sys.stdin)), stream)


def _hidden(path: str) -> bool:
    """Whether a folder is there and may not be read. The engine ends the process when it meets that."""
    try:
        os.scandir(path).close()
    except PermissionError:
        return True
    except OSError:
        return False
    return False


def _is_question(source: str) -> bool:
    """Whether a source is a query: a path that begins with one of these words has no space behind it."""
    words = source.split(None, 1)
    return len(words) > 1 and words[0].lower() in ("select", "with", "from", "values", "summarize", "describe")


def _engine_error(error: duckdb.Error) -> dict[str, Any]:
    text = str(error)
    name = type(error).__name__.removesuffix("Exception").lower()
    hint = {
        "permission": "; only files of the workspace can be read: FROM 'FILE', or read_csv('FILE', …)",
        "catalog": "; a file is a table by its path: FROM 'folder/sales.csv', FROM 'book.xlsx#Sheet2'",
        "invalidinput": "; try read_csv('FILE', all_varchar=true, ignore_errors=true) if the file is irregular",
        "outofmemory": "; select fewer columns or rows, or aggregate",
    }.get(name, "")
    return {"error": "too_large" if name == "outofmemory" else f"sql_{name}", "text": head_and_tail(text, 1200) + hint}

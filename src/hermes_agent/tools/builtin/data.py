"""Asking, describing, drawing and converting tables of the workspace. The work is done by a process in the sandbox."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

from ...safety.paths import Scope
from ...types.text import clean
from ...types.tools import ToolContext, ToolResult
from ..failures import failed, file_failure
from ..tool import tool

_SECONDS = 100.0
_PACKAGE = Path(__file__).parents[2]
_SCRIPT = f"""\
import sys
package = type(sys)({_PACKAGE.name!r})
package.__path__ = [{str(_PACKAGE)!r}]
sys.modules[{_PACKAGE.name!r}] = package
from {_PACKAGE.name}.tools.data.worker import main
main()
"""
"""Names the package by its own folder: of the folder above a sandbox may show nothing."""

_READ_ROWS = 1_000
_GONE = "the data process ended without an answer; the file may be damaged or too large: select less of it"


@tool(capabilities=("files.read",), effect="none", timeout=120, rare=True)
async def query_data(
    sql: Annotated[str, "one DuckDB SELECT; files are tables: FROM 'a/b.csv', FROM 'x.xlsx#Sheet2', 'y.db#orders'"],
    context: ToolContext,
    files: Annotated[tuple[str, ...], "files usable by bare name"] = (),
    limit: Annotated[int, "rows to show"] = 50,
) -> ToolResult:
    """SQL over CSV, Excel, Parquet, JSON and SQLite files."""
    if not sql.strip() or not 1 <= limit <= _READ_ROWS:
        return failed("bad_argument", f"sql must not be empty, limit is between 1 and {_READ_ROWS}")
    found = await _asked(context, "query", sql=sql, files=list(files), limit=limit)
    if isinstance(found, ToolResult):
        return found
    rows, count = found["rows"], found["shown"]
    total = f"{rows}" if found["all"] else f"more than {rows}"
    text, blob = found["text"], ""
    if "csv" in found:
        blob = context.blobs.put(clean(found["csv"]).encode())
        text += f"\n[rows 1-{count} of {total}; read_file(path='blob:{blob[:16]}') has {found['kept']} as CSV]"
    else:
        text += f"\n[{total} row{'s' if rows != 1 else ''}]"
    return _result(found, text, blob)


@tool(capabilities=("files.read",), effect="none", timeout=120, rare=True)
async def describe_data(path: Annotated[str, "FILE, or FILE#SHEET"], context: ToolContext) -> ToolResult:
    """Columns, types, ranges, missing values and first rows of a CSV, Excel, Parquet, JSON or SQLite file."""
    found = await _asked(context, "describe", path=path)
    return found if isinstance(found, ToolResult) else _result(found, found["text"])


@tool(
    capabilities=("files.read", "files.write"),
    effect="idempotent",
    timeout=120,
    rare=True,
    replaces=("output",),
)
async def plot_data(
    source: Annotated[str, "data file or SELECT"],
    output: Annotated[str, "PNG to write"],
    context: ToolContext,
    kind: Literal["line", "bar", "scatter", "hist", "box", "area"] = "line",
    x: Annotated[str, "column; default the first"] = "",
    y: Annotated[tuple[str, ...], "columns; default all numeric"] = (),
    title: str = "",
) -> ToolResult:
    """Draw a chart of a table or query as PNG."""
    if not output.lower().endswith(".png"):
        return failed("bad_argument", "output must end in .png")
    found = await _asked(context, "plot", source=source, kind=kind, x=x, y=list(y), title=title, output=output)
    return found if isinstance(found, ToolResult) else _result(found, f"drew {found['text']}")


@tool(
    capabilities=("files.read", "files.write"),
    effect="idempotent",
    timeout=120,
    rare=True,
    replaces=("output",),
)
async def convert_data(
    source: Annotated[str, "data file (CSV, Excel, Parquet, JSON, SQLite) or SELECT"],
    output: Annotated[str, "new file: .csv, .parquet, .json or .ndjson"],
    context: ToolContext,
    overwrite: bool = False,
) -> ToolResult:
    """Write a table or the rows of a query in another format."""
    scope = Scope(context.workspace)
    if scope.resolve(output).exists() and not overwrite and not context.rerun:
        return failed("exists", f"{output} exists; choose another name, or set overwrite=true")
    found = await _asked(context, "convert", source=source, output=output)
    return found if isinstance(found, ToolResult) else _result(found, f"wrote {found['text']}")


async def _asked(context: ToolContext, do: str, **arguments: Any) -> dict[str, Any] | ToolResult:
    """The worker's answer, or the failure it is."""
    scope = Scope(context.workspace)
    request = json.dumps({"do": do, "workspace": str(scope.root), "with": arguments})
    command = shlex.join(["env", "OPENBLAS_NUM_THREADS=1", sys.executable or "python3", "-I", "-c", _SCRIPT])
    ran = await context.processes.run(command, directory=scope.root, timeout=_SECONDS, stdin=request)
    raw = context.blobs.get(ran.blob) if ran.blob else ran.text.encode()
    try:
        answer: dict[str, Any] = json.loads(raw)
    except ValueError:
        return _broken(ran)
    if "errno" in answer:
        problem = OSError(answer["errno"], answer["text"])
        return file_failure(problem, answer["path"] or str(arguments.get("path", "file")), scope)
    if "error" in answer:
        return failed(answer["error"], clean(answer["text"]))
    return answer


def _result(answer: dict[str, Any], text: str, blob: str = "") -> ToolResult:
    """A result that says which files it came from."""
    return ToolResult(text=clean(text), blob=blob, origin=clean(", ".join(answer["read"])))


def _broken(ran: ToolResult) -> ToolResult:
    """What to say when the process ended without an answer."""
    if ran.error == "timeout":
        return failed("timeout", f"not done after {_SECONDS:g} s; select less, or aggregate")
    if ran.error in ("exit_126", "exit_127"):
        return failed("missing", "where commands run there is no Python of this agent; data tools need a local sandbox")
    return failed("crashed", f"{_GONE} [{ran.error or 'no answer'}]")

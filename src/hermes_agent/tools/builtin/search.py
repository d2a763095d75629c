"""Finding text and files in the workspace."""

from __future__ import annotations

import contextvars
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from ...safety.paths import Scope
from ...types.text import clean
from ...types.tools import ToolContext, ToolResult
from ..failures import failed, file_failure
from ..grep import Found, Query, find, runs_away
from ..tool import tool

_GRACE = 5.0
_SOURCES = str(Path(__file__).parents[3])
_SCRIPT = (
    f"import sys; sys.path.insert(0, {_SOURCES!r}); from {__package__.rpartition('.')[0]}.grep import main; main()"
)


@tool(capabilities=("files.read",), effect="none")
def search_files(
    pattern: Annotated[str, "regular expression, or a glob of names with target=files"],
    context: ToolContext,
    path: str = ".",
    target: Literal["content", "files"] = "content",
    glob: Annotated[str, "only files like *.py or src/**/*.md"] = "",
    limit: int = 50,
    offset: int = 0,
    context_lines: int = 0,
) -> ToolResult:
    """Search file contents (path:line:text) or names. Skips .git, caches, binary and .gitignored files."""
    if not pattern or limit < 1 or offset < 0 or context_lines < 0:
        return failed("bad_argument", "pattern must not be empty, limit at least 1, offset and context at least 0")
    scope = Scope(context.workspace)
    query = Query(
        root=str(scope.root),
        path=path,
        pattern=clean(pattern),
        names=target == "files",
        glob=clean(glob),
        first=offset,
        most=min(limit, 500),
        context=min(context_lines, 20),
        obey=True,
    )
    try:
        if not query.names:
            re.compile(query.pattern)
        scope.resolve(path).stat()
        found = in_own_process(query) if not query.names and runs_away(query.pattern) else list(find(query))
    except re.error as error:
        return failed("bad_pattern", f"{pattern!r} is no regular expression: {error}; escape . ( [ * + ? with \\")
    except (RecursionError, OverflowError):
        return failed("bad_pattern", "the pattern is too deeply nested")
    except OSError as error:
        return file_failure(error, path, scope)
    return ToolResult(text=_shown(found))


@tool(capabilities=("files.read",), effect="none")
def find_files(
    pattern: Annotated[str, "glob: *.py, src/**/*.md, or part of a name"],
    context: ToolContext,
    path: str = ".",
    limit: int = 100,
    offset: int = 0,
) -> ToolResult:
    """Find files by name. Skips .git, caches and .gitignored files."""
    if not pattern or limit < 1 or offset < 0:
        return failed("bad_argument", "pattern must not be empty, limit at least 1, offset at least 0")
    scope = Scope(context.workspace)
    query = Query(
        root=str(scope.root),
        path=path,
        pattern=clean(pattern),
        names=True,
        first=offset,
        most=min(limit, 1_000),
        obey=True,
    )
    try:
        scope.resolve(path).stat()
        return ToolResult(text=_shown(list(find(query))))
    except re.error as error:
        return failed("bad_pattern", f"{pattern!r} is no pattern: {error}")
    except OSError as error:
        return file_failure(error, path, scope)


def in_own_process(query: Query, grace: float = _GRACE) -> list[Found]:
    """Search where a pattern that runs away can be ended; what was found until then is kept.

    The child belongs to this function and not to the model, so it is started outside the watch on the tool's
    declaration, which knows only of commands.
    """
    command = [sys.executable or "python3", "-I", "-S", "-c", _SCRIPT]
    run = contextvars.Context().run
    try:
        done = run(_run, command, json.dumps(query).encode(), query.seconds + grace)
    except subprocess.TimeoutExpired as late:
        note = f"ended after {query.seconds + grace:g} s: the pattern takes too long on some line; use a simpler one"
        return [*_parsed(late.stdout or b""), Found(note, note=True)]
    if done.returncode:
        raise OSError(0, f"the search failed: {done.stderr.decode(errors='replace').strip()[-200:]}")
    return _parsed(done.stdout)


def _run(command: Sequence[str], data: bytes, timeout: float) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(command, input=data, capture_output=True, timeout=timeout, env={}, check=False)


def _parsed(output: bytes) -> list[Found]:
    complete = output[: output.rfind(b"\n") + 1]
    return [Found(*json.loads(line)) for line in complete.splitlines()]


def _shown(found: list[Found]) -> str:
    lines = [one.text for one in found if not one.note] or ["nothing found"]
    return clean("\n".join([*lines, *(f"[{one.text}]" for one in found if one.note)]))

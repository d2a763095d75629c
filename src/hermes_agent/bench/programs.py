"""Programs of the worlds' tools, which run in the sandbox on files of the workspace."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ..safety.paths import Scope
from ..types.text import clean
from ..types.tools import ToolContext, ToolResult

FILES = frozenset({"shell", "files.read", "files.write"})
NETWORK = FILES | {"network"}
"""What a tool that runs a program reaches, without the network and with it."""
_SECONDS = 20.0
TOOL_SECONDS = _SECONDS + 10
"""The time limit of a tool that runs a program: the program's own comes first."""


@cache
def _source(program: Path) -> str:
    return program.read_text("utf-8")


async def ran(
    context: ToolContext, program: Path, asked: Mapping[str, Any], paths: Iterable[str], *, network: bool = False
) -> ToolResult:
    """One program in the sandbox's bare Python; `asked` is its input, `paths` what of it must lie in the workspace.
    Its failure is the tool's failure."""
    scope = Scope(context.workspace)
    for path in paths:
        scope.resolve(path)
    command = shlex.join([sys.executable or "python3", "-I", "-S", "-c", _source(program)])
    done = await context.processes.run(
        command, directory=scope.root, timeout=_SECONDS, stdin=json.dumps(asked), network=network
    )
    if not done.ok:
        return done
    try:
        answer: dict[str, Any] = json.loads(done.text)
    except ValueError:
        return ToolResult(ok=False, error="crashed", text=done.text)
    error = str(answer.get("error", ""))
    return ToolResult(
        ok=not error, error=error, text=clean(str(answer["text"])), transient=bool(answer.get("transient"))
    )

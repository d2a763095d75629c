"""Commands: in the foreground with a time limit, or in the background."""

from __future__ import annotations

import errno
import os
from typing import Annotated, Literal, assert_never

from ...safety.paths import Scope
from ...types.text import clean
from ...types.tools import ToolContext, ToolResult
from ..failures import failed, file_failure
from ..tool import tool

_LONGEST_RUN = 600.0
_LONGEST_WAIT = 300.0


@tool(capabilities=("shell",), effect="once", timeout=_LONGEST_RUN + 30, unlocks={"network": "network"})
async def terminal(
    command: str,
    context: ToolContext,
    timeout: Annotated[float, "seconds, at most 600"] = 60,
    background: Annotated[bool, "for servers and long jobs; see process"] = False,
    directory: Annotated[str, "folder in the workspace"] = "",
    network: Annotated[bool, "let it reach the network"] = False,
) -> ToolResult:
    """Run a shell command in the workspace. There is no terminal: give answers as arguments."""
    if not command.strip() or "\0" in command:
        return failed("bad_argument", "command is empty or holds a NUL character")
    if timeout <= 0:
        return failed("bad_argument", "timeout must be above 0")
    scope = Scope(context.workspace)
    folder = scope.resolve(directory or ".")
    if not folder.is_dir():
        reason = errno.ENOTDIR if folder.exists() else errno.ENOENT
        return file_failure(OSError(reason, os.strerror(reason)), directory, scope)
    if background:
        return await context.processes.start(clean(command), directory=folder, network=network)
    limit = min(timeout, _LONGEST_RUN)
    return await context.processes.run(clean(command), directory=folder, timeout=limit, network=network)


@tool(capabilities=("shell",), effect="once", timeout=_LONGEST_WAIT + 30)
async def process(
    action: Literal["list", "poll", "wait", "write", "kill"],
    context: ToolContext,
    process: Annotated[str, "name that terminal gave"] = "",
    text: Annotated[str, "line to write"] = "",
    timeout: Annotated[float, "seconds to wait, at most 300"] = 30,
) -> ToolResult:
    """Look after background processes. poll and wait show what was printed since the last look."""
    if action != "list" and not process:
        return failed("bad_argument", f"{action} needs the name of a process; action='list' shows them")
    match action:
        case "list":
            return await context.processes.list()
        case "poll":
            return await context.processes.poll(process)
        case "wait":
            return await context.processes.wait(process, min(max(timeout, 0.0), _LONGEST_WAIT))
        case "write":
            return await context.processes.write(process, clean(text))
        case "kill":
            return await context.processes.kill(process)
        case _:
            assert_never(action)

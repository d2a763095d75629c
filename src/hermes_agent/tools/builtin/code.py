"""Python in the sandbox."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec

from ...types.text import clean
from ...types.tools import Label, ToolContext, ToolResult
from ..code.bridge import Bridge
from ..code.python import python_command, python_input
from ..failures import failed
from ..tool import tool

_LONGEST_RUN = 600.0
_LARGEST_CODE = 256 << 10
_INSIDE = Path(__file__).parent.parent / "code" / "inside.py"


@tool(capabilities=("shell",), effect="once", timeout=_LONGEST_RUN + 30, labels=("private",))
async def execute_code(
    code: str, context: ToolContext, timeout: Annotated[float, "seconds, at most 600"] = 60
) -> ToolResult:
    """Run Python in the workspace; what it prints is the result. Each run is a fresh process. `from hermes import
    call` lets it make up to 50 tool calls: call("read_file", path="a") gives {"ok", "text", "error"}."""
    text = clean(code)
    if not text.strip() or timeout <= 0:
        return failed("bad_argument", "code is empty" if timeout > 0 else "timeout must be above 0")
    if len(text) > _LARGEST_CODE:
        return failed("too_long", f"code has {len(text)} characters, more than {_LARGEST_CODE}; put data into files")
    bridge = Bridge(context.tools)
    try:
        async with bridge.opened() as folder:
            result = await context.processes.run(
                python_command(),
                directory=context.workspace,
                timeout=min(timeout, _LONGEST_RUN),
                stdin=python_input(_INSIDE, code=text, **bridge.handover(folder)),
                shared=[folder],
            )
    except OSError as error:
        return failed("not_started", f"the code could not be started: {error.strerror}")
    return msgspec.structs.replace(result, labels=result.labels | bridge.labels | {Label.PRIVATE})

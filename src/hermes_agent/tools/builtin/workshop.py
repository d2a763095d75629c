"""Tools of the agent's own making."""

from __future__ import annotations

from typing import Annotated, Literal, assert_never

from ...types.tools import ToolContext, ToolResult
from ..failures import failed
from ..tool import tool


@tool(capabilities=("self_modify",), effect="once", timeout=3600, rare=True)
async def tool_manage(
    action: Literal["create", "edit", "rollback", "list"],
    context: ToolContext,
    name: str = "",
    source: Annotated[str, "Python; empty in edit: check the file as it is"] = "",
    version: Annotated[int | None, "for rollback; default the last good one"] = None,
) -> ToolResult:
    """Write tools of your own. The source imports `tool` from hermes_agent, has one @tool(capabilities=(...))
    function with the tool's name, docstring and typed parameters, and EXAMPLE = {...} for a trial run."""
    if action != "list" and not name:
        return failed("bad_argument", f"{action} needs the name of a tool")
    match action:
        case "create":
            return await context.workshop.create(name, source)
        case "edit":
            return await context.workshop.edit(name, source)
        case "rollback":
            return await context.workshop.rollback(name, version)
        case "list":
            return await context.workshop.list()
        case _:
            assert_never(action)

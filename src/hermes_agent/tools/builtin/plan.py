"""The plan of the present request."""

from __future__ import annotations

from typing import Annotated

from ...types.text import clean, one_line
from ...types.tools import ToolContext, ToolResult
from ..failures import failed
from ..tool import tool

_STEPS = 20
_STEP_CHARS = 200


@tool(capabilities=(), effect="idempotent")
async def plan(
    steps: Annotated[list[str], "what is still to be done, in order"],
    context: ToolContext,
    reason: Annotated[str, "why, when a plan changes"] = "",
) -> ToolResult:
    """Make or replace the plan of this request: 1-20 short steps."""
    told = [" ".join(clean(step).split()) for step in steps]
    if not 1 <= len(told) <= _STEPS:
        return failed("bad_argument", f"a plan has 1 to {_STEPS} steps; join some")
    for number, step in enumerate(told, 1):
        if not step or len(step) > _STEP_CHARS:
            return failed("bad_argument", f"step {number} must have 1 to {_STEP_CHARS} characters")
    if len({step.casefold() for step in told}) < len(told):
        return failed("bad_argument", "every step must be different")
    kept = [one_line(step, _STEP_CHARS) for step in told]
    if tuple(context.planner.steps()) != tuple(kept):
        await context.planner.propose(kept, one_line(clean(reason), 300))
    return ToolResult(text="\n".join(f"{number}. {step}" for number, step in enumerate(kept, 1)))

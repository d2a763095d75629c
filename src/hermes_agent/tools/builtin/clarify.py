"""Asking the person who gave the task."""

from __future__ import annotations

from typing import Annotated

from ...types.text import clean
from ...types.tools import ToolContext, ToolResult
from ..failures import failed
from ..tool import tool

_CHOICES = 8


@tool(capabilities=(), labels=("spoken",), effect="idempotent", timeout=3600)
async def clarify(
    question: str, context: ToolContext, choices: Annotated[tuple[str, ...], "answers to pick from"] = ()
) -> ToolResult:
    """Ask the user when the task cannot be done without knowing more."""
    if not question.strip():
        return failed("bad_argument", "question is empty")
    if len(choices) > _CHOICES:
        return failed("bad_argument", f"at most {_CHOICES} choices")
    answer = await context.person.choose(clean(question), [clean(choice) for choice in choices])
    if answer is None:
        return failed("nobody_there", "nobody answered; decide yourself and state the assumption in your answer")
    return ToolResult(text=answer or "(empty answer)")

"""When a skill is offered at all."""

from __future__ import annotations

from ..types.text import one_line
from .skill import Circumstances, Conditions


def unmet(conditions: Conditions, here: Circumstances) -> str:
    """Why a skill is not offered in these circumstances, in one line; empty when it is."""
    reasons: list[str] = []
    if conditions.platforms and here.platform.lower() not in {each.lower() for each in conditions.platforms}:
        reasons.append(f"it is for {', '.join(conditions.platforms)} only")
    if conditions.group_chat is not None and conditions.group_chat != here.group_chat:
        reasons.append("it is for group chats only" if conditions.group_chat else "it is not for group chats")
    tools = [tool for tool in conditions.tools if tool not in here.tools]
    if tools:
        reasons.append(f"it needs the tool{'s' * (len(tools) > 1)} {', '.join(tools)}")
    variables = [name for name in conditions.environment if name not in here.environment]
    if variables:
        reasons.append(f"it needs {', '.join(variables)} to be set in the environment")
    return one_line("; ".join(reasons), 300)

"""Keeping something for later sessions out of a conversation that strangers have a part in: a person must see it."""

from __future__ import annotations

from ..types.text import head_and_tail, visible
from ..types.tools import ToolContext

KEEP, LEAVE = "keep it", "do not keep it"
_SHOWN = 3_000


async def vouched(context: ToolContext, what: str, text: str) -> bool:
    """Whether a text may be kept. Where strangers' text is in the conversation it would be obeyed in every later
    session, so somebody has to have read it; with nobody there, the answer is no."""
    if not context.caller.tainted:
        return True
    shown = visible(head_and_tail(text, _SHOWN))
    question = f"Text from strangers was read in this conversation. Keep this {what} for later sessions?\n{shown}"
    return await context.person.choose(question, (KEEP, LEAVE)) == KEEP

"""Messages to people. They wait in the outbox, which `hermes inbox` shows, for whatever surface delivers them."""

from __future__ import annotations

from typing import Annotated

from ...types.text import clean, visible
from ...types.tools import ToolContext, ToolResult
from ..failures import failed
from ..tool import tool

_TEXT_CHARS = 20_000
_NAME_CHARS = 200
_USER = "user"


@tool(capabilities=("messages",), effect="once", destinations=("to",))
async def send_message(to: Annotated[str, "name or address"], text: str, context: ToolContext) -> ToolResult:
    """Leave a message for somebody in the outbox."""
    name = clean(to).strip()
    if not name or len(name) > _NAME_CHARS or visible(name) != name or "\n" in name or "\t" in name:
        return failed("bad_argument", f"to is one name or address of 1 to {_NAME_CHARS} printable characters")
    return await _posted(context, name, text, urgent=False)


@tool(capabilities=(), effect="once")
async def notify(text: str, context: ToolContext, urgent: bool = False) -> ToolResult:
    """Tell the user something they should see when they are back."""
    return await _posted(context, _USER, text, urgent=urgent)


async def _posted(context: ToolContext, to: str, text: str, *, urgent: bool) -> ToolResult:
    told = clean(text).strip()
    if not told or len(told) > _TEXT_CHARS:
        return failed("bad_argument", f"text has 1 to {_TEXT_CHARS} characters")
    message = await context.outbox.put(key=context.idempotency_key, to=to, text=told, urgent=urgent)
    return ToolResult(text=f"message {message} to {to} is in the outbox")

"""A short list of what is to be done, kept with the session."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from ...types.base import Value
from ...types.text import clean, one_line
from ...types.tools import ToolContext, ToolResult
from ..failures import failed
from ..tool import tool

_KEY = "todo"
_ITEMS = 100
_SIGNS = {"pending": " ", "in_progress": ">", "completed": "x", "cancelled": "-"}


class Item(Value, frozen=True, kw_only=True):
    """One thing to do."""

    id: str
    content: str
    status: Literal["pending", "in_progress", "completed", "cancelled"] = "pending"


@tool(capabilities=(), effect="idempotent")
async def todo(
    context: ToolContext,
    items: Annotated[list[Item] | None, "the whole new list; leave out to read it"] = None,
) -> ToolResult:
    """Keep a to-do list for work of several steps."""
    if items is None:
        return ToolResult(text=_shown(_stored(await context.values.get(_KEY))))
    if len(items) > _ITEMS:
        return failed("too_many", f"at most {_ITEMS} items; join some")
    if len({item.id for item in items}) < len(items):
        return failed("bad_argument", "every item needs an id of its own")
    kept = tuple(
        Item(id=one_line(clean(item.id), 40), content=one_line(clean(item.content), 400), status=item.status)
        for item in items
    )
    await context.values.set(_KEY, msgspec.json.encode(kept).decode())
    return ToolResult(text=_shown(kept))


def _stored(text: str | None) -> tuple[Item, ...]:
    if not text:
        return ()
    try:
        return msgspec.json.decode(text, type=tuple[Item, ...])
    except msgspec.MsgspecError:
        return ()


def _shown(items: tuple[Item, ...]) -> str:
    return "\n".join(f"[{_SIGNS[item.status]}] {item.id}: {item.content}" for item in items) or "(nothing to do)"

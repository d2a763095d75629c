"""Looking up what was said in earlier conversations."""

from __future__ import annotations

import time
from typing import Annotated

from ...types.text import clean, one_line
from ...types.tools import Label, ToolContext, ToolResult
from ..failures import failed
from ..tool import tool

_MOST = 50


@tool(capabilities=(), effect="none", labels=("private",))
async def session_search(
    query: Annotated[str, "words that must all occur"], context: ToolContext, limit: int = 10
) -> ToolResult:
    """Search earlier conversations with the user."""
    words = clean(query).strip()
    if not words or len(words) > 500 or not 1 <= limit <= _MOST:
        return failed("bad_argument", f"query has 1 to 500 characters, limit is between 1 and {_MOST}")
    hits = await context.conversations.search(words, limit)
    strange = any(hit.role != "user" for hit in hits[:limit])
    lines = [
        f"[{hit.session_id} {time.strftime('%Y-%m-%d %H:%M', time.localtime(hit.at))}"
        f" {one_line(hit.title, 80) or '(no title)'}] {hit.role}: {one_line(hit.text, 300)}"
        for hit in hits[:limit]
    ]
    return ToolResult(
        text=clean("\n".join(lines)) or "nothing found; try fewer or other words",
        labels=frozenset((Label.UNTRUSTED,)) if strange else frozenset(),
    )

"""Tool calls as one conversation in one wire format names them.

The journal keeps ids as whichever provider gave them. A format wants them in its own alphabet, each once in a whole
conversation, and every call with exactly one result: what a switch of providers, a crash or an endpoint that counts
its calls from zero in every answer does not give.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...types.tools import ToolCall

NO_RESULT = "No result of this call was recorded."
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_-]")
_SHORTEST_CUT = 8


def tool_name(name: str, longest: int) -> str:
    """A tool's name as an endpoint takes it back. A model may have made up one that it would not."""
    return _NOT_IN_NAMES.sub("_", name)[:longest] or "unknown"


class CallBook:
    """The ids given out so far, and the calls that still have no result."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._taken: set[str] = set()
        self._open: list[tuple[str, str]] = []

    def make(self, calls: Sequence[ToolCall]) -> list[str]:
        """An id for each call: its own where that is possible."""
        made = [self._unique(call.id) for call in calls]
        self._open += zip((call.id for call in calls), made, strict=True)
        return made

    def finish(self, call_id: str) -> str:
        """The id under which the call with this result is known; empty when no open call has it."""
        for place, (asked, made) in enumerate(self._open):
            if asked == call_id:
                del self._open[place]
                return made
        return ""

    def waiting(self) -> list[str]:
        """The calls that have no result."""
        return [made for _, made in self._open]

    def give_up(self) -> list[str]:
        """The calls that have no result, none of which will be waited for any longer."""
        left = self.waiting()
        self._open.clear()
        return left

    def _unique(self, call_id: str) -> str:
        fit = _NOT_IN_NAMES.sub("_", call_id)[: self._longest] or "call"
        made, number = fit, 1
        while made in self._taken:
            number += 1
            made = f"{fit[: self._longest - _SHORTEST_CUT]}_{number}"
        self._taken.add(made)
        return made

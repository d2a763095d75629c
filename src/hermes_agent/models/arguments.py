"""The arguments of a tool call as a model wrote them: an object the journal can keep, or a reason why not."""

from __future__ import annotations

import json
import math
from typing import Any

from ..types.text import clean, clean_json, one_line
from ..types.tools import ToolCall

_DEEPEST = 100


def call_of(call_id: str, name: str, arguments: str) -> ToolCall:
    """A call with its arguments read. What cannot be read is said in `problem`, and such a call is never run."""
    call_id, name = clean(call_id), clean(name)
    try:
        return ToolCall(id=call_id, name=name, arguments=_read(arguments))
    except (ValueError, RecursionError) as error:
        return ToolCall(id=call_id, name=name, problem=f"the arguments are not a JSON object: {error}")


def _read(text: str) -> dict[str, Any]:
    """The object in `text`; a ValueError for what JSON does not have or no other program would read back."""
    if not text.strip():
        return {}
    value = json.loads(text, parse_constant=_real, parse_float=_real)
    if not isinstance(value, dict):
        raise ValueError("they are something else")
    if _deeper_than(value, _DEEPEST):
        raise ValueError(f"they are nested more than {_DEEPEST} levels deep")
    cleaned: dict[str, Any] = clean_json(value)
    return cleaned


def _real(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{one_line(text)} is no number")
    return value


def _deeper_than(value: Any, levels: int) -> bool:
    if not isinstance(value, dict | list):
        return False
    items = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(_deeper_than(item, levels - 1) for item in items)

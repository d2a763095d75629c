"""What a tool returned, as the model will see it: text, capped, with the whole of it kept where it can be read on."""

from __future__ import annotations

from typing import Any

import msgspec

from ..types.text import clean, clean_json, head_and_tail
from ..types.tools import Blobs, ToolResult


def as_result(value: Any) -> ToolResult:
    """Any return value as a result: text stays text, None is done, everything else becomes JSON."""
    match value:
        case ToolResult():
            return value
        case None:
            return ToolResult(text="done")
        case str():
            return ToolResult(text=value)
        case bytes():
            return ToolResult(text=value.decode("utf-8", "replace"))
        case {"error": str(message), **rest} if not rest:
            return ToolResult(ok=False, text=message, error="tool_error")
        case _:
            return ToolResult(text=_json(value))


def _json(value: Any) -> str:
    """A value as JSON, whatever strings and objects it holds."""
    try:
        return msgspec.json.encode(value, enc_hook=repr).decode()
    except UnicodeEncodeError:
        return msgspec.json.encode(clean_json(msgspec.to_builtins(value, enc_hook=repr))).decode()


def error_text(message: str) -> str:
    """The uniform shape in which the model sees a failure."""
    return msgspec.json.encode({"error": message}).decode()


def capped(result: ToolResult, blobs: Blobs, limit: int) -> ToolResult:
    """`result` with text the model can afford; what was cut lies in a blob that `read_file` opens."""
    text = clean(result.text)
    if len(text) <= limit:
        return msgspec.structs.replace(result, text=text) if text is not result.text else result
    digest = result.blob or blobs.put(text.encode())
    note = f"read_file(path='blob:{digest[:16]}') reads on"
    return msgspec.structs.replace(result, text=head_and_tail(text, limit, note=note), blob=digest)

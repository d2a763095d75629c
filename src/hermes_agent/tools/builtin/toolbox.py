"""Tools that are not in the prompt: finding them and calling them."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from ...types.text import clean_json, one_line
from ...types.tools import ToolContext, ToolResult
from ..failures import failed
from ..tool import tool

_MOST = 20
_LONGEST_DESCRIPTION = 600
_LONGEST_TYPE = 400


@tool(capabilities=(), effect="none")
async def tool_search(
    query: Annotated[str, "what it should do"], context: ToolContext, limit: Annotated[int, "at most 20"] = 5
) -> ToolResult:
    """Find more tools than those listed here, such as for browsers, data or pictures. use_tool calls them."""
    found = context.tools.find(query, max(1, min(limit, _MOST)))
    lines = [
        msgspec.json.encode(
            clean_json(
                {
                    "name": spec.name,
                    "description": one_line(spec.description, _LONGEST_DESCRIPTION),
                    "parameters": compact_parameters(spec.parameters),
                }
            )
        ).decode()
        for spec in found
    ]
    if not lines:
        return ToolResult(text=f"no tool fits {one_line(query)!r}; try other words, or an empty query for all")
    return ToolResult(text="\n".join(lines))


@tool(capabilities=(), effect="once", timeout=660)
async def use_tool(
    name: Annotated[str, "as tool_search gave it"], context: ToolContext, arguments: dict[str, Any] | None = None
) -> ToolResult:
    """Call a tool that tool_search found."""
    if name in ("use_tool", "tool_search"):
        return failed("bad_argument", f"call {name} directly")
    return await context.tools.call(name, arguments or {})


def compact_parameters(schema: dict[str, Any]) -> dict[str, str]:
    """Parameters in few words: `{"path": "string: a file", "limit?": "integer = 5"}`; `?` marks optional ones."""
    required = schema.get("required", ())
    properties = schema.get("properties", {})
    if not isinstance(properties, dict):
        return {}
    return {name if name in required else f"{name}?": _in_words(part) for name, part in properties.items()}


def _in_words(part: Any) -> str:
    if not isinstance(part, dict):
        return "any"
    words = _type(part)
    if "default" in part:
        words += f" = {msgspec.json.encode(clean_json(part['default'])).decode()}"
    if part.get("description"):
        words += f": {part['description']}"
    return one_line(words, _LONGEST_TYPE)


def _type(part: dict[str, Any]) -> str:
    match part:
        case {"enum": list(values)}:
            return "|".join(map(str, values))
        case {"type": "array", "items": {"type": str(kind), **rest}} if "properties" not in rest:
            return f"{kind}[]"
        case {"type": "object"} | {"type": "array"} | {"anyOf": _}:
            return msgspec.json.encode(clean_json({k: v for k, v in part.items() if k != "description"})).decode()
        case {"type": str(kind)}:
            return kind
        case _:
            return "any"

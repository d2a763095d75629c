"""JSON schemas as providers take them for structured answers."""

from __future__ import annotations

from typing import Any

_INNER = ("properties", "$defs", "definitions")
_LISTS = ("anyOf", "allOf", "oneOf", "prefixItems")


def closed(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with every object closed to further properties, unless it says otherwise itself."""
    made: dict[str, Any] = {}
    for key, value in schema.items():
        if key in _INNER and isinstance(value, dict):
            made[key] = {name: _closed(inner) for name, inner in value.items()}
        elif key in _LISTS and isinstance(value, list):
            made[key] = [_closed(inner) for inner in value]
        elif key == "items":
            made[key] = _closed(value)
        else:
            made[key] = value
    if _is_object(made) and "additionalProperties" not in made:
        made["additionalProperties"] = False
    return made


def is_strict(schema: Any) -> bool:
    """Whether every object names all its properties as required and allows no others."""
    if not isinstance(schema, dict):
        return True
    if _is_object(schema):
        properties = schema.get("properties") or {}
        if schema.get("additionalProperties") is not False or set(schema.get("required") or ()) != set(properties):
            return False
    named = [inner for key in _INNER for inner in (schema.get(key) or {}).values()]
    listed = [inner for key in _LISTS for inner in schema.get(key) or ()]
    return all(is_strict(inner) for inner in (*named, *listed, schema.get("items")))


def _closed(value: Any) -> Any:
    return closed(value) if isinstance(value, dict) else value


def _is_object(schema: dict[str, Any]) -> bool:
    return schema.get("type") == "object" or "properties" in schema

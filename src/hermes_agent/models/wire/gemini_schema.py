"""JSON schemas in the subset that Gemini's `parameters` and `responseSchema` take.

What cannot be said in the subset (recursion, objects with any keys, values of any type) is sent as the JSON schema it
is, in the fields made for that, which older models do not have.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Schema = dict[str, Any]

_KEPT = (
    "title",
    "description",
    "default",
    "minimum",
    "maximum",
    "minItems",
    "maxItems",
    "minLength",
    "maxLength",
    "minProperties",
    "maxProperties",
    "pattern",
)
_FORMATS = {
    "STRING": ("date-time", "enum"),
    "NUMBER": ("float", "double"),
    "INTEGER": ("int32", "int64"),
}
_DEEPEST = 32


class _Inexpressible(Exception):
    """The subset has no words for this."""


def subset(schema: Mapping[str, Any]) -> Schema | None:
    """The schema in Gemini's subset; None where that would change what it means.

    Rules that only narrow a value down and that the subset lacks are left out: arguments are validated anyway.
    """
    try:
        return _converted(schema, schema, _DEEPEST)
    except _Inexpressible:
        return None


def _converted(schema: Any, root: Mapping[str, Any], depth: int) -> Schema:
    if not isinstance(schema, Mapping) or depth == 0:
        raise _Inexpressible
    schema = _resolved(schema, root, depth)
    choices = schema.get("anyOf") or schema.get("oneOf")
    kinds = schema.get("type")
    if choices is None and isinstance(kinds, list):
        choices = [{**schema, "type": kind} for kind in kinds]
    made: Schema = {key: schema[key] for key in _KEPT if key in schema and schema[key] is not None}
    if choices is not None:
        return {**_any_of(choices, root, depth), **{key: made[key] for key in ("title", "description") if key in made}}
    kind = _kind(schema)
    if kind == "NULL":
        return {**made, "type": "NULL"}
    made["type"] = kind
    if schema.get("format") in _FORMATS.get(kind, ()):
        made["format"] = schema["format"]
    if kind == "OBJECT":
        made |= _object(schema, root, depth)
    elif kind == "ARRAY":
        if "prefixItems" in schema:
            raise _Inexpressible
        made["items"] = _converted(schema.get("items"), root, depth - 1)
    return _with_values(made, schema)


def _resolved(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> Mapping[str, Any]:
    """The schema with its reference, or the only part it consists of, put in its place."""
    for _ in range(depth):
        if "$ref" in schema:
            inner = _target(schema["$ref"], root)
        elif len(schema.get("allOf", ())) == 1:
            inner = schema["allOf"][0]
        elif "allOf" in schema:
            raise _Inexpressible
        else:
            return schema
        schema = {**inner, **{key: value for key, value in schema.items() if key not in ("$ref", "allOf")}}
    raise _Inexpressible


def _target(reference: Any, root: Mapping[str, Any]) -> Mapping[str, Any]:
    if not isinstance(reference, str) or not reference.startswith("#/"):
        raise _Inexpressible
    found: Any = root
    for name in reference[2:].split("/"):
        found = found.get(name.replace("~1", "/").replace("~0", "~")) if isinstance(found, Mapping) else None
    if not isinstance(found, Mapping):
        raise _Inexpressible
    return found


def _kind(schema: Mapping[str, Any]) -> str:
    kind = schema.get("type")
    if isinstance(kind, str):
        return kind.upper()
    if "properties" in schema:
        return "OBJECT"
    if "items" in schema:
        return "ARRAY"
    values = _values(schema)
    if values and all(isinstance(value, str) for value in values):
        return "STRING"
    raise _Inexpressible


def _object(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> Schema:
    """Properties in their order. An object without any may hold anything, which the subset cannot say."""
    properties = schema.get("properties") or {}
    if not properties or isinstance(schema.get("additionalProperties"), Mapping):
        raise _Inexpressible
    made: Schema = {"properties": {name: _converted(inner, root, depth - 1) for name, inner in properties.items()}}
    required = [name for name in schema.get("required", ()) if name in properties]
    if required:
        made["required"] = required
    return made


def _any_of(choices: Any, root: Mapping[str, Any], depth: int) -> Schema:
    """Alternatives; null among them makes the others nullable."""
    found = [_converted(choice, root, depth - 1) for choice in choices]
    others = [choice for choice in found if choice.get("type") != "NULL"]
    nullable = {"nullable": True} if len(others) < len(found) else {}
    if len(others) == 1:
        return {**others[0], **nullable}
    return {"anyOf": others, **nullable}


def _values(schema: Mapping[str, Any]) -> list[Any]:
    return [schema["const"]] if "const" in schema else list(schema.get("enum") or ())


def _with_values(made: Schema, schema: Mapping[str, Any]) -> Schema:
    """The values that are allowed. Only texts can be listed; of others the description tells."""
    values = _values(schema)
    if not values:
        return made
    if None in values:
        made = {**made, "nullable": True}
        values = [value for value in values if value is not None]
    if made["type"] == "STRING" and values and all(isinstance(value, str) and value for value in values):
        return {**made, "enum": values}
    told = f"One of: {', '.join(str(value) for value in values)}."
    return {**made, "description": f"{made['description']} {told}" if made.get("description") else told}

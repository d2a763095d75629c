"""The forms an answer can take, as one JSON schema that decoding is bound to.

Whatever the model is like, what it writes is a call of a tool it was offered, or a final answer. Parts of a schema
that decoding cannot enforce are left out: arguments are validated once more before any call runs.
"""

from __future__ import annotations

from typing import Any

from ..request import ModelRequest, ToolDeclaration

FINAL_ANSWER = "final_answer"
_DEEPEST = 12
_ANYTHING: dict[str, Any] = {}
_KEPT = ("enum", "const")
_CHOICES = ("anyOf", "oneOf")
_KNOBS = ("integer", "number", "boolean")


def answer_schema(request: ModelRequest) -> dict[str, Any]:
    """Everything the model may write in answer to `request`."""
    forms = [_form(tool.name, plain(tool.parameters)) for tool in _callable(request)]
    if request.tool_choice in ("auto", "none") or not forms:
        forms.append(_form(FINAL_ANSWER, _text_only() if request.schema is None else plain(request.schema)))
    return forms[0] if len(forms) == 1 else {"anyOf": forms}


def _callable(request: ModelRequest) -> list[ToolDeclaration]:
    """The tools that may be called now."""
    if not request.may_call_tools:
        return []
    named = [tool for tool in request.prefix.tools if tool.name == request.tool_choice]
    return named or [tool for tool in request.prefix.tools if tool.name != FINAL_ANSWER]


def ordered_properties(schema: dict[str, Any]) -> list[tuple[str, dict[str, Any], bool]]:
    """Name, schema and whether it is required: the required ones first, in the order their author listed them."""
    properties = dict(schema.get("properties") or {})
    required = [name for name in schema.get("required") or () if name in properties]
    first = [(name, properties.pop(name), True) for name in required]
    return first + [(name, value, False) for name, value in properties.items()]


def without_knobs(tool: ToolDeclaration) -> ToolDeclaration:
    """A tool without the numbers and switches that have a default: a small model would set them at random."""
    properties = tool.parameters.get("properties") or {}
    required = tool.parameters.get("required") or ()
    kept = {name: value for name, value in properties.items() if name in required or not _is_knob(value)}
    return ToolDeclaration(
        name=tool.name, description=tool.description, parameters={**tool.parameters, "properties": kept}
    )


def _is_knob(schema: dict[str, Any]) -> bool:
    return schema.get("type") in _KNOBS and "default" in schema


def plain(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema without references and without what decoding cannot enforce."""
    return _plain(schema, schema, _DEEPEST)


def _plain(schema: Any, root: dict[str, Any], depth: int) -> dict[str, Any]:
    if not isinstance(schema, dict) or depth == 0:
        return _ANYTHING
    if "$ref" in schema:
        return _plain(_referred(str(schema["$ref"]), root), root, depth - 1)
    for key in _KEPT:
        if key in schema:
            return {key: schema[key]}
    for key in _CHOICES:
        if schema.get(key):
            return {"anyOf": [_plain(item, root, depth - 1) for item in schema[key]]}
    kind = schema.get("type")
    if kind == "object" and schema.get("properties"):
        properties = ordered_properties(schema)
        return {
            "type": "object",
            "properties": {name: _plain(value, root, depth - 1) for name, value, _ in properties},
            "required": [name for name, _, needed in properties if needed],
            "additionalProperties": False,
        }
    if kind == "array":
        return {"type": "array", "items": _plain(schema.get("items"), root, depth - 1)}
    return {"type": kind} if kind else _ANYTHING


def _referred(reference: str, root: dict[str, Any]) -> Any:
    """What a `#/…` reference points at; nothing for one that leads outside."""
    place: Any = root
    for part in reference.removeprefix("#/").split("/"):
        place = place.get(part) if isinstance(place, dict) else None
    return place


def _form(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"name": {"const": name}, "arguments": arguments},
        "required": ["name", "arguments"],
        "additionalProperties": False,
    }


def _text_only() -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"text": {"type": "string", "minLength": 1}},
        "required": ["text"],
        "additionalProperties": False,
    }

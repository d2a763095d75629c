"""JSON schemas in Gemini's subset: what can be said in it, and what is left as it is."""

import json
from typing import Any

import pytest
from google.genai import types
from hypothesis import given
from hypothesis import strategies as st

from hermes_agent.models.wire.gemini_schema import subset
from hermes_agent.tools.discovery import builtin_tools

PERSON = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string", "format": "uri", "minLength": 1}, {"type": "STRING", "minLength": 1}),
        ({"type": "string", "format": "date-time"}, {"type": "STRING", "format": "date-time"}),
        ({"type": "integer", "exclusiveMinimum": 0, "maximum": 9}, {"type": "INTEGER", "maximum": 9}),
        ({"enum": ["a", "b"]}, {"type": "STRING", "enum": ["a", "b"]}),
        ({"const": "a"}, {"type": "STRING", "enum": ["a"]}),
        ({"type": "string", "enum": ["a", None]}, {"type": "STRING", "nullable": True, "enum": ["a"]}),
        ({"type": "integer", "enum": [1, 2]}, {"type": "INTEGER", "description": "One of: 1, 2."}),
        ({"type": ["string", "null"], "title": "T"}, {"type": "STRING", "title": "T", "nullable": True}),
        (
            {"type": ["string", "integer"], "description": "either"},
            {
                "anyOf": [
                    {"description": "either", "type": "STRING"},
                    {"description": "either", "type": "INTEGER"},
                ],
                "description": "either",
            },
        ),
        (
            {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "number"}}, {"type": "null"}]},
            {"anyOf": [{"type": "STRING"}, {"type": "ARRAY", "items": {"type": "NUMBER"}}], "nullable": True},
        ),
        (
            {"$defs": {"P/Q": PERSON}, "type": "array", "items": {"$ref": "#/$defs/P~1Q", "description": "who"}},
            {
                "type": "ARRAY",
                "items": {
                    "description": "who",
                    "type": "OBJECT",
                    "properties": {"name": {"type": "STRING"}},
                    "required": ["name"],
                },
            },
        ),
        (
            {"allOf": [PERSON], "$schema": "x", "additionalProperties": False},
            {"type": "OBJECT", "properties": {"name": {"type": "STRING"}}, "required": ["name"]},
        ),
    ],
)
def test_what_the_subset_can_say(schema: dict[str, Any], expected: dict[str, Any]) -> None:
    assert subset(schema) == expected
    types.Schema.model_validate(expected)


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object"},
        {"type": "object", "additionalProperties": {"type": "string"}},
        {"type": "array"},
        {"type": "array", "prefixItems": [{"type": "string"}]},
        {"allOf": [PERSON, PERSON]},
        {"$ref": "#/$defs/missing"},
        {"$ref": "https://example.com/schema"},
        {"$ref": "#"},
        {"type": "array", "items": {"$ref": "#/$defs/Tree"}, "$defs": {"Tree": {"$ref": "#/$defs/Tree"}}},
        {
            "type": "object",
            "properties": {"inner": {"$ref": "#/$defs/N"}},
            "$defs": {"N": {"items": {"$ref": "#/$defs/N"}}},
        },
    ],
)
def test_what_it_cannot_say(schema: dict[str, Any]) -> None:
    assert subset(schema) is None


def test_our_own_tools_are_all_in_it() -> None:
    free = {"use_tool", "web_request"}
    schemas = {one.spec.name: one.spec.parameters for one in builtin_tools() if one.spec.parameters.get("properties")}
    assert free < schemas.keys()
    for name, schema in schemas.items():
        if name in free:
            assert subset(schema) is None, "an object with any keys is sent as the JSON schema it is"
        else:
            types.Schema.model_validate(subset(schema))


_words = st.text(max_size=5)
_leaves = st.fixed_dictionaries({"type": st.sampled_from(["string", "integer", "number", "boolean", "null"])})
_schemas = st.recursive(
    _leaves | st.just({"enum": ["a", "b"]}),
    lambda inner: (
        st.fixed_dictionaries({"type": st.just("array"), "items": inner})
        | st.fixed_dictionaries({"type": st.just("object"), "properties": st.dictionaries(_words, inner, max_size=3)})
        | st.fixed_dictionaries({"anyOf": st.lists(inner, min_size=1, max_size=3)})
    ),
    max_leaves=12,
)


@given(_schemas)
def test_whatever_comes_out_is_a_schema_to_the_official_types(schema: dict[str, Any]) -> None:
    made = subset(schema)
    if made is not None:
        types.Schema.model_validate(json.loads(json.dumps(made)))

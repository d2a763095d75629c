"""Arguments as models write them: an object that can be kept and sent back, or a call that is never run."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hermes_agent.models.arguments import call_of
from hermes_agent.types.tools import ToolCall

UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@UNHURRIED
@given(st.dictionaries(st.text(max_size=5), VALUES, max_size=4))
def test_every_object_is_read(value: dict[str, Any]) -> None:
    assert call_of("id", "name", json.dumps(value)) == ToolCall(id="id", name="name", arguments=value)


@UNHURRIED
@given(st.text(max_size=60) | st.text(alphabet='{}[]":,\\u0d8e1- Na', max_size=60))
def test_whatever_is_written_can_be_kept_or_is_a_problem(text: str) -> None:
    call = call_of("id", "name", text)
    assert msgspec.json.decode(msgspec.json.encode(call), type=ToolCall) == call
    assert not (call.problem and call.arguments)


@pytest.mark.parametrize("text", ["", " \n"])
def test_no_arguments_are_an_empty_object(text: str) -> None:
    assert call_of("id", "name", text) == ToolCall(id="id", name="name")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[1, 2]", "they are something else"),
        ("null", "they are something else"),
        ('"{}"', "they are something else"),
        ('{"n": NaN}', "NaN is no number"),
        ('{"n": -Infinity}', "-Infinity is no number"),
        ('{"n": 1e999}', "1e999 is no number"),
        ('{"n": ' + "[" * 101 + "]" * 101 + "}", "they are nested more than 100 levels deep"),
        ('{"a": 1', "Expecting ',' delimiter: line 1 column 8 (char 7)"),
        ('{"a": 1} {"b": 2}', "Extra data: line 1 column 10 (char 9)"),
    ],
)
def test_what_cannot_be_read_is_said(text: str, reason: str) -> None:
    problem = f"the arguments are not a JSON object: {reason}"
    assert call_of("id", "name", text) == ToolCall(id="id", name="name", problem=problem)


@pytest.mark.parametrize("text", ['{"n": ' + "[" * 100_000, '{"n": ' + '{"n":' * 100_000, '{"n": ' + "9" * 5000 + "}"])
def test_what_would_exhaust_the_reader_is_a_problem(text: str) -> None:
    assert call_of("id", "name", text).problem.startswith("the arguments are not a JSON object: ")


def test_lone_surrogates_are_replaced_everywhere() -> None:
    call = call_of("\ud800", "na\ud800me", r'{"k\udfff": ["\ud800", "\ud83e\udd8a"]}')
    assert call == ToolCall(id="\ufffd", name="na\ufffdme", arguments={"k\ufffd": ["\ufffd", "🦊"]})

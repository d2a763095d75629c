"""What a request may wish for: tools, effort, a limit, an answer in a schema."""

from typing import Any

import pytest

from hermes_agent.types.effort import Effort
from tests.endpoint.anthropic_checks import check
from tests.models.anthropic.conversing import NEWEST, OLDER, SCHEMA, sent
from tests.models.asking import QUESTION


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("auto", None),
        ("none", {"type": "none"}),
        ("required", {"type": "any"}),
        ("echo", {"type": "tool", "name": "echo"}),
    ],
)
def test_tool_choice(choice: str, expected: dict[str, str] | None) -> None:
    made = sent(QUESTION, model=OLDER, tool_choice=choice, effort=Effort.HIGH)
    check(made)
    assert made.get("tool_choice") == expected
    assert ("thinking" in made) == (choice in ("auto", "none"))


def test_a_model_that_always_thinks_is_not_forced() -> None:
    assert "tool_choice" not in sent(QUESTION, model="claude-opus-5-5", tool_choice="required")
    assert sent(QUESTION, model="claude-opus-5-5", tool_choice="none")["tool_choice"] == {"type": "none"}


def test_a_model_that_thinks_by_itself_does_not_when_it_is_forced() -> None:
    made = sent(QUESTION, model=NEWEST, tool_choice="required", effort=Effort.MAX)
    check(made)
    assert (made["thinking"], made["output_config"]) == ({"type": "disabled"}, {"effort": "high"})


@pytest.mark.parametrize(
    ("model", "effort", "thinking", "output"),
    [
        (NEWEST, None, None, None),
        (NEWEST, Effort.XHIGH, {"type": "adaptive", "display": "omitted"}, {"effort": "xhigh"}),
        ("claude-opus-4-6", Effort.XHIGH, {"type": "adaptive", "display": "omitted"}, {"effort": "max"}),
        ("claude-opus-4-5", Effort.MAX, {"type": "enabled", "budget_tokens": 48000}, {"effort": "high"}),
        (OLDER, Effort.LOW, {"type": "enabled", "budget_tokens": 2048}, None),
        ("claude-3-5-haiku-latest", Effort.HIGH, None, None),
        ("some-other-model", Effort.MAX, {"type": "enabled", "budget_tokens": 6144}, None),
    ],
)
def test_effort(model: str, effort: Effort | None, thinking: Any, output: Any) -> None:
    made = sent(QUESTION, model=model, effort=effort)
    check(made)
    assert (made.get("thinking"), made.get("output_config")) == (thinking, output)


@pytest.mark.parametrize(("limit", "budget"), [(1000, None), (2000, 1500), (40_000, 16_384)])
def test_the_budget_for_thinking_is_within_the_limit(limit: int, budget: int | None) -> None:
    made = sent(QUESTION, model=OLDER, effort=Effort.HIGH, max_tokens=limit)
    check(made)
    assert made["max_tokens"] == limit
    assert made.get("thinking", {}).get("budget_tokens") == budget


def test_a_structured_answer() -> None:
    made = sent(QUESTION, schema=SCHEMA, effort=Effort.LOW)
    check(made)
    inner = {"type": "object", "properties": {}, "additionalProperties": False}
    assert made["output_config"] == {
        "effort": "low",
        "format": {
            "type": "json_schema",
            "schema": {
                "type": "object",
                "properties": {"deep": {"type": "array", "items": inner}},
                "additionalProperties": False,
            },
        },
    }
    assert "additionalProperties" not in SCHEMA

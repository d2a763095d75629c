"""The plan tool."""

from pathlib import Path

import pytest

from hermes_agent.tools.builtin.plan import plan
from hermes_agent.tools.tool import ArgumentProblem
from hermes_agent.types.tools import ToolResult
from tests.tools.context import Context


@pytest.mark.req("A4")
def test_a_plan_is_proposed_and_shown(tmp_path: Path) -> None:
    context = Context(tmp_path)
    done = context.now(plan, steps=["look  at\nit", "fix it"], reason="asked\x1b[2J to")
    assert done == ToolResult(text="1. look at it\n2. fix it")
    assert context.planner.proposed == [(("look at it", "fix it"), "asked\\u{001b}[2J to")]


def test_the_same_plan_again_changes_nothing(tmp_path: Path) -> None:
    context = Context(tmp_path)
    for _ in range(2):
        assert context.now(plan, steps=["one"]).ok
    assert context.planner.proposed == [(("one",), "")]
    assert context.now(plan, steps=["one", "two"], reason="more").ok
    assert context.planner.steps() == ("one", "two")


@pytest.mark.parametrize("steps", [[], ["x"] * 2, ["a", ""], ["a", " \n"], ["y" * 201], [f"s{n}" for n in range(21)]])
def test_bad_plans_are_refused(tmp_path: Path, steps: list[str]) -> None:
    context = Context(tmp_path)
    assert context.now(plan, steps=steps).error == "bad_argument"
    assert context.planner.proposed == []


def test_hostile_steps(tmp_path: Path) -> None:
    context = Context(tmp_path)
    assert context.now(plan, steps=["\ud800 lone", "\u202eright to left"]).text.isprintable() is False
    (((first, second), _),) = context.planner.proposed
    assert "\ud800" not in first and "\u202e" not in second
    with pytest.raises(ArgumentProblem):
        context.now(plan, steps={"a": 1})

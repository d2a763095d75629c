from pathlib import Path

import pytest

from hermes_agent.tools.builtin.clarify import clarify
from hermes_agent.tools.builtin.todo import todo
from hermes_agent.tools.tool import ArgumentProblem
from hermes_agent.types.tools import ToolResult
from tests.tools.context import Answering, Context


def test_the_list_is_kept_and_shown(tmp_path: Path) -> None:
    context = Context(tmp_path)
    items = [
        {"id": "1", "content": "look", "status": "completed"},
        {"id": "2", "content": "write\nit", "status": "in_progress"},
        {"id": "3", "content": "test"},
        {"id": "4", "content": "rest", "status": "cancelled"},
    ]
    shown = ToolResult(text="[x] 1: look\n[>] 2: write it\n[ ] 3: test\n[-] 4: rest")
    assert context.now(todo) == ToolResult(text="(nothing to do)")
    assert context.now(todo, items=items) == shown
    assert context.now(todo, items=items) == shown
    assert context.now(todo) == shown
    assert context.now(todo, items=[]) == ToolResult(text="(nothing to do)")


def test_lists_that_make_no_sense_are_refused_and_not_kept(tmp_path: Path) -> None:
    context = Context(tmp_path)
    twice = [{"id": "1", "content": "a"}, {"id": "1", "content": "b"}]
    assert context.now(todo, items=twice).error == "bad_argument"
    assert context.now(todo, items=[{"id": str(n), "content": ""} for n in range(101)]).error == "too_many"
    for items in ("text", [{"id": "1"}], [{"id": "1", "content": "a", "status": "later"}], [3]):
        with pytest.raises(ArgumentProblem):
            context.now(todo, items=items)
    assert context.now(todo) == ToolResult(text="(nothing to do)")


def test_a_person_is_asked(tmp_path: Path) -> None:
    context = Context(tmp_path, answer="blue")
    assert context.now(clarify, question="Which colour?", choices=["red", "blue"]) == ToolResult(text="blue")
    assert isinstance(context.person, Answering)
    assert context.person.asked == [("Which colour?", ("red", "blue"))]
    assert context.now(clarify, question=" ").error == "bad_argument"
    assert context.now(clarify, question="Which?", choices=["x"] * 9).error == "bad_argument"


def test_with_nobody_there_the_model_decides(tmp_path: Path) -> None:
    assert Context(tmp_path).now(clarify, question="Which colour?") == ToolResult(
        ok=False,
        error="nobody_there",
        text="nobody answered; decide yourself and state the assumption in your answer",
    )

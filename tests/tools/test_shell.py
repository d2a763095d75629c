import asyncio
from pathlib import Path

import pytest

from hermes_agent.tools.builtin.shell import process, terminal
from hermes_agent.tools.tool import ArgumentProblem
from hermes_agent.types.errors import PermissionRefused
from hermes_agent.types.tools import ToolResult
from tests.tools.context import Context


def test_a_command_in_the_foreground(tmp_path: Path) -> None:
    context = Context(tmp_path)
    (context.workspace / "sub").mkdir()
    assert context.now(terminal, command="pwd") == ToolResult(text=str(context.workspace))
    assert context.now(terminal, command="pwd", directory="sub") == ToolResult(text=str(context.workspace / "sub"))
    assert context.now(terminal, command="sleep 60", timeout=0.2).error == "timeout"
    assert [spawned.command for spawned in context.journal.spawned] == ["pwd", "pwd", "sleep 60"]


def test_bad_arguments(tmp_path: Path) -> None:
    context = Context(tmp_path)
    context.write("file", "x")
    errors = [
        context.now(terminal, **arguments).error
        for arguments in (
            {"command": " "},
            {"command": "a\0b"},
            {"command": "x", "timeout": 0},
            {"command": "x", "directory": "none"},
            {"command": "x", "directory": "file"},
        )
    ]
    assert errors == ["bad_argument", "bad_argument", "bad_argument", "not_found", "not_a_directory"]
    assert context.now(terminal, command="echo \ud800").text == "\ufffd"
    with pytest.raises(PermissionRefused):
        context.now(terminal, command="pwd", directory="/")
    with pytest.raises(ArgumentProblem):
        context.now(process, action="explode")
    assert context.now(process, action="poll").error == "bad_argument"
    assert len(context.journal.spawned) == 1


def test_a_command_in_the_background(tmp_path: Path) -> None:
    context = Context(tmp_path)

    async def story() -> list[ToolResult]:
        results = [await context.call(terminal, command="cat", background=True)]
        for action in ({"action": "write", "text": "line"}, {"action": "wait", "timeout": 0.3}, {"action": "kill"}):
            results.append(await context.call(process, process="p1", **action))
        return [
            *results,
            await context.call(process, action="poll", process="p1"),
            await context.call(process, action="list"),
        ]

    started, written, waited, killed, polled, listed = asyncio.run(story())
    assert started.text.startswith("[p1 running")
    assert written == ToolResult(text="wrote 5 bytes to p1; poll shows what it answers")
    assert waited.text.endswith("]\nline\n")
    assert killed == ToolResult(text="[p1 ended by signal 15]")
    assert polled == ToolResult(text="[p1 ended by signal 15]")
    assert listed == ToolResult(text="p1 ended by signal 15: cat")

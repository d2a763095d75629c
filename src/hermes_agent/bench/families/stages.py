"""The steps of a world as tools: each runs a way of a program of `inside` in the sandbox."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ...safety.paths import Scope
from ...tools.tool import Tool
from ...types.base import Value
from ...types.text import clean
from ...types.tools import ToolContext, ToolResult

_SECONDS = 20.0
_LONGEST = 400
_FILES = frozenset({"shell", "files.read", "files.write"})

Surroundings = Callable[[], Mapping[str, str]]
"""What programs are told beside their arguments, such as where a service is."""


class Stage(Value, frozen=True, kw_only=True):
    """One step. `arguments` are the names and meanings of its parameters, `paths` those that are files of the
    workspace, `writes` the one that it writes, if any; `ways` are its tools with what they say of themselves."""

    program: str
    arguments: dict[str, str]
    paths: tuple[str, ...]
    ways: dict[str, str]
    writes: str = ""
    network: bool = False


@cache
def _program(name: str) -> str:
    return (Path(__file__).parent / "inside" / f"{name}.py").read_text("utf-8")


def stage_tools(family: str, stage: Stage, around: Surroundings) -> list[Tool]:
    """The tools of a step, to be registered with an agent beside its own."""
    return [_tool(family, stage, name, told, around) for name, told in stage.ways.items()]


def _tool(family: str, stage: Stage, name: str, told: str, around: Surroundings) -> Tool:
    async def work(context: ToolContext, **given: Any) -> ToolResult:
        if problem := _problem(stage, given):
            return ToolResult(ok=False, error="bad_argument", text=problem)
        return await _ran(context, stage, {**given, **around(), "way": name})

    schema = {
        "type": "object",
        "properties": {one: {"type": "string", "description": means} for one, means in stage.arguments.items()},
        "required": list(stage.arguments),
        "additionalProperties": False,
    }
    reaches = _FILES | {"network"} if stage.network else _FILES
    made = Tool(name, work, told, reaches, "idempotent", timeout=_SECONDS + 10, parameters=schema)
    return made.with_spec(family=family, labels=frozenset(), replaces=(stage.writes,) if stage.writes else ())


def _problem(stage: Stage, given: Mapping[str, Any]) -> str:
    """What is wrong with arguments; empty when nothing is."""
    if given.keys() != stage.arguments.keys():
        return f"the arguments are {', '.join(stage.arguments)}"
    wrong = [name for name, value in given.items() if not isinstance(value, str) or not 0 < len(value) <= _LONGEST]
    return f"{wrong[0]} must be text of 1 to {_LONGEST} characters" if wrong else ""


async def _ran(context: ToolContext, stage: Stage, asked: dict[str, Any]) -> ToolResult:
    """The program in the sandbox's bare Python, for files of the workspace only. Its failure is the tool's failure."""
    scope = Scope(context.workspace)
    for name in stage.paths:
        scope.resolve(asked[name])
    command = shlex.join([sys.executable or "python3", "-I", "-S", "-c", _program(stage.program)])
    done = await context.processes.run(
        command, directory=scope.root, timeout=_SECONDS, stdin=json.dumps(asked), network=stage.network
    )
    if not done.ok:
        return done
    try:
        answer: dict[str, Any] = json.loads(done.text)
    except ValueError:
        return ToolResult(ok=False, error="crashed", text=done.text)
    error = str(answer.get("error", ""))
    return ToolResult(ok=not error, error=error, text=clean(str(answer["text"])))

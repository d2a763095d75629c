"""The steps of a world as tools: each runs a way of a program of `inside` in the sandbox."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ...tools.tool import Tool
from ...types.base import Value
from ...types.tools import ToolContext, ToolResult
from ..programs import FILES, NETWORK, TOOL_SECONDS, ran

_LONGEST = 400
_INSIDE = Path(__file__).parent / "inside"

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


def stage_tools(family: str, stage: Stage, around: Surroundings) -> list[Tool]:
    """The tools of a step, to be registered with an agent beside its own."""
    return [_tool(family, stage, name, told, around) for name, told in stage.ways.items()]


def _tool(family: str, stage: Stage, name: str, told: str, around: Surroundings) -> Tool:
    async def work(context: ToolContext, **given: Any) -> ToolResult:
        if problem := _problem(stage, given):
            return ToolResult(ok=False, error="bad_argument", text=problem)
        asked = {**given, **around(), "way": name}
        paths = [asked[path] for path in stage.paths]
        return await ran(context, _INSIDE / f"{stage.program}.py", asked, paths, network=stage.network)

    schema = {
        "type": "object",
        "properties": {one: {"type": "string", "description": means} for one, means in stage.arguments.items()},
        "required": list(stage.arguments),
        "additionalProperties": False,
    }
    reaches = NETWORK if stage.network else FILES
    made = Tool(name, work, told, reaches, "idempotent", timeout=TOOL_SECONDS, parameters=schema)
    return made.with_spec(family=family, labels=frozenset(), replaces=(stage.writes,) if stage.writes else ())


def _problem(stage: Stage, given: Mapping[str, Any]) -> str:
    """What is wrong with arguments; empty when nothing is."""
    if given.keys() != stage.arguments.keys():
        return f"the arguments are {', '.join(stage.arguments)}"
    wrong = [name for name, value in given.items() if not isinstance(value, str) or not 0 < len(value) <= _LONGEST]
    return f"{wrong[0]} must be text of 1 to {_LONGEST} characters" if wrong else ""

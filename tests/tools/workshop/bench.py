"""A workshop of real parts: files, a registry with one built-in tool, processes, and a person who answers the same."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from hermes_agent.config.settings import SandboxKind, SandboxSettings
from hermes_agent.tools.builtin.files import read_file
from hermes_agent.tools.processes import ProcessTable
from hermes_agent.tools.registry import Entry, Registry
from hermes_agent.tools.results import as_result
from hermes_agent.tools.sandbox.choose import choose
from hermes_agent.tools.tool import declared_tool
from hermes_agent.tools.workshop.workshop import CallWorkshop, SelfWritten
from hermes_agent.types.errors import ConfigError
from hermes_agent.types.tools import ToolResult
from tests.tools.context import ENVIRONMENT, Answering, Context

ADD = '''"""Sums."""
from hermes_agent import tool

EXAMPLE = {"left": 1, "right": 2}


@tool(capabilities=(), effect="none", timeout=60)
def add(left: int, right: int = 5) -> int:
    """Add two numbers."""
    return left + right
'''


def source(name: str, body: str, *, capabilities: str = "()", parameters: str = "text: str", example: str = "") -> str:
    """The text of a tool with one function."""
    lines = "\n".join(f"    {line}" for line in body.strip().splitlines())
    return (
        f"import json\nfrom hermes_agent import tool\n\nEXAMPLE = {example or {'text': 'example'}}\n\n\n"
        f"@tool(capabilities={capabilities}, timeout=60)\n"
        f'def {name}({parameters}):\n    """Does one thing."""\n{lines}\n'
    )


def no_flatterers(text: str) -> list[str]:
    """A scanner with one opinion."""
    return ["the scanner does not like flattery"] if "flattery" in text else []


def confine(context: Context, kind: SandboxKind) -> None:
    """Let a context's commands run in a sandbox, or skip the test where the machine has none of that kind."""
    sandbox = choose(SandboxSettings(kind=kind), ENVIRONMENT)
    try:
        assert sandbox.reason
    except ConfigError as error:
        pytest.skip(str(error))
    context.table = ProcessTable(sandbox, context.workspace.parent / "processes", context.blobs, context.workspace)
    context.processes = context.table.for_call(context.journal.announce)


class Bench:
    """A home with self-written tools, and a session that uses them."""

    def __init__(self, folder: Path, *, answer: str | None = None) -> None:
        self.home = folder / "home" / "tools"
        self.context = Context(folder, answer=answer)
        builtin = declared_tool(read_file)
        assert builtin is not None
        self.registry = Registry([Entry(spec=builtin.spec, load=lambda: builtin, source="builtin")])
        self.tools = SelfWritten(self.home, self.registry, no_flatterers)
        self.broken = self.tools.refresh()

    @property
    def workshop(self) -> CallWorkshop:
        """The workshop as a call sees it."""
        context = self.context
        return self.tools.for_call(
            processes=context.processes, person=context.person, workspace=context.workspace, blobs=context.blobs
        )

    @property
    def asked(self) -> list[tuple[str, tuple[str, ...]]]:
        """What the person was asked."""
        assert isinstance(self.context.person, Answering)
        return self.context.person.asked

    def create(self, name: str, text: str) -> ToolResult:
        return asyncio.run(self.workshop.create(name, text))

    def edit(self, name: str, text: str = "") -> ToolResult:
        return asyncio.run(self.workshop.edit(name, text))

    def rollback(self, name: str, version: int | None = None) -> ToolResult:
        return asyncio.run(self.workshop.rollback(name, version))

    def listed(self) -> str:
        return asyncio.run(self.workshop.list()).text

    def use(self, name: str, **arguments: Any) -> ToolResult:
        """Call a tool through the registry, as the harness does."""
        return asyncio.run(self.used(name, **arguments))

    async def used(self, name: str, **arguments: Any) -> ToolResult:
        """The same on a running loop."""
        tool = self.registry.get(name)
        return as_result(await tool.run(tool.bind(arguments), self.context))

    def names(self) -> list[str]:
        return [spec.name for spec in self.registry.specs()]

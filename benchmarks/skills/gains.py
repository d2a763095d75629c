"""What each bundled skill gains for the Apprentice. It follows "use `tool`", "avoid `tool`", "skip `tool`" and orders
of two tools, and nothing else: a skill whose text says none of that about a tool cannot be measured with it."""

from __future__ import annotations

import re

from benchmarks.learning.stats import Figure
from hermes_agent.skills.format import parse_skill
from hermes_agent.skills.library import BUNDLED
from hermes_agent.tools.discovery import builtin_tools

_FOLLOWED = re.compile(r"\b(?:avoid (?:the tool )?|[Uu]se |prefer |[Ss]kip |do )`?([A-Za-z_][\w-]*)`?", re.MULTILINE)


def steering(text: str, tools: frozenset[str]) -> list[str]:
    """The tools about which a text says something that the Apprentice follows."""
    return sorted(tools & set(_FOLLOWED.findall(text)))


def figures() -> list[Figure]:
    """One line for each bundled skill."""
    tools = frozenset(entry.spec.name for entry in builtin_tools())
    table = []
    for file in sorted(BUNDLED.glob("*/SKILL.md")):
        body = parse_skill(file.read_bytes(), file.parent.name).body
        found = steering(body, tools)
        said = f"could steer it ({', '.join(found)}), but no task was written for it" if found else "cannot steer it"
        table.append(Figure(what=f"gain of {file.parent.name} for the Apprentice", measured=f"not measured: {said}"))
    return table

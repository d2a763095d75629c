"""Hermes: an agent runtime that never loses work and learns from its own execution.

The public names are loaded when they are first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .version import __version__

if TYPE_CHECKING:
    from .agent import Agent, HermesHarness, RunResult
    from .harness.harness import Harness
    from .tools.tool import Tool, tool
    from .types.tools import Capability

__all__ = ["Agent", "Capability", "Harness", "HermesHarness", "RunResult", "Tool", "__version__", "tool"]

_WHERE = {
    "Agent": "agent",
    "Capability": "types.tools",
    "Harness": "harness.harness",
    "HermesHarness": "agent",
    "RunResult": "agent",
    "Tool": "tools.tool",
    "tool": "tools.tool",
}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f".{_WHERE[name]}", __name__), name)

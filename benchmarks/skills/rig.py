"""An agent in a home of its own in memory, for benchmarks of skills. Everything but its model and its tools is the
product as it is installed."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from benchmarks.learning.arms import MEMORY, coin
from hermes_agent.agent import Agent, RunResult
from hermes_agent.models.client import ModelClient
from hermes_agent.runtime.knowledge import Knowledge
from hermes_agent.skills.library import Held
from hermes_agent.store.open import Store
from hermes_agent.tools.tool import Tool
from hermes_agent.types.trace import Judge

T = TypeVar("T")


class Bench:
    """An agent with the tools of a simulated place. `settings` are groups of the configuration."""

    def __init__(
        self, model: ModelClient, tools: Sequence[Tool], seed: int, settings: Mapping[str, Mapping[str, Any]]
    ) -> None:
        place = MEMORY if MEMORY.is_dir() else None
        self._folder = tempfile.TemporaryDirectory(prefix="skills-", dir=place, ignore_cleanup_errors=True)
        self.workspace = Path(self._folder.name) / "work"
        home = Path(self._folder.name) / "home"
        for folder in (self.workspace, home):
            folder.mkdir()
        usual = {"sandbox": {"kind": "none"}, "limits": {"retry_wait": 0.001}}
        (home / "config.yaml").write_text("".join(f"{k}: {json.dumps(v)}\n" for k, v in {**usual, **settings}.items()))
        self.seed = seed
        self.agent = Agent(name="bench", model=model, workspace=self.workspace, home=home)
        for tool in tools:
            self.agent.register_tool(tool)

    @property
    def store(self) -> Store:
        """The agent's store."""
        return self.agent.app.store

    @property
    def knowledge(self) -> Knowledge:
        """The agent's skills and memory."""
        known = self.agent.app.knowledge
        assert known is not None
        return known

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of a coroutine on the agent's loop."""
        return self.agent.wait(work)

    def run(self, request: str, number: int, check: Any, **options: Any) -> tuple[RunResult, bool]:
        """One request in a session of its own, and whether it was judged right; what happens behind it is awaited, so
        that the same seed always gives the same history."""
        options = {"seed": coin(self.seed, number), **options}
        result = self.agent.run(request, session="new", options=options, check=check)
        self.wait(self.agent.app.background.join())
        return result, result.judged_by is Judge.VERIFIER and bool(result.success)

    def made(self) -> list[Held]:
        """The skills in use that an agent wrote."""
        return [held for held in self.wait(self.knowledge.library.all()) if held.origin.by_agent]

    def close(self) -> None:
        """End the agent and remove its home."""
        self.agent.close()
        self._folder.cleanup()

"""Twelve kinds of office work behind eight simulated tools, for which a good skill is worth having.

Each task has five steps. The third can be done in three ways that look alike: each fails openly equally often, but
only one of them, which depends on the kind of work, gives mostly right results; the others are silently wrong more
often than right. So nothing can be learned from single calls: only the outcome of tasks tells, and somebody who wrote
down which way is the right one.
"""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import msgspec

from hermes_agent.tools.tool import Tool
from hermes_agent.types.tools import ToolResult

WAYS = ("work_quick", "work_careful", "work_batch")
BEFORE = ("open_source", "inspect_source")
AFTER = ("check_result", "deliver_result")
_DATA = Path(__file__).parents[1] / "learning" / "data" / "families.json"
_LOUD = 0.15
_RIGHT, _WRONG = 0.95, 0.4
_REFERENCE = re.compile(r"reference (\d+)$")


class Wordings(msgspec.Struct, frozen=True, kw_only=True):
    """How a kind of work is asked for."""

    tuning: list[str]
    held_out: list[str]


class Written(msgspec.Struct, frozen=True, kw_only=True):
    """The requests written for the benchmark of families."""

    parameters: dict[str, list[str]]
    families: dict[str, Wordings]


def written() -> Written:
    """The twelve families with twelve wordings each."""
    return msgspec.json.decode(_DATA.read_bytes(), type=Written)


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """A request of some kind, with what stands in its places."""

    number: int
    family: str
    request: str
    subject: str


def tasks(seed: int, count: int) -> list[Task]:
    """The tasks of one history, kinds and wordings by chance."""
    data, rng = written(), random.Random(f"office:{seed}")
    names = sorted(data.families)
    found = []
    for number in range(count):
        family = rng.choice(names)
        known = data.families[family]
        wording = rng.choice([text for text in (*known.tuning, *known.held_out) if "\n" not in text])
        chosen = {name: rng.choice(values) for name, values in data.parameters.items()}
        subject = next((value for name, value in chosen.items() if f"{{{name}}}" in wording), "it")
        found.append(Task(number=number, family=family, request=wording.format(**chosen), subject=subject))
    return found


class Office:
    """The services of one history. `begin` sets a task up; the tools act on it."""

    def __init__(self, seed: int) -> None:
        rng = random.Random(f"ways:{seed}")
        self.seed = seed
        self.right = {family: rng.choice(WAYS) for family in sorted(written().families)}
        self.tasks: dict[int, Task] = {}
        self.current: Task
        self._done: list[str] = []
        self._correct = False

    def begin(self, task: Task) -> str:
        """Set a task up and say how it is asked for."""
        self.current, self._done, self._correct = task, [], False
        self.tasks[task.number] = task
        argument = json.dumps({"subject": task.subject})
        steps = [*BEFORE, " or ".join(f"{way} {argument}" for way in WAYS), *AFTER]
        lines = [
            f"{place}. {step if step.endswith('}') else f'{step} {argument}'}" for place, step in enumerate(steps, 1)
        ]
        return "\n".join([task.request, "", *lines, "", f"reference {task.number}"])

    def task_of(self, request: str) -> Task | None:
        """The task that a request belongs to."""
        found = _REFERENCE.search(request)
        return self.tasks.get(int(found[1])) if found else None

    def solved(self) -> bool:
        """Whether every step was done, and the work was right."""
        return self._correct and {*BEFORE, *AFTER} <= set(self._done)

    def tools(self) -> list[Tool]:
        """One tool for each service."""
        return [self._tool(name) for name in (*BEFORE, *WAYS, *AFTER)]

    def _tool(self, name: str) -> Tool:
        async def run(subject: str) -> ToolResult:
            return self._serve(name, subject)

        return Tool(name, run, name.replace("_", " "), capabilities=[], effect="idempotent")

    def _serve(self, name: str, subject: str) -> ToolResult:
        rng = random.Random(f"{self.seed}:{self.current.number}:{name}")
        if name in WAYS:
            if rng.random() < _LOUD:
                return ToolResult(ok=False, text="the service is out of order", error="service_refused")
            right = self.right[self.current.family] == name
            self._correct = rng.random() < (_RIGHT if right else _WRONG)
        self._done.append(name)
        return ToolResult(text=f"{name} done for {subject}")

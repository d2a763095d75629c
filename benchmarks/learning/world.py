"""A world of simulated services behind real tools: what the agent can call, what breaks, and whether a task was solved.

Simulated are the services (the leaderboard's own Python objects), their faults (`faults.py`) and the model (the
Apprentice). Everything between them is the product: agent, harness, journal, store, permissions, retries, learning.
Each frequent function has five providers, tools of their own that do the same job on the same object; the task lists
them in a fixed order. A call that is stopped by a fault has no effect. A run is right when the objects are in the gold
state and every gold answer was obtained, in order.
"""

from __future__ import annotations

import copy
import json
import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from benchmarks.learning.bfcl import Step, Task, call, documents, state_of, tasks
from benchmarks.learning.faults import WAYS, Fault, Habit, Schedule
from hermes_agent.tools.tool import Tool
from hermes_agent.types.tools import ToolContext, ToolResult

SMALLEST_FAMILY = 25
_SHOWN = 400
_FREQUENT = 5
_TYPES = {"dict": "object", "float": "number", "integer": "integer", "tuple": "array"}


class Pool(msgspec.Struct, frozen=True, kw_only=True):
    """The tasks of a world by family, and the functions that have several providers."""

    families: dict[str, tuple[Task, ...]]
    choices: frozenset[str]

    def ways(self, function: str) -> tuple[str, ...]:
        """The tools that do a function, in the order in which a task lists them."""
        return tuple(function + way for way in WAYS)[: len(WAYS) if function in self.choices else 1]


def pool_of(owners: Sequence[str], shortest: int = 3, longest: int = 5) -> Pool:
    """The tasks whose main class is one of `owners`, in families of some size."""
    known = {task.owner for task in tasks(shortest, longest)}
    if strange := sorted(set(owners) - known):
        raise SystemExit(f"there are no tasks for {', '.join(strange)}; there are for {', '.join(sorted(known))}")
    families: dict[str, list[Task]] = {}
    for task in tasks(shortest, longest):
        if task.owner in owners:
            families.setdefault(task.family, []).append(task)
    kept = {name: tuple(found) for name, found in sorted(families.items()) if len(found) >= SMALLEST_FAMILY}
    often: set[str] = set()
    for found in kept.values():
        used = Counter(step.function for task in found for step in task.steps)
        often |= {function for function, _ in used.most_common(_FREQUENT)}
    return Pool(families=kept, choices=frozenset(often))


def habits_of(pool: Pool) -> list[Habit]:
    """How each family uses the functions that have several providers."""
    found: dict[tuple[str, str], list[tuple[Step, str]]] = {}
    for family, members in pool.families.items():
        for task in members:
            for step, before in zip(task.steps, ("", *(step.function for step in task.steps)), strict=False):
                if step.function in pool.choices:
                    found.setdefault((family, step.function), []).append((step, before))
    habits = []
    for (family, function), uses in found.items():
        values: dict[str, list[str]] = {}
        for step, _ in uses:
            for name, value in step.arguments.items():
                if isinstance(value, str):
                    values.setdefault(name, []).append(value)
        habits.append(
            Habit(
                family=family,
                function=function,
                count=len(uses),
                values={name: tuple(texts) for name, texts in values.items()},
                after=tuple(before for _, before in uses),
            )
        )
    return habits


def sequence(pool: Pool, seed: int, count: int, only: frozenset[str] = frozenset()) -> list[Task]:
    """The tasks of one history: families in turn by chance, three of four tasks with a function of `only` in them."""
    rng = random.Random(f"tasks:{seed}")
    names = sorted(pool.families)
    chosen = []
    for _ in range(count):
        members = pool.families[rng.choice(names)]
        troubled = [task for task in members if any(step.function in only for step in task.steps)]
        chosen.append(rng.choice(troubled if troubled and rng.random() < 0.75 else members))
    return chosen


class World:
    """One history's services. `begin` sets the next task up; the tools act on it."""

    def __init__(self, pool: Pool, schedule: Schedule, seed: int) -> None:
        self.pool = pool
        self.schedule = schedule
        self.seed = seed
        self.number = -1
        self.task: Task
        self.after = ""
        self._objects: dict[str, Any] = {}
        self._answers: list[tuple[str, str]] = []
        self._attempts: dict[str, int] = {}
        self._done: dict[str, ToolResult] = {}
        self._by_tool: dict[str, tuple[Fault, ...]] = {}
        for fault in schedule.faults:
            self._by_tool[fault.tool] = (*self._by_tool.get(fault.tool, ()), fault)

    def begin(self, number: int, task: Task) -> str:
        """Set a task up and say how it is asked for."""
        self.number, self.task, self.after = number, task, ""
        self._objects = copy.deepcopy(task.start)
        self._answers, self._attempts, self._done = [], {}, {}
        lines = [task.text, ""]
        for place, step in enumerate(task.steps, 1):
            ways = (f"{tool} {json.dumps(step.arguments)}" for tool in self.pool.ways(step.function))
            lines.append(f"{place}. {' or '.join(ways)}")
        return "\n".join([*lines, "", f"reference {self.seed}-{number}"])

    def fault(self, tool: str, arguments: Mapping[str, Any], after: str, number: int) -> Fault | None:
        """What is wrong with a tool in this context at this time."""
        for fault in self._by_tool.get(tool, ()):
            if fault.at(number) and fault.where.holds(self.task.family, arguments, after):
                return fault
        return None

    def was_ever_broken(self, tool: str, arguments: Mapping[str, Any], after: str, number: int) -> bool:
        """Whether a tool has been broken in this context by now."""
        return any(
            fault.begins <= number and fault.where.holds(self.task.family, arguments, after)
            for fault in self._by_tool.get(tool, ())
        )

    def contexts(self) -> list[str]:
        """What `after` is at each step of the task when all goes well."""
        return ["", *(step.function for step in self.task.steps)][: len(self.task.steps)]

    def solved(self) -> bool:
        """Whether the task in hand is done: the gold state, and the gold answers in order."""
        wanted = [(step.function, step.answer) for step in self.task.steps]
        place = 0
        for got in self._answers:
            if place < len(wanted) and got == wanted[place]:
                place += 1
        return place == len(wanted) and state_of(self._objects) == self.task.goal

    def tools(self) -> list[Tool]:
        """Every function of the pool with all its providers."""
        changing: dict[tuple[str, str], bool] = {}
        for members in self.pool.families.values():
            for task in members:
                for step in task.steps:
                    key = (step.owner, step.function)
                    changing[key] = changing.get(key, False) or step.changes
        return [
            self._tool(owner, function, tool, "idempotent" if changes else "none")
            for (owner, function), changes in sorted(changing.items())
            for tool in self.pool.ways(function)
        ]

    def _tool(self, owner: str, function: str, name: str, effect: str) -> Tool:
        document = documents()[f"{owner}.{function}"]
        described = str(document["description"]).rpartition("Tool description: ")[2]

        async def run(context: ToolContext, **arguments: Any) -> ToolResult:
            return self._serve(owner, function, name, arguments, context.idempotency_key)

        parameters = _schema(document["parameters"])
        return Tool(name, run, described[:_SHOWN], capabilities=[], effect=effect, timeout=30.0, parameters=parameters)

    def _serve(self, owner: str, function: str, tool: str, arguments: dict[str, Any], key: str) -> ToolResult:
        """One request to a provider. A key that was served before gets the same answer and has no second effect."""
        if key in self._done:
            return self._done[key]
        asked = f"{tool} {json.dumps(arguments, sort_keys=True)}"
        attempt = self._attempts[asked] = self._attempts.get(asked, 0) + 1
        fault = self.fault(tool, arguments, self.after, self.number)
        if fault is not None and not self._gets_through(fault, asked, attempt):
            if fault.silent:
                self._answers.append((function, fault.text))
                self.after = function
                return ToolResult(text=fault.text)
            return ToolResult(ok=False, text=fault.text, error=fault.error, transient=fault.transient)
        worked, answer = call(self._objects, owner, function, arguments)
        if not worked:
            return ToolResult(ok=False, text=answer, error="refused_by_service")
        self._answers.append((function, answer))
        self.after = function
        self._done[key] = ToolResult(text=answer)
        return self._done[key]

    def _gets_through(self, fault: Fault, asked: str, attempt: int) -> bool:
        if fault.passes_after and attempt > fault.passes_after:
            return True
        return random.Random(f"{self.seed}:{self.number}:{asked}:{attempt}").random() < fault.works


def _schema(parameters: dict[str, Any]) -> dict[str, Any]:
    """The package's parameter description as JSON schema."""
    properties = {
        name: {"type": _TYPES.get(str(about.get("type")), str(about.get("type", "string")))}
        for name, about in parameters.get("properties", {}).items()
    }
    return {"type": "object", "properties": properties, "required": list(parameters.get("required", ()))}


_AVOID = re.compile(r"\bavoid (?:the tool )?`?([A-Za-z_][\w-]*)`?", re.IGNORECASE)


def advised_against(text: str) -> set[str]:
    """The tools that a hint speaks against, in the words the Apprentice understands."""
    return set(_AVOID.findall(text))

"""What goes wrong in a world, where, and from when until when.

A fault belongs to one tool (one way of doing a function) and holds in a context: a family of tasks, an argument that
ends or begins in a certain way, right behind another function that worked, or everywhere. A call that a fault stops has
no effect. Schedules are drawn from a seed, or read from a file so that others can bring their own.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

import msgspec

WAYS = ("_main", "_mirror", "_legacy", "_relay", "_archive")


class Kind(StrEnum):
    """The faults that are drawn. Files may describe others by their properties."""

    PERMANENT = "permanent"
    TRANSIENT = "transient"
    FUTILE = "futile"
    TIMEOUT = "timeout"
    SILENT = "silent"
    INTERMITTENT = "intermittent"


class Context(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a fault holds. Everything that is given must be so; nothing given means everywhere."""

    family: str = ""
    argument: str = ""
    suffix: str = ""
    prefix: str = ""
    after: str = ""

    def holds(self, family: str, arguments: Mapping[str, Any], after: str) -> bool:
        """`after` is the function of the last call that worked."""
        value = arguments.get(self.argument)
        return (
            self.family in ("", family)
            and self.after in ("", after)
            and (
                not self.argument
                or (isinstance(value, str) and value.endswith(self.suffix) and value.startswith(self.prefix))
            )
        )


class Fault(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One tool's trouble in one context, between two task numbers.

    `error` is its class and `transient` whether it claims to pass; `works` is the share of calls that get through;
    `passes_after` says after how many attempts of a call it lets it pass (0: never). A `silent` fault answers wrongly
    and says nothing.
    """

    tool: str
    kind: str = Kind.PERMANENT
    where: Context = Context()
    begins: int = 0
    ends: int | None = None
    error: str = "backend_error"
    text: str = "the service behind this tool refused the request"
    transient: bool = False
    works: float = 0.0
    passes_after: int = 0
    silent: bool = False

    def at(self, number: int) -> bool:
        """Whether it is there at this task."""
        return self.begins <= number and (self.ends is None or number < self.ends)


class Schedule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All faults of a world."""

    faults: tuple[Fault, ...]

    def of(self, tool: str) -> tuple[Fault, ...]:
        """The faults of one tool."""
        return tuple(fault for fault in self.faults if fault.tool == tool)


_KINDS: dict[str, float] = {
    Kind.PERMANENT: 0.55,
    Kind.FUTILE: 0.16,
    Kind.INTERMITTENT: 0.17,
    Kind.TIMEOUT: 0.06,
    Kind.TRANSIENT: 0.06,
}
_CONTEXTS = {"family": 0.45, "everywhere": 0.1, "argument": 0.25, "after": 0.2}
_CHANGES = {"constant": 0.6, "breaks": 0.2, "repaired": 0.2}


class Mixture(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How schedules are drawn: weights of kinds, of contexts, of how many of a function's ways are broken, and of when.
    `functions` is how many of a family's functions are troubled. Which ways are broken has nothing to do with the
    order in which a task lists them: leaving the first one without a reason must not pay."""

    functions: int = 5
    broken: tuple[float, ...] = (0.0, 0.0, 0.2, 0.8)
    kinds: dict[str, float] = msgspec.field(default_factory=lambda: dict(_KINDS))
    contexts: dict[str, float] = msgspec.field(default_factory=lambda: dict(_CONTEXTS))
    changes: dict[str, float] = msgspec.field(default_factory=lambda: dict(_CHANGES))


def with_silent(share: float) -> Mixture:
    """The usual mixture with this share of faults that say nothing. They are left out by default: a wrong answer that
    looks right is seen in the outcome of the task only, and spoils every step behind it."""
    rest = {kind: weight * (1 - share) for kind, weight in _KINDS.items()}
    return Mixture(kinds={**rest, Kind.SILENT.value: share} if share else rest)


class Habit(msgspec.Struct, frozen=True, kw_only=True):
    """How a family uses a function: how often, with which arguments, behind which other functions."""

    family: str
    function: str
    count: int
    values: dict[str, tuple[str, ...]]
    after: tuple[str, ...]


_PROPERTIES: dict[str, dict[str, Any]] = {
    Kind.PERMANENT: {},
    Kind.TRANSIENT: {"error": "unavailable_now", "transient": True, "passes_after": 1, "text": "busy, try again"},
    Kind.FUTILE: {"error": "overloaded", "transient": True, "text": "the service is overloaded, try again later"},
    Kind.TIMEOUT: {"error": "timeout", "text": "no answer in time"},
    Kind.SILENT: {"silent": True, "text": '{"status": "accepted"}'},
    Kind.INTERMITTENT: {"error": "connection_reset", "works": 0.1, "text": "the connection was reset"},
}


def drawn(habits: Sequence[Habit], seed: int, horizon: int, mixture: Mixture) -> Schedule:
    """A schedule for a world whose families have these habits, the most frequent functions first."""
    rng = random.Random(f"faults:{seed}")
    faults: list[Fault] = []
    for family in sorted({habit.family for habit in habits}):
        frequent = sorted((h for h in habits if h.family == family), key=lambda habit: (-habit.count, habit.function))
        for habit in frequent[: mixture.functions]:
            faults += _troubles(habit, rng, horizon, mixture)
    return Schedule(faults=tuple(faults))


def _troubles(habit: Habit, rng: random.Random, horizon: int, mixture: Mixture) -> list[Fault]:
    """The faults of one function in one family: some of its ways, in one context, each in its own manner."""
    where = _context(habit, rng, mixture)
    broken = 1 + rng.choices(range(len(mixture.broken)), mixture.broken)[0]
    change = _pick(rng, mixture.changes)
    turn = int(horizon * rng.uniform(0.3, 0.4))
    troubles = []
    for way in rng.sample(WAYS, broken):
        kind = _pick(rng, mixture.kinds)
        begins, ends = (turn if change == "breaks" else 0), (turn if change == "repaired" else None)
        tool = habit.function + way
        troubles.append(Fault(tool=tool, kind=kind, where=where, begins=begins, ends=ends, **_PROPERTIES[kind]))
    return troubles


def _context(habit: Habit, rng: random.Random, mixture: Mixture) -> Context:
    """A context that occurs often enough in this family; the family itself where the wanted one does not."""
    chosen = _pick(rng, mixture.contexts)
    if chosen == "everywhere":
        return Context()
    if chosen == "argument":
        suffixes = [(name, ending) for name, values in sorted(habit.values.items()) for ending in _endings(values)]
        if suffixes:
            name, ending = rng.choice(suffixes)
            return Context(family=habit.family, argument=name, suffix=ending)
    if chosen == "after" and habit.after:
        usual = max(sorted(set(habit.after)), key=habit.after.count)
        if usual and habit.after.count(usual) >= len(habit.after) / 4:
            return Context(family=habit.family, after=usual)
    return Context(family=habit.family)


def _endings(values: Sequence[str]) -> list[str]:
    """File suffixes that a fair share of the values has."""
    suffixes = [Path(value).suffix for value in values]
    return sorted({end for end in suffixes if 1 < len(end) <= 5 and suffixes.count(end) >= len(suffixes) / 4})


def _pick(rng: random.Random, weights: Mapping[str, float]) -> str:
    return rng.choices(list(weights), list(weights.values()))[0]


def read_schedule(path: Path) -> Schedule:
    """A schedule from a file: {"faults": [{"tool": "cat_mirror", "kind": "permanent", "where": {...}, ...}]}. What a
    known kind says stands unless the file says otherwise."""
    try:
        written = msgspec.json.decode(path.read_bytes(), type=dict[str, list[dict[str, Any]]])
        faults = [{**_PROPERTIES.get(str(fault.get("kind", "")), {}), **fault} for fault in written.get("faults", [])]
        return msgspec.convert({"faults": faults}, Schedule)
    except (OSError, msgspec.ValidationError, msgspec.DecodeError) as error:
        raise SystemExit(f"{path}: no schedule of faults: {error}") from error

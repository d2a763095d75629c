"""Evidence in small pieces: one cell for each subject under each condition, in one family on one model.

A cell is a value; `Cells` reads those a lesson needs, keeps what changed, and hands it back to be written. The same
fold runs on a database and on a dictionary.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from hashlib import blake2b
from typing import TypeVar

import msgspec

from ..store.heuristics import EVERY_FAMILY, CellKey
from ..store.lessons import Lesson, ascii_json
from ..types.base import Value
from .evidence import CallEvidence, Rate, TaskEvidence

V = TypeVar("V", bound=Value)
Load = Callable[[Iterable[CellKey]], Mapping[CellKey, str]]
CONFIRMING_TRACES = 3
CONFIRMING_SESSIONS = 2
_CHANGED = 4
_MOST_CONDITIONS = 40
_MOST_INSTEAD = 12
_MOST_FAMILIES = 64
_SHAPES = ("keys", "after")
_WORDLESS = re.compile(r"true|false|#[0-9a-f]{16}")


class ToolCell(Value, frozen=True, kw_only=True):
    """What was seen of a tool, a retry, a repair or a step under one condition.

    `confirming` traces, from `sessions` (the first few), speak for the finding. `acting` while a heuristic made from
    this cell acts. `generation` counts how often the finding was given up again; each time the next one needs twice the
    evidence, so that all attempts together stay within the error that was promised.
    """

    evidence: CallEvidence = CallEvidence()
    rate: Rate = Rate()
    confirming: int = 0
    sessions: tuple[str, ...] = ()
    streak: int = 0
    streak_sessions: tuple[str, ...] = ()
    acting: bool = False
    generation: int = 0

    def observed(self, *, worked: bool, session: str, confirms: bool) -> ToolCell:
        """One more trace. `confirms` when it speaks for what the cell may come to say."""
        evidence = self.evidence.explored(worked=worked) if self.acting else self.evidence.seen(worked=worked)
        sessions = self.sessions
        if confirms and session not in sessions and len(sessions) < CONFIRMING_SESSIONS:
            sessions = (*sessions, session)
        lately = () if worked else self.streak_sessions
        if not worked and session not in lately and len(lately) < CONFIRMING_SESSIONS:
            lately = (*lately, session)
        return msgspec.structs.replace(
            self,
            evidence=evidence,
            rate=self.rate.seen(worked=worked),
            confirming=self.confirming + confirms,
            sessions=sessions,
            streak=0 if worked else self.streak + 1,
            streak_sessions=lately,
        )

    @property
    def recent(self) -> Rate:
        """The rate for rankings. After several failures in a row, from more than one session, what came before counts
        no more: something has changed."""
        if self.streak >= _CHANGED and len(self.streak_sessions) >= CONFIRMING_SESSIONS:
            return Rate(good=0.0, all=float(self.streak))
        return self.rate

    @property
    def confirmed(self) -> bool:
        """Whether enough traces from enough sessions agree: one bad trace never teaches."""
        return self.confirming >= CONFIRMING_TRACES and len(self.sessions) >= CONFIRMING_SESSIONS

    def strength(self, weight: float) -> float:
        """The weighted e-value: it acts at 20."""
        return weight * self.evidence.e_against() / 2.0**self.generation

    @property
    def hopeful(self) -> bool:
        """Whether the last explorations went well: then it is worth looking more often."""
        return self.acting and max(self.evidence.restored) > 0

    def given_up(self) -> ToolCell:
        """A fresh start after the finding turned out not to hold any more."""
        return ToolCell(generation=self.generation + 1)


class IndexCell(Value, frozen=True, kw_only=True):
    """What belongs to a tool in a family as a whole: its conditions in the order in which they appeared (which fixes
    their weights before they have data), whether pairs are looked at, and what was used in its place and how that
    went. `chosen` is the alternative that was last recommended; `once` when its effect must happen only once."""

    conditions: dict[str, int] = {}
    pairs: dict[str, int] = {}
    looks_at_pairs: bool = False
    instead: dict[str, tuple[int, int]] = {}
    chosen: str = ""
    once: bool = False

    def with_condition(self, condition: str, *, pair: bool = False) -> IndexCell:
        """The condition registered as it is stored, if there is room."""
        condition = hidden(condition)
        known = self.pairs if pair else self.conditions
        if condition in known or len(known) >= _MOST_CONDITIONS:
            return self
        grown = {**known, condition: len(known) + 1}
        return msgspec.structs.replace(self, pairs=grown) if pair else msgspec.structs.replace(self, conditions=grown)

    def used_instead(self, tool: str, *, worked: bool) -> IndexCell:
        """Another tool did, or failed at, the job this one had failed at."""
        good, tried = self.instead.get(tool, (0, 0))
        if not tried and len(self.instead) >= _MOST_INSTEAD:
            return self
        return msgspec.structs.replace(self, instead={**self.instead, tool: (good + worked, tried + 1)})


class WideCell(Value, frozen=True, kw_only=True):
    """A tool over all families: how it went in each (worked, failed), and what was used in its place."""

    families: dict[str, tuple[int, int]] = {}
    instead: dict[str, tuple[int, int]] = {}
    rate: Rate = Rate()
    acting: bool = False

    def seen(self, family: str, *, worked: bool) -> WideCell:
        """One more trace of a family."""
        good, bad = self.families.get(family, (0, 0))
        if not good + bad and len(self.families) >= _MOST_FAMILIES:
            return self
        families = {**self.families, family: (good + worked, bad + (not worked))}
        return msgspec.structs.replace(self, families=families, rate=self.rate.seen(worked=worked))

    def restored(self, family: str, tasks: int) -> WideCell:
        """The tool works again in a family: what it did there before counts no more."""
        return msgspec.structs.replace(self, families={**self.families, family: (tasks, 0)})

    def used_instead(self, tool: str, *, worked: bool) -> WideCell:
        """As in one family."""
        good, tried = self.instead.get(tool, (0, 0))
        if not tried and len(self.instead) >= _MOST_INSTEAD:
            return self
        return msgspec.structs.replace(self, instead={**self.instead, tool: (good + worked, tried + 1)})


class PlanCell(Value, frozen=True, kw_only=True):
    """A sequence of tools that led to success: how often, in which sessions, with which arguments: a digest of each, or
    None where they differ from run to run. No texts: a session that is erased leaves none here."""

    traces: int = 0
    sessions: tuple[str, ...] = ()
    proposed: bool = False
    steps: tuple[tuple[str, dict[str, str | None]], ...] = ()


class PriorCell(Value, frozen=True, kw_only=True):
    """What was seen elsewhere (another model, an imported bundle): for rankings only."""

    good: float = 0.0
    all: float = 0.0


class TaskCell(Value, frozen=True, kw_only=True):
    """What the coin of one heuristic has shown."""

    evidence: TaskEvidence = TaskEvidence()


@lru_cache(maxsize=4096)
def hidden(condition: str) -> str:
    """A condition as it is stored: words from arguments only as digests, because evidence outlives the session that
    said them; what has become a heuristic is told in words. A stored condition stays as it is."""
    parts = [condition] if ">" in condition else condition.split(" & ")
    return " & ".join(_hidden(part) for part in parts)


def _hidden(part: str) -> str:
    name, sign, value = part.partition("=")
    if not sign or name in _SHAPES or name.endswith(".suffix") or _WORDLESS.fullmatch(value):
        return part
    return f"{name}=#{blake2b(value.encode('utf-8', 'backslashreplace'), digest_size=8).hexdigest()}"


def stored_key(key: CellKey) -> CellKey:
    """Where a cell lies in the store."""
    return (*key[:3], hidden(key[3]))


def tool_key(lesson: Lesson, tool: str, condition: str = "") -> CellKey:
    """Where a tool's evidence lies."""
    return (lesson.model, lesson.family, f"tool:{tool}", condition)


def index_key(lesson: Lesson, tool: str) -> CellKey:
    """Where a tool's conditions and alternatives lie."""
    return (lesson.model, lesson.family, f"index:{tool}", "")


def wide_key(model: str, tool: str) -> CellKey:
    """Where a tool's evidence over all families lies."""
    return (model, EVERY_FAMILY, f"tool:{tool}", "")


class Cells:
    """The cells of one lesson: loaded when asked for, changed in memory, written together."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self._raw: dict[CellKey, str | None] = {}
        self._values: dict[CellKey, Value] = {}
        self._dirty: dict[CellKey, None] = {}

    def fetch(self, keys: Iterable[CellKey]) -> None:
        """Read these in one go; what is there already is left alone."""
        missing = [key for key in dict.fromkeys(keys) if key not in self._raw]
        if missing:
            places = {key: stored_key(key) for key in missing}
            found = self._load(places.values())
            self._raw.update({key: found.get(place) for key, place in places.items()})

    def get(self, key: CellKey, kind: type[V]) -> V:
        """The cell, or an empty one."""
        known = self._values.get(key)
        if known is None:
            self.fetch([key])
            raw = self._raw[key]
            known = kind() if raw is None else msgspec.json.decode(raw, type=kind)
            self._values[key] = known
        assert isinstance(known, kind)
        return known

    def put(self, key: CellKey, cell: Value) -> None:
        """Change a cell."""
        self._values[key] = cell
        self._raw.setdefault(key, None)
        self._dirty[key] = None

    def changed(self) -> dict[CellKey, str]:
        """What must be written, as stored."""
        return {stored_key(key): ascii_json(self._values[key]) for key in self._dirty}

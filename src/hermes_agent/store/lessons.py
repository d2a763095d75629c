"""Lessons: what one run teaches, small enough to keep for ever and to replay by the thousand."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import msgspec

from ..types.base import Value
from ..types.trace import AdviceItem, Judge
from .codec import plain
from .database import Connection, Row

T = TypeVar("T")
_COLUMNS = "payload, seq, success, judged_by, family"
_INSERT = (
    "INSERT INTO lessons (run_id, seq, session_id, owner, family, model, surface, success, judged_by, set_version,"
    " plan, calls, errors, recovered, advised, seconds, payload, at)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


class Observation(Value, frozen=True, kw_only=True):
    """One call as learning sees it: which tool, in which circumstances, and whether it worked in the end.

    `features` describe the arguments and what came before ("path.suffix=.csv", "after=read_file:ok"). The same call
    made several times in a run is one observation; `tries` counts the attempts in all of them, `repeats` how often
    the model itself made it again.
    """

    tool: str
    worked: bool
    features: tuple[str, ...] = ()
    error: str = ""
    tries: int = 1
    repeats: int = 0
    call_id: str = ""
    once: bool = False


class Mending(Value, frozen=True, kw_only=True):
    """After `tool` had failed with `error`, this was done next, and it worked or not. `change` says what is different
    when the tool is the same ("encoding=latin-1")."""

    tool: str
    error: str
    then: str
    worked: bool
    change: str = ""
    features: tuple[str, ...] = ()


class PlanStep(Value, frozen=True, kw_only=True):
    """A step of a run: the tool, the one that had worked before it, and the arguments as text where they are short."""

    tool: str
    after: str
    worked: bool
    arguments: dict[str, str] = {}


class Lesson(Value, frozen=True, kw_only=True):
    """Everything that learning takes from one run. `success` is None when nobody can say, as in an outage.

    From a `tainted` run, in which a stranger's text gave instructions, nothing is learned but that it happened.
    """

    run_id: str
    session_id: str
    family: str
    model: str
    at: float
    surface: str = ""
    set_version: int = 0
    success: bool | None = None
    judged_by: Judge = Judge.INFERRED
    tainted: bool = False
    observations: tuple[Observation, ...] = ()
    mendings: tuple[Mending, ...] = ()
    steps: tuple[PlanStep, ...] = ()
    items: tuple[AdviceItem, ...] = ()
    calls: int = 0
    errors: int = 0
    seconds: float = 0.0

    @property
    def recovered(self) -> bool:
        """Whether something failed and the run succeeded all the same."""
        return bool(self.errors) and self.success is True

    @property
    def plan(self) -> str:
        """The tools that worked, in order: what makes two runs the same plan."""
        return " > ".join(step.tool for step in self.steps if step.worked)


def ascii_json(value: Any) -> str:
    """A value as JSON that every database takes."""
    try:
        text = msgspec.json.encode(value).decode()
    except UnicodeEncodeError:
        text = "\ud800"
    return text if text.isascii() else json.dumps(msgspec.to_builtins(value), separators=(",", ":"))


def add_lesson(connection: Connection, lesson: Lesson, seq: int, owner: str) -> None:
    """Insert a lesson at its place in the sequence."""
    success = None if lesson.success is None else int(lesson.success)
    connection.run(
        _INSERT,
        (
            lesson.run_id,
            seq,
            lesson.session_id,
            owner,
            plain(lesson.family),
            plain(lesson.model),
            plain(lesson.surface),
            success,
            lesson.judged_by.value,
            lesson.set_version,
            plain(lesson.plan)[:500],
            lesson.calls,
            lesson.errors,
            int(lesson.recovered),
            int(any(item.applied for item in lesson.items)),
            lesson.seconds,
            ascii_json(lesson),
            lesson.at,
        ),
    )


def add_judgement(connection: Connection, lesson: Lesson, seq: int, at: float) -> None:
    """Record a later judgement: `lesson` as it is now."""
    success = int(bool(lesson.success))
    connection.run(
        "INSERT INTO judgements (seq, run_id, session_id, success, judged_by, at) VALUES (?, ?, ?, ?, ?, ?)",
        (seq, lesson.run_id, lesson.session_id, success, lesson.judged_by.value, at),
    )
    connection.run(
        "UPDATE lessons SET success = ?, judged_by = ?, recovered = ? WHERE run_id = ?",
        (success, lesson.judged_by.value, int(lesson.recovered), lesson.run_id),
    )


def lesson_of(connection: Connection, run_id: str) -> Lesson | None:
    """What was learned from a run, with the latest judgement."""
    rows = connection.run(f"SELECT {_COLUMNS} FROM lessons WHERE run_id = ?", (run_id,))
    return _lesson(rows[0]) if rows and rows[0][0] else None


def read_lessons(
    connection: Connection, *, after: int = 0, limit: int = 1000, family: str = "", model: str = "", since: float = 0.0
) -> list[tuple[int, Lesson]]:
    """Lessons behind a place in the sequence, oldest first, each with its place; without those whose session was
    erased, of which only the figures are left."""
    where: list[str] = ["seq > ?", "payload <> ''"]
    params: list[str | float] = [after]
    for column, value in (("family", family), ("model", model)):
        if value:
            where.append(f"{column} = ?")
            params.append(value)
    if since:
        where.append("at >= ?")
        params.append(since)
    rows = connection.run(
        f"SELECT {_COLUMNS} FROM lessons WHERE {' AND '.join(where)} ORDER BY seq LIMIT ?", (*params, limit)
    )
    return [(int(row[1]), _lesson(row)) for row in rows]


def _lesson(row: Row) -> Lesson:
    lesson = msgspec.json.decode(row[0], type=Lesson)
    success = None if row[2] is None else bool(row[2])
    judge = Judge(row[3])
    if lesson.success == success and lesson.judged_by is judge and lesson.family == row[4]:
        return lesson
    return msgspec.structs.replace(lesson, success=success, judged_by=judge, family=row[4])


def in_batches(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Parts of at most `size` items: engines limit the parameters of one statement."""
    for start in range(0, len(items), size):
        yield items[start : start + size]

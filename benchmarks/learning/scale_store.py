"""Stores with many lessons, for measurements of scale.

Twenty thousand lessons are learned for real, so that families, cells, heuristics, sets, watches and the audit are what
learning leaves behind: all of them are bounded by families, tools and conditions, not by the number of runs. The rest
are rows of the same shape, inserted in large transactions, with the runs and outcomes that belong to the last of them.
The smaller stores are the same with fewer rows: all know the same, and only the number of stored runs differs.
"""

from __future__ import annotations

import contextlib
import itertools
import random
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import msgspec

from hermes_agent.config.settings import LearningSettings
from hermes_agent.learning.learner import Learner
from hermes_agent.learning.lessons import lesson_of
from hermes_agent.store.database import Connection, Database
from hermes_agent.store.heuristics import active_set, set_value, value_of
from hermes_agent.store.lessons import Lesson, ascii_json
from hermes_agent.store.open import backend_for
from hermes_agent.types.trace import (
    AdviceItem,
    CallStatus,
    ExecutionSummary,
    Judge,
    Outcome,
    RunStatus,
    ToolRecord,
    Trace,
)

MODELS = ("openai:small", "anthropic:large")
FAMILIES = 300
MEASURED = 10
"""How many families lessons are measured in; they are among those with the most tasks."""
TOOLS = tuple(
    f"{act}_{thing}"
    for act in ("read", "write", "search", "parse", "convert", "fetch", "list", "check", "send", "merge")
    for thing in ("file", "table", "page", "mail", "branch", "image")
)
STAGES = (1_000, 10_000, 100_000, 1_000_000)
CALLS = 6
_LEARNED = 20_000
_TEMPLATES = 3_000
_AT_ONCE = 20_000
_LAST_RUNS = 20_000
_DAYS = 120
_SUFFIXES = (".csv", ".py", ".md", ".json", ".xlsx", ".html")
_ACTS = ("Summarise", "Compare", "Fix", "Translate", "Book", "Plot", "Deploy", "Review", "Find", "Rename")
_RUN, _SESSION, _AT = "run-placeholder", "session-placeholder", 1234567890.125
_INSERT = (
    "INSERT INTO lessons (run_id, seq, session_id, owner, family, model, surface, success, judged_by, set_version,"
    " plan, calls, errors, recovered, advised, seconds, payload, at)"
    " VALUES (?, ?, ?, 'local', ?, ?, 'cli', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_RUNS = (
    "INSERT INTO runs (id, session_id, owner, agent, ordinal, status, epoch, seq, holder, lease_until, model,"
    " started_at, finished_at) VALUES (?, ?, 'local', 'hermes', 1, 'done', 1, 2, '', 0, ?, ?, ?)"
)
_CUT = "DELETE FROM lessons WHERE seq <= (SELECT MAX(seq) FROM lessons) - ?"
_OUTCOMES = (
    "INSERT INTO outcomes (run_id, session_id, owner, status, judged_by, reason, at)"
    " VALUES (?, ?, 'local', ?, ?, '', ?)"
)


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a table."""

    what: str
    measured: str
    goal: str
    reached: bool


def at_most(what: str, value: float, goal: float, unit: str) -> Figure:
    """A figure that must not be larger."""
    return Figure(what=what, measured=f"{value:.3g} {unit}", goal=f"<= {goal:g} {unit}", reached=value <= goal)


def at_least(what: str, value: float, goal: float, unit: str) -> Figure:
    """A figure that must not be smaller."""
    return Figure(what=what, measured=f"{value:,.0f} {unit}", goal=f">= {goal:,.0f} {unit}", reached=value >= goal)


def no_goal(what: str, value: float, unit: str) -> Figure:
    """A figure to know."""
    return Figure(what=what, measured=f"{value:.3g} {unit}".strip(), goal="", reached=True)


def request_of(family: int, rng: random.Random) -> str:
    """A request as a user of this kind of task would word it."""
    words = random.Random(family)
    things = ["".join(words.choices(("ka", "lor", "mi", "sten", "ru", "bal", "do", "vex"), k=3)) for _ in range(5)]
    said = [rng.choice(things) for _ in range(4)]
    return (
        f"{_ACTS[family % len(_ACTS)]} the {things[0]} {things[1]} of our {said[0]} and the {said[1]}; take"
        f" data/{said[2]}-{rng.randrange(10_000)}{_SUFFIXES[family % len(_SUFFIXES)]} and tell me about the {said[3]}"
        f" by {rng.randrange(1, 28)} March"
    )


def trace_of(number: int, rng: random.Random, family: int, at: float, version: int = 0) -> Trace:
    """A run of six calls. In every fourth family one tool fails on one suffix, and another does its job."""
    own = random.Random(family)
    tools, suffix = own.sample(TOOLS, 5), _SUFFIXES[family % len(_SUFFIXES)]
    calls = [_call(rng.choice(tools), rng, place) for place in range(CALLS - 2)]
    broken = family % 4 == 0 and rng.random() < 0.8
    path = f"data/in-{rng.randrange(100)}{suffix}"
    calls.append(_call(tools[0], rng, 4, path, error="parse" if broken else ""))
    calls.append(_call(tools[1], rng, 5, path))
    success = rng.random() < 0.85
    return Trace(
        run_id=f"{number:012}-{rng.getrandbits(48):012x}",
        session_id=f"session-{number // 3}",
        request=request_of(family, rng),
        model=MODELS[number % len(MODELS)],
        steps=(),
        calls=tuple(calls),
        outcome=Outcome(
            status=RunStatus.DONE if success else RunStatus.FAILED,
            judged_by=Judge.VERIFIER if number % 3 == 0 else Judge.INFERRED,
        ),
        summary=ExecutionSummary(
            total_steps=CALLS,
            tool_calls_count=CALLS,
            error_count=int(broken),
            total_time=rng.uniform(1, 60),
            tools_used=tuple(call.tool for call in calls),
            was_successful=success,
        ),
        family=f"family-{family}",
        surface="cli",
        started_at=at,
        advised_by=version,
    )


def _call(tool: str, rng: random.Random, place: int, path: str = "", error: str = "") -> ToolRecord:
    arguments = {"path": path or f"data/{rng.randrange(1000)}{rng.choice(_SUFFIXES)}", "limit": rng.randrange(500)}
    worked = not error and rng.random() > 0.03
    return ToolRecord(
        tool=tool,
        input=arguments,
        output="" if worked else "could not parse the delimiter",
        duration=0.1,
        status=CallStatus.OK if worked else CallStatus.ERROR,
        error="" if worked else error or "timeout",
        call_id=f"call_{place}",
        digest=f"{tool}:{sorted(arguments.items())}",
        attempts=1 if worked else 2,
    )


class Filler:
    """Brings one store to a number of lessons, again and again to a larger one."""

    def __init__(self, database: Database, last_at: float) -> None:
        self._database = database
        self._rng = random.Random(11)
        self._learner = Learner(database, "local", LearningSettings(approve=()))
        self._stored = 0
        self._last_at = last_at
        self._templates: list[tuple[Lesson, str]] = []

    def moved(self, database: Database) -> Filler:
        """The same filler on another connection to the same store."""
        other = Filler(database, self._last_at)
        other._stored, other._templates = self._stored, self._templates
        return other

    def reach(self, stage: int, whole: int, say: Callable[[str], None]) -> None:
        """Store until there are as many lessons as a store of this stage is made from; `whole` is how many there will
        be in the end."""
        lessons = max(stage, min(_LEARNED, whole))
        learned = min(lessons, _LEARNED)
        while self._stored < learned:
            size = min(500, learned - self._stored)
            self._database.write_now(partial(self._learn, first=self._stored, size=size, whole=whole))
            self._stored += size
        if self._stored < lessons and not self._templates:
            self._templates = list(self._made())
        while self._stored < lessons:
            size = min(_AT_ONCE, lessons - self._stored)
            self._database.write_now(partial(self._insert, first=self._stored, size=size, whole=whole))
            self._stored += size
            if self._stored % 100_000 == 0:
                say(f"{self._stored:,} lessons")

    def _when(self, number: int, whole: int) -> float:
        return self._last_at - (whole - number) * _DAYS * 86_400 / whole

    def _learn(self, connection: Connection, first: int, size: int, whole: int) -> None:
        """Some families get more tasks than others, as in life."""
        rng = random.Random(first)
        version = value_of(connection, "active_set")
        for number in range(first, first + size):
            family = int(rng.random() ** 2 * FAMILIES)
            trace = trace_of(number, rng, family, self._when(number, whole), version)
            lesson = lesson_of(trace, f"family-{family}", tainted=False)
            version = self._learner.absorb(connection, lesson, trace.request).version

    def _made(self) -> Iterator[tuple[Lesson, str]]:
        found = self._database.read_now(active_set)
        for number in range(_TEMPLATES):
            family = number % FAMILIES
            trace = trace_of(number, self._rng, family, _AT, found.version)
            lesson = lesson_of(trace, f"family-{family}", tainted=False)
            items = tuple(_item(name, self._rng) for name in self._rng.sample(found.members, min(2, found.version)))
            fields = {"run_id": _RUN, "session_id": _SESSION, "at": _AT, "items": items if number % 3 else ()}
            lesson = Lesson(**{**{name: getattr(lesson, name) for name in Lesson.__struct_fields__}, **fields})
            yield lesson, ascii_json(lesson)

    def _insert(self, connection: Connection, first: int, size: int, whole: int) -> None:
        rng = random.Random(first)
        rows, runs, outcomes = [], [], []
        for number in range(first, first + size):
            lesson, text = rng.choice(self._templates)
            run, session, at = f"{number:012}-{rng.getrandbits(48):012x}", f"session-{number // 3}", _AT
            at = round(self._when(number, whole), 3)
            payload = text.replace(_RUN, run).replace(_SESSION, session).replace(str(_AT), str(at))
            rows.append((_INSERT, (run, number + 1, session, *_columns(lesson), payload, at)))
            if number >= whole - _LAST_RUNS:
                status = RunStatus.DONE.value if lesson.success else RunStatus.FAILED.value
                runs.append((_RUNS, (run, f"{session}-{number}", lesson.model, at, at)))
                outcomes.append((_OUTCOMES, (run, f"{session}-{number}", status, lesson.judged_by.value, at)))
        for statements in (rows, runs, outcomes):
            if statements:
                connection.run_all(statements)
        connection.run("UPDATE families SET tasks = tasks + ?", (size // FAMILIES,))
        set_value(connection, "sequence", first + size)


def _item(name: str, rng: random.Random) -> AdviceItem:
    applied = rng.random() < 0.9
    chance = 0.9 if applied else 0.1
    return AdviceItem(id=name, text="it failed often here", applied=applied, propensity=chance, kind="avoid_tool")


def _columns(lesson: Lesson) -> tuple[object, ...]:
    return (
        lesson.family,
        lesson.model,
        None if lesson.success is None else int(lesson.success),
        lesson.judged_by.value,
        lesson.set_version,
        lesson.plan,
        lesson.calls,
        lesson.errors,
        int(lesson.recovered),
        int(any(item.applied for item in lesson.items)),
        lesson.seconds,
    )


def sqlite_homes(folder: Path, traces: int, say: Callable[[str], None]) -> dict[int, Path]:
    """A home for each stage up to `traces`; what was made by an earlier run is used again."""
    stages = stages_up_to(traces)
    homes = {stage: folder / f"{stage}-of-{traces}" for stage in stages}
    if all((home / "complete").exists() for home in homes.values()):
        return homes
    working = folder / "filling"
    shutil.rmtree(working, ignore_errors=True)
    working.mkdir(parents=True)
    database = Database(backend_for("", working))
    database.open()
    filler = Filler(database, time.time())
    for stage in stages:
        begun = time.perf_counter()
        filler.reach(stage, traces, say)
        say(f"a store of {stage:,} lessons: {time.perf_counter() - begun:.0f} s")
        shutil.rmtree(homes[stage], ignore_errors=True)
        homes[stage].mkdir()
        _copy(working / "hermes.db", homes[stage] / "hermes.db", stage)
        shutil.copy(working / "hermes.db.made", homes[stage])
        (homes[stage] / "complete").touch()
    database.close()
    shutil.rmtree(working)
    return homes


@contextlib.contextmanager
def postgres_urls(traces: int, say: Callable[[str], None]) -> Iterator[dict[int, tuple[str, Path]]]:
    """The same in databases of a server that lives as long as the block, each with an empty home."""
    import psycopg

    from tests.postgres_cluster import PostgresCluster

    with PostgresCluster() as cluster, tempfile.TemporaryDirectory(prefix="scale-") as folder:
        found = {}
        filling = cluster.create_database("filling")
        filler: Filler | None = None
        for stage in stages_up_to(traces):
            database = Database(backend_for(filling, Path(folder)))
            database.open()
            filler = filler.moved(database) if filler else Filler(database, time.time())
            filler.reach(stage, traces, say)
            database.close()
            name, home = f"stage_{stage}", Path(folder) / str(stage)
            home.mkdir()
            with psycopg.connect(cluster.dsn("postgres"), autocommit=True) as connection:
                connection.execute(f"CREATE DATABASE {name} TEMPLATE filling")
            with psycopg.connect(cluster.dsn(name), autocommit=True) as connection:
                connection.execute(_CUT.replace("lessons", "hermes.lessons").replace("?", "%s"), (stage,))
                connection.execute("VACUUM ANALYZE")
            found[stage] = (cluster.dsn(name), home)
        yield found


def _copy(source: Path, target: Path, lessons: int) -> None:
    """Everything, but of the lessons only the last."""
    with contextlib.closing(sqlite3.connect(source)) as full, contextlib.closing(sqlite3.connect(target)) as copy:
        full.backup(copy)
        with copy:
            copy.execute(_CUT, (lessons,))
        copy.execute("VACUUM")


def stages_up_to(traces: int) -> Sequence[int]:
    """The sizes to look at."""
    return (*itertools.takewhile(lambda stage: stage < traces, STAGES), traces)

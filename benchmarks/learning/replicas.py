"""Eight processes that learn at once end exactly where one process ends.

`python -m benchmarks.learning.replicas [--sqlite-only]`. Each process learns its own runs into one store. Then one
process learns the same runs into an empty store, in the order in which the eight came to be stored, and everything that
learning keeps is compared row by row; and every call of every run must have been counted once.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from benchmarks.learning.scale_store import Figure, no_goal, trace_of
from hermes_agent.config.settings import LearningSettings
from hermes_agent.learning.cells import ToolCell
from hermes_agent.learning.learner import Learner
from hermes_agent.learning.lessons import lesson_of
from hermes_agent.store.database import Connection
from hermes_agent.store.open import open_store
from hermes_agent.types.trace import Trace

PROCESSES = 8
EACH = 250
_FAMILIES = 12
_TABLES = {
    "learning": "id, value",
    "lessons": "run_id, seq, family, model, success, judged_by, payload",
    "cells": "model, family, subject, condition, payload",
    "heuristics": "id, stage, text, detail, confidence, evidence, applied_at",
    "heuristic_sets": "version, parent, members, cause, run_id",
    "heuristic_audit": "seq, heuristic_id, was, became, cause, run_id, evidence, set_version",
    "families": "id, name, centroid, tasks, updated_at",
    "watches": "family, model, watching, payload",
}


def run_of(number: int) -> Trace:
    """The run with this number, the same in every process."""
    rng = random.Random(number)
    return trace_of(number, rng, rng.randrange(_FAMILIES), 1000.0 + number, version=10**6)


def learn_all(url: str, home: str, numbers: list[int]) -> None:
    """One replica: learn these runs."""
    store = open_store(url, Path(home))
    learner = Learner(store.database, "local", LearningSettings(), clock=lambda: 0.0)
    for number in numbers:
        trace = run_of(number)
        learner.learn_now(trace, trace.family, tainted=False)
    store.close()


def state(url: str, home: Path) -> dict[str, list[tuple[object, ...]]]:
    """Everything that learning keeps."""
    store = open_store(url, home)

    def unit(connection: Connection) -> dict[str, list[tuple[object, ...]]]:
        return {name: sorted(connection.run(f"SELECT {columns} FROM {name}")) for name, columns in _TABLES.items()}

    found = store.database.read_now(unit)
    store.close()
    return found


def learn_in(url: str, home: Path, shares: list[list[int]]) -> float:
    """Let a process for each share learn it, all at once; the seconds it took."""
    open_store(url, home).close()
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=learn_all, args=(url, str(home), share)) for share in shares]
    begun = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    seconds = time.perf_counter() - begun
    if any(worker.exitcode for worker in workers):
        raise RuntimeError(f"replicas ended with {[worker.exitcode for worker in workers]}")
    return seconds


def differences(ours: dict[str, list[tuple[object, ...]]], alone: dict[str, list[tuple[object, ...]]]) -> list[str]:
    """The tables that are not the same."""
    return [name for name in _TABLES if ours[name] != alone[name]]


def uncounted(found: dict[str, list[tuple[object, ...]]], runs: int) -> int:
    """Calls that were counted twice or not at all. What acted and was given up starts afresh, so those are left out."""
    asked: dict[tuple[str, str, str], int] = {}
    for number in range(runs):
        trace = run_of(number)
        for seen in lesson_of(trace, trace.family, tainted=False).observations:
            place = (trace.model, trace.family, f"tool:{seen.tool}")
            asked[place] = asked.get(place, 0) + 1
    counted = {}
    for model, family, subject, condition, payload in found["cells"]:
        if not condition and family != "*" and str(subject).startswith("tool:"):
            cell = msgspec.json.decode(str(payload), type=ToolCell)
            if not cell.generation:
                counted[(str(model), str(family), str(subject))] = cell.evidence.worked + cell.evidence.failed
    return sum(abs(asked.get(place, 0) - count) for place, count in counted.items())


def compared(engine: str, url: str, home: Path, url_alone: str, home_alone: Path) -> Iterator[Figure]:
    """The figures of one engine."""
    runs = list(range(PROCESSES * EACH))
    seconds = learn_in(url, home, [runs[place::PROCESSES] for place in range(PROCESSES)])
    ours = state(url, home)
    in_order = {str(row[0]): int(str(row[1])) for row in ours["lessons"]}
    one = learn_in(url_alone, home_alone, [sorted(runs, key=lambda number: in_order[run_of(number).run_id])])
    wrong = differences(ours, state(url_alone, home_alone))
    yield Figure(
        what=f"{PROCESSES} processes x {EACH} runs, {engine}: the same as one process",
        measured="yes" if not wrong else f"not {', '.join(wrong)}",
        goal="yes",
        reached=not wrong,
    )
    missed = uncounted(ours, len(runs))
    yield Figure(what=f"calls not counted exactly once, {engine}", measured=str(missed), goal="0", reached=missed == 0)
    yield no_goal(f"{PROCESSES} processes, {engine}", seconds, "s")
    yield no_goal(f"one process, {engine}", one, "s")


def replica_figures(say: Callable[[str], None], *, postgres: bool = True) -> Iterator[Figure]:
    """Both engines, where a PostgreSQL server is installed."""
    with tempfile.TemporaryDirectory(prefix="replicas-") as folder:
        say("eight processes learn at once on SQLite")
        yield from compared("SQLite", "", Path(folder) / "together", "", Path(folder) / "alone")
    if not postgres:
        return
    from tests.postgres_cluster import PostgresCluster

    with PostgresCluster() as cluster, tempfile.TemporaryDirectory(prefix="replicas-") as folder:
        say("eight processes learn at once on PostgreSQL")
        urls = [cluster.create_database(name) for name in ("together", "alone")]
        yield from compared("PostgreSQL", urls[0], Path(folder), urls[1], Path(folder))


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.learning.replicas", description=__doc__)
    parser.add_argument("--sqlite-only", action="store_true")
    given = parser.parse_args()
    reached = True
    for figure in replica_figures(lambda text: print(text, file=sys.stderr), postgres=not given.sqlite_only):
        print(f"{'ok  ' if figure.reached else 'MISS'}  {figure.what.ljust(64)} {figure.measured}", flush=True)
        reached = reached and figure.reached
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())

"""Learning with a million runs behind it: what advice and lessons cost then, and what the commands do.

`python -m benchmarks.learning.scale [--traces N] [--postgres] [--json]`. Stores are made once, in `.bench/learning`
(a few minutes and three gigabytes for a million), and used again; with `--postgres` they are made in a server of their
own each time. Exits with 1 when a goal is missed.

Advice is asked for runs that follow another one in their session, without a named family, while somebody else learns
after every request: the clusterer, the check for corrections and all reading is in the figure. Lessons are learned in
turns in stores of different sizes, and in turns with a raw commit of as many bytes on the same disk, so that whatever
else the machine does hits all alike.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import random
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from benchmarks.learning.replay import rate
from benchmarks.learning.replicas import replica_figures
from benchmarks.learning.scale_run import run_figures
from benchmarks.learning.scale_store import (
    MEASURED,
    MODELS,
    Figure,
    at_least,
    at_most,
    no_goal,
    postgres_urls,
    request_of,
    sqlite_homes,
    trace_of,
)
from benchmarks.peers.endpoint_process import ROOT
from benchmarks.peers.measure import clean_environment
from hermes_agent.config.settings import LearningSettings
from hermes_agent.learning.advisor import LearnedAdvisor
from hermes_agent.learning.learner import Learner
from hermes_agent.store.open import Store, open_store
from hermes_agent.store.runs import Run
from hermes_agent.types.advice import Moment, Situation
from hermes_agent.types.events import InboxMode, RunFinished
from hermes_agent.types.tools import ToolCall
from hermes_agent.types.trace import Outcome, RunStatus

REQUESTS = 2_000
_SESSIONS = 200
_WARM = 50
_LESSONS = 250
_BYTES_OF_A_LESSON = 24_000
COMMANDS = (
    ("show",),
    ("curve",),
    ("audit",),
    ("families",),
    ("metrics",),
)
COMMAND_GOAL = 5.0


def middle(times: Sequence[float]) -> float:
    """The median in milliseconds."""
    return statistics.median(times) * 1000


def nearly_worst(times: Sequence[float]) -> float:
    """The 99th percentile in milliseconds."""
    return sorted(times)[int(len(times) * 0.99)] * 1000


async def following_runs(store: Store) -> list[str]:
    """Runs that have just begun, each behind a finished one whose outcome nobody has judged."""
    found = []
    for number in range(_SESSIONS):
        session = await store.sessions.create(agent="bench", surface="bench", workspace="/", title=f"{number}")
        before = await _begun(store, session.id)
        done = Outcome(status=RunStatus.DONE)
        finished = RunFinished(answer="It comes to 42.", status=RunStatus.DONE, outcome=done)
        await store.journal.append(before.id, before.epoch, [finished])
        found.append((await _begun(store, session.id)).id)
    return found


async def _begun(store: Store, session_id: str) -> Run:
    await store.inbox.put(session_id, "Summarise the ledger of last week.", InboxMode.QUEUE)
    run = await store.runs.begin(session_id, "bench", MODELS[0])
    assert run is not None
    return run


class Advised(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds of each advice and of each review, and of the very first advice; CPU of the whole process for each.
    `control` is a fixed computation, done in turns with the advice: what the machine does to anything."""

    advise: list[float]
    control: list[float]
    cpu: list[float]
    review: list[float]
    first: float
    items: int


async def advised(store: Store, requests: int) -> Advised:
    """Ask as the harness does; after each request somebody else's run is learned from."""
    runs = await following_runs(store)
    advisor = LearnedAdvisor(store, LearningSettings(), lambda text: None)
    other = Learner(store.database, "local", LearningSettings(approve=()))
    rng = random.Random(int(time.time()))
    times: list[float] = []
    control: list[float] = []
    cpu: list[float] = []
    reviews: list[float] = []
    items = 0
    for number in range(requests + _WARM):
        family = rng.randrange(300)
        situation = Situation(
            request=request_of(family, rng), model=MODELS[number % 2], run_id=runs[number % len(runs)]
        )
        spent, begun = time.process_time(), time.perf_counter()
        advice = await advisor.advise(situation)
        times.append(time.perf_counter() - begun)
        cpu.append(time.process_time() - spent)
        begun = time.perf_counter()
        sum(map(hash, map(str, range(4_000))))
        control.append(time.perf_counter() - begun)
        items += len(advice.items)
        trace = trace_of(10**9 + number, rng, family, time.time(), advice.version)
        for call in trace.calls:
            moment = Moment(
                call=ToolCall(id=call.call_id, name=call.tool, arguments=call.input),
                situation=situation,
                previous="read_file:ok",
            )
            begun = time.perf_counter()
            advisor.review(moment)
            reviews.append(time.perf_counter() - begun)
        await other.learn(trace, trace.family, tainted=False)
    return Advised(
        advise=times[_WARM:], control=control[_WARM:], cpu=cpu[_WARM:], review=reviews, first=times[0], items=items
    )


def advice_figures(store: Store, requests: int) -> Iterator[Figure]:
    """Advice end to end."""
    found = asyncio.run(advised(store, requests))
    yield no_goal("advice, median", middle(found.advise), "ms")
    yield at_most("advice, p99", nearly_worst(found.advise), 2.0, "ms")
    yield no_goal("a fixed computation beside it, median", middle(found.control), "ms")
    yield no_goal("a fixed computation beside it, p99", nearly_worst(found.control), "ms")
    yield no_goal("advice, CPU, median", middle(found.cpu), "ms")
    yield at_most("advice, CPU, p99", nearly_worst(found.cpu), 2.0, "ms")
    yield no_goal("the first advice of a process", found.first * 1000, "ms")
    yield at_most("review of a call, p99", nearly_worst(found.review), 2.0, "ms")
    yield no_goal("decisions an advice brought, mean", found.items / (requests + _WARM), "")


class Lessons(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds of each lesson: wall clock, and CPU of the whole process."""

    wall: list[float]
    cpu: list[float]


def lesson_times(stores: dict[int, Store], folder: Path) -> tuple[dict[int, Lessons], list[float]]:
    """Learn the same runs in every store, in turns; and raw commits in between."""
    learners = {size: Learner(store.database, "local", LearningSettings()) for size, store in stores.items()}
    found = {size: Lessons(wall=[], cpu=[]) for size in stores}
    commits: list[float] = []
    first = int(time.time() * 1000)
    rng = random.Random(first)
    with raw_database(folder) as commit:
        for number in range(_WARM + _LESSONS):
            trace = trace_of(first + number, rng, number % MEASURED, time.time(), 10**6)
            for size, learner in learners.items():
                spent, begun = time.process_time(), time.perf_counter()
                learner.learn_now(trace, trace.family, tainted=False)
                found[size].wall.append(time.perf_counter() - begun)
                found[size].cpu.append(time.process_time() - spent)
            begun = time.perf_counter()
            commit()
            commits.append(time.perf_counter() - begun)
    kept = {size: Lessons(wall=one.wall[_WARM:], cpu=one.cpu[_WARM:]) for size, one in found.items()}
    return kept, commits[_WARM:]


@contextlib.contextmanager
def raw_database(folder: Path) -> Iterator[Callable[[], None]]:
    """A plain table, and a durable commit of as many bytes as a lesson changes."""
    with tempfile.TemporaryDirectory(dir=folder) as inside:
        raw = sqlite3.connect(Path(inside) / "raw.db", isolation_level=None)
        raw.execute("PRAGMA journal_mode=WAL")
        raw.execute("PRAGMA synchronous=FULL")
        raw.execute("CREATE TABLE raw (payload TEXT)")
        payload = "x" * _BYTES_OF_A_LESSON

        def commit() -> None:
            raw.execute("BEGIN IMMEDIATE")
            raw.execute("INSERT INTO raw (payload) VALUES (?)", (payload,))
            raw.execute("COMMIT")

        yield commit
        raw.close()


def lesson_figures(stores: dict[int, Store], folder: Path) -> Iterator[Figure]:
    """Whether a lesson costs the same in a small and in a large store."""
    found, commits = lesson_times(stores, folder)
    raw = middle(commits)
    yield no_goal("a raw commit of as many bytes", raw, "ms")
    for size, lessons in found.items():
        yield no_goal(f"a lesson beyond a raw commit, {size:,} stored, median", middle(lessons.wall) - raw, "ms")
        yield no_goal(f"a lesson, {size:,} stored, p99", nearly_worst(lessons.wall), "ms")
        yield no_goal(f"a lesson, {size:,} stored, CPU, median", middle(lessons.cpu), "ms")
    least, most = min(found), max(found)
    ratio = (middle(found[most].wall) - raw) / (middle(found[least].wall) - raw)
    yield at_most(f"a lesson beyond a raw commit, {most:,} / {least:,} stored", ratio, 1.3, "x")
    ratio = statistics.median(found[most].cpu) / statistics.median(found[least].cpu)
    yield at_most(f"a lesson, CPU, {most:,} / {least:,} stored", ratio, 1.3, "x")


def command_figures(home: Path, url: str) -> Iterator[Figure]:
    """Each command of learning as its user waits for it."""
    hermes = Path(sys.executable).with_name("hermes")
    env = clean_environment(home, HERMES_HOME=str(home))
    if url:
        (home / "config.yaml").write_text(f"store: {{url: '{url}'}}\n")
    for words in COMMANDS:
        begun = time.perf_counter()
        done = subprocess.run([hermes, "learning", *words], env=env, cwd=home, capture_output=True, check=False)
        seconds = time.perf_counter() - begun
        if done.returncode:
            raise RuntimeError(f"hermes learning {' '.join(words)}: {done.stderr.decode(errors='replace')[-400:]}")
        yield at_most(f"hermes learning {' '.join(words)}", seconds, COMMAND_GOAL, "s")


def measured(urls: dict[int, tuple[str, Path]], folder: Path, requests: int) -> Iterator[Figure]:
    """All figures that depend on the number of stored runs."""
    stores = {size: open_store(url, home, lease_seconds=3600.0) for size, (url, home) in urls.items()}
    try:
        yield from lesson_figures(stores, folder)
        yield from advice_figures(stores[max(stores)], requests)
    finally:
        for store in stores.values():
            store.close()
    url, home = urls[max(urls)]
    yield from command_figures(home, url)


def figures(given: argparse.Namespace, say: Callable[[str], None]) -> Iterator[Figure]:
    """Everything, or everything on PostgreSQL."""
    folder: Path = ROOT / ".bench" / "learning" / "scale"
    folder.mkdir(parents=True, exist_ok=True)
    if given.postgres:
        with postgres_urls(given.traces, say) as urls:
            yield from measured(urls, folder, given.requests)
        return
    homes = sqlite_homes(folder, given.traces, say)
    yield from measured({size: ("", home) for size, home in homes.items()}, folder, given.requests)
    yield at_least("replay", rate(homes[max(homes)] / "hermes.db"), 5000.0, "lessons/s")
    yield from replica_figures(say)
    yield from run_figures()


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.learning.scale", description=__doc__)
    parser.add_argument("--traces", type=int, default=1_000_000)
    parser.add_argument("--requests", type=int, default=REQUESTS)
    parser.add_argument("--postgres", action="store_true", help="the same on a PostgreSQL server of its own")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    found: list[Figure] = []

    def say(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    for figure in figures(given, say):
        found.append(figure)
        if not given.json:
            mark = "ok  " if figure.reached else "MISS"
            print(f"{mark}  {figure.what.ljust(64)} {figure.measured.rjust(16)}   {figure.goal}", flush=True)
    if given.json:
        print(msgspec.json.format(msgspec.json.encode(found), indent=2).decode())
    return 0 if all(figure.reached for figure in found) else 1


if __name__ == "__main__":
    sys.exit(main())

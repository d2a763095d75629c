"""What the journal costs: one step against one raw commit, and group commit against one commit per event.

The two sides of each comparison take turns within one run, on the same disk, so that what else happens on the
machine hits both.
"""

import argparse
import asyncio
import itertools
import json
import shutil
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from hermes_agent.store.codec import encode
from hermes_agent.store.open import Store, open_store
from hermes_agent.store.runs import Run
from hermes_agent.types.events import (
    AnyEvent,
    AssistantMessage,
    CallFinished,
    CallIntended,
    InboxMode,
    ModelCalled,
    Usage,
)
from hermes_agent.types.tools import Effect, ToolCall
from hermes_agent.types.trace import CallStatus

TASKS = 16
RAW_ROW = "INSERT INTO raw (payload) VALUES (?)"


class StepCost(msgspec.Struct, frozen=True, kw_only=True):
    """Medians in milliseconds; `goal_ms` is what a step may cost beyond the raw commit."""

    step_ms: float
    raw_ms: float
    beyond_ms: float
    goal_ms: float = 0.3


class GroupGain(msgspec.Struct, frozen=True, kw_only=True):
    """Events per second: 16 tasks at once, one task with one commit per event, and their ratio."""

    grouped: float
    single: float
    ratio: float
    goal: float = 8.0


def step_events(number: int) -> list[AnyEvent]:
    """What one iteration journals before its tool runs."""
    call = ToolCall(id=f"call_{number}", name="read_file", arguments={"path": "src/app.py", "limit": 200})
    return [
        ModelCalled(
            provider="openai", model="small", latency_ms=812.5, usage=Usage(input=5200, output=61, cached=5100)
        ),
        AssistantMessage(text="I will read the file first.", calls=(call,), stop="tool_calls"),
        CallIntended(call_id=call.id, tool=call.name, effect=Effect.NONE, key="k" * 16, digest="d" * 32),
    ]


def single_events() -> Iterator[AnyEvent]:
    """The events of a run's iterations, one by one."""
    for number in itertools.count():
        yield from step_events(number)
        yield CallFinished(
            call_id=f"call_{number}", tool="read_file", status=CallStatus.OK, text="line\n" * 20, duration_ms=0.4
        )


@contextmanager
def opened(url: str, folder: Path) -> Iterator[tuple[Store, Path]]:
    """A store in a throw-away home below `folder`; leases that outlast the run."""
    home = Path(tempfile.mkdtemp(prefix=".bench-journal-", dir=folder))
    store = open_store(url, home, lease_seconds=3600.0)
    try:
        yield store, home
    finally:
        store.close()
        shutil.rmtree(home)


async def begin(store: Store) -> Run:
    session = await store.sessions.create(agent="bench", surface="bench", workspace="/", title="bench")
    await store.inbox.put(session.id, "go", InboxMode.QUEUE)
    run = await store.runs.begin(session.id, "bench", "scripted")
    if run is None:
        raise RuntimeError("a run did not begin")
    return run


def step_cost(url: str, folder: Path, steps: int = 1000) -> StepCost:
    """A step of three events through the journal, in turns with one raw SQLite commit of as many bytes."""

    async def measure(store: Store, raw: sqlite3.Connection) -> tuple[list[float], list[float]]:
        run = await begin(store)
        ours, theirs = [], []
        for number in range(steps):
            events = step_events(number)
            payload = "".join(encode(event).payload for event in events)
            start = time.perf_counter()
            await store.journal.append(run.id, run.epoch, events)
            middle = time.perf_counter()
            raw.execute("BEGIN IMMEDIATE")
            raw.execute(RAW_ROW, (payload,))
            raw.execute("COMMIT")
            theirs.append(time.perf_counter() - middle)
            ours.append(middle - start)
        return ours, theirs

    with opened(url, folder) as (store, home):
        raw = sqlite3.connect(home / "raw.db", isolation_level=None)
        raw.execute("PRAGMA journal_mode=WAL")
        raw.execute("PRAGMA synchronous=FULL")
        raw.execute("CREATE TABLE raw (payload TEXT)")
        ours, theirs = asyncio.run(measure(store, raw))
        raw.close()
    step, commit = statistics.median(ours) * 1000, statistics.median(theirs) * 1000
    return StepCost(step_ms=step, raw_ms=commit, beyond_ms=step - commit)


def group_gain(url: str, folder: Path, rounds: int = 12, each: int = 40) -> GroupGain:
    """Sixteen tasks, each with a run of its own, against one task that awaits every event before the next."""

    async def work(store: Store, run: Run, events: list[AnyEvent]) -> None:
        for event in events:
            await store.journal.append(run.id, run.epoch, [event])

    async def measure(store: Store) -> tuple[list[float], list[float]]:
        runs = [await begin(store) for _ in range(TASKS + 1)]
        streams = [single_events() for _ in runs]
        grouped, single = [], []
        for _ in range(rounds):
            work_lists = [list(itertools.islice(stream, each)) for stream in streams]
            start = time.perf_counter()
            await asyncio.gather(*(work(store, runs[n], work_lists[n]) for n in range(TASKS)))
            grouped.append(TASKS * each / (time.perf_counter() - start))
            start = time.perf_counter()
            await work(store, runs[TASKS], work_lists[TASKS])
            single.append(each / (time.perf_counter() - start))
        return grouped, single

    with opened(url, folder) as (store, _):
        grouped, single = map(statistics.median, asyncio.run(measure(store)))
    return GroupGain(grouped=grouped, single=single, ratio=grouped / single)


def main() -> None:
    """Print both measurements."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", default="", help="store URL; SQLite when empty")
    parser.add_argument("--folder", type=Path, default=Path.cwd(), help="where the throw-away homes lie")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    step, gain = step_cost(options.url, options.folder), group_gain(options.url, options.folder)
    if options.json:
        print(json.dumps({"step": msgspec.to_builtins(step), "group": msgspec.to_builtins(gain)}))
        return
    print(f"step {step.step_ms:.3f} ms, raw commit {step.raw_ms:.3f} ms, beyond {step.beyond_ms:.3f} ms (≤ 0.3)")
    print(f"16 tasks {gain.grouped:.0f} events/s, one by one {gain.single:.0f}, ratio {gain.ratio:.1f} (≥ 8)")


if __name__ == "__main__":
    main()

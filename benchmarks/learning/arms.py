"""The arms of the comparison, and one history of tasks under one of them.

off: without learning. on: the product. again: the product with other coins (A/A). shuffled: the product, but what it is
told about calls and outcomes belongs to other calls and runs. oracle: an advisor that knows every fault. thompson: a
textbook bandit. All arms of a seed see the same tasks, faults and model.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import multiprocessing
import tempfile
import time
import zlib
from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import msgspec

from benchmarks.learning.bfcl import ROOT, Task
from benchmarks.learning.faults import Mixture, Schedule, drawn
from benchmarks.learning.stats import Results, TaskRecord, recorded
from benchmarks.learning.thompson import Thompson
from benchmarks.learning.world import World, habits_of, pool_of, sequence
from hermes_agent.agent import Agent
from hermes_agent.bench.shuffled import Shuffled
from hermes_agent.config.settings import LimitSettings
from hermes_agent.learning.advisor import LearnedAdvisor
from hermes_agent.store.heuristics import Stage
from hermes_agent.tools.tool import Tool
from hermes_agent.types.advice import Advice, Advisor, Failure, Moment, Ruling, Situation, Steer
from hermes_agent.types.events import AnyEvent
from hermes_agent.types.trace import Judge, Trace

_ALONE = "skills: {mode: 'off'}\nmemory: {mode: 'off'}\nreview: {mode: 'off'}\n"
MEMORY = Path("/dev/shm")
_TOGETHER = 5
_WORKERS = 2


class Arm(StrEnum):
    """What advises the agent."""

    OFF = "off"
    ON = "on"
    AGAIN = "again"
    SHUFFLED = "shuffled"
    ORACLE = "oracle"
    THOMPSON = "thompson"

    @property
    def learns(self) -> bool:
        """Whether the product's learning is switched on."""
        return self in (Arm.ON, Arm.AGAIN, Arm.SHUFFLED)


class Oracle:
    """Knows the faults of a world: hints a way that works for every function, and steers a call that would fail."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def advise(self, situation: Situation) -> Advice:
        world = self._world
        good: dict[str, list[set[str]]] = {}
        for step, after in zip(world.task.steps, world.contexts(), strict=True):
            ways = world.pool.ways(step.function)
            works = {way for way in ways if world.fault(way, step.arguments, after, world.number) is None}
            good.setdefault(step.function, []).append(works)
        hints = []
        for function, sets in good.items():
            ways = world.pool.ways(function)
            everywhere = [way for way in ways if all(way in works for works in sets)]
            if everywhere and everywhere[0] != ways[0]:
                hints.append(f"Use `{everywhere[0]}`.")
        return Advice(hints=tuple(hints), family=situation.family)

    async def resume(self, situation: Situation, version: int) -> None:
        return None

    def review(self, moment: Moment) -> Ruling:
        return Ruling()

    def weigh_retry(self, failure: Failure, situation: Situation) -> Ruling:
        world = self._world
        fault = world.fault(failure.tool, failure.arguments, world.after, world.number)
        futile = fault is not None and not fault.passes_after
        return Ruling(steer=Steer(reason="it would fail again")) if futile else Ruling()

    def repair(self, failure: Failure, situation: Situation) -> Ruling:
        world = self._world
        function = failure.tool.rpartition("_")[0]
        for way in world.pool.ways(function):
            if world.fault(way, failure.arguments, world.after, world.number) is None:
                return Ruling(hint=f"Use `{way}`.")
        return Ruling()

    async def learn(self, trace: Trace) -> None:
        return None


class Watching:
    """A sink that keeps the events of the run under way."""

    def __init__(self) -> None:
        self.events: list[AnyEvent] = []

    def event(self, run_id: str, event: AnyEvent) -> None:
        self.events.append(event)

    def text(self, run_id: str, delta: str) -> None:
        return None

    def taken(self) -> list[AnyEvent]:
        """What happened since the last time."""
        events, self.events = self.events, []
        return events


def configuration(learns: bool, more: str = "") -> str:
    """The settings of an arm: as installed, but with short waits before retries where that can be set, and with one
    retry of a call, two of a request, where it cannot."""
    limits = (
        {"retry_wait": 0.001} if "retry_wait" in LimitSettings.__struct_fields__ else {"call_retries": 1, "retries": 2}
    )
    mode = "on" if learns else "off"
    return f'sandbox: {{kind: none}}\nlimits: {json.dumps(limits)}\nlearning: {{mode: "{mode}"{more}}}\n{_ALONE}'


def coin(*parts: object) -> int:
    """A seed for the coins of one run, the same whenever the same history is run."""
    return zlib.crc32(":".join(map(str, parts)).encode())


class Place(Protocol):
    """What an agent works in: tools, and whether what was asked for last is done."""

    def tools(self) -> list[Tool]: ...

    def solved(self) -> bool: ...


class Rig:
    """An agent in a home of its own in memory, with the tools of a place. Some arms need to know the place: a World."""

    def __init__(self, world: Place, arm: Arm, seed: int, more: str = "") -> None:
        folder = MEMORY if MEMORY.is_dir() else None
        self._folder = tempfile.TemporaryDirectory(prefix="learning-", dir=folder, ignore_cleanup_errors=True)
        home = Path(self._folder.name) / "home"
        home.mkdir()
        (home / "config.yaml").write_text(configuration(arm.learns, more))
        self.home = home
        self.world = world
        self.arm = arm
        self.seed = seed
        self.watching = Watching()
        self.agent = Agent(
            name="world",
            model=f"apprentice:{seed}",
            workspace=self._folder.name,
            home=home,
            advisor=self._advisor(),
            sinks=[self.watching],
        )
        for tool in world.tools():
            self.agent.register_tool(tool)

    def _advisor(self) -> Advisor | None:
        if self.arm is Arm.ORACLE and isinstance(self.world, World):
            return Oracle(self.world)
        if self.arm is Arm.THOMPSON and isinstance(self.world, World):
            return Thompson(self.world.pool, self.seed)
        if self.arm is Arm.SHUFFLED:
            return Shuffled(lambda: self._learned, self.seed)
        return None

    @cached_property
    def _learned(self) -> LearnedAdvisor:
        """The product's advisor, which the shuffled arm keeps behind another one."""
        app = self.agent.app
        return LearnedAdvisor(app.store, app.settings.learning, lambda text: None)

    async def run(self, request: str, number: int, family: str = "") -> tuple[list[AnyEvent], bool]:
        """One request in a session of its own; its events, and whether it was judged right."""
        options: dict[str, Any] = {"seed": coin(self.seed, self.arm is Arm.AGAIN, number)}
        if family:
            options["family"] = family
        self.watching.taken()

        async def check(result: object) -> bool:
            return self.world.solved()

        result = await self.agent.arun(request, session="new", options=options, check=check)
        judged = result.judged_by is Judge.VERIFIER and bool(result.success)
        return self.watching.taken(), judged

    def waiting(self) -> list[str]:
        """The heuristics that wait for a person."""
        found = self.agent.wait(self.agent.app.store.heuristics.all(stages=(Stage.AWAITING_APPROVAL,)))
        return [heuristic.id for heuristic in found]

    def close(self) -> None:
        """End the agent and remove its home."""
        self.agent.close()
        self._folder.cleanup()


class History(msgspec.Struct, frozen=True, kw_only=True):
    """What one history is made of. `owners` are the leaderboard's classes; `named` whether tasks come with the name of
    their family, or the product has to find out."""

    seed: int
    tasks: int
    owners: tuple[str, ...]
    named: bool = True
    schedule: Schedule | None = None
    mixture: Mixture = Mixture()

    def world(self) -> tuple[World, list[Task]]:
        """The world of this history and its tasks, the same for every arm."""
        pool = pool_of(self.owners)
        schedule = self.schedule or drawn(habits_of(pool), self.seed, self.tasks, self.mixture)
        troubled = frozenset(fault.tool.rpartition("_")[0] for fault in schedule.faults)
        return World(pool, schedule, self.seed), sequence(pool, self.seed, self.tasks, troubled)


async def lived(history: History, arm: Arm, say: Callable[[int], None]) -> list[TaskRecord]:
    """One history under one arm, from an empty store on."""
    world, given = history.world()
    rig = Rig(world, arm, history.seed)
    try:
        records = []
        for number, task in enumerate(given):
            events, judged = await rig.run(world.begin(number, task), number, task.family if history.named else "")
            records.append(recorded(world, events, judged))
            say(number)
        return records
    finally:
        await asyncio.to_thread(rig.close)


def code(*, learns: bool) -> str:
    """A digest of the code that a history depends on, so that a stored one is not taken for that of other code."""
    product = ROOT / "src" / "hermes_agent"
    folders = [product / "harness", product / "models" / "providers"]
    files = [file for folder in (*folders, *([product / "learning"] if learns else [])) for file in folder.glob("*.py")]
    files += [
        Path(__file__).with_name(f"{name}.py") for name in ("arms", "bfcl", "faults", "stats", "thompson", "world")
    ]
    return hashlib.sha256(b"".join(file.read_bytes() for file in sorted(files))).hexdigest()


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One history under some arms, and the folder its records belong in. `code` holds the digests of the code without
    and with learning, taken once: the processes of a benchmark must agree on the names of files."""

    history: History
    arms: tuple[str, ...]
    folder: str
    code: tuple[str, str]

    def file(self, arm: str) -> Path:
        """Named by everything that decides what is in it: the history, the world's code, and that of the product."""
        known = msgspec.json.encode(self.history) + self.code[Arm(arm).learns].encode()
        return Path(self.folder) / f"{arm}-{self.history.seed}-{hashlib.sha256(known).hexdigest()[:12]}.json"

    def missing(self) -> tuple[str, ...]:
        """The arms that were not run yet."""
        return tuple(arm for arm in self.arms if not self.file(arm).exists())


def work(jobs: Sequence[Job]) -> str:
    """Run the histories of some seeds at once: while one waits before a retry, the others go on."""

    async def arm_of(job: Job, arm: str) -> None:
        records = await lived(job.history, Arm(arm), lambda number: None)
        written = job.file(arm).with_suffix(".part")
        written.write_bytes(msgspec.json.encode(records))
        written.rename(job.file(arm))

    async def everything() -> None:
        await asyncio.gather(*(arm_of(job, arm) for job in jobs for arm in job.missing()))

    asyncio.run(everything())
    return ", ".join(str(job.history.seed) for job in jobs)


def run_jobs(jobs: Sequence[Job], say: Callable[[str], None]) -> Results:
    """Run what is missing in two processes, and read everything back."""
    open_jobs = [job for job in jobs if job.missing()]
    batches = [open_jobs[place : place + _TOGETHER] for place in range(0, len(open_jobs), _TOGETHER)]
    started, done = time.monotonic(), 0
    with multiprocessing.get_context("spawn").Pool(_WORKERS) as pool:
        for seeds in pool.imap_unordered(work, batches):
            done += 1
            passed = time.monotonic() - started
            say(f"{done} of {len(batches)} batches, {passed:.0f} s (seeds {seeds})")
    results: Results = {arm: {} for arm in jobs[0].arms}
    for job in jobs:
        for arm in job.arms:
            stored = job.file(arm).read_bytes()
            results[arm][job.history.seed] = msgspec.json.decode(stored, type=list[TaskRecord])
    return results

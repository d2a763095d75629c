"""The worlds in which learning is measured: their own bookkeeping must be right before any figure is."""

from __future__ import annotations

import asyncio
import math
from pathlib import Path

import pytest

from benchmarks.learning.arms import Arm, History, lived
from benchmarks.learning.bfcl import FOLDER
from benchmarks.learning.faults import Context, Fault, Habit, Mixture, Schedule, drawn, read_schedule
from benchmarks.learning.plans import STEPS, Office
from benchmarks.learning.poisoning import Truth, judged
from benchmarks.learning.stats import (
    Interval,
    StepRecord,
    TaskRecord,
    Wait,
    bootstrapped,
    false_avoidance,
    median_wait,
    until_used_again,
)
from hermes_agent.store.heuristics import Heuristic, Kind

installed = pytest.mark.skipif(not (FOLDER / "bfcl_eval").is_dir(), reason="`make bench-learning` installs bfcl-eval")
HABITS = [
    Habit(family="files", function=name, count=count, values={"path": ("a.csv", "b.csv")}, after=("cd", "cd"))
    for count, name in enumerate(("cat", "tail", "wc", "sort"), 1)
]


@pytest.mark.parametrize(
    ("context", "expected"),
    [
        (Context(), True),
        (Context(family="files"), True),
        (Context(family="travel"), False),
        (Context(argument="path", suffix=".csv"), True),
        (Context(argument="path", prefix="b"), False),
        (Context(argument="absent"), False),
        (Context(family="files", after="cd"), True),
        (Context(family="files", after="ls"), False),
    ],
)
def test_a_fault_holds_only_in_its_context(context: Context, expected: bool) -> None:
    assert context.holds("files", {"path": "a.csv", "lines": 3}, "cd") is expected


def test_a_schedule_depends_on_its_seed_alone_and_troubles_the_frequent_functions() -> None:
    first, same, other = (drawn(HABITS, seed, 100, Mixture(functions=3)) for seed in (1, 1, 2))
    assert first == same != other
    assert {fault.tool.rpartition("_")[0] for fault in first.faults} == {"sort", "wc", "tail"}


def test_a_fault_begins_and_ends() -> None:
    fault = Fault(tool="cat_main", begins=3, ends=5)
    assert [fault.at(number) for number in range(7)] == [False, False, False, True, True, False, False]


def test_schedules_are_read_from_files(tmp_path: Path) -> None:
    file = tmp_path / "faults.json"
    file.write_text('{"faults": [{"tool": "cat_main", "kind": "timeout"}, {"tool": "wc_main", "works": 0.5}]}')
    expected = (
        Fault(tool="cat_main", kind="timeout", error="timeout", text="no answer in time"),
        Fault(tool="wc_main", works=0.5),
    )
    assert read_schedule(file) == Schedule(faults=expected)


@pytest.mark.parametrize("text", ["", "[]", '{"faults": [{}]}', '{"faults": [{"tool": "a", "evil": 1}]}', "\x00"])
def test_files_that_are_no_schedules_are_refused_by_name(tmp_path: Path, text: str) -> None:
    file = tmp_path / "faults.json"
    file.write_text(text)
    with pytest.raises(SystemExit, match=r"faults\.json: no schedule of faults"):
        read_schedule(file)


def _history(*steps: StepRecord) -> list[TaskRecord]:
    plain = {"family": "f", "solved": True, "judged": True, "calls": 1, "failed": 0, "futile": 0, "steered": 0}
    return [TaskRecord(number=number, steps=(step,), **plain) for number, step in enumerate(steps)]  # type: ignore[arg-type]


def _step(*, used: int = 0, against: bool = False, always: bool = True, repaired: str = "") -> StepRecord:
    return StepRecord(function="cat", healthy=True, always=always, used=used, against=against, repaired=repaired)


def test_measures_count_what_they_say() -> None:
    advice = _history(_step(), _step(against=True), _step(against=True, always=False), _step())
    assert false_avoidance(advice) == 1 / 3
    choices = [2, 0, 2, 2, 0, 0, 0]
    assert until_used_again(_history(*(_step(used=used, repaired="x") for used in choices))) == [Wait(length=4)]
    assert until_used_again(_history(*(_step(used=2, repaired="x") for _ in choices))) == [Wait(length=7, over=False)]
    assert until_used_again(_history(*(_step(used=0, repaired="x") for _ in choices))) == []
    assert median_wait([Wait(length=9, over=False), Wait(length=3), Wait(length=5), Wait(length=8)]) == 5
    assert median_wait([Wait(length=9, over=False), Wait(length=3)]) == 3
    assert median_wait([Wait(length=9, over=False)]) == math.inf
    assert bootstrapped([0.5, 0.5, 0.5]) == Interval(mean=0.5, low=0.5, high=0.5)


@installed
def test_arms_live_through_the_same_history_in_the_real_harness() -> None:
    broken = Schedule(faults=tuple(Fault(tool=f"cd_{way}") for way in ("main", "mirror", "legacy")))
    history = History(seed=7, tasks=4, owners=("GorillaFileSystem",), schedule=broken)

    async def both() -> list[list[TaskRecord]]:
        return await asyncio.gather(*(lived(history, arm, lambda number: None) for arm in (Arm.OFF, Arm.ORACLE)))

    off, oracle = asyncio.run(both())
    assert [record.judged for record in off + oracle] == [record.solved for record in off + oracle]
    assert sum(record.solved for record in off) < sum(record.solved for record in oracle) == 4
    assert sum(record.failed for record in off) > sum(record.failed for record in oracle)
    doomed = {step.kind for record in off for step in record.steps if step.function == "cd"}
    assert doomed == {"permanent"}


@installed
def test_a_silent_fault_is_told_from_a_solved_task() -> None:
    silent = Fault(tool="startEngine_main", kind="silent", silent=True, text="{}")
    history = History(seed=3, tasks=3, owners=("VehicleControlAPI",), schedule=Schedule(faults=(silent,)))
    records = asyncio.run(lived(history, Arm.OFF, lambda number: None))
    met = [any(step.kind == "silent" for step in record.steps) for record in records]
    assert any(met)
    assert [record.solved for record in records if any(step.kind == "silent" for step in record.steps)] == [
        False
    ] * sum(met)


def test_the_office_blocks_its_third_step_until_it_is_repaired() -> None:
    office = Office(optional=True, seed=1)
    tools = {tool.spec.name: tool for tool in office.tools()}

    def served(*steps: str) -> list[bool]:
        return [asyncio.run(tools[step].function(account="a")).ok for step in steps]

    office.begin(0)
    assert served(*STEPS) == [True, True, False, True]
    assert office.solved()
    office.optional = False
    assert not office.solved()
    office.begin(1)
    assert served(STEPS[2], STEPS[0], STEPS[1], STEPS[3]) == [True] * 4
    assert office.solved()
    office.repaired = True
    office.begin(2)
    assert served(*STEPS) == [True] * 4


def test_what_is_wrong_is_known_from_the_truth() -> None:
    truth = Truth(rates={"good": 0.95, "fair": 0.75, "bad": 0.05})

    def wrong(kind: Kind, subject: str, better: str = "") -> bool:
        return truth.is_wrong(
            Heuristic(id="h", kind=kind, model="m", family="f", subject=subject, better=better, text="t")
        )

    assert [wrong(Kind.AVOID_TOOL, tool) for tool in ("good", "fair", "bad")] == [True, True, False]
    assert [wrong(Kind.PREFER_TOOL, "bad", "good"), wrong(Kind.PREFER_TOOL, "good", "bad")] == [False, True]
    assert [wrong(Kind.REPAIR, "bad:e", "good"), wrong(Kind.REPAIR, "good:e", "bad")] == [False, True]


@pytest.mark.req("H14")
def test_a_few_poisoned_traces_promote_nothing() -> None:
    verdict = asyncio.run(judged(seed=1, traces=12))
    assert (verdict.wrong_trusted, verdict.wrong_acting) == ((), ())

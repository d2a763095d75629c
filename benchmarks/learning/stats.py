"""What a history says: its runs as records, and the measures over seeds with their intervals."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from statistics import fmean

import msgspec

from benchmarks.learning.world import World, advised_against
from hermes_agent.types.events import AnyEvent, AssistantMessage, CallFinished, Fragment, RunFinished
from hermes_agent.types.tools import ToolCall
from hermes_agent.types.trace import CallStatus

_FAILED = (CallStatus.ERROR, CallStatus.TIMEOUT)


class StepRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One opportunity: a step that was reached. `healthy` is whether the first way works here now, `always` whether it
    ever has been broken here; `used` is the place of the way that ran first, `against` whether advice spoke against
    the first one. `ended` names the fault that was repaired here, if one was."""

    function: str
    healthy: bool
    always: bool
    used: int = -1
    against: bool = False
    kind: str = ""
    repaired: str = ""


class TaskRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One run. `futile` are attempts that repeated a call which had failed in this run and failed again."""

    number: int
    family: str
    solved: bool
    judged: bool
    calls: int
    failed: int
    futile: int
    steered: int
    steps: tuple[StepRecord, ...]


def recorded(world: World, events: list[AnyEvent], judged: bool) -> TaskRecord:
    """What one run did at each of its opportunities."""
    if not any(isinstance(event, RunFinished) for event in events):
        raise RuntimeError("a run was watched that did not end")
    reading = _Reading(world)
    for event in events:
        reading.take(event)
    return TaskRecord(
        number=world.number,
        family=world.task.family,
        solved=world.solved(),
        judged=judged,
        calls=reading.calls,
        failed=reading.failed,
        futile=reading.futile,
        steered=reading.steered,
        steps=tuple(reading.steps),
    )


class _Reading:
    """Follows the events of a run from step to step."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._place = 0
        self._told = ""
        self._asked: dict[str, ToolCall] = {}
        self._tries: dict[str, int] = {}
        self.steps: list[StepRecord] = []
        self.calls = self.failed = self.futile = self.steered = 0

    def take(self, event: AnyEvent) -> None:
        """One more event."""
        if isinstance(event, Fragment):
            self._told += event.text + "\n"
        elif isinstance(event, AssistantMessage):
            self._asked.update({call.id: call for call in event.calls})
        elif isinstance(event, CallFinished) and self._place < len(self._world.task.steps):
            self._finished(event)

    def _finished(self, event: CallFinished) -> None:
        if len(self.steps) == self._place:
            self.steps.append(self._opportunity())
        record = self.steps[-1]
        ways = self._world.pool.ways(record.function)
        place = ways.index(event.tool) if event.tool in ways else -1
        if event.status is CallStatus.STEERED:
            self.steered += 1
            if place == 0 and record.healthy:
                self.steps[-1] = msgspec.structs.replace(record, against=True)
            return
        if record.used < 0:
            self.steps[-1] = msgspec.structs.replace(record, used=place)
        self._count(event)
        if event.status is CallStatus.OK:
            self._place += 1

    def _opportunity(self) -> StepRecord:
        world, step = self._world, self._world.task.steps[self._place]
        first, after = world.pool.ways(step.function)[0], world.contexts()[self._place]
        fault = world.fault(first, step.arguments, after, world.number)
        mended = [
            f"{world.task.family}:{old.tool}:{old.ends}"
            for old in world.schedule.of(first)
            if old.ends is not None
            and old.ends <= world.number
            and old.where.holds(world.task.family, step.arguments, after)
        ]
        return StepRecord(
            function=step.function,
            healthy=fault is None,
            always=not world.was_ever_broken(first, step.arguments, after, world.number),
            against=fault is None and first in advised_against(self._told),
            kind=fault.kind if fault else "",
            repaired=mended[0] if mended and fault is None else "",
        )

    def _count(self, event: CallFinished) -> None:
        call = self._asked[event.call_id]
        key = f"{call.name} {sorted(call.arguments.items())!r}"
        failing = event.attempts if event.status in _FAILED else event.attempts - 1
        self.calls += 1
        self.failed += event.status in _FAILED
        self.futile += failing if self._tries.get(key) else max(0, failing - 1)
        self._tries[key] = self._tries.get(key, 0) + event.attempts


class Interval(msgspec.Struct, frozen=True, kw_only=True):
    """A mean over seeds with its 95 % interval."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:.3g} [{self.low:.3g}, {self.high:.3g}]"


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a table. `reached` is None for what has no goal."""

    what: str
    measured: str
    goal: str = ""
    reached: bool | None = None


def bootstrapped(values: Sequence[float], draws: int = 2000) -> Interval:
    """The mean of one value per seed, and its percentile interval from drawing seeds anew."""
    if not values:
        return Interval(mean=math.nan, low=math.nan, high=math.nan)
    rng = random.Random(len(values))
    means = sorted(fmean(rng.choices(values, k=len(values))) for _ in range(draws))
    return Interval(mean=fmean(values), low=means[int(draws * 0.025)], high=means[int(draws * 0.975)])


def at_least(what: str, value: Interval, goal: float) -> Figure:
    """A line whose mean should be no lower."""
    return Figure(what=what, measured=str(value), goal=f">= {goal:g}", reached=value.mean >= goal)


def at_most(what: str, value: Interval, goal: float) -> Figure:
    """A line whose mean should be no higher."""
    return Figure(what=what, measured=str(value), goal=f"<= {goal:g}", reached=value.mean <= goal)


def success(records: Sequence[TaskRecord]) -> float:
    """The share of tasks that were solved."""
    return fmean(record.solved for record in records)


def last_third(records: Sequence[TaskRecord]) -> Sequence[TaskRecord]:
    """The end of a history."""
    return records[2 * len(records) // 3 :]


def false_avoidance(records: Sequence[TaskRecord]) -> float:
    """Of the opportunities at which the first way works and always has, the share with advice against it."""
    chances = [step for record in records for step in record.steps if step.healthy and step.always]
    return fmean(step.against for step in chances) if chances else 0.0


def diverted(records: Sequence[TaskRecord]) -> float:
    """Of the same opportunities, the share at which another way ran first."""
    chances = [step for record in records for step in record.steps if step.healthy and step.always and step.used >= 0]
    return fmean(step.used != 0 for step in chances) if chances else 0.0


class Wait(msgspec.Struct, frozen=True, kw_only=True):
    """How many opportunities passed; not `over` when the history ended before it was."""

    length: int
    over: bool = True


def until_used_again(records: Sequence[TaskRecord], in_a_row: int = 3) -> list[Wait]:
    """For each way that was given up and then repaired: how many opportunities passed before it was the first choice
    for several in a row."""
    waits: list[Wait] = []
    seen: dict[str, list[bool]] = {}
    for record in records:
        for step in record.steps:
            if step.repaired and step.used >= 0:
                seen.setdefault(step.repaired, []).append(step.used == 0)
    for choices in seen.values():
        if all(choices[:2]):
            continue
        runs = (n for n in range(len(choices) - in_a_row + 1) if all(choices[n : n + in_a_row]))
        found = next(runs, None)
        waits.append(Wait(length=len(choices), over=False) if found is None else Wait(length=found))
    return waits


def median_wait(waits: Sequence[Wait]) -> float:
    """The Kaplan-Meier median, which takes waits that the end of a history cut short for what they are; infinite when
    fewer than half came to an end."""
    left, still = len(waits), 1.0
    for wait in sorted(waits, key=lambda wait: (wait.length, not wait.over)):
        if wait.over:
            still *= (left - 1) / left
            if still <= 0.5:
                return wait.length
        left -= 1
    return math.inf


def futile(records: Sequence[TaskRecord]) -> float:
    """Attempts that repeated a failed call and failed again."""
    return float(sum(record.futile for record in records))


Results = dict[str, dict[int, list[TaskRecord]]]
"""Records by arm and seed."""


def over_seeds(results: Results, arm: str, measure: Callable[[Sequence[TaskRecord]], float]) -> Interval:
    """A measure of one arm."""
    return bootstrapped([measure(records) for records in results[arm].values()])


def compared(
    results: Results, one: str, other: str, measure: Callable[[Sequence[TaskRecord], Sequence[TaskRecord]], float]
) -> Interval:
    """A measure of two arms on the same seeds."""
    both = sorted(results[one].keys() & results[other].keys())
    return bootstrapped([measure(results[one][seed], results[other][seed]) for seed in both])


def _ratio(results: Results, one: str, other: str, measure: Callable[[Sequence[TaskRecord]], float]) -> Interval:
    """The ratio of two arms' means; seeds are drawn anew in pairs."""
    both = sorted(results[one].keys() & results[other].keys())
    pairs = [(measure(results[one][seed]), measure(results[other][seed])) for seed in both]
    rng = random.Random(len(pairs))

    def ratio(chosen: Sequence[tuple[float, float]]) -> float:
        below = sum(pair[1] for pair in chosen)
        return sum(pair[0] for pair in chosen) / below if below else math.nan

    drawn = sorted(ratio(rng.choices(pairs, k=len(pairs))) for _ in range(2000))
    return Interval(mean=ratio(pairs), low=drawn[50], high=drawn[1950])


def _regret(results: Results, arm: str) -> Interval:
    """Tasks that the oracle solves and this arm does not, over a history, as a difference of sums."""
    return compared(results, "oracle", arm, lambda best, own: sum(r.solved for r in best) - sum(r.solved for r in own))


def figures(results: Results) -> Iterator[Figure]:
    """The whole table, as far as the arms were run."""
    for arm in results:
        rate, late = over_seeds(results, arm, success), over_seeds(results, arm, lambda r: success(last_third(r)))
        yield Figure(what=f"success, {arm}", measured=str(rate))
        yield Figure(what=f"success, {arm}, last third", measured=str(late))
    if "oracle" in results:
        for arm in results:
            if arm != "oracle":
                yield Figure(what=f"regret, {arm} (tasks of a history)", measured=str(_regret(results, arm)))
    for arm in results:
        yield Figure(
            what=f"failed calls, {arm}", measured=str(over_seeds(results, arm, lambda r: sum(t.failed for t in r)))
        )
    if "on" in results and "off" in results:
        yield from _goals(results)


def _goals(results: Results) -> Iterator[Figure]:
    gain = compared(results, "on", "off", lambda on, off: 100 * (success(on) - success(off)))
    yield at_least("success, on - off (points)", gain, 25)
    yield from _against_oracle(results)
    yield at_most("false-avoid rate (%)", over_seeds(results, "on", lambda r: 100 * false_avoidance(r)), 1)
    yield Figure(
        what="another way first although the first works (%)",
        measured=str(over_seeds(results, "on", lambda r: 100 * diverted(r))),
    )
    yield at_least("futile retries cut (%)", _cut(results, futile), 90)
    yield at_least("futile retries cut, last third (%)", _cut(results, lambda r: futile(last_third(r))), 90)
    waits = [wait for records in results["on"].values() for wait in until_used_again(records)]
    middle = median_wait(waits)
    what = f"opportunities until a repaired tool is used again, median of {len(waits)}"
    yield Figure(what=what, measured=f"{middle:g}", goal="<= 60", reached=middle <= 60 if waits else None)
    if "again" in results:
        same = compared(results, "again", "on", lambda one, other: 100 * (success(one) - success(other)))
        yield Figure(
            what="A/A: again - on (points)", measured=str(same), goal="0 inside", reached=same.low <= 0 <= same.high
        )
    if "shuffled" in results:
        lost = compared(results, "shuffled", "off", lambda one, other: 100 * (success(one) - success(other)))
        yield Figure(what="shuffled - off (points)", measured=str(lost), goal="gains nothing", reached=lost.low <= 0)


def _against_oracle(results: Results) -> Iterator[Figure]:
    if "oracle" not in results:
        return
    yield at_least("success, on / oracle (%)", _percent(_ratio(results, "on", "oracle", success)), 85)
    own, without = _regret(results, "on"), _regret(results, "off")
    share = 100 * own.mean / without.mean if without.mean else math.nan
    yield Figure(what="regret, on / off (%)", measured=f"{share:.3g}", goal="<= 40", reached=share <= 40)
    if "thompson" in results:
        other = _regret(results, "thompson")
        measured = f"{own.mean:.3g} against {other.mean:.3g}"
        yield Figure(
            what="regret, on against Thompson sampling",
            measured=measured,
            goal="no more",
            reached=own.mean <= other.mean,
        )


def _cut(results: Results, measure: Callable[[Sequence[TaskRecord]], float]) -> Interval:
    """By how many percent learning lowers a measure."""
    kept = _ratio(results, "on", "off", measure)
    return Interval(mean=100 * (1 - kept.mean), low=100 * (1 - kept.high), high=100 * (1 - kept.low))


def _percent(value: Interval) -> Interval:
    return Interval(mean=100 * value.mean, low=100 * value.low, high=100 * value.high)


def by_kind(records: Sequence[TaskRecord]) -> dict[str, tuple[int, int]]:
    """Tasks by the kinds of fault that met them, and how many of each were solved; "" for tasks without any."""
    counts: dict[str, tuple[int, int]] = {}
    for record in records:
        for kind in {step.kind for step in record.steps if step.kind} or {""}:
            good, total = counts.get(kind, (0, 0))
            counts[kind] = (good + record.solved, total + 1)
    return counts

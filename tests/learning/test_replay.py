"""Replay: labels, estimates against known truths, real lessons on both databases, tasks done again."""

import asyncio
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_agent.learning.estimates import Comparison, Effect, Sums, Verdict, effect_of
from hermes_agent.learning.evidence import PairEvidence
from hermes_agent.learning.past import REPLAYED, Logged, Seen, Window
from hermes_agent.learning.reexecution import (
    Arms,
    Attempt,
    Pair,
    Refusal,
    Task,
    done_again,
    evidence_of,
    resettable,
    stored_set,
)
from hermes_agent.learning.replay import (
    Decision,
    Label,
    Replay,
    Report,
    applies,
    coins,
    decide,
    replayed,
    set_target,
    with_target,
    without_target,
)
from hermes_agent.store.database import Connection
from hermes_agent.store.heuristics import (
    Heuristic,
    Kind,
    Stage,
    activate_members,
    active_set,
    lock_sequence,
    save_heuristic,
)
from hermes_agent.store.lessons import Lesson, Observation, add_judgement, add_lesson
from hermes_agent.store.open import Store, open_store
from hermes_agent.types.errors import StoreDamaged
from hermes_agent.types.events import AnyEvent, Image, Recorded, RunStarted, UserMessage
from hermes_agent.types.trace import AdviceItem, Judge

MODEL, FAMILY = "scripted:m", "f1"


def rule(id: str, **more: Any) -> Heuristic:
    told = {"kind": Kind.HINT, "model": MODEL, "family": FAMILY, "subject": "read", "text": id, "stage": Stage.TRUSTED}
    return Heuristic(id=id, **{**told, **more})


def coin(id: str, applied: bool, chance: float, call: str = "") -> AdviceItem:
    """An item whose heuristic acted with `chance`."""
    return AdviceItem(id=id, text=id, applied=applied, propensity=chance if applied else 1 - chance, call_id=call)


def run(number: int = 0, success: bool | None = True, *items: AdviceItem, **more: Any) -> Logged:
    told = {"family": FAMILY, "model": MODEL, "judged_by": Judge.VERIFIER, "set_version": 1}
    return Logged(run_id=f"r{number}", success=success, items=items, **{**told, **more})


def report_of(replay: Replay, runs: Iterable[Logged]) -> Report:
    for one in runs:
        replay.add(one)
    return replay.report()


@pytest.mark.req("H13")
@pytest.mark.parametrize(
    ("item", "acting", "expected"),
    [
        (coin("h", True, 0.9), 0.9, Decision(id="h", label=Label.SAME)),
        (coin("h", False, 0.9), 0.9, Decision(id="h", label=Label.SAME)),
        (coin("h", True, 0.5), 0.9, Decision(id="h", label=Label.WEIGHTED, weight=1.8)),
        (coin("h", True, 0.9), 0.0, Decision(id="h", label=Label.WEIGHTED, weight=0.0)),
        (coin("h", False, 0.75), 0.0, Decision(id="h", label=Label.WEIGHTED, weight=4.0)),
        (coin("h", True, 1.0), 0.0, Decision(id="h", label=Label.UNSUPPORTED, weight=0.0)),
        (coin("h", True, 1.0), 0.9, Decision(id="h", label=Label.SAME)),
        (coin("h", False, 0.0), 0.9, Decision(id="h", label=Label.SAME)),
        (coin("h", False, 0.0), 0.0, Decision(id="h", label=Label.SAME)),
        *(
            (AdviceItem(id="h", text="", propensity=wrong), 0.9, Decision(id="h", label=Label.UNSUPPORTED, weight=0.0))
            for wrong in (0.0, -1.0, 1.5, float("nan"), float("inf"))
        ),
    ],
)
def test_a_decision_is_labelled_by_its_chances(item: AdviceItem, acting: float, expected: Decision) -> None:
    target = set_target(2, [rule("h")] if acting else [], explore=1 - acting)
    got = decide(item, target)
    assert (got.id, got.label) == (expected.id, expected.label)
    assert got.weight == pytest.approx(expected.weight)


def test_who_acts_with_which_chance() -> None:
    members = [rule("a"), rule("b", stage=Stage.PROBATION), rule("c", stage=Stage.RETIRED)]
    assert set_target(3, members, 0.1).acting == {"a": 0.9, "b": 0.5, "c": 0.9}
    assert with_target(rule("d", stage=Stage.CANDIDATE), 0.1).acting == {"d": 0.5}
    assert without_target(rule("a")).acting == {}


def test_one_coin_a_run_unless_it_fell_differently() -> None:
    alike = [coin("h", True, 0.9, "c1"), coin("h", True, 0.9, "c2"), coin("g", False, 0.5)]
    assert list(coins(alike)) == [alike[0], alike[2]]
    mixed = [coin("h", True, 0.9, "c1"), coin("h", False, 0.9, "c2"), coin("h", True, 0.9, "c3")]
    assert list(coins(mixed)) == mixed


@pytest.mark.req("H13")
@pytest.mark.parametrize(
    ("heuristic", "expected"),
    [
        (rule("h"), True),
        (rule("h", family="*"), True),
        (rule("h", family="other"), False),
        (rule("h", model="scripted:other"), False),
        (rule("h", condition=("path.suffix=.csv",)), True),
        (rule("h", condition=("path.suffix=.csv", "after=list:ok")), True),
        (rule("h", condition=("path.suffix=.csv", "after=list:error")), False),
        (rule("h", subject="write", condition=("path.suffix=.csv",)), False),
        (rule("h", kind=Kind.FUTILE_RETRY, subject="read:parse"), False),
        (rule("h", kind=Kind.FUTILE_RETRY, subject="fetch:timeout"), True),
        (rule("h", kind=Kind.REPAIR, subject="write:parse"), True),
    ],
)
def test_where_a_heuristic_would_have_been_asked(heuristic: Heuristic, expected: bool) -> None:
    seen = (
        Seen(tool="read", features=("path.suffix=.csv", "after=list:ok")),
        Seen(tool="fetch", tries=3),
        Seen(tool="write", worked=False),
    )
    assert applies(heuristic, run(observations=seen)) is expected


@pytest.mark.req("H13")
def test_a_run_is_as_weak_as_its_weakest_decision_and_labels_partition_the_runs() -> None:
    new = rule("new", condition=("path.suffix=.csv",))
    replay = Replay(set_target(9, [rule("kept"), new], 0.1), {1: frozenset({"kept"}), 9: frozenset({"kept", "new"})})
    csv = (Seen(tool="read", features=("path.suffix=.csv",)),)
    kept, gone = coin("kept", True, 0.9), coin("gone", False, 0.5)
    labels = [
        replay.add(run(1, True, kept)),
        replay.add(run(2, True, kept, gone)),
        replay.add(run(3, True, kept, gone, observations=csv)),
        replay.add(run(4, True, kept, observations=csv)),
        replay.add(run(5, False, kept, observations=csv, set_version=9)),
        replay.add(run(6, None, kept)),
        replay.add(run(7, True, kept, tainted=True)),
        replay.add(run(8, False, model="scripted:other", observations=csv)),
    ]
    unsupported = Label.UNSUPPORTED
    assert labels == [Label.SAME, Label.WEIGHTED, unsupported, unsupported, Label.SAME, None, None, Label.SAME]
    report = replay.report()
    assert (report.runs, report.left_out) == (8, 2)
    assert report.labels == {"same": 3, "reexecuted": 0, "weighted": 1, "unsupported": 2}
    rows = {row.id: (row.labels, row.acting, row.unsupported) for row in report.heuristics}
    assert rows == {
        "kept": ({"same": 5, "reexecuted": 0, "weighted": 0, "unsupported": 0}, 0.9, 0.0),
        "gone": ({"same": 0, "reexecuted": 0, "weighted": 2, "unsupported": 0}, 0.0, 0.0),
        "new": ({"same": 0, "reexecuted": 0, "weighted": 0, "unsupported": 2}, 0.9, 1.0),
    }


items_given = st.lists(
    st.builds(coin, st.sampled_from("abcd"), st.booleans(), st.sampled_from([0.1, 0.5, 0.9, 1.0])), max_size=4
)
runs_given = st.lists(
    st.builds(
        lambda success, judge, items: run(0, success, *items, judged_by=judge),
        st.sampled_from([True, False, None]),
        st.sampled_from(list(Judge)),
        items_given,
    ),
    max_size=30,
)


@given(runs_given, st.sets(st.sampled_from("abcd")))
@settings(max_examples=40, deadline=None)
def test_whatever_is_replayed_the_figures_hold_together(runs: list[Logged], members: set[str]) -> None:
    replay = Replay(set_target(2, [rule(id) for id in sorted(members)], 0.1), {1: frozenset("abcd")})
    report = report_of(replay, runs)
    assert sum(report.labels.values()) + report.left_out == report.runs == len(runs)
    for found in (report.judged, report.inferred):
        if found.difference is not None:
            assert found.low is not None and found.high is not None and found.as_logged is not None
            assert found.low <= found.difference <= found.high
            assert found.under_target == pytest.approx(found.as_logged + found.difference)
            assert -1e-9 <= (found.under_target or 0.0) <= 1 + 1e-9
        assert found.ess <= found.runs + 1e-6
    if report.judged.ess < 50:
        assert report.verdict is Verdict.UNKNOWN


@given(runs_given)
@settings(max_examples=40, deadline=None)
def test_without_a_heuristic_that_was_never_used_everything_is_copied(runs: list[Logged]) -> None:
    report = report_of(Replay(without_target(rule("unused")), {}), runs)
    assert report.labels == {"same": len(runs) - report.left_out, "reexecuted": 0, "weighted": 0, "unsupported": 0}
    for found in (report.judged, report.inferred):
        assert (found.difference or 0.0, found.low or 0.0, found.high or 0.0, found.ess) == (0.0, 0.0, 0.0, 0.0)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=50))
@settings(max_examples=40, deadline=None)
def test_the_logging_policy_itself_is_estimated_exactly(fell: list[tuple[bool, bool]]) -> None:
    runs = [run(place, success, coin("h", on, 0.9)) for place, (on, success) in enumerate(fell)]
    report = report_of(Replay(set_target(1, [rule("h")], 0.1), {1: frozenset({"h"})}), runs)
    rate = sum(success for _, success in fell) / len(fell)
    assert report.judged == Comparison(
        runs=len(fell), copied=len(fell), as_logged=rate, under_target=rate, difference=0.0, low=0.0, high=0.0, ess=0.0
    )


@given(st.integers(1, 60), st.floats(0.01, 50))
@settings(max_examples=40, deadline=None)
def test_equal_weights_are_as_many_runs_as_there_are(n: int, weight: float) -> None:
    sums = Sums()
    for place in range(n):
        sums.add(weight, place % 3 == 0)
    assert sums.ess == pytest.approx(n)
    assert sums.snips == pytest.approx(sums.rate)
    assert sums.variance_of_gain() == pytest.approx(0.0, abs=1e-9) or n == 1


def simulated(seed: int, n: int, chance: float, on: float, off: float, judge: Judge = Judge.VERIFIER) -> list[Logged]:
    """Runs whose success is `on` where the coin let h act and `off` where not, with other coins beside it."""
    rng = random.Random(seed)
    runs = []
    for place in range(n):
        acted = rng.random() < chance
        noise = coin("noise", rng.random() < 0.5, 0.5)
        success = rng.random() < (on if acted else off)
        runs.append(run(place, success, coin("h", acted, chance), noise, judged_by=judge))
    return runs


@pytest.mark.req("H13")
def test_estimates_are_unbiased_and_intervals_cover_on_logs_with_a_known_effect() -> None:
    """Truth without h is .5, logged .9 * .8 + .1 * .5 = .77. Means over 80 logs within a few standard errors."""
    under, effects, covered, repeats = [], [], 0, 80
    for seed in range(repeats):
        report = report_of(Replay(without_target(rule("h")), {}), simulated(seed, 600, 0.9, 0.8, 0.5))
        found, (row,) = report.judged, [row for row in report.heuristics if row.id == "h"]
        assert found.under_target is not None and found.low is not None and found.high is not None
        under.append(found.under_target)
        effects.append(row.effect.difference or 0.0)
        covered += found.low <= 0.5 - 0.77 <= found.high
    error = (0.25 / 60 / repeats) ** 0.5
    assert sum(under) / repeats == pytest.approx(0.5, abs=4 * error)
    assert sum(effects) / repeats == pytest.approx(0.3, abs=5 * error)
    assert covered / repeats > 0.95 - 4 * (0.05 * 0.95 / repeats) ** 0.5


@pytest.mark.req("H13")
def test_verdicts_need_an_effect_a_sample_and_a_judge() -> None:
    def verdict(runs: list[Logged]) -> tuple[Verdict, Verdict]:
        report = report_of(Replay(without_target(rule("h")), {}), runs)
        return report.verdict, {row.id: row.verdict for row in report.heuristics}["h"]

    assert verdict(simulated(1, 400, 0.5, 0.8, 0.5)) == (Verdict.HARMS, Verdict.HELPS)
    assert verdict(simulated(1, 400, 0.5, 0.5, 0.8)) == (Verdict.HELPS, Verdict.HARMS)
    assert verdict(simulated(1, 400, 0.5, 0.6, 0.6)) == (Verdict.UNKNOWN, Verdict.UNKNOWN)
    assert verdict(simulated(1, 80, 0.5, 1.0, 0.0)) == (Verdict.UNKNOWN, Verdict.UNKNOWN)
    assert verdict(simulated(1, 400, 0.5, 0.8, 0.5, Judge.INFERRED)) == (Verdict.UNKNOWN, Verdict.UNKNOWN)
    assert verdict(simulated(1, 400, 0.5, 0.8, 0.5, Judge.USER)) == (Verdict.HARMS, Verdict.HELPS)


def test_inferred_outcomes_are_shown_apart() -> None:
    sure, inferred = simulated(1, 200, 0.5, 0.8, 0.5), simulated(2, 300, 0.5, 0.2, 0.9, Judge.INFERRED)
    apart = report_of(Replay(without_target(rule("h")), {}), sure + inferred)
    alone = report_of(Replay(without_target(rule("h")), {}), sure)
    assert (apart.judged, apart.verdict) == (alone.judged, alone.verdict)
    assert apart.inferred.runs == 300 and alone.inferred == Comparison()
    assert {row.id: row.effect for row in apart.heuristics} == {row.id: row.effect for row in alone.heuristics}


def test_the_effect_of_a_coin_is_worked_out_by_hand() -> None:
    on, off = Sums(), Sums()
    for place in range(90):
        on.add(1 / 0.9, place < 72)
    for place in range(10):
        off.add(1 / 0.1, place < 5)
    got = effect_of(on, off)
    assert got.applied == pytest.approx(0.8) and got.withheld == pytest.approx(0.5)
    assert got.difference == pytest.approx(0.3) and got.ess == pytest.approx(10) and got.runs == 100
    half = 1.96 * (0.8 * 0.2 / 90 + 0.5 * 0.5 / 10) ** 0.5
    assert got.low is not None and got.high is not None
    assert got.low == pytest.approx(0.3 - half, abs=0.01) and got.high == pytest.approx(0.3 + half, abs=0.01)
    assert effect_of(on, Sums()) == Effect(applied=got.applied, runs=90)


@pytest.mark.req("H13")
def test_what_was_done_again_is_known_and_no_longer_estimated() -> None:
    runs = simulated(3, 40, 0.5, 0.8, 0.5)
    unsure = run(99, False, coin("h", True, 1.0))
    replay = Replay(without_target(rule("h")), {})
    report_of(replay, [*runs, unsure])
    before = replay.report()
    assert before.labels == {"same": 0, "reexecuted": 0, "weighted": 40, "unsupported": 1}
    for one in [*runs[:10], unsure]:
        replay.reexecuted(one, True)
    after = replay.report()
    assert after.labels == {"same": 0, "reexecuted": 11, "weighted": 30, "unsupported": 0}
    assert {row.id: row.labels["reexecuted"] for row in after.heuristics} == {"h": 11, "noise": 0}
    rest = report_of(Replay(without_target(rule("h")), {}), runs[10:]).judged
    assert rest.under_target is not None
    assert after.judged.runs == 41
    assert after.judged.under_target == pytest.approx((11 + 30 * rest.under_target) / 41)


def lesson(number: int, **more: Any) -> Lesson:
    told = {"family": FAMILY, "model": MODEL, "at": 1000.0 + number, "judged_by": Judge.VERIFIER, "success": True}
    return Lesson(run_id=f"r{number:06}", session_id=f"s{number % 7}", **{**told, **more})


def stored(store: Store, lessons: Iterable[Lesson]) -> None:
    def unit(connection: Connection) -> None:
        for one in lessons:
            add_lesson(connection, one, lock_sequence(connection, store.database.backend), "local")

    store.database.write_now(unit)


def replay_of(store: Store, window: Window, heuristic: Heuristic) -> Report:
    return asyncio.run(replayed(store.database, without_target(heuristic), window)).report()


@pytest.mark.req("H13")
def test_stored_lessons_are_replayed_as_they_stand_now(store: Store) -> None:
    seen = (Observation(tool="read", worked=True, features=("path.suffix=.csv",)),)
    simulation = simulated(5, 300, 0.5, 0.8, 0.5)
    kept = [
        lesson(place, success=one.success, items=one.items, observations=seen, surface="cli")
        for place, one in enumerate(simulation)
    ]
    others = [
        lesson(900, family="f2", items=(coin("h", True, 0.5),)),
        lesson(901, model="scripted:n"),
        lesson(902, surface=REPLAYED, items=(coin("h", True, 0.5),)),
    ]
    stored(store, kept + others)
    judged = Lesson(**{**{name: getattr(kept[0], name) for name in kept[0].__struct_fields__}, "success": False})
    store.database.write_now(lambda connection: add_judgement(connection, judged, 9999, 2000.0))
    changed = run(0, False, *simulation[0].items)
    expected = report_of(Replay(without_target(rule("h")), {}), [changed, *simulation[1:]])
    assert replay_of(store, Window(family=FAMILY, model=MODEL), rule("h")) == expected
    by_family = replay_of(store, Window(family=FAMILY), rule("h"))
    assert (by_family.runs, by_family.labels["weighted"], by_family.labels["same"]) == (301, 300, 1)
    assert replay_of(store, Window(), rule("h")).runs == 302
    assert replay_of(store, Window(model="scripted:n"), rule("h")).runs == 1
    assert replay_of(store, Window(since=1250.0), rule("h")).runs == 52
    assert replay_of(store, Window(since=9000.0), rule("h")) == report_of(Replay(without_target(rule("h")), {}), [])


@pytest.mark.req("H13")
def test_a_set_is_judged_only_where_it_was_tried(store: Store) -> None:
    new = rule("new", stage=Stage.PROBATION)

    def unit(connection: Connection) -> int:
        save_heuristic(connection, new)
        return activate_members(connection, ["new"], "test", "", 1.0)

    version = store.database.write_now(unit)
    before = [lesson(place, success=place % 2 == 0) for place in range(10)]
    tried = [lesson(10 + place, set_version=version, items=(coin("new", place % 2 == 0, 0.5),)) for place in range(6)]
    passed_by = [lesson(20, set_version=version)]
    stored(store, [*before, *tried, *passed_by])
    replay = asyncio.run(replayed(store.database, set_target(version, [new], 0.1), Window()))
    report = replay.report()
    assert report.labels == {"same": 7, "reexecuted": 0, "weighted": 0, "unsupported": 10}
    assert (report.judged.runs, report.judged.as_logged, report.verdict) == (7, 1.0, Verdict.UNKNOWN)
    assert [one.run_id for one in replay.differing] == [one.run_id for one in before]


def test_many_batches_lose_nothing_and_progress_is_told(home: Path) -> None:
    store = open_store("", home)
    stored(store, [lesson(number) for number in range(4100)])
    told: list[int] = []
    replay = asyncio.run(replayed(store.database, without_target(rule("h")), Window(since=1001.0), told.append))
    store.close()
    assert (replay.report().runs, told) == (4099, [2000, 4000, 4099])


def test_a_damaged_lesson_is_said(store: Store) -> None:
    stored(store, [lesson(1)])
    store.database.write_now(lambda connection: connection.run("UPDATE lessons SET payload = '{\"run_id\": 1'"))
    with pytest.raises(StoreDamaged, match="lesson 1 cannot be read"):
        replay_of(store, Window(), rule("h"))


def journal(*events: AnyEvent) -> list[Recorded]:
    return [Recorded(run_id="r1", seq=place, epoch=1, at=1.0, event=event) for place, event in enumerate(events, 1)]


def started(**options: Any) -> RunStarted:
    return RunStarted(inbox_id="i", model=MODEL, options=options)


BOTH = {"check": "test -e done", "reset": "rm -f done"}


@pytest.mark.parametrize(
    ("events", "ordinal", "reason"),
    [
        ([], 1, "its journal is gone"),
        ([started(), UserMessage(text="go")], 1, "it was made without --check and --reset"),
        ([started(check="true"), UserMessage(text="go")], 1, "it was made without --reset"),
        ([started(check=["true"], reset="true"), UserMessage(text="go")], 1, "it was made without --check"),
        ([started(**BOTH), UserMessage(text="go")], 2, "it went on with a conversation"),
        ([started(**BOTH), UserMessage(text="go"), UserMessage(text="on")], 1, "the user spoke during the run"),
        (
            [started(**BOTH), UserMessage(text="go", images=(Image(media_type="image/png", blob="b"),))],
            1,
            "it came with pictures",
        ),
    ],
)
def test_what_cannot_begin_again_is_refused_with_the_reason(events: list[AnyEvent], ordinal: int, reason: str) -> None:
    assert resettable("r1", journal(*events), "/work", ordinal) == Refusal(run_id="r1", reason=reason)


def a_task(workspace: str = "/work", seed: int = 0, run_id: str = "r1") -> Task:
    return Task(
        run_id=run_id,
        request="go",
        workspace=workspace,
        reset="rm -f done",
        check="test -e done",
        options={},
        seed=seed,
    )


def test_what_can_begin_again_keeps_its_options() -> None:
    options = {**BOTH, "family": "f", "pin": 7, "seed": 3, "session": "x", "consent": "all", "base_url": ""}
    got = resettable("r1", journal(started(**options), UserMessage(text="go")), "/work", 1)
    assert isinstance(got, Task)
    kept = {**BOTH, "family": "f", "consent": "all", "model": MODEL}
    assert (got.request, got.workspace, got.reset, got.check, got.options) == (
        "go",
        "/work",
        "rm -f done",
        "test -e done",
        kept,
    )
    again = resettable("r1", journal(started(**options), UserMessage(text="go")), "/work", 1)
    assert again == got


@pytest.mark.req("H13")
def test_pairs_are_done_from_a_clean_start_in_either_order_and_only_differences_count(tmp_path: Path) -> None:
    order: list[int] = []

    async def execute(task: Task, version: int) -> Attempt:
        """Version 2 leaves the file that the check looks for; the others leave nothing."""
        reset = await asyncio.create_subprocess_shell(task.reset, cwd=task.workspace)
        await reset.wait()
        order.append(version)
        if version == 2 and task.run_id != "r2":
            (tmp_path / "done").touch()
        check = await asyncio.create_subprocess_shell(task.check, cwd=task.workspace)
        broken = task.run_id == "r3"
        return Attempt(run_id=f"again{version}", success=None if broken else await check.wait() == 0, reason="broke")

    async def all_pairs() -> list[Pair]:
        tasks = [a_task(str(tmp_path), seed, f"r{seed}") for seed in range(4)]
        return [pair async for pair in done_again(tasks, Arms(having=2, lacking=1), execute)]

    pairs = asyncio.run(all_pairs())
    assert order == [2, 1, 1, 2, 2, 1, 1, 2]
    assert [(pair.judged, pair.differs) for pair in pairs] == [
        (True, True),
        (True, True),
        (True, False),
        (False, False),
    ]
    assert evidence_of(pairs) == PairEvidence().seen(won=True).seen(won=True)


def test_a_set_for_replay_is_stored_once_and_not_put_in_force(store: Store) -> None:
    def made(members: list[str]) -> int:
        backend = store.database.backend
        return store.database.write_now(lambda connection: stored_set(connection, backend, members, 0, "replay"))

    first = made(["b", "a"])
    assert [first, made(["a", "b"]), made([]), made(["c"])] == [1, 1, 0, 2]
    assert store.database.read_now(active_set).version == 0
    assert store.database.write_now(lambda c: activate_members(c, ["d"], "learned", "", 1.0)) == 3

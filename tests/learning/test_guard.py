"""The guard: false alarms are as rare as promised, a fall is found in time, and each rule of its life."""

import random

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.learning.rollback import Guards, World, first_rollbacks, naive_alarms
from hermes_agent.learning.guard import (
    ADOPTED,
    ENOUGH,
    NOTIFY,
    REMEMBERED,
    ROLL_BACK,
    Alarm,
    Baseline,
    FamilyGuard,
    Watch,
    floor_of,
    judged,
    threshold,
)


def fed(guard: FamilyGuard, outcomes: list[bool], version: int, families: int = 1) -> tuple[FamilyGuard, list[Alarm]]:
    """The guard after these tasks under one set, and the alarms on the way."""
    alarms = []
    for success in outcomes:
        guard, alarm = judged(guard, success=success, version=version, families=families)
        if alarm:
            alarms.append(alarm)
    return guard, alarms


FOUR_OF_FIVE = [True, True, False, True, True]
GOOD = fed(FamilyGuard(), FOUR_OF_FIVE * 20, 3)[0]


def test_the_baseline_grows_while_the_known_good_set_is_in_force() -> None:
    assert FamilyGuard(baseline=Baseline(successes=80, tasks=100), known_good=3, version=3) == GOOD


@pytest.mark.req("H9")
def test_without_a_change_of_set_no_number_of_failures_rolls_anything_back() -> None:
    after, alarms = fed(GOOD, [False] * 500, 3)
    assert alarms == []
    assert after.watching is None and after.known_good == 3


@pytest.mark.req("H9")
def test_failures_under_a_new_set_are_told_once_and_then_rolled_back() -> None:
    guard, alarms = GOOD, []
    for number in range(1, 100):
        guard, alarm = judged(guard, success=False, version=4, families=1)
        if alarm:
            alarms.append(alarm)
        if alarm is Alarm.NOTIFY:
            assert guard.notified and guard.watching is not None and guard.watching.tasks == number
        if alarm is Alarm.ROLL_BACK:
            break
    assert alarms == [Alarm.NOTIFY, Alarm.ROLL_BACK]
    assert guard == FamilyGuard(baseline=GOOD.baseline, known_good=3, version=3)


@pytest.mark.req("H9")
def test_a_short_baseline_rolls_nothing_back_and_belongs_to_whatever_set_is_in_force() -> None:
    young, _ = fed(FamilyGuard(), [True] * (ENOUGH - 2), 1)
    after, alarms = fed(young, [False], 2)
    assert alarms == []
    assert after == FamilyGuard(baseline=Baseline(successes=ENOUGH - 2, tasks=ENOUGH - 1), known_good=2, version=2)
    _, alarms = fed(fed(after, [True], 2)[0], [False] * 60, 3)
    assert alarms[-1] is Alarm.ROLL_BACK


def test_a_set_that_stood_becomes_known_good_with_its_own_baseline() -> None:
    watched, _ = fed(GOOD, [True] * (ADOPTED - 1), 4)
    assert watched.known_good == 3
    assert fed(watched, [True], 4) == (
        FamilyGuard(baseline=Baseline(successes=ADOPTED, tasks=ADOPTED), known_good=4, version=4),
        [],
    )


def test_a_set_that_does_worse_than_the_floor_never_becomes_known_good_by_patience() -> None:
    floor = floor_of(GOOD.baseline.successes, GOOD.baseline.tasks)
    poor = [True, True, False] * 60
    assert sum(poor) / len(poor) < floor
    after, alarms = fed(GOOD, poor, 4)
    assert Alarm.ROLL_BACK not in alarms
    assert after.known_good == 3 and after.watching is not None and after.watching.tasks == len(poor)


def test_no_set_becomes_known_good_during_an_alarm() -> None:
    told, alarms = fed(GOOD, [True] * (ADOPTED - 9) + [False] * 9, 4, families=1000)
    assert alarms == [Alarm.NOTIFY]
    assert told.known_good == 3 and told.watching is not None and told.watching.stood()
    assert fed(told, [True] * 60, 4, families=1000)[0].known_good == 4


def test_the_watch_goes_on_when_a_set_follows_another_but_each_must_stand_by_itself() -> None:
    failing, alarms = fed(GOOD, [False] * 6, 4)
    assert alarms == []
    assert failing.watching is not None
    after, _ = fed(failing, [True], 5)
    assert after.watching == msgspec.structs.replace(failing.watching.seen(success=True), tasks=1, successes=1)
    assert after.version == 5 and after.known_good == 3


def test_going_back_by_hand_ends_the_watch() -> None:
    told, alarms = fed(GOOD, [False] * 9, 4, families=1000)
    assert alarms == [Alarm.NOTIFY] and told.notified
    after, alarms = fed(told, [True], 3)
    assert alarms == []
    assert after == FamilyGuard(baseline=Baseline(successes=81, tasks=101), known_good=3, version=3)


def test_the_holdout_narrows_again_when_nothing_of_the_alarm_is_left() -> None:
    told, _ = fed(GOOD, [False] * 9, 4, families=1000)
    assert fed(told, [True], 4)[0].notified
    calm, alarms = fed(told, [True] * 60, 4, families=1000)
    assert alarms == [] and not calm.notified
    assert fed(calm, [False] * 12, 4, families=1000)[1] == [Alarm.NOTIFY]


def test_a_guard_survives_being_stored() -> None:
    told, _ = fed(GOOD, [False] * 5, 4)
    assert msgspec.json.decode(msgspec.json.encode(told), type=FamilyGuard) == told


@given(st.lists(st.booleans(), max_size=300))
def test_the_baseline_is_exact_while_short_and_bounded_for_ever(outcomes: list[bool]) -> None:
    baseline = Baseline()
    for success in outcomes:
        baseline = baseline.seen(success=success)
    assert baseline.tasks == min(len(outcomes), REMEMBERED)
    assert 0 <= baseline.successes <= baseline.tasks
    if len(outcomes) <= REMEMBERED:
        assert baseline.successes == sum(outcomes)


@given(st.floats(0.15, 0.95), st.lists(st.booleans(), max_size=40), st.floats(0, 1))
def test_each_step_is_fair_at_the_floor_and_unfair_to_an_alarm_above_it(
    floor: float, outcomes: list[bool], above: float
) -> None:
    watch = Watch(floor=floor)
    for success in outcomes:
        watch = watch.seen(success=success)
    good, bad = watch.seen(success=True).alarm(), watch.seen(success=False).alarm()
    assert floor * good + (1 - floor) * bad == pytest.approx(watch.restarted(), rel=1e-9)
    rate = floor + above * (1 - floor)
    assert rate * good + (1 - rate) * bad <= watch.restarted() * (1 + 1e-9)


@given(st.floats(0, 1), st.lists(st.booleans(), max_size=60))
def test_any_floor_and_any_history_give_finite_evidence(share: float, outcomes: list[bool]) -> None:
    guard = FamilyGuard(baseline=Baseline(successes=share * 50, tasks=50), known_good=1, version=1)
    after, _ = fed(guard, outcomes, 2)
    if after.watching:
        assert all(np.isfinite(after.watching.logs))
        assert after.watching.alarm() < ROLL_BACK


def test_the_floor_is_below_the_measured_rate_and_rises_with_the_evidence() -> None:
    few, many = floor_of(40, 50), floor_of(400, 500)
    assert 0 < few < many < 0.8 - 0.05
    assert floor_of(0, 0) == 0.0
    assert floor_of(0, 50) == 0.0
    assert floor_of(50, 50) < 0.95


def test_more_families_need_a_higher_alarm() -> None:
    assert threshold(1) == ROLL_BACK
    assert threshold(50) == 50 * ROLL_BACK
    assert threshold(0, NOTIFY) == NOTIFY


def state(guards: Guards, row: int) -> FamilyGuard:
    """One row of the arrays, as the value it stands for."""
    watch = None
    if guards.watching[row]:
        logs = tuple(float(log) for log in guards.logs[row] if np.isfinite(log))
        tasks, successes = int(guards.watched[row]), int(guards.watched_successes[row])
        watch = Watch(floor=float(guards.floor[row]), logs=logs, tasks=tasks, successes=successes)
    return FamilyGuard(
        baseline=Baseline(successes=float(guards.successes[row]), tasks=float(guards.tasks[row])),
        known_good=int(guards.known_good[row]),
        version=int(guards.version[row]),
        watching=watch,
        notified=bool(guards.notified[row]),
    )


def rounded(guard: FamilyGuard) -> object:
    """Everything of a guard, with numbers that two ways of adding agree on."""

    def plain(value: object) -> object:
        if isinstance(value, dict):
            return {key: plain(part) for key, part in value.items()}
        if isinstance(value, list | tuple):
            return [plain(part) for part in value]
        return round(value, 7) + 0.0 if isinstance(value, float) else value

    return plain(msgspec.to_builtins(guard))


@pytest.mark.parametrize(("families", "changes"), [(1, 0.02), (3, 0.004)])
def test_the_simulation_of_the_benchmark_is_the_guard(families: int, changes: float) -> None:
    rng = random.Random(f"{families}")
    rates = [0.02, 0.1, 0.2, 0.3, 0.45, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1.0]
    single, arrays = [FamilyGuard() for _ in rates], Guards(len(rates), families=families)
    version, seen = 0, {None: 0, Alarm.NOTIFY: 0, Alarm.ROLL_BACK: 0}
    for _ in range(1200):
        version += rng.random() < changes
        success = [rng.random() < rate - 0.5 * (version % 3 == 1) for rate in rates]
        where = [rng.random() < 0.9 for _ in rates]
        in_force = version if rng.random() < 0.99 else max(0, version - 1)
        told, back = arrays.judged(np.array(success), in_force, np.array(where))
        for row, guard in enumerate(single):
            alarm = None
            if where[row]:
                single[row], alarm = judged(guard, success=success[row], version=in_force, families=families)
            seen[alarm] += 1
            expected = (alarm is Alarm.NOTIFY, alarm is Alarm.ROLL_BACK)
            assert (bool(told[row]), bool(back[row])) == expected
    assert [rounded(state(arrays, row)) for row in range(len(rates))] == [rounded(guard) for guard in single]
    assert seen[Alarm.NOTIFY] and seen[Alarm.ROLL_BACK]


@pytest.mark.req("H9")
def test_false_rollbacks_are_rare_where_the_window_rule_always_cries() -> None:
    rng, runs = np.random.default_rng(1), 1500
    false = np.count_nonzero(first_rollbacks(World(rate=lambda _: 0.8), runs, rng))
    assert false / runs <= 0.02 + 3 * (0.02 * 0.98 / runs) ** 0.5
    estimated = np.count_nonzero(first_rollbacks(World(rate=lambda _: 0.8, baseline=50), runs, rng))
    assert estimated / runs <= 0.02
    assert naive_alarms(0.8, 200, rng) == 200


@pytest.mark.req("H9")
def test_forgetting_does_not_make_false_rollbacks_when_tasks_get_harder_by_themselves() -> None:
    rng, runs = np.random.default_rng(2), 600
    slow = World(rate=lambda number: 0.8 - 0.1 * min(1.0, max(0.0, 1 + number / 800)), baseline=800)
    assert np.count_nonzero(first_rollbacks(slow, runs, rng)) / runs <= 0.02 + 3 * (0.02 * 0.98 / runs) ** 0.5


@pytest.mark.req("H9")
@pytest.mark.parametrize(("baseline", "goal"), [(0, 30), (50, 70)])
def test_a_fall_from_80_to_45_percent_is_found_in_time_in_the_median(baseline: int, goal: int) -> None:
    world = World(rate=lambda number: 0.8 if number < 0 else 0.45, baseline=baseline, every=0, tasks=200)
    found = first_rollbacks(world, 1000, np.random.default_rng(3))
    assert np.median(np.where(found == 0, 1000, found)) <= goal


@pytest.mark.slow
@pytest.mark.req("H9")
def test_fifty_families_watched_at_once_stay_as_quiet_as_promised() -> None:
    world = World(rate=lambda _: 0.8, families=50, baseline=50)
    assert np.count_nonzero(first_rollbacks(world, 1000, np.random.default_rng(4))) / 1000 <= 0.05

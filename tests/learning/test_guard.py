"""The guard: false alarms are as rare as promised, and a fall is found in time."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_agent.learning.guard import ROLL_BACK, Watch, floor_of, threshold


def alarms(rng: random.Random, watch: Watch, tasks: int, rate: float, height: float) -> int | None:
    """After how many tasks the alarm of this height comes; None when it does not."""
    for number in range(1, tasks + 1):
        watch = watch.seen(success=rng.random() < rate)
        if watch.alarm() >= height:
            return number
    return None


@pytest.mark.req("H9")
def test_false_rollbacks_are_rare() -> None:
    rng = random.Random(1)
    runs = 400
    false = sum(alarms(rng, Watch(floor=0.75), 500, 0.8, ROLL_BACK) is not None for _ in range(runs))
    assert false / runs <= 0.03


@pytest.mark.req("H9")
def test_a_fall_from_80_to_45_percent_is_found_within_thirty_tasks_in_the_median() -> None:
    rng = random.Random(2)
    found = sorted(alarms(rng, Watch(floor=0.75), 500, 0.45, ROLL_BACK) or 500 for _ in range(200))
    assert found[len(found) // 2] <= 30


@given(st.floats(0.15, 0.95), st.lists(st.booleans(), max_size=40))
def test_each_step_is_fair_at_the_floor(floor: float, outcomes: list[bool]) -> None:
    watch = Watch(floor=floor)
    for success in outcomes:
        watch = watch.seen(success=success)
    good, bad = watch.seen(success=True).alarm(), watch.seen(success=False).alarm()
    restarted = watch.restarted()
    assert floor * good + (1 - floor) * bad == pytest.approx(restarted, rel=1e-9)


def test_the_floor_is_below_the_measured_rate_and_rises_with_the_evidence() -> None:
    few, many = floor_of(40, 50), floor_of(400, 500)
    assert 0 < few < many < 0.8 - 0.05
    assert floor_of(0, 0) == 0.0


def test_more_families_need_a_higher_alarm() -> None:
    assert threshold(1) == ROLL_BACK
    assert threshold(50) == 50 * ROLL_BACK

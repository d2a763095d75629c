"""The mathematics of evidence: error rates under the null hypothesis, power, and what must never count."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_agent.learning.evidence import ACT, CallEvidence, PairEvidence, Rate, TaskEvidence, acts

RUNS = 800


def history(outcomes: list[bool]) -> CallEvidence:
    evidence = CallEvidence()
    for worked in outcomes:
        evidence = evidence.seen(worked=worked)
    return evidence


@pytest.mark.req("H14")
def test_seven_straight_failures_are_enough_and_ten_with_two_successes_are_not() -> None:
    assert not acts(history([False] * 6), 0.5)
    assert acts(history([False] * 7), 0.5)
    assert not acts(history([False] * 5 + [True] + [False] * 4 + [True] + [False]), 0.5)


@given(st.floats(0.5, 1.0), st.integers(0, 2**32))
def test_evidence_is_a_supermartingale_where_the_tool_works_half_the_time_or_more(rate: float, seed: int) -> None:
    rng = random.Random(seed)
    evidence = history([rng.random() < rate for _ in range(rng.randrange(12))])
    worked, failed = evidence.seen(worked=True).e_against(), evidence.seen(worked=False).e_against()
    assert rate * worked + (1 - rate) * failed <= evidence.e_against() * (1 + 1e-9)


@pytest.mark.req("H14")
def test_a_tool_that_works_half_the_time_is_falsely_avoided_no_more_often_than_promised() -> None:
    rng = random.Random(5)
    false = 0
    for _ in range(RUNS):
        evidence = CallEvidence()
        for _ in range(200):
            evidence = evidence.seen(worked=rng.random() < 0.5)
            if acts(evidence, 0.5):
                false += 1
                break
    allowed = 0.5 / ACT
    assert false / RUNS <= allowed + 3 * (allowed / RUNS) ** 0.5


def test_a_tool_that_works_one_time_in_ten_is_found_within_twenty_calls() -> None:
    rng = random.Random(6)
    needed = []
    for _ in range(400):
        evidence, calls = CallEvidence(), 0
        while not acts(evidence, 0.5):
            evidence, calls = evidence.seen(worked=rng.random() < 0.1), calls + 1
        needed.append(calls)
    assert sorted(needed)[len(needed) // 2] <= 20


def test_a_repaired_tool_is_restored_by_exploration_alone() -> None:
    evidence = history([False] * 8)
    assert evidence.seen(worked=True).e_restored() == evidence.e_restored()
    for _ in range(5):
        evidence = evidence.explored(worked=True)
    assert evidence.e_restored() >= 5


def gains(rng: random.Random, tasks: int, base: float, effect: float, propensity: float) -> TaskEvidence:
    evidence = TaskEvidence()
    for _ in range(tasks):
        on = rng.random() < propensity
        evidence = evidence.seen(on=on, success=rng.random() < base + effect * on, propensity=propensity)
    return evidence


@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=30), st.sampled_from([0.5, 0.9]), st.floats(0, 1))
def test_bets_are_fair_when_the_coin_changes_nothing(past: list[tuple[bool, bool]], coin: float, rate: float) -> None:
    evidence = TaskEvidence()
    for on, success in past:
        evidence = evidence.seen(on=on, success=success, propensity=coin)
    for side in ("e_helps", "e_harms"):
        expected = sum(
            (coin if on else 1 - coin)
            * (rate if success else 1 - rate)
            * getattr(evidence.seen(on=on, success=success, propensity=coin), side)()
            for on in (True, False)
            for success in (True, False)
        )
        assert expected == pytest.approx(getattr(evidence, side)(), rel=1e-9)


@pytest.mark.req("H16")
def test_a_hint_that_does_nothing_is_promoted_or_dropped_at_most_one_time_in_twenty() -> None:
    rng = random.Random(7)
    promoted = dropped = 0
    runs = 600
    for _ in range(runs):
        evidence = TaskEvidence()
        for _ in range(200):
            on = rng.random() < 0.5
            evidence = evidence.seen(on=on, success=rng.random() < 0.6, propensity=0.5)
            if evidence.e_helps() >= ACT:
                promoted += 1
                break
            if evidence.e_harms() >= ACT:
                dropped += 1
                break
    bound = 1 / ACT + 3 * (0.05 * 0.95 / runs) ** 0.5
    assert promoted / runs <= bound and dropped / runs <= bound


def test_a_large_effect_is_found_and_its_size_estimated() -> None:
    rng = random.Random(8)
    found = [gains(rng, 400, 0.4, 0.4, 0.5) for _ in range(40)]
    assert sum(one.e_helps() >= ACT for one in found) >= 36
    effects = sorted(one.effect() or 0.0 for one in found)
    assert 0.3 <= effects[len(effects) // 2] <= 0.5
    assert TaskEvidence().effect() is None


@given(st.lists(st.booleans(), max_size=40))
def test_pairs_are_fair_when_both_sides_win_as_often(wins: list[bool]) -> None:
    evidence = PairEvidence()
    for won in wins:
        evidence = evidence.seen(won=won)
    after, otherwise = evidence.seen(won=True), evidence.seen(won=False)
    assert (after.e_helps() + otherwise.e_helps()) / 2 == pytest.approx(evidence.e_helps())
    assert (after.e_harms() + otherwise.e_harms()) / 2 == pytest.approx(evidence.e_harms())


def test_tens_of_pairs_decide() -> None:
    evidence = PairEvidence()
    count = 0
    while evidence.e_helps() < ACT:
        evidence, count = evidence.seen(won=True), count + 1
    assert count <= 12


@given(st.lists(st.booleans(), max_size=300))
def test_a_rate_stays_between_nought_and_one_and_forgets(outcomes: list[bool]) -> None:
    rate = Rate()
    for worked in outcomes:
        rate = rate.seen(worked=worked)
    assert 0 < rate.mean() < 1
    assert rate.all <= 100

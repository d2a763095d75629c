"""What the e-values promise: fair or worse at every step under the null, errors as rare as said whenever one looks."""

import inspect
import math
import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.learning.errors import (
    avoided_after_retries,
    calls_until_avoided,
    decided,
    largest_with_two_successes,
    pairs_until_promoted,
    straight_failures,
    swinging,
)
from benchmarks.learning.rollback import constant
from hermes_agent.learning.evidence import ACT, CallEvidence, PairEvidence, TaskEvidence, acts

HISTORIES = 450
ALMOST = 1 + 1e-9
Calls = list[tuple[bool, bool]]
Tasks = list[tuple[bool, bool, float]]

calls = st.lists(st.tuples(st.booleans(), st.booleans()), max_size=40)
coins = st.one_of(st.sampled_from([0.5, 0.9]), st.floats(0.02, 0.98))
tasks = st.lists(st.tuples(st.booleans(), st.booleans(), coins), max_size=40)


def after_calls(observed: Calls) -> CallEvidence:
    """The evidence after (worked, explored) observations."""
    evidence = CallEvidence()
    for worked, explored in observed:
        evidence = evidence.explored(worked=worked) if explored else evidence.seen(worked=worked)
    return evidence


def after_tasks(observed: Tasks) -> TaskEvidence:
    """The evidence after (on, success, propensity) observations."""
    evidence = TaskEvidence()
    for on, success, propensity in observed:
        evidence = evidence.seen(on=on, success=success, propensity=propensity)
    return evidence


def after_pairs(wins: list[bool]) -> PairEvidence:
    """The evidence after these discordant pairs."""
    evidence = PairEvidence()
    for won in wins:
        evidence = evidence.seen(won=won)
    return evidence


def allowed(bound: float, histories: int = HISTORIES) -> float:
    """The bound and three standard errors of the simulation."""
    return bound + 3 * math.sqrt(bound * (1 - bound) / histories)


@pytest.mark.req("H14")
@given(calls, st.floats(0.5, 1), st.booleans())
def test_evidence_against_a_tool_is_not_expected_to_grow_while_it_works_half_the_time(
    observed: Calls, rate: float, explored: bool
) -> None:
    evidence = after_calls(observed)
    step = evidence.explored if explored else evidence.seen
    expected = rate * step(worked=True).e_against() + (1 - rate) * step(worked=False).e_against()
    assert expected <= evidence.e_against() * ALMOST


def test_no_evidence_starts_above_one() -> None:
    assert CallEvidence().e_against() <= 1 and CallEvidence().e_restored() <= 1
    assert TaskEvidence().e_helps() <= 1 and TaskEvidence().e_harms() <= 1
    assert PairEvidence().e_helps() <= 1 and PairEvidence().e_harms() <= 1


@given(calls, st.floats(0, 0.5))
def test_evidence_of_a_repair_grows_by_at_most_one_an_exploration_while_the_tool_fails(
    observed: Calls, rate: float
) -> None:
    """It starts again at one for each moment of repair, so its promise is a waiting time: at least as many
    explorations pass on average as the height at which it restores."""
    evidence = after_calls(observed)
    good, bad = evidence.explored(worked=True).e_restored(), evidence.explored(worked=False).e_restored()
    assert rate * good + (1 - rate) * bad <= (1 + evidence.e_restored()) * ALMOST
    assert evidence.seen(worked=True).e_restored() == evidence.e_restored()


@pytest.mark.req("H14")
@given(tasks, coins, st.floats(0, 1), st.floats(0, 1))
def test_a_bet_on_a_hint_is_fair_without_effect_and_unfair_when_it_does_the_contrary(
    observed: Tasks, coin: float, first: float, second: float
) -> None:
    evidence = after_tasks(observed)
    worse, better = min(first, second), max(first, second)

    def expected(value: Callable[[TaskEvidence], float], on_rate: float, off_rate: float) -> float:
        return sum(
            (coin if on else 1 - coin)
            * (rate if success else 1 - rate)
            * value(evidence.seen(on=on, success=success, propensity=coin))
            for on, rate in ((True, on_rate), (False, off_rate))
            for success in (True, False)
        )

    helps, harms = TaskEvidence.e_helps, TaskEvidence.e_harms
    assert expected(helps, first, first) == pytest.approx(evidence.e_helps(), rel=1e-9)
    assert expected(harms, first, first) == pytest.approx(evidence.e_harms(), rel=1e-9)
    assert expected(helps, worse, better) <= evidence.e_helps() * ALMOST
    assert expected(harms, better, worse) <= evidence.e_harms() * ALMOST


@given(st.lists(st.booleans(), max_size=80), st.floats(0, 0.5))
def test_a_bet_on_pairs_is_not_expected_to_grow_for_the_side_that_wins_no_more_than_half(
    wins: list[bool], rate: float
) -> None:
    evidence = after_pairs(wins)
    won, lost = evidence.seen(won=True), evidence.seen(won=False)
    assert rate * won.e_helps() + (1 - rate) * lost.e_helps() <= evidence.e_helps() * ALMOST
    assert (1 - rate) * won.e_harms() + rate * lost.e_harms() <= evidence.e_harms() * ALMOST


@pytest.mark.req("H14")
def test_the_worst_tool_that_still_works_is_avoided_as_seldom_as_promised_at_any_look() -> None:
    rng = random.Random(11)
    wrong = sum(bool(calls_until_avoided(rng, 0.5, 120)) for _ in range(HISTORIES))
    assert wrong / HISTORIES <= allowed(0.5 / ACT)


@pytest.mark.req("H14")
@pytest.mark.parametrize("propensity", [0.5, 0.9])
@pytest.mark.parametrize("base", [constant(0.5), swinging], ids=["steady", "swinging"])
def test_what_does_nothing_is_promoted_or_dropped_at_most_one_time_in_twenty(
    propensity: float, base: Callable[[int], float]
) -> None:
    rng, histories = random.Random(12), HISTORIES // 3
    ends = [decided(rng, base, 0.0, propensity, 200) for _ in range(histories)]
    assert sum(bool(promoted) for promoted, _ in ends) / histories <= allowed(1 / ACT, histories)
    assert sum(bool(dropped) for _, dropped in ends) / histories <= allowed(1 / ACT, histories)


def test_equal_sides_of_a_pair_are_told_apart_at_most_one_time_in_twenty() -> None:
    rng = random.Random(13)
    wrong = sum(bool(pairs_until_promoted(rng, 0.5, 100)) for _ in range(HISTORIES))
    assert wrong / HISTORIES <= allowed(1 / ACT)


@pytest.mark.req("H14")
def test_retries_counted_one_by_one_would_condemn_a_tool_that_works_on_most_inputs() -> None:
    rng, histories = random.Random(14), 100
    assert sum(avoided_after_retries(rng, 0.7, 100, 1) for _ in range(histories)) <= 1
    assert sum(avoided_after_retries(rng, 0.7, 100, 3) for _ in range(histories)) >= 0.2 * histories


def test_the_figures_of_the_design_for_calls() -> None:
    assert straight_failures() == 7
    assert largest_with_two_successes() < ACT
    rng = random.Random(15)
    found = sorted(calls_until_avoided(rng, 0.1, 300) or 300 for _ in range(200))
    assert found[len(found) // 2] <= 20


def test_a_strong_hint_is_promoted_and_tens_of_pairs_are_enough() -> None:
    rng = random.Random(16)
    tasks_needed = sorted(decided(rng, constant(0.4), 0.4, 0.5, 300)[0] or 300 for _ in range(100))
    assert tasks_needed[50] <= 60
    pairs_needed = sorted(pairs_until_promoted(rng, 0.8, 300) or 300 for _ in range(200))
    assert pairs_needed[100] <= 30


@pytest.mark.req("H14", "H16", "B8")
def test_nothing_but_observations_can_enter_evidence() -> None:
    """A prior, an import or another family would have to come in as a parameter. There is none."""
    parameters = {
        (owner.__name__, name): list(inspect.signature(function).parameters)[1:]
        for owner in (CallEvidence, TaskEvidence, PairEvidence)
        for name, function in inspect.getmembers(owner, inspect.isfunction)
        if not name.startswith("_")
    }
    assert parameters == {
        ("CallEvidence", "e_against"): [],
        ("CallEvidence", "e_restored"): [],
        ("CallEvidence", "explored"): ["worked"],
        ("CallEvidence", "seen"): ["worked"],
        ("PairEvidence", "e_harms"): [],
        ("PairEvidence", "e_helps"): [],
        ("PairEvidence", "seen"): ["won"],
        ("TaskEvidence", "e_harms"): [],
        ("TaskEvidence", "e_helps"): [],
        ("TaskEvidence", "effect"): [],
        ("TaskEvidence", "seen"): ["on", "success", "propensity"],
    }
    assert list(inspect.signature(acts).parameters) == ["evidence", "weight"]


@pytest.mark.req("H15")
@given(calls, tasks, st.lists(st.booleans(), max_size=40), st.randoms(use_true_random=False))
def test_the_order_of_observations_changes_no_count(
    observed: Calls, done: Tasks, wins: list[bool], rng: random.Random
) -> None:
    other_calls, other_tasks, other_wins = observed.copy(), done.copy(), wins.copy()
    for each in (other_calls, other_tasks, other_wins):
        rng.shuffle(each)
    one, other = after_calls(observed), after_calls(other_calls)
    assert (one.worked, one.failed) == (other.worked, other.failed)
    assert one.worked + one.failed == len(observed)
    task, same = after_tasks(done), after_tasks(other_tasks)
    assert (task.tasks, task.successes, task.on, task.on_successes, task.effect()) == (
        same.tasks,
        same.successes,
        same.on,
        same.on_successes,
        same.effect(),
    )
    pairs, again = after_pairs(wins), after_pairs(other_wins)
    assert (pairs.wins, pairs.losses) == (again.wins, again.losses) == (sum(wins), len(wins) - sum(wins))


@pytest.mark.slow
@pytest.mark.req("H14")
@pytest.mark.parametrize("propensity", [0.5, 0.9])
def test_long_histories_keep_the_promise_too(propensity: float) -> None:
    rng, histories = random.Random(17), 1500
    ends = [decided(rng, constant(0.5), 0.0, propensity, 800) for _ in range(histories)]
    assert sum(bool(promoted) for promoted, _ in ends) / histories <= allowed(1 / ACT, histories)
    wrong = sum(bool(calls_until_avoided(rng, 0.5, 800)) for _ in range(histories))
    assert wrong / histories <= allowed(0.5 / ACT, histories)


@pytest.mark.slow
def test_effects_of_twenty_and_ten_points_need_the_tasks_that_the_design_says() -> None:
    rng = random.Random(18)
    for effect, most in ((0.2, 200), (0.1, 900)):
        needed = sorted(decided(rng, constant(0.6), effect, 0.5, 1500)[0] or 1500 for _ in range(400))
        assert needed[200] <= most

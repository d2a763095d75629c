"""Replay's figures against known truths: properties on any log, and simulated logs with a known effect."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_agent.learning.estimates import Comparison, Effect, Sums, Verdict, effect_of
from hermes_agent.learning.past import Logged
from hermes_agent.learning.replay import Replay, set_target, without_target
from hermes_agent.types.trace import Judge
from tests.learning.logs import coin, report_of, rule, run, simulated

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

"""Learning curves: the fit finds what made the data, says how sure it is, and does not see a rise in noise."""

import random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_agent.learning.curves import FEWEST, Curve, Interval, Reference, fit, measured, moving_mean, references
from hermes_agent.store.learning_views import RunPoint

RISING = Curve(initial=0.3, asymptote=0.9, rate=0.04)


def drawn(curve: Curve, runs: int, seed: int) -> list[tuple[int, float]]:
    """Successes and failures that a curve would make."""
    coin = random.Random(seed)
    return [(n, float(coin.random() < curve.at(n))) for n in range(runs)]


def point(n: int, **more: object) -> RunPoint:
    plain = RunPoint(
        run_id=f"r{n}",
        seq=n + 1,
        family="f",
        model="m",
        at=float(n),
        success=True,
        plan="a",
        calls=1,
        errors=0,
        recovered=False,
        advised=False,
        seconds=1.0,
    )
    return msgspec.structs.replace(plain, **more)


def holds(interval: Interval, value: float) -> bool:
    return interval.low is not None and interval.low <= value and (interval.high is None or value <= interval.high)


@pytest.mark.req("L7")
@pytest.mark.parametrize("domain", ["code_debugging", "report_generation"])
def test_an_exact_curve_is_found_again(domain: str) -> None:
    curve = references()[domain].curve
    found = fit([(n, curve.at(n)) for n in range(120)])
    assert found is not None
    assert found.curve.initial == pytest.approx(curve.initial, abs=0.01)
    assert found.curve.asymptote == pytest.approx(curve.asymptote, abs=0.01)
    assert found.curve.rate == pytest.approx(curve.rate, rel=0.05)
    assert found.iterations_to_80 == pytest.approx(curve.iterations_to(0.8), rel=0.05)
    assert (found.runs, found.label, found.rises) == (120, "measured", True)


@pytest.mark.req("L7")
def test_the_intervals_hold_the_truth_and_noise_does_not_rise() -> None:
    """Six histories of 120 runs. At 95 % nominal, three misses in six have a chance of 0.2 %."""
    fits = [fit(drawn(RISING, 120, seed), seed=seed) for seed in range(6)]
    assert sum(one is not None and holds(one.asymptote, 0.9) for one in fits) >= 4
    assert sum(one is not None and holds(one.rate, 0.04) for one in fits) >= 4
    assert sum(one is not None and one.rises for one in fits) >= 5
    flat = [fit(drawn(Curve(initial=0.6, asymptote=0.6, rate=1), 120, seed), seed=seed) for seed in range(6)]
    assert sum(one is not None and one.rises for one in flat) <= 2


def test_a_long_history_is_fitted_like_a_short_one() -> None:
    found = fit([(n, Curve(initial=0.2, asymptote=0.8, rate=0.005).at(n)) for n in range(5000)])
    assert found is not None
    assert found.curve.rate == pytest.approx(0.005, rel=0.05)
    assert found.curve.asymptote == pytest.approx(0.8, abs=0.01)


def test_few_runs_have_no_curve_and_one_outcome_is_flat() -> None:
    assert fit([(n, 1.0) for n in range(FEWEST - 1)]) is None
    found = fit([(n, 1.0) for n in range(FEWEST)])
    assert found is not None
    assert found.curve.at(0) == pytest.approx(1.0) == found.curve.at(100)
    assert (found.iterations_to_80, found.rises) == (0.0, False)
    never = fit([(n, 0.0) for n in range(FEWEST)])
    assert never is not None and never.iterations_to_80 is None
    assert never.iterations_to_80_interval == Interval(low=None, high=None)


@settings(max_examples=5, deadline=None)
@given(st.lists(st.booleans(), min_size=FEWEST, max_size=40))
def test_both_ends_stay_within_bounds(outcomes: list[bool]) -> None:
    found = fit([(n, float(outcome)) for n, outcome in enumerate(outcomes)])
    assert found is not None
    assert 0 <= found.curve.initial <= 1 and 0 <= found.curve.asymptote <= 1
    assert found.curve.rate > 0


def test_the_same_runs_give_the_same_fit() -> None:
    points = drawn(RISING, 40, 3)
    assert fit(points) == fit(points)


@pytest.mark.req("L7")
def test_reference_curves_are_labelled_and_follow_the_formula() -> None:
    assert list(references()) == [
        "code_debugging",
        "data_analysis",
        "system_admin",
        "web_research",
        "report_generation",
    ]
    assert references()["code_debugging"] == Reference(
        domain="code_debugging",
        label="seed",
        curve=Curve(initial=0.45, asymptote=0.89, rate=0.08),
        stated_iterations_to_80=18,
    )
    for one in references().values():
        assert one.label == "seed"
        assert one.curve.at(0) == pytest.approx(one.curve.initial)
        reached = one.curve.iterations_to(0.8)
        assert reached is not None and one.curve.at(reached) == pytest.approx(0.8)
        assert one.time_reduction(0) == 0 and 0.99 < one.time_reduction(500) < 1


def test_iterations_to_a_level() -> None:
    assert RISING.iterations_to(0.3) == 0.0
    assert RISING.iterations_to(0.9) is None
    assert Curve(initial=0.9, asymptote=0.2, rate=0.1).iterations_to(0.8) == 0.0


@pytest.mark.req("L7", "H12")
def test_all_four_curves_of_some_runs() -> None:
    runs = [
        *(
            point(n, success=n % 2 == 0, plan=f"p{n % 2}", seconds=4.0, errors=1, recovered=n % 2 == 0)
            for n in range(8)
        ),
        point(8, success=None, seconds=2.0),
        *(point(n, advised=True, seconds=2.0) for n in range(9, 16)),
    ]
    found = measured(runs, 4)
    assert (found.runs, found.window, found.trend) == (16, 4, 0.25)
    assert found.success.points == tuple((n, float(n % 2 == 0 or n > 8)) for n in range(16) if n != 8)
    assert found.success.window[-1] == (15, 1.0) and found.success.window[3] == (3, 0.5)
    assert found.recovery.points == tuple((n, float(n % 2 == 0)) for n in range(8))
    assert found.reuse.window[-1] == (15, 1.0) and found.reuse.points[0] == (0, 0.0)
    assert [series.fit is not None for series in (found.success, found.seconds, found.recovery, found.reuse)] == [
        True
    ] * 4
    assert found.seconds.fit is not None and found.seconds.fit.curve.at(15) < found.seconds.fit.curve.at(0)
    assert found.entropy[0] == (0, 0.0) and found.entropy[7] == (7, 1.0) and found.entropy[-1] == (15, 0.0)


def test_no_runs_make_empty_curves() -> None:
    found = measured([], 20)
    assert (found.success.points, found.success.fit, found.seconds.fit, found.entropy, found.trend) == (
        (),
        None,
        None,
        (),
        None,
    )
    assert moving_mean([(0, 1.0), (1, 0.0), (5, 1.0)], 2) == [(0, 1.0), (1, 0.5), (5, 0.5)]

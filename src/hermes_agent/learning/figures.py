"""The figures of learning as metrics. Only the count of all runs grows with the history, along an index.

Labels are bounded: the families with the most runs are named, the rest are counted together as "other". Rates and means
of different families cannot be added up, so for those there is no "other". A family's label is its id, which a new name
does not change; `hermes_family_info` has the name beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from ..observability.metrics import Metric, MetricType, Sample
from ..store.database import Connection
from ..store.heuristics import EVERY_FAMILY
from ..store.learning_views import (
    Feedback,
    Pair,
    RunPoint,
    Totals,
    census,
    entropy,
    family_names,
    feedback,
    recent_runs,
    totals,
)

K = TypeVar("K")
FAMILIES = 50
MODELS = 20
PAIRS = 200
WINDOW = 50
TREND = 20
OTHER = "other"
HELP = {
    "hermes_runs_total": "Runs that were learned from, by outcome.",
    "hermes_success_rate": f"Share of successes among the last {WINDOW} runs, of those that could be judged.",
    "hermes_success_trend": f"Success rate of the last {TREND} judged runs less that of the {TREND} before.",
    "hermes_tool_selection_entropy": f"Entropy in bits of the plans (tools in order) of the last {WINDOW} runs.",
    "hermes_plan_variance": f"Different plans per run among the last {WINDOW} runs.",
    "hermes_heuristics": "Heuristics by stage and kind.",
    "hermes_heuristic_changes_total": "Changes of heuristics: added, activated, changed, retired.",
    "hermes_feedback_latency_seconds": "Mean time from when a heuristic could act to when it first did.",
    "hermes_rollbacks_total": "Returns to an earlier set of heuristics.",
    "hermes_set_version": "Version of the heuristic set in force.",
    "hermes_learning_frozen": "1 while the set may not change by itself.",
    "hermes_family_info": "Names of the families, always 1.",
}
CHANGES = ("added", "activated", "changed", "retired")


def _read_recent(connection: Connection, place: Pair) -> list[RunPoint]:
    return recent_runs(connection, family=place.family, model=place.model, limit=WINDOW)


def learning_figures(
    connection: Connection,
    counted: Sequence[Totals] | None = None,
    recent_of: Callable[[Connection, Pair], list[RunPoint]] = _read_recent,
) -> list[Metric]:
    """All metrics of learning, in one read. Who asks often hands in what it keeps: the counts (`store/counts.py`) and
    a way to the last runs of a place."""
    counted = totals(connection) if counted is None else counted
    families = set(_largest(counted, FAMILIES, lambda one: one.family))
    models = set(_largest(counted, MODELS, lambda one: one.model))
    named = [one for one in counted if one.family in families and one.model in models]
    places = [Pair(family=one[0], model=one[1]) for one in _largest(named, PAIRS, lambda one: (one.family, one.model))]
    recent = {place: recent_of(connection, place) for place in places}
    state = census(connection)
    samples: dict[str, Iterable[Sample]] = {
        "hermes_runs_total": _runs(counted, families, models),
        **_recent(recent),
        "hermes_heuristics": [
            Sample(value=count, labels={"stage": stage, "kind": kind})
            for (stage, kind), count in state.heuristics.items()
        ],
        "hermes_heuristic_changes_total": [
            Sample(value=state.changes.get(change, 0), labels={"change": change}) for change in CHANGES
        ],
        "hermes_feedback_latency_seconds": _latencies(feedback(connection), {*families, EVERY_FAMILY}, models),
        "hermes_rollbacks_total": [Sample(value=state.rollbacks)],
        "hermes_set_version": [Sample(value=state.set_version)],
        "hermes_learning_frozen": [Sample(value=state.frozen)],
        "hermes_family_info": [
            Sample(value=1, labels={"family": family, "name": name})
            for family, name in family_names(connection, sorted(families)).items()
        ],
    }
    return [_metric(name, samples[name]) for name in HELP]


def _metric(name: str, samples: Iterable[Sample]) -> Metric:
    kind = MetricType.COUNTER if name.endswith("_total") else MetricType.GAUGE
    return Metric(name=name, type=kind, help=HELP[name], samples=tuple(samples))


def _largest(counted: Sequence[Totals], limit: int, key: Callable[[Totals], K]) -> list[K]:
    sums: dict[K, int] = {}
    for one in counted:
        sums[key(one)] = sums.get(key(one), 0) + one.runs
    return sorted(sums, key=lambda name: -sums[name])[:limit]


def _runs(counted: Sequence[Totals], families: set[str], models: set[str]) -> list[Sample]:
    sums: dict[tuple[str, str, str], int] = {}
    for one in counted:
        family = one.family if one.family in families else OTHER
        place = (family, one.model if one.model in models else OTHER, one.outcome)
        sums[place] = sums.get(place, 0) + one.runs
    return [
        Sample(value=runs, labels={"family": family, "model": model, "outcome": outcome})
        for (family, model, outcome), runs in sums.items()
    ]


def _recent(recent: dict[Pair, list[RunPoint]]) -> dict[str, list[Sample]]:
    found: dict[str, list[Sample]] = {
        "hermes_success_rate": [],
        "hermes_success_trend": [],
        "hermes_tool_selection_entropy": [],
        "hermes_plan_variance": [],
    }
    for place, runs in recent.items():
        labels = {"family": place.family, "model": place.model}
        judged = [float(run.success) for run in runs if run.success is not None]
        plans: dict[str, int] = {}
        for run in runs:
            plans[run.plan] = plans.get(run.plan, 0) + 1
        if judged:
            found["hermes_success_rate"].append(Sample(value=sum(judged) / len(judged), labels=labels))
        if len(judged) >= 2 * TREND:
            trend = (sum(judged[-TREND:]) - sum(judged[-2 * TREND : -TREND])) / TREND
            found["hermes_success_trend"].append(Sample(value=trend, labels=labels))
        found["hermes_tool_selection_entropy"].append(Sample(value=entropy(plans.values()), labels=labels))
        found["hermes_plan_variance"].append(Sample(value=len(plans) / len(runs), labels=labels))
    return found


def _latencies(measured: Sequence[Feedback], families: set[str], models: set[str]) -> list[Sample]:
    return [
        Sample(value=one.mean_seconds, labels={"family": one.family, "model": one.model})
        for one in measured
        if one.family in families and (one.model in models or not one.model)
    ]

"""Everything that is exported about the agent: work, models, tools, money, learning, skills.

`Figures` keeps what makes a scrape quick: sums up to a moment in the store, and the last runs of each family in memory.
Labels are bounded: the tools and models with the most calls are named, the rest are summed up as "other".
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

import msgspec

from ..config.settings import BudgetSettings
from ..learning.figures import FAMILIES, MODELS, OTHER, WINDOW, learning_figures
from ..learning.figures import HELP as LEARNING_HELP
from ..learning.guard_figures import HELP as GUARD_HELP
from ..learning.guard_figures import guard_figures
from ..models.facts import ModelFacts, cost_usd
from ..observability.metrics import Metric, MetricType, Sample
from ..store.counts import Sums, count_lessons, judged_since, newest_lessons, read_sums, settle, unsettled
from ..store.database import Connection
from ..store.heuristics import value_of
from ..store.learning_views import Pair, RunPoint, Totals, recent_runs
from ..store.open import Store
from ..store.operations import skill_counts, skills_to_rewrite, spent, standing
from ..types.errors import UsageError
from ..types.events import Usage
from ..version import __version__

K = TypeVar("K")
TOOLS = 60
SURFACES = 20
_MOST_ROUNDS = 1000
HELP = {
    "hermes_build_info": "Version of the product, of Python, and the database; always 1.",
    "hermes_store_bytes": "Size of the database.",
    "hermes_runs_ended_total": "Runs that ended, by status and by the surface that began them.",
    "hermes_run_seconds_total": "Time that ended runs took.",
    "hermes_runs_under_way": "Runs that are open.",
    "hermes_runs_abandoned": "Open runs that nobody drives; `hermes resume` goes on with them.",
    "hermes_inbox_waiting": "Messages that no run has taken yet.",
    "hermes_inbox_oldest_seconds": "How long the oldest of them has waited.",
    "hermes_outbox_unread": "Messages of the agent that nobody has read.",
    "hermes_answers_undelivered": "Answers that were not shown yet.",
    "hermes_in_doubt_effects": "Calls of abandoned runs that must happen only once and may have happened.",
    "hermes_in_doubt_calls_total": "Calls that ended in doubt.",
    "hermes_tool_calls_total": "Finished tool calls.",
    "hermes_tool_seconds_total": "Time spent in tools.",
    "hermes_model_calls_total": "Calls of models, good or bad.",
    "hermes_model_failures_total": "Calls of models that failed.",
    "hermes_model_tokens_total": "Tokens by direction; cached ones are a part of the input.",
    "hermes_model_seconds_total": "Time spent waiting for models.",
    "hermes_model_cost_usd_total": "What the tokens cost at the known prices; models without one are left out.",
    "hermes_model_cached_share": "Part of the input that the provider had cached.",
    "hermes_budget_spent": "Spent of a budget: the day, and the dearest open run and session.",
    "hermes_budget_cap": "The cap of a budget; without one there is no sample.",
    "hermes_skills": "Skills that are not archived, by what their last trial said and by origin.",
    "hermes_skills_to_rewrite": "Skills that wait for being written anew.",
    "hermes_background_work_total": "Reviews and other work behind the scenes, by kind and status.",
    "hermes_approvals_waiting": "Heuristics that wait for a person.",
}
ALL_HELP = {**HELP, **LEARNING_HELP, **GUARD_HELP}
"""Every metric that `Figures.collect` exports, with its help text."""
COUNTERS = frozenset(name for name in ALL_HELP if name.endswith("_total"))


class Figures:
    """Collects the figures of one store again and again."""

    def __init__(
        self,
        store: Store,
        budgets: BudgetSettings,
        facts: Callable[[str], ModelFacts],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._store = store
        self._budgets = budgets
        self._facts = facts
        self._clock = clock
        self._recent: dict[Pair, tuple[int, list[RunPoint]]] = {}
        self._seen = 0

    async def collect(self) -> list[Metric]:
        """All metrics. Brings the stored sums up to date first, in transactions small enough not to hold others up."""
        database = self._store.database
        for _ in range(_MOST_ROUNDS):
            if not await database.read(unsettled):
                break
            await database.write(lambda connection: settle(connection, database.backend))
        counted = await database.write(lambda connection: count_lessons(connection, database.backend))
        found = await database.read(lambda connection: self._read(connection, counted))
        return [*found, _metric("hermes_store_bytes", [Sample(value=database.backend.size())])]

    def _read(self, connection: Connection, counted: list[Totals]) -> list[Metric]:
        last = value_of(connection, "sequence")
        for place in judged_since(connection, self._seen):
            self._recent.pop(place, None)
        self._seen = last
        learning = learning_figures(connection, counted, self._recent_of)
        families, models = _shown(learning)
        return [*self._operations(connection), *learning, *guard_figures(connection, families, models)]

    def _recent_of(self, connection: Connection, place: Pair) -> list[RunPoint]:
        newest = newest_lessons(connection, [place])[place]
        known = self._recent.get(place)
        if known is None or known[0] != newest:
            runs = recent_runs(connection, family=place.family, model=place.model, limit=WINDOW)
            known = self._recent[place] = (newest, runs)
            if len(self._recent) > FAMILIES * MODELS:
                self._recent = {place: known}
        return known[1]

    def _operations(self, connection: Connection) -> list[Metric]:
        sums = read_sums(connection)
        samples: dict[str, Iterable[Sample]] = {
            **_build(self._store),
            **_runs(sums),
            **_standing(connection),
            **_tools(sums),
            **self._models(sums),
            **self._money(connection),
            **_skills(connection),
            "hermes_background_work_total": _labelled(sums["background.work"], "kind", "status"),
        }
        return [_metric(name, samples[name]) for name in HELP if name != "hermes_store_bytes"]

    def _models(self, sums: Sums) -> dict[str, list[Sample]]:
        calls = sums["models.calls"]
        named = set(_largest(calls, MODELS))

        def told(subject: str) -> dict[tuple[str, str], float]:
            return _with_other(sums[subject], named)

        tokens = {kind: told(f"models.{kind}") for kind in ("input", "output", "cached")}
        return {
            "hermes_model_calls_total": _labelled(told("models.calls"), "provider", "model"),
            "hermes_model_failures_total": _labelled(told("models.failures"), "provider", "model"),
            "hermes_model_seconds_total": _labelled(told("models.seconds"), "provider", "model"),
            "hermes_model_tokens_total": [
                Sample(value=value, labels={"provider": place[0], "model": place[1], "kind": kind})
                for kind, values in tokens.items()
                for place, value in values.items()
            ],
            "hermes_model_cached_share": [
                Sample(value=tokens["cached"].get(place, 0) / value, labels={"provider": place[0], "model": place[1]})
                for place, value in tokens["input"].items()
                if value
            ],
            "hermes_model_cost_usd_total": self._costs(sums, named),
        }

    def _costs(self, sums: Sums, named: set[tuple[str, str]]) -> list[Sample]:
        costs: dict[tuple[str, str], float] = {}
        for place in sums["models.calls"]:
            used = Usage(
                input=int(sums["models.input"].get(place, 0)),
                output=int(sums["models.output"].get(place, 0)),
                cached=int(sums["models.cached"].get(place, 0)),
            )
            cost = self._cost(":".join(place), used)
            if cost is not None:
                costs[place] = cost
        return _labelled(_with_other(costs, named), "provider", "model")

    def _cost(self, name: str, used: Usage) -> float | None:
        try:
            return cost_usd(self._facts(name), used)
        except UsageError:  # a program of the user's may call its provider anything
            return None

    def _money(self, connection: Connection) -> dict[str, list[Sample]]:
        day = time.strftime("%Y-%m-%d", time.localtime(self._clock()))
        caps: Mapping[str, float] = msgspec.to_builtins(self._budgets)
        used: list[Sample] = []
        capped: list[Sample] = []
        for scope, amount in spent(connection, day).items():
            for unit, value in msgspec.to_builtins(amount).items():
                labels = {"scope": scope.value, "unit": unit}
                used.append(Sample(value=value, labels=labels))
                if caps[f"{scope.value}_{unit}"]:
                    capped.append(Sample(value=caps[f"{scope.value}_{unit}"], labels=labels))
        return {"hermes_budget_spent": used, "hermes_budget_cap": capped}


def _shown(learning: list[Metric]) -> tuple[set[str], set[str]]:
    """The families and models that are named on the page."""
    labels = [sample.labels for metric in learning if metric.name == "hermes_runs_total" for sample in metric.samples]
    return {one["family"] for one in labels}, {one["model"] for one in labels}


def _build(store: Store) -> dict[str, list[Sample]]:
    labels = {
        "version": __version__,
        "python": platform.python_version(),
        "database": store.database.backend.name,
    }
    return {"hermes_build_info": [Sample(value=1, labels=labels)]}


def _runs(sums: Sums) -> dict[str, list[Sample]]:
    named = set(_largest(_by_first(sums["runs.ended"]), SURFACES))
    ended = _with_other_first(sums["runs.ended"], named)
    return {
        "hermes_runs_ended_total": _labelled(ended, "surface", "status"),
        "hermes_run_seconds_total": _labelled(_with_other_first(sums["runs.seconds"], named), "surface", "status"),
    }


def _tools(sums: Sums) -> dict[str, list[Sample]]:
    named = set(_largest(_by_first(sums["tools.calls"]), TOOLS))
    calls = _with_other_first(sums["tools.calls"], named)
    in_doubt = sum(value for (_, status), value in sums["tools.calls"].items() if status == "in_doubt")
    return {
        "hermes_tool_calls_total": _labelled(calls, "tool", "status"),
        "hermes_tool_seconds_total": _labelled(_with_other_first(sums["tools.seconds"], named), "tool", "status"),
        "hermes_in_doubt_calls_total": [Sample(value=in_doubt)],
    }


def _standing(connection: Connection) -> dict[str, list[Sample]]:
    now = standing(connection)
    values = {
        "hermes_runs_under_way": now.under_way,
        "hermes_runs_abandoned": now.abandoned,
        "hermes_in_doubt_effects": now.in_doubt,
        "hermes_inbox_waiting": now.waiting,
        "hermes_inbox_oldest_seconds": round(now.oldest_wait, 3),
        "hermes_outbox_unread": now.unread,
        "hermes_answers_undelivered": now.undelivered,
        "hermes_approvals_waiting": now.approvals,
    }
    return {name: [Sample(value=value)] for name, value in values.items()}


def _skills(connection: Connection) -> dict[str, list[Sample]]:
    return {
        "hermes_skills": [
            Sample(value=one.skills, labels={"health": one.health, "origin": one.origin})
            for one in skill_counts(connection)
        ],
        "hermes_skills_to_rewrite": [Sample(value=skills_to_rewrite(connection))],
    }


def _by_first(values: Mapping[tuple[str, str], float]) -> dict[str, float]:
    sums: dict[str, float] = {}
    for (first, _), value in values.items():
        sums[first] = sums.get(first, 0.0) + value
    return sums


def _largest(values: Mapping[K, float], limit: int) -> list[K]:
    return sorted(values, key=lambda place: (-values[place], str(place)))[:limit]


def _with_other(values: Mapping[tuple[str, str], float], named: set[tuple[str, str]]) -> dict[tuple[str, str], float]:
    sums: dict[tuple[str, str], float] = {}
    for place, value in values.items():
        shown = place if place in named else (OTHER, OTHER)
        sums[shown] = sums.get(shown, 0.0) + value
    return sums


def _with_other_first(values: Mapping[tuple[str, str], float], named: set[str]) -> dict[tuple[str, str], float]:
    sums: dict[tuple[str, str], float] = {}
    for (first, second), value in values.items():
        shown = (first if first in named else OTHER, second)
        sums[shown] = sums.get(shown, 0.0) + value
    return sums


def _labelled(values: Mapping[tuple[str, str], float], first: str, second: str) -> list[Sample]:
    return [Sample(value=value, labels={first: place[0], second: place[1]}) for place, value in values.items()]


def _metric(name: str, samples: Iterable[Sample]) -> Metric:
    kind = MetricType.COUNTER if name in COUNTERS else MetricType.GAUGE
    return Metric(name=name, type=kind, help=ALL_HELP[name], samples=tuple(samples))

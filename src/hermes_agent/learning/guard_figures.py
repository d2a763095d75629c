"""What the guard holds success against, as metrics: the baseline of each family, and whether it is below it."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from ..observability.metrics import Metric, MetricType, Sample
from ..store.database import Connection
from ..store.operations import watched_places
from .guard import ENOUGH, FamilyGuard, floor_of

HELP = {
    "hermes_success_baseline": "Success rate of a family under the last set known to be good.",
    "hermes_success_floor": "The rate below which the guard holds that something is wrong.",
    "hermes_success_watched": "Success rate since the set changed, while it is watched.",
    "hermes_success_below_baseline": "1 while the guard has told people that success is below its baseline.",
}
_INFERRED = "~inferred"


def guard_figures(connection: Connection, families: Collection[str], models: Collection[str]) -> list[Metric]:
    """The guards of some families and models. Outcomes that somebody could know and those that were only inferred are
    watched apart, and so they are here."""
    found: dict[str, list[Sample]] = {name: [] for name in HELP}
    for place, model, payload in watched_places(connection):
        family = place.removesuffix(_INFERRED)
        if family not in families or model not in models:
            continue
        guard = msgspec.json.decode(payload, type=FamilyGuard)
        labels = {"family": family, "model": model, "judged": "inferred" if place != family else "told"}
        for name, value in _values(guard).items():
            found[name].append(Sample(value=value, labels=labels))
    return [Metric(name=name, type=MetricType.GAUGE, help=HELP[name], samples=tuple(found[name])) for name in HELP]


def _values(guard: FamilyGuard) -> dict[str, float]:
    """A baseline of few tasks proves nothing and is not shown."""
    base, watch = guard.baseline, guard.watching
    values: dict[str, float] = {"hermes_success_below_baseline": float(guard.notified)}
    if base.tasks >= ENOUGH:
        values["hermes_success_baseline"] = base.successes / base.tasks
        values["hermes_success_floor"] = floor_of(base.successes, base.tasks)
    if watch is not None and watch.tasks:
        values["hermes_success_watched"] = watch.successes / watch.tasks
    return values

"""The figures of learning as a scraper gets them."""

from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from hermes_agent.learning.figures import FAMILIES, HELP, learning_figures
from hermes_agent.observability.metrics import render
from hermes_agent.store.heuristics import EVERY_FAMILY, Stage
from hermes_agent.store.learning_views import entropy
from hermes_agent.store.open import Store, open_store
from tests.store.learning_samples import FAMILY, MODEL, START, entry, fill, heuristic, lesson, taught

Values = dict[str, dict[tuple[str, ...], float]]
HERE = (FAMILY, MODEL)


def scraped(store: Store) -> Values:
    """Values by metric and the values of its labels, in the order of the labels' names."""
    page = render(store.database.read_now(learning_figures))
    assert [line.split()[2] for line in page.splitlines() if line.startswith("# TYPE")] == list(HELP)
    found: Values = {}
    for family in text_string_to_metric_families(page):
        for sample in family.samples:
            labels = tuple(sample.labels[label] for label in sorted(sample.labels))
            assert labels not in found.setdefault(sample.name, {})
            found[sample.name][labels] = sample.value
    return found


@pytest.mark.req("H12")
def test_what_was_learned_is_exported(store_url: str, home: Path) -> None:
    taught(store_url, home)
    store = open_store(store_url, home)
    last_50 = [10 + n for n in range(50)]
    assert scraped(store) == {
        "hermes_runs_total": {(*HERE, "success"): 45, (*HERE, "failure"): 15},
        "hermes_success_rate": {HERE: 0.8},
        "hermes_success_trend": {HERE: 0.25},
        "hermes_tool_selection_entropy": {
            HERE: pytest.approx(entropy([sum(n < 30 and n % 3 == k for n in last_50) for k in range(3)] + [30]))
        },
        "hermes_plan_variance": {HERE: 4 / 50},
        "hermes_heuristics": {("avoid_tool", "trusted"): 1, ("avoid_tool", "retired"): 1},
        "hermes_heuristic_changes_total": {("added",): 1, ("activated",): 2, ("changed",): 0, ("retired",): 1},
        "hermes_feedback_latency_seconds": {HERE: 90},
        "hermes_rollbacks_total": {(): 1},
        "hermes_set_version": {(): 3},
        "hermes_learning_frozen": {(): 0},
        "hermes_family_info": {(FAMILY, FAMILY): 1},
    }
    store.close()


def test_before_anything_was_learned(home: Path) -> None:
    store = open_store("", home)
    assert scraped(store) == {
        "hermes_heuristic_changes_total": {("added",): 0, ("activated",): 0, ("changed",): 0, ("retired",): 0},
        "hermes_rollbacks_total": {(): 0},
        "hermes_set_version": {(): 0},
        "hermes_learning_frozen": {(): 0},
    }
    store.close()


@pytest.mark.req("H12")
def test_labels_are_bounded_and_hostile_names_survive(home: Path) -> None:
    """The largest families are named; the runs of the others are still counted. A quote in a name breaks nothing."""
    store = open_store("", home)
    hostile = 'x"} 1\nhermes_evil 1\\'
    many = [lesson(n, at=START + n, family=f"f{n:03d}") for n in range(FAMILIES + 10)]
    loud = [lesson(n, at=START + n, family=hostile, success=None) for n in range(3)]
    general = heuristic("h9", Stage.TRUSTED, family=EVERY_FAMILY, applied_at=START + 5)
    hidden = heuristic("h8", Stage.TRUSTED, family="elsewhere", applied_at=START + 5)
    changes = [entry(name, "candidate", "trusted", START) for name in ("h8", "h9")]
    fill(store, [*many, *loud], [general, hidden], changes)
    found = scraped(store)
    runs = found["hermes_runs_total"]
    assert runs[(hostile, MODEL, "unknown")] == 3
    assert runs[("other", MODEL, "success")] == 11
    assert len(runs) == FAMILIES + 1 and sum(runs.values()) == FAMILIES + 13
    assert len(found["hermes_success_rate"]) == FAMILIES - 1
    assert len(found["hermes_plan_variance"]) == FAMILIES
    assert found["hermes_feedback_latency_seconds"] == {(EVERY_FAMILY, MODEL): 5}
    store.close()

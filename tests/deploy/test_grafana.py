"""The dashboard: valid where Grafana would only show an empty panel, and about metrics that really exist."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from hermes_agent.learning.figures import HELP

FOLDER = Path(__file__).parents[2] / "deploy" / "grafana"
DASHBOARD: dict[str, Any] = json.loads((FOLDER / "learning.json").read_text())
PANELS: list[dict[str, Any]] = DASHBOARD["panels"]
METRIC = re.compile(r"\bhermes_\w+")
LABELS = {"family", "model", "outcome", "stage", "kind", "change", "name"}


def expressions() -> list[str]:
    found = [target["expr"] for panel in PANELS for target in panel["targets"]]
    found += [one["expr"] for one in DASHBOARD["annotations"]["list"] if "expr" in one]
    return found + [one["query"]["query"] for one in DASHBOARD["templating"]["list"] if one["type"] == "query"]


@pytest.mark.req("H12")
def test_every_metric_that_is_asked_for_is_exported_and_every_exported_one_is_shown() -> None:
    used = {name for text in expressions() for name in METRIC.findall(text)}
    assert used == set(HELP)


def test_labels_in_queries_exist() -> None:
    for text in expressions():
        braces = [part.partition("}")[0] for part in text.split("{")[1:]]
        named = {name for part in braces for name in re.findall(r"(\w+)\s*=~?", part)}
        grouped = {name.strip() for part in re.findall(r"by \(([^)]*)\)", text) for name in part.split(",")}
        assert named | grouped <= LABELS, text
        assert text.count("(") == text.count(")") and text.count("{") == text.count("}"), text


def test_panels_have_ids_of_their_own_and_do_not_overlap() -> None:
    assert DASHBOARD["schemaVersion"] >= 36 and DASHBOARD["uid"] and DASHBOARD["title"]
    ids = [panel["id"] for panel in PANELS]
    assert len(set(ids)) == len(ids) and all(isinstance(one, int) and one > 0 for one in ids)
    taken: dict[tuple[int, int], int] = {}
    for panel in PANELS:
        place = panel["gridPos"]
        assert place["x"] >= 0 and place["y"] >= 0 and place["w"] > 0 and place["h"] > 0
        assert place["x"] + place["w"] <= 24
        for cell in (
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        ):
            assert taken.setdefault(cell, panel["id"]) == panel["id"]
        assert panel["title"] and panel["type"] in ("timeseries", "stat", "table")
        references = [target["refId"] for target in panel["targets"]]
        assert references and len(set(references)) == len(references)


@pytest.mark.req("H12")
def test_learning_events_are_marked() -> None:
    marks = {
        one["name"]: one["expr"] for one in DASHBOARD["annotations"]["list"] if one.get("enable") and "expr" in one
    }
    assert len(marks) == 3
    assert any('change="activated"' in text for text in marks.values())
    assert any('change="retired"' in text for text in marks.values())
    assert any("hermes_rollbacks_total" in text for text in marks.values())


def test_variables_in_queries_are_declared() -> None:
    declared = {one["name"] for one in DASHBOARD["templating"]["list"]}
    used = {name for text in expressions() for name in re.findall(r"\$(\w+)", text)}
    sources = {one["datasource"]["uid"] for one in PANELS}
    assert used <= declared and sources == {"${datasource}"} and "datasource" in declared

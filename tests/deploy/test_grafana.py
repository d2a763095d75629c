"""The dashboards: valid where Grafana would only show an empty panel, and about metrics that really exist."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from hermes_agent.learning.figures import HELP as LEARNING
from hermes_agent.runtime.figures import ALL_HELP
from tests.deploy.queries import exported, names_in, problems

FOLDER = Path(__file__).parents[2] / "deploy" / "grafana"
DASHBOARDS: dict[str, dict[str, Any]] = {path.stem: json.loads(path.read_text()) for path in FOLDER.glob("*.json")}
CHOICE = re.compile(r"label_values\((\w+), (\w+)\)\Z")
each = pytest.mark.parametrize("name", sorted(DASHBOARDS))


def queries(dashboard: dict[str, Any]) -> list[str]:
    """Every query of panels and annotations; a variable becomes what it stands for when all is chosen."""
    found = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    found += [one["expr"] for one in dashboard["annotations"]["list"] if "expr" in one]
    return [re.sub(r"\$\w+", ".*", text) for text in found]


@each
@pytest.mark.req("H12")
def test_queries_are_about_what_is_exported(name: str) -> None:
    assert {text: problems(text) for text in queries(DASHBOARDS[name]) if problems(text)} == {}


@each
def test_choices_come_from_labels_that_exist(name: str) -> None:
    for one in DASHBOARDS[name]["templating"]["list"]:
        if one["type"] == "query":
            asked = CHOICE.match(one["query"]["query"])
            assert asked and asked[2] in exported()[asked[1]]


@pytest.mark.req("H12", "R13")
def test_every_exported_metric_is_shown() -> None:
    shown = {
        name: {metric for text in queries(board) for metric in names_in(text)} for name, board in DASHBOARDS.items()
    }
    assert shown["learning"] == set(LEARNING)
    assert set().union(*shown.values()) == set(ALL_HELP)


@each
def test_panels_have_ids_of_their_own_and_do_not_overlap(name: str) -> None:
    board, panels = DASHBOARDS[name], DASHBOARDS[name]["panels"]
    assert board["schemaVersion"] >= 36 and board["uid"] == f"hermes-{name}" and board["title"]
    ids = [panel["id"] for panel in panels]
    assert len(set(ids)) == len(ids) and all(isinstance(one, int) and one > 0 for one in ids)
    taken: dict[tuple[int, int], int] = {}
    for panel in panels:
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
        one["name"]: one["expr"]
        for one in DASHBOARDS["learning"]["annotations"]["list"]
        if one.get("enable") and "expr" in one
    }
    assert len(marks) == 3
    assert any('change="activated"' in text for text in marks.values())
    assert any('change="retired"' in text for text in marks.values())
    assert any("hermes_rollbacks_total" in text for text in marks.values())


@each
def test_variables_in_queries_are_declared(name: str) -> None:
    board = DASHBOARDS[name]
    declared = {one["name"] for one in board["templating"]["list"]}
    text = json.dumps([panel["targets"] for panel in board["panels"]])
    sources = {panel["datasource"]["uid"] for panel in board["panels"]}
    assert (
        set(re.findall(r"\$\{?(\w+)", text)) <= declared and sources == {"${datasource}"} and "datasource" in declared
    )

"""The alert rules: about metrics that exist, for everything that somebody should hear of, and loadable."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.queries import exported, names_in, problems

FOLDER = Path(__file__).parents[2] / "deploy" / "prometheus"
GROUPS: list[dict[str, Any]] = yaml.safe_load((FOLDER / "alerts.yaml").read_text())["groups"]
RULES: list[dict[str, Any]] = [rule for group in GROUPS for rule in group["rules"]]
LASTING = re.compile(r"\d+(s|m|h|d)\Z")


@pytest.mark.req("R13")
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule["alert"]))
def test_a_rule_is_about_what_is_exported(rule: dict[str, Any]) -> None:
    assert problems(rule["expr"]) == []
    assert set(rule) - {"for"} == {"alert", "expr", "labels", "annotations"}
    assert "for" not in rule or LASTING.match(rule["for"])
    assert rule["labels"]["severity"] in ("info", "warning", "critical")
    assert set(rule["annotations"]) == {"summary", "action"}


@pytest.mark.req("R13")
def test_what_must_be_heard_of_has_a_rule() -> None:
    watched = {name for rule in RULES for name in names_in(rule["expr"])}
    assert {
        "hermes_rollbacks_total",
        "hermes_success_below_baseline",
        "hermes_budget_cap",
        "hermes_in_doubt_effects",
        "hermes_background_work_total",
        "hermes_skills",
    } <= watched
    assert len({rule["alert"] for rule in RULES}) == len(RULES)


def test_texts_use_labels_that_the_result_has() -> None:
    for rule in RULES:
        said = " ".join(rule["annotations"].values())
        labels = {label for name in names_in(rule["expr"]) for label in exported()[name]}
        assert set(re.findall(r"\$labels\.(\w+)", said)) <= labels
        assert said.count("{{") == said.count("}}")


@pytest.mark.parametrize(
    ("query", "wrong"),
    [
        ("hermes_gone > 0", ["hermes_gone is not exported"]),
        ('hermes_skills{shelf="user"}', ["hermes_skills has no label shelf"]),
        ("sum by (family) (hermes_skills)", ["nothing is labelled family"]),
        ("rate(hermes_skills[5m])", ["rate of hermes_skills, which is no counter"]),
        ('sum by (tool) (rate(hermes_tool_calls_total{status="ok"}[5m]))', []),
    ],
)
def test_the_check_can_fail(query: str, wrong: list[str]) -> None:
    assert problems(query) == wrong


def test_the_configuration_reads_the_rules_and_this_product() -> None:
    given = yaml.safe_load((FOLDER / "prometheus.yaml").read_text())
    assert [FOLDER / name for name in given["rule_files"]] == [FOLDER / "alerts.yaml"]
    (job,) = given["scrape_configs"]
    assert job["metrics_path"] == "/metrics"
    (target,) = job["static_configs"][0]["targets"]
    assert target.startswith("127.0.0.1:")


def test_promtool_takes_the_rules() -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed")
    done = subprocess.run([promtool, "check", "rules", FOLDER / "alerts.yaml"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr

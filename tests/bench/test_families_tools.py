"""The tools of the worlds with arguments of all kinds: they do their work, or say what is wrong with what they got."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from hermes_agent.bench.catalog import world_of
from hermes_agent.bench.families.convergence import FAMILIES, chosen, convergence
from hermes_agent.bench.families.inside import administering, analysing, debugging, reporting
from hermes_agent.bench.report import report
from hermes_agent.bench.study import Arm, TaskRecord
from hermes_agent.learning.curves import references
from hermes_agent.tools.results import as_result
from hermes_agent.types.errors import PermissionRefused, UsageError
from hermes_agent.types.tools import ToolResult
from tests.tools.context import Context


def called(context: Context, family: str, name: str, arguments: dict[str, Any]) -> ToolResult:
    tool = next(tool for tool in world_of(family, 3).tools() if tool.spec.name == name)
    return as_result(asyncio.run(tool.run(tool.bind(arguments), context)))


def test_a_tool_runs_its_program_on_files_of_the_workspace(tmp_path: Path) -> None:
    context = Context(tmp_path)
    (context.workspace / "a.csv").write_text("reference,site,units\nx,Birk,3\n")
    arguments = {"data": "a.csv", "output": "table.csv"}
    assert called(context, "analysis", "load_comma", arguments) == ToolResult(text="wrote table.csv: 1 rows read")
    assert (context.workspace / "table.csv").read_text() == "reference,site,units\nx,Birk,3\n"
    (context.workspace / "a.csv").write_text("reference\tsite\tunits\nx\tBirk\t3\n")
    refused = called(context, "analysis", "load_comma", arguments)
    assert (refused.ok, refused.error) == (False, "parse")


@pytest.mark.parametrize(
    "arguments",
    [
        {"data": "a.csv", "output": ""},
        {"data": "a.csv", "output": 7},
        {"data": ["a.csv"], "output": "b"},
        {"data": "a.csv", "output": "b" * 401},
        {"data": "a.csv", "output": "b", "more": "c"},
    ],
)
def test_arguments_of_the_wrong_kind_are_refused(tmp_path: Path, arguments: dict[str, Any]) -> None:
    context = Context(tmp_path)
    result = called(context, "analysis", "load_any", arguments)
    assert (result.ok, result.error) == (False, "bad_argument")
    assert list(context.workspace.iterdir()) == [] and context.journal.spawned == []


@pytest.mark.parametrize("path", ["../outside", "/etc/hostname", "a/../../outside"])
def test_paths_outside_the_workspace_are_refused(tmp_path: Path, path: str) -> None:
    context = Context(tmp_path)
    for arguments in ({"data": path, "output": "b"}, {"data": "a.csv", "output": path}):
        with pytest.raises(PermissionRefused):
            called(context, "analysis", "load_any", arguments)
    assert context.journal.spawned == []


NOTHING = ["", "\x00" * 40, "[" * 5000, "a,b\n" * 100, "<!DOCTYPE x [<!ENTITY y 'z'>]><x/>", "{{{{", "name,value\nx\n"]


@pytest.mark.parametrize("text", NOTHING)
def test_programs_refuse_what_they_do_not_understand(text: str, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_text(text)
    target = str(tmp_path / "target")
    for way in reporting.COLLECT:
        assert reporting.run({"way": way, "data": str(source), "output": target})["error"] == "parse"
    for way in analysing.LOAD:
        found = analysing.run({"way": way, "data": str(source), "output": target})
        assert found.get("error") == "parse" or found["text"].endswith(": 0 rows read")
    for way in administering.APPLY:
        asked = {"way": way, "host": str(tmp_path), "inventory": str(source), "job": "config", "service": "x"}
        assert administering.run({**asked, "detail": "a=b"})["error"] == "value"
    for way in debugging.REPAIR:
        assert debugging.run({"way": way, "failures": str(source)})["error"] == "value"


def test_programs_say_when_there_is_nothing(tmp_path: Path) -> None:
    nowhere, target = str(tmp_path / "nowhere"), str(tmp_path / "target")
    assert reporting.run({"way": "collect_any", "data": nowhere, "output": target})["error"] == "not_found"
    assert analysing.run({"way": "load_any", "data": nowhere, "output": target})["error"] == "not_found"
    assert administering.run({"way": "inventory_any", "host": nowhere, "output": target})["error"] == "unsupported"
    assert debugging.run({"way": "tests_search", "repository": nowhere, "output": target})["error"] == "layout"


def record(number: int, *, success: bool) -> TaskRecord:
    return TaskRecord(
        number=number,
        family="reports",
        success=success,
        why="",
        tool_seconds=0.1,
        policy_seconds=1.0,
        calls=2,
        errors=0,
        skills=(),
        advised=False,
        run_id=f"r{number}",
    )


@pytest.mark.req("L7")
def test_convergence_counts_the_first_ten_and_the_last_third() -> None:
    lived = [[record(number, success=number >= 10) for number in range(30)] for _ in range(2)]
    found = report("reports", "apprentice", 30, {Arm.ON: lived}, simulated=True).arms[0]
    figures = convergence("reports", found, lived, 30)
    assert (figures.seeds, figures.tasks, figures.first_ten, figures.last_third) == (2, 60, 0.0, 1.0)
    assert figures.reference == references()["report_generation"] and figures.stated == "12"
    assert figures.curve == found.curve is not None
    assert figures.gain is not None and figures.gain.real


def test_convergence_says_nothing_about_what_was_not_reached() -> None:
    lived = [[record(number, success=True) for number in range(15)]]
    found = report("open-ended", "apprentice", 60, {Arm.ON: lived}, simulated=True).arms[0]
    figures = convergence("open-ended", found, lived, 60)
    assert (figures.first_ten, figures.last_third, figures.reference, figures.stated) == (1.0, None, None, "60+")
    assert convergence("open-ended", found, [[]], 2).first_ten is None


def test_families_are_chosen_by_name_in_the_order_of_the_table() -> None:
    assert chosen("") == tuple(FAMILIES)
    assert chosen("open-ended, reports,reports") == ("reports", "open-ended")
    for wrong in ("nope", "reports,Reports", " ,", "reports;debugging"):
        with pytest.raises(UsageError) as caught:
            chosen(wrong)
        assert "there are: reports" in str(caught.value.advice)

"""The skills that come with the product: in order, of use, harmless, and their test inputs pass in the sandbox."""

import ast
import asyncio
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import skills_ref

from hermes_agent.config.settings import SandboxSettings
from hermes_agent.safety.scan import Kind, Verdict, scan
from hermes_agent.skills.format import parse_skill, read_folder, render_skill
from hermes_agent.skills.library import BUNDLED
from hermes_agent.skills.screening import is_executable
from hermes_agent.skills.skill import Skill
from hermes_agent.skills.slots import filled
from hermes_agent.skills.validation import Validated, sandboxed, validate
from hermes_agent.tools.discovery import builtin_tools

NAMES = (
    "csv-analysis",
    "git-workflow",
    "incident-report",
    "log-triage",
    "plotting",
    "python-test-debugging",
    "refactoring",
    "release-notes",
    "sql-exploration",
    "web-research",
)
RUNNER = sandboxed(SandboxSettings(), {"PATH": "/usr/local/bin:/usr/bin:/bin"})


def read(name: str) -> Skill:
    return parse_skill((BUNDLED / name / "SKILL.md").read_bytes(), name)


def tool_names() -> set[str]:
    return {entry.spec.name for entry in builtin_tools()} | {"skill_view", "skills_list", "skill_manage"}


def test_these_are_the_bundled_skills() -> None:
    assert tuple(sorted(path.name for path in BUNDLED.iterdir() if path.is_dir())) == NAMES


@pytest.mark.req("A5", "L11")
@pytest.mark.parametrize("name", NAMES)
def test_every_bundled_skill_passes_validation_in_the_sandbox(name: str) -> None:
    skill = read(name)

    found = asyncio.run(validate(read_folder(BUNDLED / name), RUNNER))

    assert found == Validated(ok=True, ran=tuple(trial.name for trial in skill.trials))
    assert len(skill.trials) >= 2


@pytest.mark.req("A5")
@pytest.mark.parametrize("name", NAMES)
def test_every_bundled_skill_is_complete(name: str) -> None:
    text = (BUNDLED / name / "SKILL.md").read_text()
    skill = read(name)

    assert skills_ref.validate(BUNDLED / name) == []
    assert parse_skill(render_skill(skill), name) == skill
    assert scan(text, Kind.SKILL).verdict is Verdict.ALLOW
    assert text.count("\n") <= 120
    assert is_executable(skill, read_folder(BUNDLED / name))
    assert skill.category and skill.tags and skill.triggers and skill.success_criteria and skill.pitfalls
    assert skill.conditions.tools and set(skill.conditions.tools) <= tool_names()
    assert skill.other == {"measured": "not measured"}
    assert "Use when" in skill.description
    for heading in ("## Steps", "## Script", "## Pitfalls", "## Verify"):
        assert heading in skill.body


@pytest.mark.parametrize("name", NAMES)
def test_what_a_skill_names_is_there(name: str) -> None:
    skill = read(name)
    files = {path for path in read_folder(BUNDLED / name) if path != "SKILL.md"}

    assert {path for path in files if path in skill.body or path.rpartition("/")[2] in skill.body} == files
    assert set(re.findall(r"`([a-z]+_[a-z_]+)`", skill.body)) <= tool_names()
    assert skill.template in ("", *files)
    assert all(slot.default is not None for slot in skill.slots)
    assert "{{" not in filled(skill, "")


def test_scripts_use_the_standard_library_alone() -> None:
    for script in BUNDLED.rglob("*.py"):
        tree = ast.parse(script.read_text())
        imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        imported |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert {name.partition(".")[0] for name in imported} <= sys.stdlib_module_names, script
        assert not imported & {"socket", "urllib.request", "http.client", "pickle"}, script


def test_a_broken_copy_fails() -> None:
    files = read_folder(BUNDLED / "csv-analysis")
    script = files["scripts/csv_profile.py"].decode()

    found = asyncio.run(
        validate(
            {**files, "scripts/csv_profile.py": script.replace("sum {sum(amounts)", "sum {max(amounts)").encode()},
            RUNNER,
        )
    )

    assert (found.ok, found.ran) == (False, ("profile", "ragged"))
    assert found.problems[0].startswith("test 'groups': its output lacks 'North: sum 3.5")


@pytest.mark.slow
def test_a_wheel_contains_them(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    argv = ["uv", "build", "--wheel", "--out-dir", str(tmp_path), str(root)]
    built = subprocess.run(argv, capture_output=True, text=True, check=False)
    if built.returncode:
        pytest.skip(f"no wheel can be built here: {built.stderr[-200:]}")
    (wheel,) = tmp_path.glob("*.whl")
    inside = {name.partition("bundled/")[2] for name in zipfile.ZipFile(wheel).namelist() if "/bundled/" in name}

    files = {path.relative_to(BUNDLED).as_posix() for path in BUNDLED.rglob("*") if path.is_file()}
    assert {path for path in files if "__pycache__" not in path} <= inside

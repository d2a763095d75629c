"""The worlds of the other families: the same tasks everywhere, ways that fail by context, verdicts by the truth."""

import contextlib
import hashlib
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from hermes_agent.bench.catalog import world_of
from hermes_agent.bench.families.convergence import FAMILIES
from hermes_agent.bench.families.inside import administering, analysing, debugging, inventing, reporting, researching
from hermes_agent.bench.families.parameters import parameters
from hermes_agent.bench.families.task import Task
from hermes_agent.bench.families.world import FamilyWorld
from hermes_agent.bench.verdict import Verdict, same
from hermes_agent.models.providers.apprentice import Way, parse_steps
from hermes_agent.types.errors import UsageError
from tests.sampling import sampled

PROGRAMS: dict[str, ModuleType] = {
    "reports": reporting,
    "debugging": debugging,
    "analysis": analysing,
    "research": researching,
    "administration": administering,
    "open-ended": inventing,
}
RESULT = {
    "reports": "report.md",
    "analysis": "answer.json",
    "research": "facts.json",
    "open-ended": "text.txt",
}


def world(name: str, seed: int = 11) -> FamilyWorld:
    made = world_of(name, seed)
    assert isinstance(made, FamilyWorld)
    return made


@pytest.fixture
def opened() -> Iterator[Callable[[str], FamilyWorld]]:
    """Worlds whose services run until the test ends."""
    with contextlib.ExitStack() as stack:

        def made(name: str) -> FamilyWorld:
            one = world(name)
            one.start()
            stack.callback(one.stop)
            return one

        yield made


def done(made: FamilyWorld, way: Way) -> dict[str, Any]:
    """What a way does in the current folder. The product's own tools are stood in for by what they would run."""
    if way.tool == "terminal":
        subprocess.run(["sh", "-c", way.arguments["command"]], check=True)
        return {"text": ""}
    if way.tool == "execute_code":
        subprocess.run([sys.executable, "-I", "-S", "-c", way.arguments["code"]], check=True, capture_output=True)
        return {"text": ""}
    answer: dict[str, Any] = PROGRAMS[made.family.name].run(
        {**way.arguments, **made.surroundings(), "way": way.tool}  # what the tool adds
    )
    return answer


def solve(made: FamilyWorld, task: Task, workspace: Path) -> list[str]:
    """Do each step by the first way that works, and return the tools that did not."""
    made.prepare(task, workspace)
    failed = []
    with contextlib.chdir(workspace):
        for step in parse_steps(task.steps):
            for way in step.ways:
                if "error" not in done(made, way):
                    break
                failed.append(way.tool)
    return failed


@pytest.mark.req("L7")
def test_the_same_seed_and_number_are_the_same_task_in_every_process() -> None:
    program = (
        "import hashlib; from hermes_agent.bench.catalog import world_of;"
        f"tasks = [world_of(name, 7).task(number) for name in {list(FAMILIES)!r} for number in range(12)];"
        "print(hashlib.sha256(repr(tasks).encode()).hexdigest())"
    )
    tasks = [world_of(name, 7).task(number) for name in FAMILIES for number in range(12)]
    environment = {"PYTHONHASHSEED": "12345", "PYTHONPATH": ":".join(sys.path), "LC_ALL": "C"}
    there = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment
    ).stdout.strip()
    assert hashlib.sha256(repr(tasks).encode()).hexdigest() == there


@pytest.mark.parametrize("name", FAMILIES)
def test_other_seeds_and_numbers_are_other_tasks_and_there_is_nothing_before_0(name: str) -> None:
    tasks = [world(name, seed).task(number) for seed in (1, 2) for number in range(30)]
    assert len({(one.request, *one.files.values(), repr(one.truth)) for one in tasks}) >= 0.9 * len(tasks)
    for seed, number in ((-1, 0), (0, -1)):
        with pytest.raises(UsageError):
            world(name, seed).task(number)


@pytest.mark.parametrize("name", FAMILIES)
def test_steps_have_two_ways_or_more_and_all_of_them_are_tools(name: str) -> None:
    made = world(name)
    tools = {tool.spec.name for tool in made.tools()} | {"execute_code", "terminal"}
    given = parameters(name.replace("-", "_"))
    assert {way for ways in given.ways.values() for way in ways} <= tools
    for number in range(8):
        task = made.task(number)
        steps = parse_steps(task.steps)
        assert len(steps) == len(given.ways)
        for step in steps:
            names = [way.tool for way in step.ways]
            assert len(set(names)) == len(names) >= 2
        assert parse_steps(task.request) == ()
        assert made.request(task, "local") == task.request
        assert parse_steps(made.request(task, "apprentice:3")) == steps


@pytest.mark.req("L7")
@pytest.mark.parametrize("name", [name for name in FAMILIES if name != "open-ended"])
@pytest.mark.parametrize("number", sampled(range(60), every=15))
def test_each_task_can_be_done_by_some_way_of_each_step(
    tmp_path: Path, opened: Callable[[str], FamilyWorld], name: str, number: int
) -> None:
    made = opened(name)
    task = made.task(number)
    made.prepare(task, tmp_path)
    before = made.verify(task, tmp_path)
    assert not before.ok and before.why
    solve(made, task, tmp_path)
    assert made.verify(task, tmp_path) == Verdict(ok=True)


TRAITS: dict[str, dict[str, Callable[[Task], str]]] = {
    "reports": {
        "collect": lambda task: next(name for name in task.files if name.startswith("figures")).rpartition(".")[2],
        "fill": lambda task: next(name for name in task.files if name.startswith("report")).rpartition(".")[2],
    },
    "analysis": {
        "load": lambda task: next(iter(task.files)).rpartition(".")[2],
        "answer": lambda task: parse_steps(task.steps)[1].ways[0].arguments["question"],
    },
    "research": {"fetch": lambda task: parse_steps(task.steps)[0].ways[0].arguments["site"]},
    "administration": {
        "inventory": lambda task: parse_steps(task.steps)[0].ways[0].arguments["system"],
        "apply": lambda task: parse_steps(task.steps)[1].ways[0].arguments["job"],
    },
    "debugging": {
        "tests": lambda task: parse_steps(task.steps)[0].ways[0].arguments["layout"],
        "repair": lambda task: parse_steps(task.steps)[1].ways[0].arguments["symptom"],
    },
}
FROM = {
    "collect": ("json", "csv", "ini", "xml"),
    "fill": ("txt", "tmpl", "mustache"),
    "load": ("csv", "tsv", "jsonl", "fwf"),
    "answer": ("total", "groups", "largest"),
    "fetch": ("gazette", "registry", "almanac", "observatory"),
    "inventory": ("units", "scripts", "runs", "table"),
    "apply": ("config", "usage", "permissions", "rotate"),
    "tests": ("flat", "src", "nested"),
    "repair": ("IndexError", "AssertionError", "NameError", "TypeError"),
}
"""What each way of a step copes with, beside what the ways before it do."""


@pytest.mark.req("L7")
@pytest.mark.parametrize(("name", "stage"), [(name, stage) for name, stages in TRAITS.items() for stage in stages])
def test_which_way_works_depends_on_the_context_and_on_nothing_else(
    tmp_path: Path, opened: Callable[[str], FamilyWorld], name: str, stage: str
) -> None:
    made = opened(name)
    place = list(made.parameters.ways).index(stage)
    ways = made.parameters.ways[stage]
    right = {trait: set(ways[at:]) for at, trait in enumerate(FROM[stage])}
    seen = set()
    for number in range(8 if name in ("debugging", "administration") else 16):
        task = made.task(number)
        working = set()
        for way in parse_steps(task.steps)[place].ways:
            made.prepare(task, tmp_path)
            with contextlib.chdir(tmp_path):
                for step in parse_steps(task.steps)[:place]:
                    assert "error" not in done(made, step.ways[-1])
                if "error" not in done(made, way):
                    working.add(way.tool)
        trait = TRAITS[name][stage](task)
        assert working == right[trait]
        seen.add(trait)
    assert len(seen) >= 2


def test_every_trait_has_about_its_share() -> None:
    made = world("debugging", 1000)
    used = Counter(TRAITS["debugging"]["repair"](made.task(number)) for number in range(200))
    for symptom, share in made.parameters.shares["symptom"].items():
        assert abs(used[symptom] / 200 - share / 100) < 0.1


@pytest.mark.req("L7")
def test_whether_an_open_ended_text_is_liked_belongs_to_the_task(tmp_path: Path) -> None:
    made = world("open-ended")
    liked = []
    for number in range(120):
        task = made.task(number)
        for text in ("", "Better than ", "x" * 999 + " "):
            (tmp_path / "text.txt").write_text(f"{text}{task.truth['subject']}\n")
            assert made.verify(task, tmp_path).ok is task.truth["liked"]
        liked.append(task.truth["liked"])
    assert abs(sum(liked) / 120 - made.parameters.odds["liked"]) < 0.12
    task = made.task(0)
    (tmp_path / "text.txt").write_text("about something else")
    assert made.verify(task, tmp_path).why == f"text.txt does not name {task.truth['subject']}"


@pytest.mark.parametrize("name", RESULT)
@pytest.mark.parametrize("kind", ["link", "pipe", "folder", "large", "deep", "binary", "empty"])
def test_a_verdict_is_no_for_whatever_else_lies_there(tmp_path: Path, name: str, kind: str) -> None:
    made = world(name)
    task = made.task(1)
    workspace = tmp_path / "workspace"
    made.prepare(task, workspace)
    target = workspace / RESULT[name]
    match kind:
        case "link":
            (tmp_path / "elsewhere").write_text(json.dumps(task.truth))
            target.symlink_to(tmp_path / "elsewhere")
        case "pipe":
            os.mkfifo(target)
        case "folder":
            target.mkdir()
        case "large":
            target.write_bytes(b" " * (1 << 20) + b"1")
        case "deep":
            target.write_bytes(b"[" * 100_000)
        case "binary":
            target.write_bytes(bytes(range(256)))
        case _:
            target.write_bytes(b"")
    verdict = made.verify(task, workspace)
    assert not verdict.ok and verdict.why


@pytest.mark.parametrize(
    ("found", "right", "verdict"),
    [
        ({"a": 1}, {"a": 1}, True),
        ({"a": 1.0}, {"a": 1}, False),
        ({"a": True}, {"a": 1}, False),
        ({"a": 1, "b": 2}, {"a": 1}, False),
        ([1, "x"], [1, "x"], True),
        ([1], [1, "x"], False),
        (1.499, 1.49, True),
        (1.51, 1.49, False),
        (float("nan"), 1.49, False),
        (True, 1.0, False),
        (10**400, 1.0, False),
        ("1", 1, False),
        (None, [], False),
    ],
)
def test_an_answer_is_compared_by_value_and_kind(found: Any, right: Any, verdict: bool) -> None:
    assert same(found, right) is verdict


def test_a_workspace_with_somebody_elses_files_is_not_emptied(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    made = world("reports")
    with pytest.raises(UsageError):
        made.prepare(made.task(0), tmp_path)
    assert (tmp_path / "thesis.txt").read_text() == "years of work"


def test_a_workspace_is_made_anew_without_following_links(tmp_path: Path) -> None:
    made = world("reports")
    workspace, other = tmp_path / "workspace", tmp_path / "other"
    other.mkdir()
    (other / "kept").write_text("kept")
    made.prepare(made.task(0), workspace)
    before = {path.name: path.read_bytes() for path in workspace.iterdir()}
    (workspace / "link").symlink_to(other)
    (workspace / "folder").mkdir()
    made.prepare(made.task(0), workspace)
    assert {path.name: path.read_bytes() for path in workspace.iterdir()} == before
    assert (other / "kept").read_text() == "kept"


def host_of(made: FamilyWorld, job: str) -> Task:
    tasks = (made.task(number) for number in range(200))
    return next(task for task in tasks if parse_steps(task.steps)[1].ways[0].arguments["job"] == job)


@pytest.mark.parametrize("job", ["config", "usage", "permissions", "rotate"])
def test_a_job_that_changes_something_else_too_is_not_done(tmp_path: Path, job: str) -> None:
    made = world("administration")
    task = host_of(made, job)
    solve(made, task, tmp_path)
    assert made.verify(task, tmp_path).ok
    (tmp_path / "host" / "etc" / "extra").write_text("")
    assert made.verify(task, tmp_path).why == "etc/extra should not be there"
    (tmp_path / "host" / "etc" / "extra").unlink()
    log = next((tmp_path / "host" / "var" / "log").glob("*.log"))
    log.write_text("overwritten")
    assert made.verify(task, tmp_path).why == f"var/log/{log.name} is not what it should be"


def broken(made: FamilyWorld, task: Task, workspace: Path, source: str) -> Verdict:
    made.prepare(task, workspace)
    (workspace / task.truth["module"]).write_text(source)
    return made.verify(task, workspace)


def test_a_repaired_module_is_tried_where_it_reaches_nothing_and_cannot_pretend(tmp_path: Path) -> None:
    made = world("debugging")
    task = made.task(0)
    workspace, outside = tmp_path / "workspace", tmp_path / "outside"
    right = json.dumps(task.truth["results"])
    verdict = Verdict(ok=False, why="the module does not do what it should")
    escape = f"open({str(outside)!r}, 'w').write('here')"
    assert broken(made, task, workspace, escape) == verdict
    assert not outside.exists()
    assert broken(made, task, workspace, "import os; os._exit(0)") == verdict
    assert broken(made, task, workspace, "import os; os.write(1, b'[' * (3 << 20))") == verdict
    assert broken(made, task, workspace, "this is no Python") == verdict
    assert json.loads(right) == task.truth["results"]


def test_changed_tests_are_noticed(tmp_path: Path) -> None:
    made = world("debugging")
    task = made.task(0)
    solve(made, task, tmp_path)
    (tmp_path / task.truth["tests"]).write_text("def test_nothing(): pass\n")
    assert made.verify(task, tmp_path) == Verdict(ok=False, why="the tests were changed")

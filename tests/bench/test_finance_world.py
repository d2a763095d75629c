"""The world of the case study driven by a real agent: real tools, real processes, the verifier's word."""

import json
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import pytest
import yaml

from hermes_agent.agent import Agent
from hermes_agent.bench.finance.banks import BANKS
from hermes_agent.bench.finance.parameters import parameters
from hermes_agent.bench.finance.tasks import Task
from hermes_agent.bench.finance.world import World
from hermes_agent.bench.verdict import Verdict
from hermes_agent.harness.advisors import SilentAdvisor
from hermes_agent.models.providers.apprentice import Way, parse_steps
from hermes_agent.models.providers.scripted import ScriptedCall, ScriptedModel, Turn
from hermes_agent.types.advice import Advice, Situation
from hermes_agent.types.errors import UsageError
from hermes_agent.types.trace import Judge, ToolRecord
from tests.sampling import sampled

QUICK = msgspec.structs.replace(
    parameters(), settle_seconds=0.0, engine_seconds=0.0, backend_seconds=0.0, quote_slow_seconds=0.0
)
RIGHT = ("import_tolerant", "quotes_archive", "execute_code", "chart_svg")
CONFIGURATION = {
    "learning": {"mode": "off"},
    "limits": {"retry_wait": 0.001, "same_failure": 50},
    **({} if shutil.which("bwrap") else {"sandbox": {"kind": "none"}, "permissions": {"shell": "allow"}}),
}


class Knowing(SilentAdvisor):
    """Says which tools work and which do not."""

    async def advise(self, situation: Situation) -> Advice:
        ways = (tool for tools in QUICK.ways.values() for tool in tools)
        hints = tuple(f"use `{tool}`" if tool in RIGHT else f"avoid `{tool}`" for tool in ways)
        return Advice(hints=hints, family=situation.family)


class Desk:
    """Agents in one home, at work in one world."""

    def __init__(self, folder: Path, home: Path, world: World) -> None:
        self.world = world
        self.workspace = folder / "workspace"
        self.workspace.mkdir()
        self._home = home
        self._agents: list[Agent] = []
        (home / "config.yaml").write_text(yaml.safe_dump(CONFIGURATION))

    def agent(self, model: str | ScriptedModel, advisor: SilentAdvisor | None = None) -> Agent:
        agent = Agent(name="desk", model=model, workspace=self.workspace, home=self._home, advisor=advisor)
        for tool in self.world.tools():
            agent.register_tool(tool)
        self._agents.append(agent)
        return agent

    def calls(self, ways: Sequence[tuple[str, dict[str, object]]]) -> list[ToolRecord]:
        """Make calls one after the other."""
        turns = [Turn(calls=(ScriptedCall(name=name, arguments=arguments),)) for name, arguments in ways]
        agent = self.agent(ScriptedModel([*turns, Turn(text="done")]))
        result = agent.run("go")
        assert result.ok, result.reason
        return list(agent.state.trace(result.run_id).calls)

    def close(self) -> None:
        for agent in self._agents:
            agent.close()


@pytest.fixture
def desk(tmp_path: Path, home: Path) -> Iterator[Desk]:
    with World(41, QUICK) as world:
        made = Desk(tmp_path, home, world)
        yield made
        made.close()


def ended(records: Sequence[ToolRecord]) -> list[tuple[str, str]]:
    return [(record.tool, record.error) for record in records]


def of(world: World, family: str, bank: str) -> Task:
    tasks = (world.task(number) for number in range(2000))
    return next(made for made in tasks if (made.family, made.bank) == (family, bank))


def ways_of(task: Task) -> list[tuple[str, dict[str, object]]]:
    def pair(way: Way) -> tuple[str, dict[str, object]]:
        return way.tool, dict(way.arguments)

    return [pair(way) for step in parse_steps(task.steps) for way in step.ways]


@pytest.mark.req("L9")
def test_on_a_hard_export_the_strict_ways_fail_and_the_others_solve_it(desk: Desk) -> None:
    task = of(desk.world, "report", "tatrava")
    desk.world.prepare(task, desk.workspace)
    quick = [way for way in ways_of(task) if way[0] not in ("convert_data", "plot_data")]
    assert ended(desk.calls(quick)) == [
        ("import_fast", "encoding"),
        ("import_sniffed", "encoding"),
        ("import_locale", "encoding"),
        ("import_tolerant", ""),
        ("import_salvage", ""),
        ("analyse_engine", "overloaded"),
        ("analyse_strict", "unclean"),
        ("execute_code", ""),
        ("chart_png", "no_backend"),
        ("chart_svg", ""),
    ]
    assert desk.world.verify(task, desk.workspace) == Verdict(ok=True)


@pytest.mark.req("L9")
def test_on_an_easy_export_the_first_ways_do(desk: Desk) -> None:
    task = of(desk.world, "fx", "northgate")
    desk.world.prepare(task, desk.workspace)
    first = [(step.ways[0].tool, dict(step.ways[0].arguments)) for step in parse_steps(task.steps)]
    first[1] = ("quotes_monthly", first[1][1])
    assert ended(desk.calls(first)) == [("import_fast", ""), ("quotes_monthly", ""), ("analyse_engine", "")]
    assert desk.world.verify(task, desk.workspace) == Verdict(ok=True)


@pytest.mark.parametrize("family", sampled(["mom", "trend", "anomalies", "top", "totals", "fx", "report"], every=7))
def test_the_product_s_own_data_tools_solve_each_question_too(desk: Desk, family: str) -> None:
    pytest.importorskip("duckdb")
    task = of(desk.world, family, "minato")
    desk.world.prepare(task, desk.workspace)
    wanted = ("import_tolerant", "quotes_archive", "convert_data", *(("plot_data",) if family == "report" else ()))
    assert {error for _, error in ended(desk.calls([way for way in ways_of(task) if way[0] in wanted]))} == {""}
    assert desk.world.verify(task, desk.workspace) == Verdict(ok=True)


@pytest.mark.req("L9")
def test_the_simulated_policy_that_is_told_the_right_ways_solves_the_tasks(desk: Desk) -> None:
    agent = desk.agent("apprentice:41", Knowing())
    solved = []
    for number in range(7):
        task = desk.world.task(number)
        desk.world.prepare(task, desk.workspace)
        request = desk.world.request(task, "apprentice:41")

        def check(result: object, task: Task = task) -> bool:
            return desk.world.verify(task, desk.workspace).ok

        result = agent.run(request, session="new", options={"seed": number}, check=check)
        assert result.judged_by is Judge.VERIFIER
        solved.append(bool(result.success))
    assert sum(solved) >= 6


def test_arguments_that_make_no_sense_are_errors(desk: Desk) -> None:
    task = of(desk.world, "totals", "northgate")
    desk.world.prepare(task, desk.workspace)
    (desk.workspace / "other.json").write_text("[1]")
    name = next(iter(task.files))
    records = desk.calls(
        [
            ("import_tolerant", {"bank": "nobody", "files": [name], "output": "table.csv"}),
            ("import_tolerant", {"bank": "northgate", "files": [], "output": "table.csv"}),
            ("import_tolerant", {"bank": "northgate", "files": ["absent.csv"], "output": "table.csv"}),
            ("import_tolerant", {"bank": "northgate", "files": ["../secret.csv"], "output": "table.csv"}),
            ("import_tolerant", {"bank": "northgate", "files": [name], "output": "../table.csv"}),
            ("import_tolerant", {"bank": "northgate", "files": [name]}),
            ("analyse_strict", {"question": "why", "table": "table.csv", "output": "answer.json"}),
            ("analyse_strict", {"question": "mom", "table": "table.csv", "output": "answer.json"}),
            ("quotes_archive", {"table": "other.json", "output": "rates.csv"}),
            ("chart_svg", {"data": "other.json", "output": "chart.svg"}),
        ]
    )
    errors = [error for _, error in ended(records)]
    assert errors[:3] == ["bad_argument", "bad_argument", "not_found"]
    assert all(errors[3:5]) and "outside the workspace" in records[3].output + records[4].output
    assert errors[5:] == ["bad_arguments", "bad_arguments", "not_found", "parse", "parse"]
    assert {path.name for path in desk.workspace.iterdir()} == {name, "other.json", ".finance-world"}
    assert not (desk.workspace.parent / "table.csv").exists()


def test_a_workspace_is_made_anew_and_strangers_files_are_left_alone(tmp_path: Path) -> None:
    world, kept = World(1), tmp_path / "kept"
    kept.mkdir()
    (kept / "letter.txt").write_text("mine")
    first, second = world.task(0), world.task(1)
    with pytest.raises(UsageError, match="is not empty"):
        world.prepare(first, kept)
    assert [path.name for path in kept.iterdir()] == ["letter.txt"]
    place = tmp_path / "new" / "workspace"
    world.prepare(first, place)
    (place / "folder").mkdir()
    (place / "folder" / "left").write_text("over")
    (place / "link").symlink_to(kept)
    world.prepare(second, place)
    found = {path.name: path.read_bytes() for path in place.iterdir() if path.name != ".finance-world"}
    assert found == second.files
    assert (kept / "letter.txt").read_text() == "mine"


def test_only_the_simulated_policy_is_given_steps() -> None:
    world = World(1)
    task = world.task(0)
    assert world.request(task, "openai:model") == world.request(task, "local") == task.request
    assert world.request(task, "apprentice") == world.request(task, "apprentice:5")
    assert next(step.ways[0].tool for step in parse_steps(world.request(task, "apprentice"))) == "import_fast"


def test_the_parameters_name_every_bank_and_tools_that_exist() -> None:
    given = parameters()
    assert given.banks.keys() == BANKS.keys() and sum(given.banks.values()) == 20
    own = {tool.spec.name for tool in World(1).tools()}
    named = {tool for tools in given.ways.values() for tool in tools}
    assert named - own == {"execute_code", "convert_data", "plot_data"} and own <= named
    shown = json.dumps([tool.spec.parameters for tool in World(1).tools()])
    assert "context" not in shown

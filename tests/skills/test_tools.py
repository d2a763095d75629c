"""skills_list, skill_view and skill_manage as an agent calls them."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hermes_agent.config.settings import Settings, Verdict
from hermes_agent.safety.permissions import Policy
from hermes_agent.skills.tools import entries
from hermes_agent.store.open import Store, open_store
from hermes_agent.tools.registry import Registry
from hermes_agent.tools.results import as_result
from hermes_agent.tools.tool import ArgumentProblem
from hermes_agent.types.tools import Effect, Label, ToolResult
from tests.skills.samples import Place, markdown, put
from tests.tools.context import Context


class Agent:
    """Calls tools the way the harness does."""

    def __init__(self, place: Place, folder: Path) -> None:
        self.place = place
        self.registry = Registry(entries(place.library, place.editing))
        self.context = Context(folder)

    async def call(self, tool: str, **arguments: Any) -> ToolResult:
        found = self.registry.get(tool)
        return as_result(await found.run(found.bind(arguments), self.context))

    async def manage(self, action: str, name: str, **arguments: Any) -> dict[str, Any]:
        result = await self.call("skill_manage", action=action, name=name, **arguments)
        answer = json.loads(result.text)
        assert (answer["ok"], answer.get("error", "")) == (result.ok, result.error)
        return dict(answer)


@pytest.fixture
def store(home: Path) -> Iterator[Store]:
    opened = open_store("", home)
    yield opened
    opened.close()


@pytest.fixture
def agent(store: Store, tmp_path: Path) -> Agent:
    return Agent(Place(store), tmp_path / "session")


@pytest.mark.req("S7")
def test_they_need_no_question_and_declare_what_they_do(agent: Agent) -> None:
    policy = Policy(Settings().permissions)
    verdicts = {
        spec.name: (policy.judge(spec, "s", {}).verdict, spec.effect, spec.labels, spec.family)
        for spec in agent.registry.specs()
    }
    none = frozenset[Label]()
    assert verdicts == {
        "skills_list": (Verdict.ALLOW, Effect.NONE, none, "skills"),
        "skill_view": (Verdict.ALLOW, Effect.NONE, none, "skills"),
        "skill_manage": (Verdict.ALLOW, Effect.IDEMPOTENT, none, "skills"),
    }
    assert all(len(json.dumps(spec.parameters)) < 1400 for spec in agent.registry.specs())


@pytest.mark.req("S9")
def test_listing_ranks_by_what_is_asked(agent: Agent) -> None:
    async def scenario() -> None:
        skills = agent.place.skills
        put(skills, "csv-analysis", markdown("csv-analysis", description="Analyse CSV tables"))
        put(skills, "git-flow", markdown("git-flow", description="Rebase and merge git branches"))
        put(
            skills,
            "logs",
            markdown("logs", description="Find errors in log files", more="metadata:\n  category: ops\n"),
        )
        everything = json.loads((await agent.call("skills_list")).text)
        assert everything == {
            "total": 3,
            "skills": [
                {"name": "csv-analysis", "description": "Analyse CSV tables", "shelf": "user"},
                {"name": "git-flow", "description": "Rebase and merge git branches", "shelf": "user"},
                {"name": "logs", "description": "Find errors in log files", "category": "ops", "shelf": "user"},
            ],
        }
        asked = json.loads((await agent.call("skills_list", query="rebase my git branch", limit=1)).text)
        assert asked["total"] == 3 and [one["name"] for one in asked["skills"]] == ["git-flow"]
        assert asked["skills"][0]["match"] > 0.3
        assert json.loads((await agent.call("skills_list", limit=-5)).text)["skills"] == []
        with pytest.raises(ArgumentProblem):
            await agent.call("skills_list", limit="many")

    asyncio.run(scenario())


@pytest.mark.req("S9")
def test_viewing_goes_from_the_body_to_the_files(agent: Agent) -> None:
    async def scenario() -> None:
        folder = put(agent.place.skills, "csv", files={"references/a.md": "Reference.", "scripts/run.py": "print()\n"})
        (folder / "assets").mkdir()
        (folder / "assets" / "x.bin").write_bytes(b"\xff\xfe")
        version = await agent.place.version("csv")
        viewed = await agent.call("skill_view", name="csv")
        head = f"skill csv, version {version}, shelf user, in {folder}"
        assert (
            viewed.ok
            and viewed.labels == frozenset()
            and viewed.text.strip()
            == (f"{head}\nsupport files: assets/x.bin, references/a.md, scripts/run.py\n\nCount the rows first.")
        )
        whole = await agent.call("skill_view", name="csv", path="SKILL.md")
        assert whole.text == f"skill csv, SKILL.md, version {version}, shelf user, in {folder}\n\n{markdown('csv')}"
        file = await agent.call("skill_view", name="csv", path="references/a.md")
        assert file.text.endswith("\n\nReference.")
        binary = await agent.call("skill_view", name="csv", path="assets/x.bin")
        assert binary.text.endswith(f"[2 bytes that are not text; the file is {folder / 'assets/x.bin'}]")
        for arguments in ({"name": "cvs"}, {"name": "../csv"}, {"name": "csv", "path": "../../x"}):
            wrong = await agent.call("skill_view", **arguments)
            assert (wrong.ok, wrong.error) == (False, "not_found")
        held = await agent.place.library.get("csv")
        uses = await agent.place.store.skills.uses(held.stats.id, 5)
        assert [(use.run_id, use.session_id, use.how, use.version) for use in uses] == [
            ("run", "session", "viewed", version)
        ]

    asyncio.run(scenario())


@pytest.mark.req("S9")
def test_a_second_view_says_that_the_skill_changed(agent: Agent) -> None:
    async def scenario() -> None:
        put(agent.place.skills, "a", markdown("a", "One."))
        first = await agent.place.version("a")
        for _ in range(2):
            assert "changed since" not in (await agent.call("skill_view", name="a")).text
        put(agent.place.skills, "a", markdown("a", "Two."))
        again = (await agent.call("skill_view", name="a")).text
        assert f"This skill changed since you read version {first}" in again and "Two." in again
        assert "changed since" not in (await agent.call("skill_view", name="a")).text

    asyncio.run(scenario())


def test_a_projects_skill_is_a_strangers_text(agent: Agent) -> None:
    async def scenario() -> None:
        folder = put(agent.context.workspace / ".hermes" / "skills", "build")
        put(agent.place.skills, "mine")
        viewed = await agent.call("skill_view", name="build")
        assert (viewed.labels, viewed.origin) == (frozenset((Label.UNTRUSTED,)), str(folder))
        assert (await agent.call("skill_view", name="mine")).labels == frozenset()

    asyncio.run(scenario())


@pytest.mark.req("S7")
def test_an_agent_writes_down_what_it_learned(agent: Agent) -> None:
    async def scenario() -> None:
        made = await agent.manage("create", "csv", content=markdown("csv"), category="data")
        assert sorted(made) == ["action", "name", "ok", "path", "version"]
        version = made["version"]
        steps: list[tuple[str, dict[str, Any]]] = [
            ("patch", {"old": "Count", "new": "Number"}),
            ("write_file", {"path": "references/a.md", "content": "one"}),
            ("patch", {"old": "one", "new": "two", "path": "references/a.md"}),
            ("remove_file", {"path": "references/a.md"}),
            ("edit", {"content": markdown("csv", "All new.")}),
        ]
        for action, arguments in steps:
            refused = await agent.manage(action, "csv", **arguments)
            assert refused["error"] == "version" and "skill_view gives it" in refused["message"]
            done = await agent.manage(action, "csv", version=version, **arguments)
            assert (done["ok"], done["before"], done["path"]) == (True, version, arguments.get("path", "SKILL.md"))
            again = await agent.manage(action, "csv", version=version, **arguments)
            assert again["version"] == done["version"], "the same call after a crash"
            version = done["version"]
        stale = await agent.manage("patch", "csv", old="All", new="x", version=made["version"])
        assert stale["error"] == "stale"
        assert (await agent.call("skill_view", name="csv")).text.strip().endswith("All new.")
        gone = await agent.manage("delete", "csv", version=version)
        assert gone["ok"] and "hermes skills restore csv" in gone["message"]
        bad = await agent.manage("create", "Bad Name", content="x")
        assert (bad["error"], bad["problems"]) == ("invalid", ["name"])
        with pytest.raises(ArgumentProblem):
            await agent.call("skill_manage", action="explode", name="csv")

    asyncio.run(scenario())


@pytest.mark.req("S8")
def test_the_surface_says_who_wrote(agent: Agent) -> None:
    async def scenario() -> None:
        await agent.manage("create", "a", content=markdown("a"))
        agent.context.caller = msgspec.structs.replace(agent.context.caller, surface="review", run_id="r2")
        await agent.manage("create", "b", content=markdown("b"))
        rows = {row.name: (row.origin, row.made_by) for row in await agent.place.store.skills.listed()}
        assert rows == {"a": ("foreground-agent", "run"), "b": ("background-review", "r2")}
        (undone,) = await agent.place.editing.undo("r2")
        assert (undone.ok, undone.name) == (True, "b")

    asyncio.run(scenario())


def test_nothing_is_learned_from_strangers(agent: Agent) -> None:
    async def scenario() -> None:
        put(agent.place.skills, "a")
        version = await agent.place.version("a")
        agent.context.caller = msgspec.structs.replace(agent.context.caller, tainted=True)
        for action in ("create", "edit", "patch", "delete", "write_file", "remove_file"):
            answer = await agent.manage(action, "a", content=markdown("a", "x"), version=version, path="references/a")
            assert answer["error"] == "tainted" and "hermes skills new" in answer["message"]
        assert await agent.place.version("a") == version
        assert (await agent.call("skill_view", name="a")).ok

    asyncio.run(scenario())

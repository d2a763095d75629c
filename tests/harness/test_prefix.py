"""The frozen prefix: deterministic, byte-identical within an epoch, and every new epoch has a reason."""

import asyncio
import itertools
import json
import platform
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from hermes_agent.agent import Agent, RunResult
from hermes_agent.config.settings import PromptSettings
from hermes_agent.harness.prompt import IDENTITY, PromptBuilder
from hermes_agent.models.request import Prefix
from hermes_agent.store.database import Connection
from hermes_agent.store.open import Store
from hermes_agent.tools.registry import Registry
from hermes_agent.tools.tool import Tool
from hermes_agent.types.advice import Section, SessionView
from hermes_agent.types.events import Fragment, PrefixFrozen
from tests.harness.rig import Rig, Witness, call, calling, events, of, saying

VIEW = SessionView(session_id="s", workspace="/w", surface="test", model="scripted:m")


class Source:
    """Contributes one section, and counts how often it is asked."""

    def __init__(self, name: str, text: str) -> None:
        self.asked = 0
        self._section = Section(name=name, text=text)

    async def sections(self, session: SessionView) -> Sequence[Section]:
        self.asked += 1
        return [self._section]


def look(number: int) -> str:
    """Look."""
    return f"saw {number}"


def tool(name: str, description: str = "Look.") -> Tool:
    return Tool(name, look, description=description, capabilities=[], effect="none")


def builder(store: Store, names: Sequence[str], sources: Sequence[Source] = (), identity: str = "") -> PromptBuilder:
    registry = Registry()
    for name in names:
        registry.register(tool(name))
    return PromptBuilder(store.prefixes, registry, sources, PromptSettings(identity=identity), lambda: 0.0)


def frozen(agent: Agent, result: RunResult) -> tuple[int, str]:
    (event,) = of(PrefixFrozen, events(agent, result))
    return event.prefix_epoch, event.reason


@pytest.mark.trunk
@pytest.mark.req("A9")
def test_the_system_prompt_is_identity_platform_sources_in_this_order(store: Store) -> None:
    sources = [Source("skills", "skill index"), Source("memory", "notes"), Source("empty", "")]
    payload = asyncio.run(builder(store, ["b", "a"], sources).assemble(VIEW))
    prefix = msgspec.json.decode(payload, type=Prefix)
    system = f"System: {platform.system()} {platform.machine()}. Surface: test. Working directory: /w"
    assert prefix.system == f"{IDENTITY}\n\n# platform\n{system}\n\n# skills\nskill index\n\n# memory\nnotes"
    assert [declared.name for declared in prefix.tools] == ["a", "b"]
    assert payload.isascii()


@pytest.mark.req("A9")
def test_the_same_inputs_give_the_same_bytes_in_any_order_of_registration(store: Store) -> None:
    one = asyncio.run(builder(store, ["a", "b", "c"], [Source("x", "é")]).assemble(VIEW))
    two = asyncio.run(builder(store, ["c", "a", "b"], [Source("x", "é")]).assemble(VIEW))
    assert one == two
    other = asyncio.run(
        builder(store, ["a", "b", "c"], [Source("x", "é")], identity="You are Somebody.").assemble(VIEW)
    )
    assert json.loads(other)["system"].startswith("You are Somebody.\n\n# platform\n")


@pytest.mark.req("A9")
def test_another_process_assembles_the_same_bytes(store: Store) -> None:
    program = """
import asyncio, sys
from pathlib import Path
from hermes_agent.config.settings import PromptSettings
from hermes_agent.harness.prompt import PromptBuilder
from hermes_agent.store.open import open_store
from hermes_agent.tools.discovery import builtin_tools
from hermes_agent.tools.registry import Registry
from hermes_agent.types.advice import SessionView
store = open_store("", Path(sys.argv[1]))
view = SessionView(session_id="s", workspace="/w", surface="test", model="scripted:m")
maker = PromptBuilder(store.prefixes, Registry(builtin_tools()), (), PromptSettings(), lambda: 0.0)
print(asyncio.run(maker.assemble(view)))
store.close()
"""
    said = [
        subprocess.run(
            [sys.executable, "-c", program, str(store.home)],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "PATH": ""},
        ).stdout
        for seed in ("1", "2")
    ]
    assert said[0] == said[1]
    assert len(said[0]) > 1000


@pytest.mark.trunk
@pytest.mark.req("R9", "B6")
def test_fifty_requests_extend_each_other_byte_for_byte(rig: Rig) -> None:
    script = [calling(call("look", number=number), call("look", number=-number)) for number in range(49)]
    model = Witness([*script, saying("seen"), saying("hello again")])
    agent = rig.agent(model, [tool("look")])
    agent.run("look often")
    agent.run("and then?")
    assert len(model.bodies) == 51
    assert len(set(model.systems)) == 1
    for earlier, later in itertools.pairwise(model.bodies):
        assert earlier.endswith(b"]}")
        assert later.startswith(earlier.removesuffix(b"]}") + b",")


@pytest.mark.req("R9")
def test_an_epoch_goes_on_over_runs_and_instances(rig: Rig) -> None:
    script = [saying("a"), saying("b"), saying("c")]
    first, second = Witness(script), Witness(script)
    agent = rig.agent(first, [tool("look")])
    one, two = agent.run("one"), agent.run("two")
    agent.close()
    later = rig.agent(second, [tool("look")])
    three = later.run("three", session=one.session_id)
    assert [frozen(later, run) for run in (one, two, three)] == [(1, "new session"), (1, ""), (1, "")]
    assert second.bodies[0].startswith(first.bodies[1].removesuffix(b"]}") + b",")
    prints = {of(PrefixFrozen, events(later, run))[0].fingerprint for run in (one, two, three)}
    assert len(prints) == 1


@pytest.mark.req("R9", "A9")
def test_every_new_epoch_says_why(rig: Rig) -> None:
    script = [saying(text) for text in "abcdefg"]
    agent = rig.agent(script, [tool("look")])
    first = agent.run("one")
    agent.register_tool(tool("look_again"))
    more = agent.run("two")
    agent.register_tool(tool("look", "Look more closely."))
    changed = agent.run("three")
    same = agent.run("four")
    agent.close()
    rig.configure(prompt={"cache_minutes": 0})
    idle = rig.agent(script, [tool("look", "Look more closely."), tool("look_again")])
    late = idle.run("five", session=first.session_id)
    assert [frozen(idle, run) for run in (first, more, changed, same, late)] == [
        (1, "new session"),
        (1, ""),
        (2, "other tools"),
        (2, ""),
        (3, "idle beyond the cache's life"),
    ]


@pytest.mark.req("R9")
def test_a_tool_that_comes_late_is_announced_once_behind_the_transcript(rig: Rig) -> None:
    witness = Witness([saying(text) for text in "abc"])
    agent = rig.agent(witness, [tool("look")])
    first = agent.run("one")
    agent.register_tool(tool("look_again"))
    second, third = agent.run("two"), agent.run("three")
    announced = [of(Fragment, events(agent, run)) for run in (first, second, third)]
    text = "New tools: `look_again`. tool_search describes them, use_tool calls them."
    assert announced == [[], [Fragment(source="tools", text=text)], []]
    assert len({frozen(agent, run)[0] for run in (first, second, third)}) == 1


@pytest.mark.req("R9")
def test_an_upgrade_begins_a_new_epoch(rig: Rig) -> None:
    agent = rig.agent([saying("a"), saying("b")])
    first = agent.run("one")

    def older(connection: Connection) -> None:
        connection.run("UPDATE prefix_epochs SET product = '0.0.1'")

    agent.app.store.database.write_now(older)
    second = agent.run("two")
    assert [frozen(agent, run) for run in (first, second)] == [(1, "new session"), (2, "another version of hermes")]


@pytest.mark.req("R9")
def test_sources_are_asked_once_an_epoch(store: Store) -> None:
    source = Source("notes", "first")
    maker = builder(store, ["a"], [source])

    async def three_requests() -> list[tuple[int, str]]:
        session = await store.sessions.create(agent="a", surface="test", workspace="/w", title="t")
        view = msgspec.structs.replace(VIEW, session_id=session.id)
        taken = [await maker.prefix(view, last_used=0.0, resuming=False) for _ in range(3)]
        assert len({item.fingerprint for item in taken}) == 1
        return [(item.epoch, item.reason) for item in taken]

    assert asyncio.run(three_requests()) == [(1, "new session"), (1, ""), (1, "")]
    assert source.asked == 1


@pytest.mark.req("R9", "R2")
def test_a_run_that_resumes_keeps_its_prefix_whatever_changed(store: Store) -> None:
    async def both() -> tuple[Prefix, Prefix]:
        session = await store.sessions.create(agent="a", surface="test", workspace="/w", title="t")
        view = msgspec.structs.replace(VIEW, session_id=session.id)
        before = await builder(store, ["a"]).prefix(view, last_used=0.0, resuming=False)
        changed = msgspec.structs.replace(view, model="scripted:other")
        after = await builder(store, ["a", "b"]).prefix(changed, last_used=-1e9, resuming=True)
        return before.prefix, after.prefix

    before, after = asyncio.run(both())
    assert before == after


@pytest.mark.req("A9")
def test_the_workspace_of_the_session_is_in_the_prompt(local_rig: Rig, tmp_path: Path) -> None:
    model = Witness([saying("hello")])
    local_rig.agent(model).run("hi")
    assert f"Working directory: {tmp_path / 'workspace'}" in model.systems[0]

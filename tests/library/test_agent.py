"""The library's front door: from threads, from event loops, several agents, and what it refuses."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from hermes_agent import Agent, Capability, Tool, tool
from hermes_agent.types.errors import NotFound, StoreError, UsageError
from hermes_agent.types.tools import Effect
from tests.harness.rig import Rig, call, calling, results, saying


@tool(capabilities=["files.read"], effect="none", timeout=5)
def shout(text: str) -> str:
    """Say it loudly."""
    return text.upper()


@pytest.mark.req("R12")
def test_eight_threads_at_once_share_one_session(rig: Rig) -> None:
    count = 8
    script = [
        turn
        for number in range(count)
        for turn in (calling(call("shout", text=f"t{number}")), saying(f"answer {number}"))
    ]
    agent = rig.agent(script)
    agent.register_tool(shout)
    with ThreadPoolExecutor(count) as pool:
        done = list(pool.map(agent.run, [f"request {number}" for number in range(count)]))
    assert {result.session_id for result in done} == {agent.session_id}
    assert sorted(result.answer for result in done) == [f"answer {number}" for number in range(count)]
    assert [item["output"] for item in agent.state.tool_history] == [f"T{number}" for number in range(count)]


@pytest.mark.req("R12")
def test_eight_threads_at_once_on_sessions_of_their_own(rig: Rig) -> None:
    count = 8
    together = threading.Barrier(count, timeout=30)

    def meet() -> str:
        together.wait()
        return "met"

    agent = rig.agent([calling(call("meet")), saying("done")], [Tool("meet", meet, capabilities=[], effect="once")])
    with ThreadPoolExecutor(count) as pool:
        done = list(pool.map(lambda number: agent.run(f"{number}", session="new"), range(count)))
    assert [result.answer for result in done] == ["done"] * count
    assert len({result.session_id for result in done}) == count
    assert agent.session_id == ""


@pytest.mark.trunk
@pytest.mark.req("R12")
def test_inside_a_running_event_loop(local_rig: Rig) -> None:
    agent = local_rig.agent([saying("a"), saying("b"), saying("c")])

    async def program() -> list[str]:
        blocking = agent.run("one").answer
        waiting = (await agent.arun("two")).answer
        history = agent.state.tool_history
        assert history == []
        return [blocking, waiting]

    assert asyncio.run(program()) == ["a", "b"]


@pytest.mark.req("R12")
def test_arun_from_two_loops_at_once(local_rig: Rig) -> None:
    together = asyncio.Barrier(2)

    async def meet() -> str:
        await together.wait()
        return "met"

    agent = local_rig.agent(
        [calling(call("meet")), saying("done")], [Tool("meet", meet, capabilities=[], effect="none")]
    )

    def loop_of_its_own(number: int) -> str:
        async def program() -> str:
            return (await agent.arun(f"request {number}", session="new")).answer

        return asyncio.run(program())

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(loop_of_its_own, range(2))) == ["done", "done"]


@pytest.mark.req("R12")
def test_arun_many_at_once_in_one_loop(local_rig: Rig) -> None:
    agent = local_rig.agent([saying("done")])

    async def program() -> list[str]:
        done = await asyncio.gather(*(agent.arun(f"{number}", session="new") for number in range(16)))
        return [result.answer for result in done]

    assert asyncio.run(program()) == ["done"] * 16


@pytest.mark.req("R12")
def test_several_agents_in_one_process_keep_apart(rig: Rig) -> None:
    def helper(name: str) -> Tool:
        def work() -> str:
            return name

        return Tool("work", work, capabilities=[], effect="none")

    script = [calling(call("work")), saying("done")]
    agents = [rig.agent(script, [helper(name)], name=name) for name in ("anna", "ben", "carla")]
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda agent: agent.run("work"), agents))
    assert [agent.state.tool_history[0]["output"] for agent in agents] == ["anna", "ben", "carla"]
    assert len({agent.session_id for agent in agents}) == 3
    agents[0].close()
    assert agents[1].run("again").answer == "(the script is over)"


@pytest.mark.req("R12")
def test_a_decorated_function_is_registered_with_its_declaration(local_rig: Rig) -> None:
    agent = local_rig.agent([calling(call("shout", text="hey")), saying("done")])
    agent.register_tool(shout)
    spec = agent.app.registry.spec("shout")
    assert spec is not None
    assert (spec.capabilities, spec.effect, spec.timeout, spec.description) == (
        frozenset([Capability.FILES_READ]),
        Effect.NONE,
        5,
        "Say it loudly.",
    )
    assert results(agent, agent.run("shout")) == [("call_0_0", "ok", "")]


@pytest.mark.req("R12")
def test_what_is_no_tool_is_refused(local_rig: Rig) -> None:
    agent = local_rig.agent([saying("done")])
    with pytest.raises(UsageError, match="only a Tool or a function declared with @tool"):
        agent.register_tool(lambda: "no")
    with pytest.raises(UsageError, match="there is no capability 'everything'"):
        Tool("act", lambda: "no", capabilities=["everything"])
    with pytest.raises(UsageError, match="exists already"):
        agent.register_tool(Tool("read_file", lambda: "no", capabilities=[]))


@pytest.mark.req("R12")
def test_what_cannot_be_asked_is_refused(local_rig: Rig) -> None:
    agent = local_rig.agent([saying("done")])
    with pytest.raises(UsageError, match="the request is empty"):
        agent.run("  \n")
    with pytest.raises(NotFound, match="there is no session 'zzzz'"):
        agent.run("hello", session="zzzz")
    with pytest.raises(UsageError, match="1 to 100 characters"):
        Agent(name="", home=local_rig.home)
    assert agent.session_id == ""
    agent.close()
    agent.close()
    with pytest.raises(StoreError, match="the store is closed"):
        agent.run("hello")


@pytest.mark.req("R12")
def test_a_session_is_continued_by_its_id(rig: Rig) -> None:
    script = [saying("a"), saying("b"), saying("c")]
    first = rig.agent(script)
    one = first.run("one")
    second = rig.agent(script)
    two = second.run("two", session=one.session_id)
    own = second.run("own")
    assert (two.session_id, two.answer) == (one.session_id, "b")
    assert (own.session_id != one.session_id, own.answer) == (True, "a")
    assert second.session_id == own.session_id

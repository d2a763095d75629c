"""Calls of one turn: together where they may, in order where they must, once where that is enough."""

import asyncio
import threading
from pathlib import Path

import msgspec
import pytest

from hermes_agent.tools.tool import Tool
from hermes_agent.types.events import AssistantMessage, CallFinished, CallIntended
from hermes_agent.types.tools import Effect
from tests.harness.rig import Rig, call, calling, events, of, results, saying


class Notes:
    """Tools that write down when they run."""

    def __init__(self) -> None:
        self.log: list[str] = []

    def tool(self, name: str, effect: str, needs: tuple[str, ...] = ()) -> Tool:
        def run(key: str = "") -> str:
            """Note it."""
            self.log.append(f"{name}{key}")
            return f"{name}{key} number {len(self.log)}"

        return Tool(name, run, capabilities=[], effect=effect, needs=needs)


@pytest.mark.trunk
@pytest.mark.req("R4")
def test_the_same_effect_free_call_runs_once_in_a_turn(rig: Rig) -> None:
    notes = Notes()
    script = [
        calling(call("look", key="a"), call("look", key="a"), call("look", key="b")),
        calling(call("look", key="a")),
        saying("seen"),
        calling(call("look", key="a")),
        saying("seen again"),
    ]
    agent = rig.agent(script, [notes.tool("look", "none")])
    first = agent.run("look")
    again = "\n[the same call was answered before in this turn; nothing has changed since]"
    journal = events(agent, first)
    texts = {done.call_id: done.text for done in of(CallFinished, journal)}
    assert texts["call_0_1"] == texts["call_0_0"] + again
    assert texts["call_1_0"] == texts["call_0_0"] + again
    assert {item.call_id for item in of(CallIntended, journal)} == {"call_0_0", "call_0_2"}
    assert sorted(notes.log) == ["looka", "lookb"]
    agent.run("look once more")
    assert sorted(notes.log) == ["looka", "looka", "lookb"]
    assert len(agent.state.tool_history) == 5


@pytest.mark.req("R4")
@pytest.mark.parametrize("effect", ["idempotent", "once"])
def test_after_an_effect_the_same_call_runs_again(rig: Rig, effect: str) -> None:
    notes = Notes()
    script = [
        calling(call("look")),
        calling(call("change"), call("look")),
        calling(call("look")),
        saying("done"),
    ]
    agent = rig.agent(script, [notes.tool("look", "none"), notes.tool("change", effect)])
    result = agent.run("look, change, look")
    assert notes.log == ["look", "change", "look"]
    texts = {done.call_id: done.text for done in of(CallFinished, events(agent, result))}
    assert texts["call_1_1"] == "look number 3"
    assert texts["call_2_0"].startswith("look number 3\n[the same call")


@pytest.mark.req("R4")
@pytest.mark.parametrize("effect", ["idempotent", "once"])
def test_calls_with_an_effect_are_never_taken_for_the_same(local_rig: Rig, effect: str) -> None:
    notes = Notes()
    agent = local_rig.agent(
        [calling(call("change"), call("change")), calling(call("change")), saying("done")],
        [notes.tool("change", effect)],
    )
    agent.run("change")
    assert notes.log == ["change"] * 3


@pytest.mark.req("R4")
def test_a_failed_call_is_not_taken_for_an_answer(local_rig: Rig) -> None:
    tries: list[int] = []

    def moody() -> str:
        tries.append(1)
        if len(tries) == 1:
            raise ValueError("not today")
        return "fine"

    agent = local_rig.agent(
        [calling(call("moody")), calling(call("moody")), saying("done")],
        [Tool("moody", moody, capabilities=[], effect="none")],
    )
    result = agent.run("try")
    assert results(agent, result) == [("call_0_0", "error", "ValueError"), ("call_1_0", "ok", "")]


@pytest.mark.trunk
@pytest.mark.req("R4")
def test_needs_are_enforced_within_an_answer_and_across(rig: Rig) -> None:
    notes = Notes()
    tools = [notes.tool("first", "none"), notes.tool("second", "none", needs=("first",))]
    script = [
        calling(call("second")),
        calling(call("first"), call("second")),
        calling(call("second", key="b")),
        saying("done"),
        calling(call("second")),
        saying("refused"),
    ]
    agent = rig.agent(script, tools)
    one, two = agent.run("go"), agent.run("go")
    assert results(agent, one) == [
        ("call_0_0", "refused", "needs"),
        ("call_1_0", "ok", ""),
        ("call_1_1", "ok", ""),
        ("call_2_0", "ok", ""),
    ]
    assert notes.log == ["first", "second", "secondb"]
    assert results(agent, two) == [("call_4_0", "refused", "needs")]
    refusal = of(CallFinished, events(agent, one))[0]
    assert msgspec.json.decode(refusal.text) == {"error": "call first first: second needs it"}


@pytest.mark.req("R4")
def test_a_need_that_failed_is_not_met(local_rig: Rig) -> None:
    def first() -> str:
        raise ValueError("no")

    notes = Notes()
    agent = local_rig.agent(
        [calling(call("first"), call("second")), saying("done")],
        [Tool("first", first, capabilities=[], effect="none"), notes.tool("second", "once", needs=("first",))],
    )
    result = agent.run("go")
    assert results(agent, result) == [("call_0_0", "error", "ValueError"), ("call_0_1", "refused", "needs")]
    assert notes.log == []


@pytest.mark.trunk
@pytest.mark.req("R4")
def test_independent_calls_really_overlap(local_rig: Rig) -> None:
    together = threading.Barrier(3, timeout=30)

    def meet(name: str) -> str:
        """Wait for the others."""
        together.wait()
        return name

    agent = local_rig.agent(
        [calling(*(call("meet", name=name) for name in "abc")), saying("met")],
        [Tool("meet", meet, capabilities=[], effect="none")],
    )
    result = agent.run("meet")
    assert sorted(results(agent, result)) == [(f"call_0_{place}", "ok", "") for place in range(3)]
    journal = events(agent, result)
    kinds = [type(event) for event in journal if isinstance(event, AssistantMessage | CallIntended | CallFinished)]
    assert kinds == [AssistantMessage, *[CallIntended] * 3, *[CallFinished] * 3, AssistantMessage]


@pytest.mark.req("R4")
@pytest.mark.parametrize("effect", ["idempotent", "once"])
def test_calls_with_an_effect_never_overlap(local_rig: Rig, effect: str) -> None:
    inside: list[str] = []
    seen: list[int] = []

    async def busy(name: str) -> str:
        """Work for a while."""
        inside.append(name)
        await asyncio.sleep(0.02)
        seen.append(len(inside))
        inside.remove(name)
        return name

    agent = local_rig.agent(
        [calling(*(call("busy", name=name) for name in "abcd")), saying("done")],
        [Tool("busy", busy, capabilities=[], effect=effect)],
    )
    result = agent.run("work")
    assert seen == [1, 1, 1, 1]
    assert [done.text for done in of(CallFinished, events(agent, result))] == list("abcd")


@pytest.mark.req("R4")
def test_no_more_calls_at_once_than_configured(local_rig: Rig) -> None:
    local_rig.configure(limits={"parallel_calls": 2})
    inside: list[int] = []
    most: list[int] = []

    async def busy(number: int) -> str:
        """Work for a while."""
        inside.append(number)
        most.append(len(inside))
        await asyncio.sleep(0.02)
        inside.remove(number)
        return "ok"

    agent = local_rig.agent(
        [calling(*(call("busy", number=number) for number in range(5))), saying("done")],
        [Tool("busy", busy, capabilities=[], effect="none")],
    )
    agent.run("work")
    assert (max(most), len(most)) == (2, 5)


@pytest.mark.req("R4", "R10")
def test_every_call_is_logged_whatever_became_of_it(rig: Rig, home: Path) -> None:
    def boom() -> str:
        raise ValueError("boom")

    script = [
        calling(
            call("look"),
            call("boom"),
            call("nothing_like_it"),
            call("look", wrong=1),
            call("terminal", command="touch hi"),
        ),
        saying("done"),
    ]
    notes = Notes()
    agent = rig.agent(script, [notes.tool("look", "none"), Tool("boom", boom, capabilities=[], effect="once")])
    result = agent.run("everything")
    ended = {call_id: (status, error) for call_id, status, error in results(agent, result)}
    assert ended == {
        "call_0_0": ("ok", ""),
        "call_0_1": ("error", "ValueError"),
        "call_0_2": ("error", "unknown_tool"),
        "call_0_3": ("error", "bad_arguments"),
        "call_0_4": ("refused", "not_permitted"),
    }
    effects = {record.call_id: record.effect for record in agent.state.trace(result.run_id).calls}
    assert (effects["call_0_0"], effects["call_0_1"]) == (Effect.NONE, Effect.ONCE)
    log = [msgspec.json.decode(line) for line in (home / "logs" / "hermes.log").read_bytes().splitlines()]
    lines = {line["call"]: (line["status"], line["error"]) for line in log if line["kind"] == "call_finished"}
    assert lines == ended

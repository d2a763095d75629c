"""Tools that call tools, tools outside the prompt, and what the journal and the model see of them."""

from collections.abc import Sequence
from typing import Any

import pytest

from hermes_agent.safety.approvals import Answer, Question
from hermes_agent.tools.tool import Tool
from hermes_agent.types.events import AssistantMessage, CallFinished, CallIntended, Decided, PlanChanged
from hermes_agent.types.tools import Effect, Label, ToolCall, ToolContext, ToolResult
from hermes_agent.types.trace import CallStatus
from tests.harness.rig import Rig, Witness, call, calling, events, of, results, saying


class Refusing:
    """Says no and remembers what to."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def approve(self, questions: Sequence[Question]) -> Sequence[Answer]:
        self.asked += [question.tool for question in questions]
        return [Answer.NO for _ in questions]

    async def choose(self, question: str, choices: Sequence[str]) -> str | None:
        return None


def caller(*calls: tuple[str, dict[str, Any]], capabilities: Sequence[str] = ()) -> Tool:
    """A tool that makes these calls and reports how they ended."""

    async def work(context: ToolContext) -> ToolResult:
        """Work with other tools."""
        made = [await context.tools.call(name, arguments) for name, arguments in calls]
        labels = frozenset[Label]().union(*(one.labels for one in made))
        return ToolResult(text="; ".join(f"{one.ok} {one.error or one.text}" for one in made), labels=labels)

    return Tool("work", work, capabilities=capabilities, effect="once")


def noting(log: list[str], name: str = "note", capabilities: Sequence[str] | None = (), effect: str = "once") -> Tool:
    def note(text: str) -> str:
        """Note."""
        log.append(text)
        return f"noted {text}"

    return Tool(name, note, capabilities=capabilities, effect=effect)


@pytest.mark.req("R4")
def test_a_call_made_by_a_tool_is_journaled_and_stays_out_of_the_conversation(rig: Rig) -> None:
    log: list[str] = []
    witness = Witness([calling(call("work")), saying("done")])
    agent = rig.agent(witness, [noting(log), caller(("note", {"text": "a"}), ("note", {"text": "b"}))])
    result = agent.run("work")
    journal = events(agent, result)
    assert log == ["a", "b"]
    assert [(one.call_id, one.parent, one.tool) for one in of(CallFinished, journal)] == [
        ("call_0_0.1", "call_0_0", "note"),
        ("call_0_0.2", "call_0_0", "note"),
        ("call_0_0", "", "work"),
    ]
    nested = [one for one in of(CallIntended, journal) if one.parent]
    assert [(one.effect, one.arguments) for one in nested] == [
        (Effect.ONCE, {"text": "a"}),
        (Effect.ONCE, {"text": "b"}),
    ]
    history = [(record["tool"], record["input"]) for record in agent.state.tool_history]
    assert history == [("note", {"text": "a"}), ("note", {"text": "b"}), ("work", {})]
    assert b"call_0_0.1" not in witness.bodies[-1] and b"noted a; " in witness.bodies[-1]


@pytest.mark.req("R3", "B5")
def test_a_tool_cannot_do_through_another_what_the_model_may_not(local_rig: Rig) -> None:
    log: list[str] = []
    person = Refusing()
    tools = [noting(log, "undeclared", None), caller(("undeclared", {"text": "a"}), ("format_disk", {}))]
    agent = local_rig.agent([calling(call("work")), saying("done")], tools, approver=person)
    result = agent.run("work")
    assert (log, person.asked) == ([], ["undeclared"])
    assert results(agent, result) == [
        ("call_0_0.1", "refused", "not_permitted"),
        ("call_0_0.2", "error", "unknown_tool"),
        ("call_0_0", "ok", ""),
    ]
    assert [(one.choice, one.call_id) for one in of(Decided, events(agent, result))] == [("refuse", "call_0_0.1")]


def test_a_tool_called_by_a_tool_calls_no_others(local_rig: Rig) -> None:
    inner = caller(("note", {"text": "a"}))

    async def outer(context: ToolContext) -> ToolResult:
        """Call the caller."""
        return await context.tools.call("work", {})

    log: list[str] = []
    tools = [noting(log), inner, Tool("outer", outer, capabilities=[], effect="once")]
    agent = local_rig.agent([calling(call("outer")), saying("done")], tools)
    result = agent.run("go")
    assert log == []
    assert of(CallFinished, events(agent, result))[-1].text == "False nested"


@pytest.mark.req("B5")
def test_labels_of_inner_results_reach_the_outer_one(local_rig: Rig) -> None:
    page = Tool("page", lambda: "text", capabilities=["network"], effect="none", parameters={})
    agent = local_rig.agent([calling(call("work")), saying("done")], [page, caller(("page", {}))])
    done = of(CallFinished, events(agent, agent.run("go")))
    assert [(one.tool, one.labels) for one in done] == [("page", (Label.UNTRUSTED,)), ("work", (Label.UNTRUSTED,))]


@pytest.mark.req("A4", "R9")
def test_a_rare_tool_is_not_in_the_prompt_is_found_and_called_as_itself(rig: Rig) -> None:
    log: list[str] = []
    rare = noting(log, "carve").with_spec(rare=True, description="Carve letters into stone.")
    script = [
        calling(call("tool_search", query="carve stone")),
        calling(call("use_tool", name="carve", arguments={"text": "hello"})),
        calling(call("use_tool", name="carve", arguments={"words": "hello"})),
        calling(call("use_tool", name="nothing", arguments={})),
        saying("done"),
    ]
    witness = Witness(script)
    agent = rig.agent(witness, [rare])
    result = agent.run("carve hello")
    assert b'"name":"carve"' not in witness.bodies[0]
    done = of(CallFinished, events(agent, result))
    assert '"name":"carve","description":"Carve letters into stone."' in done[0].text
    assert [(one.tool, one.status, one.error) for one in done[1:]] == [
        ("carve", CallStatus.OK, ""),
        ("carve", CallStatus.ERROR, "bad_arguments"),
        ("nothing", CallStatus.ERROR, "unknown_tool"),
    ]
    assert [(one.tool, one.effect) for one in of(CallIntended, events(agent, result))][1] == ("carve", Effect.ONCE)
    assert log == ["hello"]
    assert [record["tool"] for record in agent.state.tool_history] == ["tool_search", "carve", "carve", "nothing"]
    asked = [call.name for message in of(AssistantMessage, events(agent, result)) for call in message.calls]
    assert asked == ["tool_search", "use_tool", "use_tool", "use_tool"]


def test_use_tool_stands_for_the_named_call_only_when_it_names_one() -> None:
    meant = ToolCall(id="c", name="use_tool", arguments={"name": "x", "arguments": {"a": 1}}).meant()
    assert meant == ToolCall(id="c", name="x", arguments={"a": 1})
    for arguments in ({}, {"name": 3}, {"name": "x", "arguments": "no"}):
        odd = ToolCall(id="c", name="use_tool", arguments=arguments)
        assert odd.meant() == odd


def test_a_proposed_plan_is_journaled_and_gone_with_the_request(local_rig: Rig) -> None:
    seen: list[dict[str, Any] | None] = []
    script = [
        calling(call("plan", steps=["look", "write"], reason="two things")),
        calling(call("peek")),
        saying("done"),
    ]
    agent = local_rig.agent(script)

    def peek() -> str:
        """Look at the plan."""
        seen.append(agent.state.active_plan)
        return "seen"

    agent.register_tool(Tool("peek", peek, capabilities=[], effect="none"))
    result = agent.run("do both")
    (changed,) = of(PlanChanged, events(agent, result))
    assert (changed.plan.pending, changed.reason) == (("look", "write"), "two things")
    assert seen[0] is not None and tuple(seen[0]["pending"]) == ("look", "write")
    assert agent.state.active_plan is None

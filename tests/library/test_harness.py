"""`HermesHarness(model_endpoint, heuristic_store)`: the harness under the names its first description gave it."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import pytest

from hermes_agent import HermesHarness, Tool
from hermes_agent.models.client import ModelClient
from hermes_agent.models.providers.scripted import ScriptedModel
from hermes_agent.types.advice import Situation
from hermes_agent.types.plan import ActivePlan
from hermes_agent.types.tools import ToolCall
from hermes_agent.types.trace import CallStatus, Outcome, RunStatus, ToolRecord, Trace
from tests.endpoint import Endpoint, by_results
from tests.endpoint import call as wire_call
from tests.endpoint import calls as wire_calls
from tests.endpoint import text as wire_text
from tests.harness.rig import Witness, call, calling, saying


class Notes:
    """A heuristic store in memory: hints per request, failures it has seen."""

    def __init__(self, *hints: str, known: tuple[str, str] = ("", "")) -> None:
        self.learned: list[Trace] = []
        self.asked: list[Situation | str] = []
        self._hints = hints
        self._known = known

    def query(self, situation: Situation | str) -> Sequence[str]:
        self.asked.append(situation)
        return self._hints

    def learn_from_trace(self, trace: Trace) -> None:
        self.learned.append(trace)

    def is_known_failure(self, step: str, error: str) -> bool:
        return (step, error) == self._known


@pytest.fixture(autouse=True)
def _place(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("HERMES_HOME", str(home))
    monkeypatch.chdir(tmp_path)
    yield


def made(model: str | ModelClient, notes: Notes, tools: Sequence[Tool] = ()) -> HermesHarness:
    harness = HermesHarness(model, notes)
    for tool in tools:
        harness.agent.register_tool(tool)
    return harness


def double(number: int) -> int:
    """Double it."""
    return 2 * number


DOUBLE = Tool("double", double, capabilities=[], effect="none")


@pytest.mark.trunk
@pytest.mark.req("H7")
def test_execute_asks_heuristics_first_and_teaches_them_last() -> None:
    notes = Notes("doubling is fine here")
    model = Witness([calling(call("double", number=4)), saying("eight")])
    harness = made(model, notes, [DOUBLE])
    trace = harness.execute("double four")
    assert (trace.request, trace.outcome) == ("double four", Outcome(status=RunStatus.DONE))
    assert [(record.tool, record.output) for record in trace.calls] == [("double", "8")]
    assert harness.trace == trace
    assert notes.asked == [
        Situation(
            request="double four",
            model="scripted:witness",
            surface="library",
            run_id=trace.run_id,
            workspace=str(Path.cwd()),
        )
    ]
    assert [learned.run_id for learned in notes.learned] == [trace.run_id]
    assert b"doubling is fine here" in model.bodies[0]
    assert "doubling" not in model.systems[0]
    harness.agent.close()


@pytest.mark.req("H7")
def test_execute_gives_the_trace_of_a_failed_run_too() -> None:
    notes = Notes()
    harness = made("nowhere:x", notes)
    trace = harness.execute("try")
    assert (trace.outcome.status, trace.calls) == (RunStatus.FAILED, ())
    assert "there is no provider 'nowhere'" in trace.outcome.reason
    harness.agent.close()


@pytest.mark.req("H7")
def test_the_endpoint_may_be_a_url() -> None:
    replies = by_results([wire_calls(wire_call("double", number=21)), wire_text("forty-two")])
    with Endpoint(replies, models=("small",)) as endpoint:
        harness = made(f"{endpoint.url}#small", Notes("use double"), [DOUBLE])
        trace = harness.execute("what is twice 21?")
        harness.agent.close()
        sent = msgspec.json.decode(endpoint.requests[0].body)
    assert (trace.model, trace.steps[-1].content) == ("openai:small", "forty-two")
    assert sent["model"] == "small"
    assert sent["messages"][-1] == {"role": "user", "content": '<notice from="advice">\nuse double\n</notice>'}


@pytest.mark.req("H7")
def test_build_plan_and_should_retry() -> None:
    harness = made(ScriptedModel([saying("done")]), Notes(known=("fetch", "ConnectionError")))
    assert harness.build_plan("anything", ["a hint"]) == ActivePlan(step=0, pending=(), retries_left=4)
    assert harness.should_retry("fetch", "TimeoutError")
    assert harness.should_retry("parse", "ConnectionError")
    assert not harness.should_retry("fetch", "ConnectionError")
    harness.agent.close()


@pytest.mark.req("H7")
def test_a_known_failure_is_not_retried() -> None:
    tries: list[int] = []

    def fetch() -> str:
        tries.append(1)
        raise ConnectionError("down")

    tool = Tool("fetch", fetch, capabilities=[], effect="idempotent")
    knowing = made(
        ScriptedModel([calling(call("fetch")), saying("gave up")]), Notes(known=("fetch", "ConnectionError")), [tool]
    )
    (record,) = knowing.execute("fetch").calls
    knowing.agent.close()
    assert (record.attempts, len(tries)) == (1, 1)


@pytest.mark.req("H7")
def test_invoke_tool_is_journaled_and_permitted_like_any_call() -> None:
    harness = made(ScriptedModel([saying("unused")]), Notes(), [DOUBLE])
    record = harness.invoke_tool(ToolCall(id="mine", name="double", arguments={"number": 3}))
    assert record == ToolRecord(
        tool="double",
        input={"number": 3},
        output="6",
        duration=record.duration,
        latency_ms=record.latency_ms,
        run_id=record.run_id,
        call_id=record.call_id,
        digest=record.digest,
    )
    refused = harness.invoke_tool(ToolCall(id="mine", name="terminal", arguments={"command": "rm -rf ."}))
    assert (refused.status, refused.error, Path(".").exists()) == (CallStatus.REFUSED, "not_permitted", True)
    unknown = harness.invoke_tool(ToolCall(id="mine", name="nothing"))
    assert (unknown.status, unknown.error) == (CallStatus.ERROR, "unknown_tool")
    assert harness.agent.app.parts.models.keys() == {"scripted:script"}
    assert harness.execute("and now?").steps[-1].content == "unused"
    harness.agent.close()

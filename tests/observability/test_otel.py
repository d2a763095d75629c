"""Runs as traces, sent to a real receiver and read back with the protocol's own package."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from hermes_agent.config.settings import ObservabilitySettings
from hermes_agent.observability.otel import TraceSink, sink_for
from hermes_agent.safety.redact import Redactor
from hermes_agent.types.errors import ConfigError, ModelFailure
from hermes_agent.types.events import (
    AnyEvent,
    AssistantMessage,
    CallFinished,
    CallIntended,
    DeliveryFinished,
    Judged,
    ModelCalled,
    Recovered,
    RunFinished,
    RunStarted,
    Usage,
    UserMessage,
)
from hermes_agent.types.tools import Effect, ToolCall
from hermes_agent.types.trace import CallStatus, Judge, Outcome, RunStatus
from tests.harness.rig import Rig, call, calling, local_rig, saying
from tests.observability.receiver import Receiver, attributes

__all__ = ["local_rig"]
KEY = "sk-" + "a" * 24
DONE = RunFinished(answer="done", status=RunStatus.DONE, outcome=Outcome(status=RunStatus.DONE))


def listening(receiver: Receiver, *, content: bool = False) -> TraceSink:
    made = sink_for(ObservabilitySettings(otel_endpoint=receiver.url, otel_content=content), Redactor(), "rig")
    assert made is not None
    return made


def sent(*events: AnyEvent, content: bool = False, run_id: str = "r1") -> list[Span]:
    """The spans that come of some events, by the time at which they began."""
    with Receiver() as receiver:
        sink = listening(receiver, content=content)
        for event in events:
            sink.event(run_id, event)
        sink.close()
        return sorted(receiver.spans, key=lambda span: (span.start_time_unix_nano, span.name))


def intended(call_id: str, tool: str = "read_file", **more: Any) -> CallIntended:
    return CallIntended(call_id=call_id, tool=tool, effect=Effect.NONE, key="k", digest="d", **more)


def finished(call_id: str, status: CallStatus = CallStatus.OK, **more: Any) -> CallFinished:
    return CallFinished(call_id=call_id, tool="read_file", status=status, text=f"printed {KEY}", **more)


RUN: tuple[AnyEvent, ...] = (
    RunStarted(inbox_id="i", model="openai:small"),
    UserMessage(text=f"a wish with {KEY}"),
    ModelCalled(provider="openai", model="small", latency_ms=50, usage=Usage(input=10, output=3, cached=4), usd=0.5),
    AssistantMessage(
        text="thinking", calls=(ToolCall(id="a", name="read_file", arguments={"path": "x", "key": KEY}),), stop="tool"
    ),
    intended("a"),
    intended("b", "inner", parent="a", arguments={"n": 1}),
    CallFinished(call_id="b", tool="inner", status=CallStatus.ERROR, text="", error="parse", parent="a", attempts=2),
    finished("a"),
    ModelCalled(provider="openai", model="small", latency_ms=5, failure=ModelFailure.OVERLOAD),
    ModelCalled(provider="backup", model="large", latency_ms=5),
    AssistantMessage(text="done", stop="stop"),
    DONE,
)


@pytest.mark.req("R10", "R13")
def test_a_run_after_the_conventions() -> None:
    spans = {span.name: span for span in sent(*RUN)}
    assert {name: attributes(span.attributes) for name, span in spans.items()} == {
        "invoke_agent rig": {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": "rig",
            "gen_ai.provider.name": "openai",
            "gen_ai.system": "openai",
            "gen_ai.request.model": "small",
            "hermes.run.id": "r1",
            "hermes.run.status": "done",
            "hermes.run.judged_by": "inferred",
        },
        "chat small": {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": "openai",
            "gen_ai.system": "openai",
            "gen_ai.request.model": "small",
            "gen_ai.usage.input_tokens": 0,
            "gen_ai.usage.output_tokens": 0,
            "gen_ai.usage.cache_read.input_tokens": 0,
            "error.type": "overload",
        },
        "chat large": {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": "backup",
            "gen_ai.system": "backup",
            "gen_ai.request.model": "large",
            "gen_ai.usage.input_tokens": 0,
            "gen_ai.usage.output_tokens": 0,
            "gen_ai.usage.cache_read.input_tokens": 0,
            "gen_ai.response.finish_reasons": ["stop"],
        },
        "execute_tool read_file": {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "read_file",
            "gen_ai.tool.call.id": "a",
            "gen_ai.tool.type": "function",
            "hermes.tool.effect": "none",
            "hermes.tool.status": "ok",
            "hermes.tool.attempts": 1,
        },
        "execute_tool inner": {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "inner",
            "gen_ai.tool.call.id": "b",
            "gen_ai.tool.type": "function",
            "hermes.tool.effect": "none",
            "hermes.tool.status": "error",
            "hermes.tool.attempts": 2,
            "error.type": "parse",
        },
    }
    root = spans["invoke_agent rig"]
    assert not root.parent_span_id and len({span.trace_id for span in spans.values()}) == 1
    assert spans["execute_tool inner"].parent_span_id == spans["execute_tool read_file"].span_id
    below = [spans[name].parent_span_id for name in ("chat small", "chat large", "execute_tool read_file")]
    assert below == [root.span_id] * 3
    assert (spans["chat large"].kind, root.kind) == (Span.SPAN_KIND_CLIENT, Span.SPAN_KIND_INTERNAL)
    failed = {name for name, span in spans.items() if span.status.code == 2}
    assert failed == {"chat small", "execute_tool inner"}


def test_tokens_and_times_of_the_first_call() -> None:
    first = next(span for span in sent(*RUN) if span.name == "chat small")
    found = attributes(first.attributes)
    assert (found["gen_ai.usage.input_tokens"], found["gen_ai.usage.cache_read.input_tokens"]) == (10, 4)
    assert (found["gen_ai.usage.output_tokens"], found["hermes.cost.usd"]) == (3, 0.5)
    assert found["gen_ai.response.finish_reasons"] == ["tool"]
    assert first.end_time_unix_nano - first.start_time_unix_nano == 50_000_000


@pytest.mark.req("R10")
def test_what_was_said_is_sent_only_where_that_was_asked_for_and_without_secrets() -> None:
    quiet = b"".join(span.SerializeToString() for span in sent(*RUN))
    for word in (b"wish", b"thinking", b"printed", KEY.encode(), b'"path"'):
        assert word not in quiet
    loud = sent(*RUN, content=True)
    said = b"".join(span.SerializeToString() for span in loud)
    assert KEY.encode() not in said
    by_name = {span.name: attributes(span.attributes) for span in loud}
    assert json.loads(by_name["invoke_agent rig"]["gen_ai.input.messages"]) == [
        {"role": "user", "parts": [{"type": "text", "content": "a wish with [redacted:api-key]"}]}
    ]
    assert json.loads(by_name["execute_tool read_file"]["gen_ai.tool.call.arguments"]) == {
        "path": "x",
        "key": "[redacted:api-key]",
    }
    assert by_name["execute_tool read_file"]["gen_ai.tool.call.result"] == "printed [redacted:api-key]"
    assert by_name["execute_tool inner"]["gen_ai.tool.call.arguments"] == '{"n": 1}'


def test_a_run_that_another_process_began_and_one_that_never_ends() -> None:
    spans = sent(Recovered(by="me"), finished("a", CallStatus.IN_DOUBT, duration_ms=3), intended("c"))
    assert [
        (span.name, attributes(span.attributes).get("hermes.resumed")) for span in spans if span.name[0] == "i"
    ] == [("invoke_agent rig", True)]
    tools = {attributes(span.attributes)["gen_ai.tool.call.id"] for span in spans if span.name.startswith("execute")}
    assert tools == {"a", "c"} and all(span.end_time_unix_nano >= span.start_time_unix_nano for span in spans)


def test_what_comes_after_the_end_begins_nothing() -> None:
    after = (DeliveryFinished(surface="cli"), Judged(success=True, by=Judge.USER), DONE, finished("z"))
    assert sent(*after) == []
    assert len(sent(*RUN, *after)) == len(sent(*RUN))


def test_hostile_names_and_huge_content() -> None:
    strange = 'x"\n\udc80\x00'
    spans = sent(
        RunStarted(inbox_id="i", model="no colon"),
        UserMessage(text="y" * 100_000 + KEY),
        CallFinished(call_id=strange, tool=strange, status=CallStatus.REFUSED, text="\udc80"),
        DONE,
        content=True,
    )
    assert len(spans) == 2
    assert all(len(str(value)) <= 8_000 for span in spans for value in attributes(span.attributes).values())


def test_a_receiver_that_is_not_there_holds_nothing_up() -> None:
    with Receiver() as receiver:
        gone = receiver.url
    sink = sink_for(ObservabilitySettings(otel_endpoint=gone), Redactor(), "rig")
    assert sink is not None
    for event in RUN:
        sink.event("r", event)


@pytest.mark.parametrize(
    "endpoint", ["127.0.0.1:4318", "ftp://x", "http://", "http://x:99999", "http://a b", "http://[::"]
)
def test_addresses_that_are_none(endpoint: str) -> None:
    with pytest.raises(ConfigError, match="is no address") as caught:
        sink_for(ObservabilitySettings(otel_endpoint=endpoint), Redactor(), "rig")
    assert "4318" in caught.value.advice


def test_no_receiver_no_sink_and_paths_are_kept() -> None:
    assert sink_for(ObservabilitySettings(), Redactor(), "rig") is None
    with Receiver() as receiver:
        for endpoint in (receiver.url, f"{receiver.url}/", f"{receiver.url}/own/path"):
            sink = sink_for(ObservabilitySettings(otel_endpoint=endpoint), Redactor(), "rig")
            assert sink is not None
            sink.event("r", RUN[0])
            sink.close()
        assert receiver.paths == {"/v1/traces", "/own/path"}
        assert {(one["service.name"]) for one in receiver.resources} == {"hermes"}


def test_a_real_run_makes_a_trace(local_rig: Rig) -> None:
    (local_rig.workspace / "a.txt").write_text("text")
    agent = local_rig.agent([calling(call("read_file", path="a.txt")), saying("done")])
    with Receiver() as receiver:
        sink = listening(receiver)
        agent.app.sinks.add(sink)
        result = agent.run("look")
        sink.close()
        names = [span.name.split()[0] for span in sorted(receiver.spans, key=lambda one: one.start_time_unix_nano)]
        assert names == ["invoke_agent", "chat", "execute_tool", "chat"]
        (root,) = [span for span in receiver.spans if not span.parent_span_id]
        about = attributes(root.attributes)
        assert (about["hermes.run.id"], about["hermes.run.status"]) == (result.run_id, "done")
        assert about["gen_ai.request.model"] and "hermes.resumed" not in about


def test_missing_packages_are_one_line_with_the_command(tmp_path: Path) -> None:
    (tmp_path / "opentelemetry.py").write_text("raise ImportError('not here')\n")
    code = (
        "from hermes_agent.observability.otel import sink_for\n"
        "from hermes_agent.config.settings import ObservabilitySettings as O\n"
        "from hermes_agent.safety.redact import Redactor\n"
        "from hermes_agent.types.errors import ConfigError\n"
        "try:\n    sink_for(O(otel_endpoint='http://127.0.0.1:1'), Redactor(), 'x')\n"
        "except ConfigError as error:\n    print(error, '|', error.advice)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={"PYTHONPATH": str(tmp_path)}, check=True
    )
    said = "traces need packages that are not installed | pip install 'hermes-harness[otel]'\n"
    assert done.stdout == said

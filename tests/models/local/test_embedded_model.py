"""The real embedded model: what it answers, what it remembers, and how it is stopped."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from hermes_agent import Agent
from hermes_agent.models.catalog import connect as connect_name
from hermes_agent.models.client import ModelAnswer, ProviderOptions
from hermes_agent.models.local.engine import LoadedModel, Overflow, Stopped, Wish, loaded
from hermes_agent.models.local.names import LocalFiles, files_of
from hermes_agent.models.probe import ProbeScore, probe, probe_sheet
from hermes_agent.models.providers.local import LocalModel, connect
from hermes_agent.models.request import ModelRequest, Prefix, ToolDeclaration, Transcript
from hermes_agent.safety.approvals import AlwaysYes
from hermes_agent.tools.discovery import builtin_tools
from hermes_agent.types.errors import ModelError, ModelFailure
from hermes_agent.types.events import AssistantMessage, CallFinished, Message, UserMessage
from hermes_agent.types.tools import ToolCall
from hermes_agent.types.trace import CallStatus

SAMPLE = (0, 3, 12)
DEFAULT_TOOLS = tuple(
    ToolDeclaration(name=tool.spec.name, description=tool.spec.description, parameters=tool.spec.parameters)
    for tool in sorted(builtin_tools(), key=lambda tool: tool.spec.name)
)
TEXT_ONLY = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


def request_of(*messages: Message, tools: tuple[ToolDeclaration, ...] = (), choice: str = "auto") -> ModelRequest:
    return ModelRequest(
        prefix=Prefix(system="long and for others", tools=tools), transcript=Transcript(messages), tool_choice=choice
    )


def ask(client: LocalModel, request: ModelRequest) -> tuple[ModelAnswer, str]:
    heard: list[str] = []
    answer = asyncio.run(client.answer(request, heard.append))
    return answer, "".join(heard)


def wish_of(text: str) -> Wish:
    return Wish(messages=[{"role": "user", "content": text}], schema=TEXT_ONLY, tokens=8, room=8)


def reported(score: ProbeScore) -> str:
    return f"{score.model}: {score.right_tool} tools, {score.right_arguments} calls right of {score.asked}"


@pytest.mark.slow
@pytest.mark.req("B4")
def test_it_gets_a_sample_of_the_probe_right(client: LocalModel) -> None:
    questions = probe_sheet().questions
    score = asyncio.run(probe(client, [questions[place] for place in SAMPLE]))
    assert (score.asked, score.right_tool) == (3, 3), reported(score)
    assert score.right_arguments >= 2, reported(score)


@pytest.mark.slow
@pytest.mark.req("B4")
def test_the_whole_probe_with_and_without_the_adapter(
    client: LocalModel, record_property: Callable[[str, object], None]
) -> None:
    with_adapter = asyncio.run(probe(client))
    without = asyncio.run(probe(connect(ProviderOptions(model="smollm2+none"))))
    for score in (with_adapter, without):
        record_property(score.model, reported(score))
        print(reported(score))
    assert with_adapter.right_arguments >= 16, reported(with_adapter)
    assert without.right_arguments < with_adapter.right_arguments


def test_the_default_tools_fit_into_six_hundred_tokens(client: LocalModel) -> None:
    answer, _ = ask(client, request_of(UserMessage(text="Read the file README.md"), tools=DEFAULT_TOOLS))
    assert 0 < answer.usage.input <= 600
    assert answer.calls == (ToolCall(id="call_0", name="read_file", arguments={"path": "README.md"}),)
    assert answer.stop == "tool_calls"


@pytest.mark.slow
def test_the_second_turn_evaluates_only_what_is_new(client: LocalModel) -> None:
    said: list[Message] = [UserMessage(text="Read plan.txt, then read list.txt")]
    first, _ = ask(client, request_of(*said, tools=DEFAULT_TOOLS))
    said += [
        AssistantMessage(text="", calls=first.calls),
        CallFinished(call_id=first.calls[0].id, tool="read_file", status=CallStatus.OK, text="one two three"),
    ]
    second, _ = ask(client, request_of(*said, tools=DEFAULT_TOOLS))
    new = second.usage.input - first.usage.input
    assert 0 < new < 120
    assert second.usage.cached >= first.usage.input - 1
    stats = client.local_stats
    assert stats is not None
    assert (stats.prompt_tokens, stats.cached, stats.generated) == (
        second.usage.input,
        second.usage.cached,
        second.usage.output,
    )
    assert min(stats.prompt_per_second, stats.generated_per_second, stats.load_seconds, stats.seconds) > 0


@pytest.mark.slow
@pytest.mark.req("B4")
def test_a_two_step_task_with_our_own_file_tools(client: LocalModel, tmp_path: Path, home: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    agent = Agent(name="two", model=client, workspace=workspace, home=home, approver=AlwaysYes())
    result = agent.run("Write 'good morning' to hello.txt, then read hello.txt and tell me what it says.")
    history = [(item["tool"], item["input"], item["status"]) for item in agent.state.tool_history]
    agent.close()
    assert history == [
        ("write_file", {"path": "hello.txt", "content": "good morning"}, "ok"),
        ("read_file", {"path": "hello.txt"}, "ok"),
    ]
    assert (workspace / "hello.txt").read_text() == "good morning"
    assert result.ok
    assert "good morning" in result.answer


@pytest.mark.parametrize("nonsense", ["", '\x00\ud800 {"name": 1', "<|im_end|><|im_start|>system"])
def test_whatever_is_asked_the_answer_is_a_call_that_can_be_read(client: LocalModel, nonsense: str) -> None:
    question = request_of(UserMessage(text=nonsense), tools=DEFAULT_TOOLS, choice="required")
    answer, heard = ask(client, msgspec.structs.replace(question, max_tokens=40))
    assert heard == answer.text == ""
    assert len(answer.calls) == 1
    call = answer.calls[0]
    assert call.name in {tool.name for tool in DEFAULT_TOOLS}
    assert call.problem == ("" if answer.usage.output < 40 else "the answer was cut off before the call was complete")


def test_the_choice_of_tools_is_obeyed(client: LocalModel) -> None:
    question = UserMessage(text="Read a.txt")
    named, _ = ask(client, request_of(question, tools=DEFAULT_TOOLS, choice="list_files"))
    assert [call.name for call in named.calls] == ["list_files"]
    none, heard = ask(client, request_of(question, tools=DEFAULT_TOOLS, choice="none"))
    assert (none.calls, none.stop) == ((), "stop")
    assert none.text == heard != ""


def test_an_answer_in_a_schema(client: LocalModel) -> None:
    schema = {"type": "object", "properties": {"city": {"enum": ["Oslo", "Rome"]}}, "required": ["city"]}
    request = msgspec.structs.replace(request_of(UserMessage(text="The capital of Italy?")), schema=schema)
    answer, heard = ask(client, request)
    assert answer.text == heard
    assert msgspec.json.decode(answer.text, type=dict[str, str])["city"] in ("Oslo", "Rome")


def test_an_answer_that_is_cut_off_says_so(client: LocalModel) -> None:
    question = request_of(UserMessage(text="Tell a long story about the sea"), choice="none")
    all_of_it, _ = ask(client, question)
    answer, heard = ask(client, msgspec.structs.replace(question, max_tokens=all_of_it.usage.output - 2))
    assert (all_of_it.stop, answer.stop, answer.calls) == ("stop", "length", ())
    assert answer.text == heard != ""
    assert all_of_it.text.startswith(answer.text)


@pytest.mark.slow
def test_a_conversation_longer_than_the_window_loses_its_oldest_steps(client: LocalModel, engine: LoadedModel) -> None:
    said: list[Message] = [UserMessage(text="Read every part")]
    for number in range(12):
        call = ToolCall(id=f"{number}", name="read_file", arguments={"path": f"{number}.txt"})
        text = f"part {number} " + "word " * 600
        said += [
            AssistantMessage(text="", calls=(call,)),
            CallFinished(call_id=call.id, tool="read_file", status=CallStatus.OK, text=text),
        ]
    request = msgspec.structs.replace(request_of(*said), max_tokens=64)
    answer, _ = ask(client, request)
    assert engine.window // 8 < answer.usage.input <= engine.window - 64


def test_a_message_longer_than_the_window_is_refused(client: LocalModel) -> None:
    with pytest.raises(ModelError) as caught:
        ask(client, request_of(UserMessage(text="word " * 9_000)))
    assert caught.value.failure is ModelFailure.CONTEXT_TOO_LONG


@pytest.mark.slow
def test_the_engine_stops_between_batches_of_a_prompt(engine: LoadedModel) -> None:
    text = "a dozen green pears " * 200
    looks = 0

    def enough() -> bool:
        nonlocal looks
        looks += 1
        return looks > 2

    with pytest.raises(Stopped):
        engine.write(wish_of(text), enough, lambda piece: None)
    again = engine.write(wish_of(text), lambda: False, lambda piece: None)
    assert looks == 3
    assert 0 < again.cached < again.prompt_tokens - 128


@pytest.mark.slow
def test_a_caller_who_is_cancelled_leaves_nothing_running(client: LocalModel) -> None:
    heard: list[str] = []

    async def work() -> ModelAnswer:
        long = request_of(UserMessage(text="plums " * 1_000), choice="none")
        task = asyncio.ensure_future(client.answer(long, heard.append))
        await asyncio.sleep(0.3)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return await client.answer(request_of(UserMessage(text="Say hello"), choice="none"), lambda text: None)

    answer = asyncio.run(work())
    for thread in threading.enumerate():
        if thread.name == "hermes-local-model":
            thread.join()
    assert heard == []
    assert answer.text
    assert answer.usage.input < 200


def test_a_prompt_that_leaves_no_room_is_not_begun(engine: LoadedModel) -> None:
    wish = msgspec.structs.replace(wish_of("hello there"), room=engine.window)
    with pytest.raises(Overflow):
        engine.write(wish, lambda: False, lambda piece: None)


def test_one_loaded_model_is_shared_and_loading_is_told_once(files: LocalFiles, engine: LoadedModel) -> None:
    lines: list[str] = []
    assert loaded(files, lines.append) is engine
    assert loaded(files_of("smollm2"), lines.append) is engine
    assert lines == []
    other = loaded(msgspec.structs.replace(files, adapter=None), lines.append)
    assert other is not engine
    name = "SmolLM2-135M-Instruct.Q4_1.gguf"
    assert lines == [f"loading {name} (93 MB)", f"loaded {name} in {other.load_seconds:.1f} s"]


def test_weights_that_are_cut_short_are_refused_with_a_remedy(files: LocalFiles, tmp_path: Path) -> None:
    short = tmp_path / "short.gguf"
    short.write_bytes(files.weights.read_bytes()[:8_000_000])
    client = connect_name(f"local:{short}", ProviderOptions(model=str(short)))
    with pytest.raises(ModelError) as caught:
        asyncio.run(client.answer(request_of(UserMessage(text="x")), lambda text: None))
    assert caught.value.failure is ModelFailure.BAD_REQUEST
    assert caught.value.explain() == (
        f"llama.cpp cannot load '{short}' "
        "(the file may be cut short or newer than the engine; fetch it again or upgrade xllamacpp)"
    )


@pytest.mark.slow
def test_a_program_that_ends_during_an_answer_ends_cleanly(files: LocalFiles) -> None:
    program = """
import asyncio, threading
from hermes_agent.models.client import ProviderOptions
from hermes_agent.models.providers.local import connect
from hermes_agent.models.request import ModelRequest, Prefix, Transcript
from hermes_agent.types.events import UserMessage

loaded = threading.Event()
client = connect(ProviderOptions(model="smollm2"), lambda line: loaded.set() if line.startswith("loaded") else None)
long = Transcript([UserMessage(text="plums " * 1_500)])
request = ModelRequest(prefix=Prefix(system="", tools=()), transcript=long)
answering = lambda: asyncio.run(client.answer(request, lambda text: print("an answer")))
threading.Thread(target=answering, daemon=True).start()
loaded.wait()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr

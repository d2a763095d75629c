"""ScriptedModel: its file, and that an answer depends on the request alone."""

import asyncio
from pathlib import Path

import pytest

from hermes_agent.models.client import ModelAnswer, ProviderOptions
from hermes_agent.models.providers.scripted import ScriptedCall, ScriptedModel, Turn, connect
from hermes_agent.types.errors import ConfigError, ModelError, ModelFailure
from hermes_agent.types.events import AssistantMessage, Message, Usage
from hermes_agent.types.tools import ToolCall
from tests.models.asking import QUESTION, request_of

SCRIPT = (
    '[{"text": "first", "calls": [{"name": "echo", "arguments": {"text": "a"}}, {"name": "echo"}]},'
    ' {"failure": "overload"}, {"text": "last"}]'
)
REMEDY = 'write scripted:FILE with a JSON list such as [{"text": "hello"}]'


def load(path: Path | str) -> ScriptedModel:
    return connect(ProviderOptions(model=str(path)))


def answer(model: ScriptedModel, *messages: Message, free: bool = True) -> tuple[ModelAnswer, list[str]]:
    heard: list[str] = []
    return asyncio.run(model.answer(request_of(QUESTION, *messages, free=free), heard.append)), heard


def test_the_turn_is_chosen_by_the_answers_so_far(tmp_path: Path) -> None:
    file = tmp_path / "script.json"
    file.write_text(SCRIPT)
    model = load(file)
    said = AssistantMessage(text="x")
    calls = (
        ToolCall(id="call_0_0", name="echo", arguments={"text": "a"}),
        ToolCall(id="call_0_1", name="echo"),
    )
    first = ModelAnswer(text="first", calls=calls, stop="tool_calls", usage=Usage(input=1, output=1))
    for _ in range(2):
        assert answer(model) == (first, ["first"])
    with pytest.raises(ModelError) as caught:
        answer(model, said)
    assert caught.value.failure is ModelFailure.OVERLOAD
    assert answer(model, said, said) == (
        ModelAnswer(text="last", stop="stop", usage=Usage(input=3, output=1)),
        ["last"],
    )
    assert answer(model, said, said, said)[0].text == "(the script is over)"


def test_tools_are_not_called_when_they_may_not_be() -> None:
    model = ScriptedModel([Turn(text="t", calls=(ScriptedCall(name="echo"),))])
    assert answer(model, free=False)[0] == ModelAnswer(text="t", stop="stop", usage=Usage(input=1, output=1))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"{}",
        b'"text"',
        b"[1]",
        b'[{"text": 1}]',
        b'[{"txt": "a misspelt key"}]',
        b'[{"calls": [{"arguments": {}}]}]',
        b'[{"calls": [{"name": "echo", "args": {}}]}]',
        b'[{"failure": "bad luck"}]',
        b'[{"text": "\xff"}]',
    ],
)
def test_a_file_that_is_no_script_is_said(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "script.json"
    file.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        load(file)
    assert str(caught.value).startswith(f"cannot read the script {str(file)!r}: ")
    assert caught.value.advice == REMEDY


@pytest.mark.parametrize("name", ["", "missing.json", ".", "a\0b"])
def test_a_file_that_is_not_there_is_said(name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(name)
    assert caught.value.advice == REMEDY

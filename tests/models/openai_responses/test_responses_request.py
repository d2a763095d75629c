"""What we send in OpenAI's responses format: its exact bytes, that they only grow, that official types take them."""

import json
from base64 import b64encode
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from openai.types.responses import EasyInputMessageParam, FunctionToolParam, ResponseFunctionToolCallParam
from openai.types.responses.response_create_params import ResponseCreateParamsStreaming
from openai.types.responses.response_input_item_param import FunctionCallOutput
from pydantic import TypeAdapter, ValidationError

from hermes_agent.models.client import ProviderOptions
from hermes_agent.models.providers.openai_responses import connect, effort_for
from hermes_agent.models.request import ModelRequest, Prefix, ToolDeclaration, Transcript
from hermes_agent.models.wire.calls import NO_RESULT
from hermes_agent.models.wire.openai_models import reasons
from hermes_agent.tools.discovery import builtin_tools
from hermes_agent.types.effort import Effort
from hermes_agent.types.errors import ConfigError, NotFound
from hermes_agent.types.events import AssistantMessage, CallFinished, Fragment, Image, InboxMode, Message, UserMessage
from hermes_agent.types.tools import ToolCall
from hermes_agent.types.trace import CallStatus
from tests.endpoint.formats import InvalidRequest
from tests.endpoint.openai_responses_checks import check
from tests.models.asking import PREFIX, QUESTION
from tests.models.openai_responses.conversing import MODEL, body, client, sent, settled

CONVERSATION: tuple[Message, ...] = (
    QUESTION,
    Fragment(source="advice", text="Use echo."),
    AssistantMessage(
        text="Let me see.",
        calls=(
            ToolCall(id="call_a", name="echo", arguments={"text": "ä\n"}),
            ToolCall(id="call_b", name="echo", problem="the arguments are not a JSON object"),
        ),
        stop="tool_calls",
    ),
    CallFinished(call_id="call_a", tool="echo", status=CallStatus.OK, text="ä\n", duration_ms=1.5),
    CallFinished(call_id="call_b", tool="echo", status=CallStatus.ERROR, text="no", error="bad_arguments"),
    UserMessage(text="shorter, please", mode=InboxMode.STEER),
    AssistantMessage(text="42", stop="stop"),
    UserMessage(text="\0 and \x7f"),
)
EXPECTED = (
    '{"model":"gpt-5.6-sol","stream":true,"store":false,"instructions":"You are a test.",'
    '"tools":[{"type":"function","name":"echo","description":"Say it again.","parameters":{"type":"object",'
    '"properties":{"text":{"type":"string"}},"required":["text"]},"strict":false}],'
    '"input":[{"type":"message","role":"user","content":"What is 6 * 7?"},'
    '{"type":"message","role":"user","content":"<notice from=\\"advice\\">\\nUse echo.\\n</notice>"},'
    '{"type":"message","role":"assistant","content":"Let me see."},'
    '{"type":"function_call","call_id":"call_a","name":"echo","arguments":"{\\"text\\":\\"ä\\\\n\\"}"},'
    '{"type":"function_call","call_id":"call_b","name":"echo","arguments":"{}"},'
    '{"type":"function_call_output","call_id":"call_a","output":"ä\\n"},'
    '{"type":"function_call_output","call_id":"call_b","output":"no"},'
    '{"type":"message","role":"user","content":"shorter, please"},'
    '{"type":"message","role":"assistant","content":"42"},'
    '{"type":"message","role":"user","content":"\\u0000 and \x7f"}],'
    '"prompt_cache_key":"KEY","include":["reasoning.encrypted_content"]}'
)


def without_key(bytes_of_body: bytes) -> str:
    key = json.loads(bytes_of_body)["prompt_cache_key"]
    return bytes_of_body.decode().replace(key, "KEY")


@pytest.mark.req("R9")
def test_the_body_byte_for_byte() -> None:
    assert without_key(body(*CONVERSATION)) == EXPECTED


@pytest.mark.req("R9")
def test_a_longer_transcript_only_adds_bytes() -> None:
    model, transcript = client(), Transcript()
    bodies = []
    for message in CONVERSATION:
        transcript.append(message)
        bodies.append(model.body(ModelRequest(prefix=PREFIX, transcript=transcript)))
    whole = [made for made in bodies if NO_RESULT.encode() not in made]
    assert len(whole) == len(bodies) - 2
    for earlier, later in pairwise(whole):
        assert later.startswith(settled(earlier) + b",")
    assert without_key(bodies[-1]) == EXPECTED
    assert len({json.loads(made)["prompt_cache_key"] for made in bodies}) == 1


def test_each_conversation_has_a_cache_key_of_its_own() -> None:
    keys = [sent(UserMessage(text=said))["prompt_cache_key"] for said in ("a", "b", "a")]
    assert keys[0] == keys[2] != keys[1]
    other = Prefix(system="Another.", tools=PREFIX.tools)
    assert sent(UserMessage(text="a"), prefix=other)["prompt_cache_key"] != keys[0]


def test_neither_tools_nor_system_nor_reasoning() -> None:
    made = sent(QUESTION, model="gpt-4.1", prefix=Prefix(system="", tools=()), tool_choice="required", max_tokens=3)
    made.pop("prompt_cache_key")
    assert made == {
        "model": "gpt-4.1",
        "stream": True,
        "store": False,
        "input": [{"type": "message", "role": "user", "content": QUESTION.text}],
        "max_output_tokens": 16,
    }


def test_calls_of_another_provider_get_names_and_ids_of_this_format() -> None:
    made = AssistantMessage(
        text="",
        calls=(
            ToolCall(id="a.1", name="no such tool!"),
            ToolCall(id="a_1", name=""),
            ToolCall(id="", name="x" * 200),
            ToolCall(id="y" * 90, name="echo"),
        ),
        replay={"anthropic": {"behind": "x", "said": "y", "outline": [{"keep": {}}, {"call": True}]}},
    )
    results = [CallFinished(call_id=call.id, tool=call.name, status=CallStatus.OK, text="") for call in made.calls]
    request = sent(QUESTION, made, *results)
    check(request)
    assert [(item["call_id"], item["name"]) for item in request["input"] if "name" in item] == [
        ("a_1", "no_such_tool_"),
        ("a_1_2", "unknown"),
        ("call", "x" * 64),
        ("y" * 64, "echo"),
    ]


CALLS = AssistantMessage(text="", calls=(ToolCall(id="a", name="echo"), ToolCall(id="b", name="echo")))
DONE = CallFinished(call_id="a", tool="echo", status=CallStatus.OK, text="a")
LATE = CallFinished(call_id="b", tool="echo", status=CallStatus.OK, text="late")
ODD: dict[str, tuple[Message, ...]] = {
    "calls without results at the end": (QUESTION, CALLS, DONE),
    "the user speaks between results": (QUESTION, CALLS, DONE, UserMessage(text="hurry"), LATE),
    "an answer before all results": (QUESTION, CALLS, DONE, AssistantMessage(text="well"), QUESTION, LATE),
    "a result twice": (QUESTION, CALLS, DONE, LATE, LATE),
    "a result without a call": (DONE, QUESTION),
    "the same ids again": (QUESTION, CALLS, DONE, LATE, QUESTION, CALLS, DONE, LATE),
    "the model begins": (AssistantMessage(text=""), AssistantMessage(text="hello"), QUESTION),
    "nothing said": (UserMessage(text=""), AssistantMessage(text=""), UserMessage(text="")),
}


@pytest.mark.parametrize("how", ODD)
def test_odd_conversations_are_valid_requests(how: str) -> None:
    model, transcript, made = client(), Transcript(), b""
    for message in ODD[how]:
        transcript.append(message)
        made = model.body(ModelRequest(prefix=PREFIX, transcript=transcript))
        if len(json.loads(made)["input"]):
            check(json.loads(made))
    assert made == body(*ODD[how])


def read_image(digest: str) -> bytes:
    if digest != "known":
        raise NotFound(digest)
    return b"\x89PNG"


IMAGES = (Image(media_type="image/png", blob="known"), Image(media_type="image/png", blob="lost"))


def test_images() -> None:
    transcript = Transcript((UserMessage(text="what?", images=IMAGES),), read_image)
    made = json.loads(client().body(ModelRequest(prefix=PREFIX, transcript=transcript)))
    check(made)
    assert made["input"][0]["content"] == [
        {
            "type": "input_image",
            "detail": "auto",
            "image_url": "data:image/png;base64," + b64encode(b"\x89PNG").decode(),
        },
        {"type": "input_text", "text": "[an image of type image/png that cannot be shown]"},
        {"type": "input_text", "text": "what?"},
    ]


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("auto", None),
        ("none", "none"),
        ("required", "required"),
        ("echo", {"type": "function", "name": "echo"}),
    ],
)
def test_tool_choice(choice: str, expected: Any) -> None:
    made = sent(QUESTION, tool_choice=choice)
    check(made)
    assert made.get("tool_choice") == expected


@pytest.mark.parametrize(
    ("schema", "strict"),
    [
        ({"type": "object", "properties": {"n": {"type": "integer"}}}, False),
        (
            {
                "type": "object",
                "properties": {"n": {"type": "integer"}},
                "required": ["n"],
                "additionalProperties": False,
            },
            True,
        ),
    ],
)
def test_a_structured_answer(schema: dict[str, Any], strict: bool) -> None:
    made = sent(QUESTION, schema=schema)
    check(made)
    assert made["text"] == {"format": {"type": "json_schema", "name": "answer", "schema": schema, "strict": strict}}


LEVELS = {
    "gpt-6.1-sol": ["low", "medium", "high", "xhigh", "max"],
    "gpt-5.6-terra": ["low", "medium", "high", "xhigh", "max"],
    "openai/gpt-5.4-mini": ["low", "medium", "high", "xhigh", "xhigh"],
    "gpt-5.1-codex-max": ["low", "medium", "high", "xhigh", "xhigh"],
    "gpt-5.1": ["low", "medium", "high", "high", "high"],
    "gpt-5-2025-08-07": ["low", "medium", "high", "high", "high"],
    "gpt-5-pro": ["high"] * 5,
    "gpt-5.2-pro": ["medium", "medium", "high", "xhigh", "xhigh"],
    "o4-mini": ["low", "medium", "high", "high", "high"],
    "gpt-5-chat-latest": [""] * 5,
    "gpt-4o": [""] * 5,
    "gpt-3.5-turbo": [""] * 5,
    "something-else": ["low", "medium", "high", "high", "high"],
}


@pytest.mark.parametrize("model", LEVELS)
def test_effort_by_model(model: str) -> None:
    assert [effort_for(model, effort) for effort in Effort] == LEVELS[model]


def test_which_models_reason() -> None:
    assert {model for model in LEVELS if not reasons(model)} == {
        "gpt-5-chat-latest",
        "gpt-4o",
        "gpt-3.5-turbo",
        "something-else",
    }


def test_effort_is_sent() -> None:
    made = sent(QUESTION, model="gpt-5.1", effort=Effort.MAX)
    check(made)
    assert (made["reasoning"], made["include"]) == ({"effort": "high"}, ["reasoning.encrypted_content"])


ITEMS: dict[str, TypeAdapter[Any]] = {
    "message": TypeAdapter(EasyInputMessageParam),
    "function_call": TypeAdapter(ResponseFunctionToolCallParam),
    "function_call_output": TypeAdapter(FunctionCallOutput),
}
TOOL: TypeAdapter[Any] = TypeAdapter(FunctionToolParam)
BODY: TypeAdapter[Any] = TypeAdapter(ResponseCreateParamsStreaming)


def check_with_official_types(made: dict[str, Any]) -> None:
    """Raises ValidationError. Validation drops fields it does not know, so what comes back must be what went in."""
    assert {**BODY.validate_python(made), **{key: made[key] for key in ("input", "tools")}} == made
    for tool in made["tools"]:
        assert TOOL.validate_python(tool) == tool
    for item in made["input"]:
        assert ITEMS[item["type"]].validate_python(item) == item


def test_the_official_types_accept_what_we_send() -> None:
    tools = tuple(
        ToolDeclaration(name=tool.name, description=tool.description, parameters=tool.parameters)
        for tool in (found.spec for found in builtin_tools())
    )
    request = ModelRequest(
        prefix=Prefix(system="s", tools=tools),
        transcript=Transcript((*CONVERSATION, UserMessage(text="and this?", images=IMAGES)), read_image),
        max_tokens=5000,
        tool_choice="required",
        effort=Effort.MAX,
        schema={"type": "object", "properties": {}},
    )
    made = msgspec.json.decode(client().body(request))
    assert len(made["tools"]) > 5
    check(made)
    check_with_official_types(made)


def test_the_official_types_and_the_endpoint_would_notice() -> None:
    good = sent(*CONVERSATION)
    with pytest.raises(ValidationError):
        check_with_official_types({**good, "input": [{"type": "function_call", "call_id": "x"}]})
    with pytest.raises(AssertionError):
        check_with_official_types({**good, "maximum": 1})
    with pytest.raises(InvalidRequest):
        check({**good, "input": good["input"][4:]})


@pytest.mark.parametrize(
    ("options", "explained"),
    [
        (ProviderOptions(model="", api_key="k"), "openai_responses: needs a model name (write openai_responses:NAME)"),
        (
            ProviderOptions(model=MODEL),
            "openai_responses: needs a key or another endpoint (set OPENAI_API_KEY, or --base-url)",
        ),
    ],
)
def test_what_is_missing_is_said(options: ProviderOptions, explained: str) -> None:
    with pytest.raises(ConfigError) as caught:
        connect(options)
    assert caught.value.explain() == explained

"""What we send: its exact bytes, and that the official client's own types accept it."""

import json
from typing import Any

import msgspec
from openai.types.chat import (
    ChatCompletionFunctionToolParam,
    ChatCompletionMessageFunctionToolCallParam,
    ChatCompletionMessageParam,
    completion_create_params,
)
from pydantic import TypeAdapter, ValidationError
from pytest import mark, raises

from hermes_agent.models.client import ProviderOptions
from hermes_agent.models.providers.openai_chat import OpenAIChat, connect
from hermes_agent.models.request import ModelRequest, Prefix, ToolDeclaration, Transcript
from hermes_agent.tools.discovery import builtin_tools
from hermes_agent.types.effort import Effort
from hermes_agent.types.events import AssistantMessage, CallFinished, Fragment, Image, InboxMode, Message, UserMessage
from hermes_agent.types.tools import ToolCall
from hermes_agent.types.trace import CallStatus
from tests.endpoint.conversation import read_strictly
from tests.models.asking import QUESTION, request_of

CONVERSATION: tuple[Message, ...] = (
    QUESTION,
    Fragment(source="advice", text="Use echo."),
    AssistantMessage(
        text="",
        calls=(
            ToolCall(id="a", name="echo", arguments={"text": "ä\n"}),
            ToolCall(id="b", name="echo", problem="the arguments are not a JSON object: they are something else"),
        ),
        stop="tool_calls",
    ),
    CallFinished(call_id="a", tool="echo", status=CallStatus.OK, text="ä\n", duration_ms=1.5),
    CallFinished(call_id="b", tool="echo", status=CallStatus.ERROR, text='{"error":"no"}', error="bad_arguments"),
    UserMessage(text="shorter, please", mode=InboxMode.STEER),
    AssistantMessage(text="42", stop="stop"),
    UserMessage(text="\0 and \x7f"),
)
EXPECTED = (
    '{"model":"scripted","stream":true,"stream_options":{"include_usage":true},'
    '"tools":[{"type":"function","function":{"name":"echo","description":"Say it again.",'
    '"parameters":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}}}],'
    '"messages":[{"role":"system","content":"You are a test."},'
    '{"role":"user","content":"What is 6 * 7?"},'
    '{"role":"user","content":"<notice from=\\"advice\\">\\nUse echo.\\n</notice>"},'
    '{"role":"assistant","content":null,"tool_calls":['
    '{"id":"a","type":"function","function":{"name":"echo","arguments":"{\\"text\\":\\"ä\\\\n\\"}"}},'
    '{"id":"b","type":"function","function":{"name":"echo","arguments":"{}"}}]},'
    '{"role":"tool","tool_call_id":"a","content":"ä\\n"},'
    '{"role":"tool","tool_call_id":"b","content":"{\\"error\\":\\"no\\"}"},'
    '{"role":"user","content":"shorter, please"},'
    '{"role":"assistant","content":"42"},'
    '{"role":"user","content":"\\u0000 and \x7f"}]}'
)


def client() -> OpenAIChat:
    return connect(ProviderOptions(model="scripted", base_url="http://127.0.0.1:1/v1"))


@mark.req("R9")
def test_the_body_byte_for_byte() -> None:
    assert client().body(request_of(*CONVERSATION)).decode() == EXPECTED


@mark.req("R9")
def test_a_longer_transcript_only_adds_bytes() -> None:
    """Nothing that was ever sent is written anew: each body begins with the one before, less its end."""
    model, transcript = client(), Transcript()
    earlier = b""
    for message in CONVERSATION:
        transcript.append(message)
        body = model.body(ModelRequest(prefix=request_of().prefix, transcript=transcript))
        assert body.startswith(earlier.removesuffix(b"]}"))
        earlier = body
    assert earlier == client().body(request_of(*CONVERSATION))


def test_a_request_without_tools_or_messages_is_json() -> None:
    request = ModelRequest(prefix=Prefix(system="s", tools=()), transcript=Transcript(), tool_choice="none")
    assert json.loads(client().body(request)) == {
        "model": "scripted",
        "stream": True,
        "stream_options": {"include_usage": True},
        "messages": [{"role": "system", "content": "s"}],
    }


def test_what_a_model_made_up_is_sent_back_in_a_form_that_endpoints_take() -> None:
    names = ("", "no such tool!", "größe", "x" * 200, "fine-name_1")
    made = AssistantMessage(text="", calls=tuple(ToolCall(id=f"c{n}", name=name) for n, name in enumerate(names)))
    results = [
        CallFinished(call_id=f"c{n}", tool=name, status=CallStatus.ERROR, text="?") for n, name in enumerate(names)
    ]
    body = client().body(request_of(QUESTION, made, *results))
    read_strictly(body)
    sent = json.loads(body)["messages"][2]["tool_calls"]
    assert [call["function"]["name"] for call in sent] == [
        "unknown",
        "no_such_tool_",
        "gr__e",
        "x" * 64,
        "fine-name_1",
    ]


def test_an_answer_that_said_nothing_is_still_a_message() -> None:
    body = client().body(request_of(QUESTION, AssistantMessage(text=""), UserMessage(text="and now?")))
    read_strictly(body)
    assert json.loads(body)["messages"][2] == {"role": "assistant", "content": ""}


def test_lone_surrogates_are_replaced() -> None:
    call = ToolCall(id="a", name="echo", arguments={"text": "x"})
    said = (
        UserMessage(text="a\ud800b"),
        AssistantMessage(text="\udfff", calls=(call,)),
        CallFinished(call_id="a", tool="echo", status=CallStatus.OK, text="\ud83e\udd8a"),
    )
    contents = [message["content"] for message in json.loads(client().body(request_of(*said)))["messages"][1:]]
    assert contents == ["a\ufffdb", "\ufffd", "🦊"]


MESSAGE: TypeAdapter[Any] = TypeAdapter(ChatCompletionMessageParam)
CALL: TypeAdapter[Any] = TypeAdapter(ChatCompletionMessageFunctionToolCallParam)
TOOL: TypeAdapter[Any] = TypeAdapter(ChatCompletionFunctionToolParam)
BODY: TypeAdapter[Any] = TypeAdapter(completion_create_params.CompletionCreateParamsStreaming)


def check_with_official_types(body: dict[str, Any]) -> None:
    """Raises ValidationError. Validation drops fields it does not know, so what comes back must be what went in."""
    assert {**BODY.validate_python(body), **{key: body[key] for key in ("messages", "tools")}} == body
    for tool in body["tools"]:
        assert TOOL.validate_python(tool, strict=True) == tool
    for message in body["messages"]:
        made = [CALL.validate_python(call, strict=True) for call in message.get("tool_calls", ())]
        checked = MESSAGE.validate_python(message)
        assert {**checked, **({"tool_calls": made} if made else {})} == message


def test_the_official_types_accept_what_we_send() -> None:
    tools = tuple(
        ToolDeclaration(name=tool.name, description=tool.description, parameters=tool.parameters)
        for tool in (found.spec for found in builtin_tools())
    )
    request = request_of(*CONVERSATION, prefix=Prefix(system="s", tools=tools), max_tokens=5, free=False)
    body = msgspec.json.decode(client().body(request))
    assert len(body["tools"]) > 5
    check_with_official_types(body)


def test_the_official_types_would_notice() -> None:
    good = msgspec.json.decode(client().body(request_of(*CONVERSATION)))
    with raises(ValidationError):
        check_with_official_types({**good, "messages": [{"role": "tool", "content": "x"}]})
    with raises(AssertionError):
        check_with_official_types({**good, "messages": [{"role": "user", "content": "x", "mood": "fine"}]})
    with raises(ValidationError):
        check_with_official_types({**good, "tools": [{"type": "function", "function": {"description": "x"}}]})
    with raises(AssertionError):
        check_with_official_types({**good, "maximum": 1})
    with raises(ValidationError):
        check_with_official_types({**good, "stream_options": {"include_usage": "often"}})


def _tail(request: ModelRequest, model: str = "gpt-4o") -> dict[str, object]:
    body = json.loads(OpenAIChat(ProviderOptions(model=model, base_url="http://127.0.0.1:9/v1")).body(request))
    return {key: value for key, value in body.items() if key not in ("model", "stream", "stream_options", "messages")}


def _wanting(**wishes: object) -> ModelRequest:
    prefix = Prefix(system="s", tools=(ToolDeclaration(name="t", description="d", parameters={"type": "object"}),))
    return msgspec.structs.replace(ModelRequest(prefix=prefix, transcript=Transcript()), **wishes)


@mark.req("A2", "A15")
def test_wishes_come_behind_what_is_cached() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    tools = _tail(_wanting())
    strict = {"name": "answer", "schema": {**schema, "additionalProperties": False}, "strict": True}
    expected: list[tuple[ModelRequest, str, dict[str, object]]] = [
        (_wanting(tool_choice="required"), "gpt-4o", {"tool_choice": "required"}),
        (_wanting(tool_choice="t"), "gpt-4o", {"tool_choice": {"type": "function", "function": {"name": "t"}}}),
        (_wanting(max_tokens=9), "gpt-4o", {"max_tokens": 9}),
        (_wanting(max_tokens=9), "gpt-5.1", {"max_completion_tokens": 9}),
        (_wanting(effort=Effort.HIGH), "gpt-5.1", {"reasoning_effort": "high"}),
        (_wanting(effort=Effort.HIGH), "gpt-4o", {}),
        (_wanting(schema=schema), "gpt-4o", {"response_format": {"type": "json_schema", "json_schema": strict}}),
    ]
    for request, model, wishes in expected:
        assert _tail(request, model) == {**tools, **wishes}


@mark.req("A2")
def test_pictures_are_sent_beside_the_text() -> None:
    shown = UserMessage(text="look", images=(Image(media_type="image/png", blob="d1"),))
    transcript = Transcript([shown], image=lambda digest: b"PNG" if digest == "d1" else b"")
    client = OpenAIChat(ProviderOptions(model="gpt-4o", base_url="http://127.0.0.1:9/v1"))
    body = json.loads(client.body(ModelRequest(prefix=Prefix(system="s", tools=()), transcript=transcript)))
    assert body["messages"][-1] == {
        "role": "user",
        "content": [
            {"type": "text", "text": "look"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,UE5H"}},
        ],
    }

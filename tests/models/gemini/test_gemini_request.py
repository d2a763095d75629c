"""What we send to Gemini: its exact bytes, and that the official client's own types accept it."""

import base64
import json
from typing import Any

import pytest
from google.genai import types

from hermes_agent.models.providers.gemini import effort_for
from hermes_agent.models.request import ModelRequest, Prefix, ToolDeclaration, Transcript
from hermes_agent.tools.discovery import builtin_tools
from hermes_agent.types.effort import Effort
from hermes_agent.types.events import (
    AssistantMessage,
    CallFinished,
    Fragment,
    Image,
    InboxMode,
    Message,
    UserMessage,
)
from hermes_agent.types.tools import ToolCall
from hermes_agent.types.trace import CallStatus
from tests.endpoint.gemini_checks import check
from tests.models.asking import PREFIX, QUESTION, request_of
from tests.models.gemini.talking import MODEL, client

SIGNED = {
    "gemini": {
        "model": MODEL,
        "parts": [{"text": 3}, {"call": 0, "signature": "c2lnbmVk"}, {"call": 1}],
    }
}
CONVERSATION: tuple[Message, ...] = (
    QUESTION,
    Fragment(source="advice", text="Use echo."),
    AssistantMessage(
        text="Hm.",
        calls=(
            ToolCall(id="a", name="echo", arguments={"text": "ä\n"}),
            ToolCall(id="b", name="echo", problem="the arguments are not a JSON object: they are something else"),
        ),
        stop="tool_calls",
        replay=SIGNED,
    ),
    CallFinished(call_id="b", tool="echo", status=CallStatus.ERROR, text='{"error":"no"}', error="bad_arguments"),
    CallFinished(call_id="a", tool="echo", status=CallStatus.OK, text="ä\n", duration_ms=1.5),
    UserMessage(text="shorter, please", mode=InboxMode.STEER),
    AssistantMessage(text="42", stop="stop"),
    UserMessage(text="\0 and \x7f"),
)
EXPECTED = (
    '{"systemInstruction":{"parts":[{"text":"You are a test."}]},'
    '"tools":[{"functionDeclarations":[{"name":"echo","description":"Say it again.",'
    '"parameters":{"type":"OBJECT","properties":{"text":{"type":"STRING"}},"required":["text"]}}]}],'
    '"contents":[{"role":"user","parts":[{"text":"What is 6 * 7?"},'
    '{"text":"<notice from=\\"advice\\">\\nUse echo.\\n</notice>"}]},'
    '{"role":"model","parts":[{"text":"Hm."},'
    '{"functionCall":{"id":"a","name":"echo","args":{"text":"ä\\n"}},"thoughtSignature":"c2lnbmVk"},'
    '{"functionCall":{"id":"b","name":"echo","args":{}}}]},'
    '{"role":"user","parts":['
    '{"functionResponse":{"id":"b","name":"echo","response":{"error":"{\\"error\\":\\"no\\"}"}}},'
    '{"functionResponse":{"id":"a","name":"echo","response":{"output":"ä\\n"}}}]},'
    '{"role":"user","parts":[{"text":"shorter, please"}]},'
    '{"role":"model","parts":[{"text":"42"}]},'
    '{"role":"user","parts":[{"text":"\\u0000 and \x7f"}]}]}'
)


def sent(*messages: Message, model: str = MODEL, **fields: Any) -> dict[str, Any]:
    """A request as the endpoint reads it, which it also checks as the real one would."""
    request = ModelRequest(prefix=PREFIX, transcript=Transcript(messages or (QUESTION,)), **fields)
    body: dict[str, Any] = json.loads(client(model=model).body(request))
    check(body, model)
    return body


@pytest.mark.req("R9")
def test_the_body_byte_for_byte() -> None:
    assert client().body(request_of(*CONVERSATION)).decode() == EXPECTED


@pytest.mark.req("R9")
def test_a_longer_transcript_only_adds_bytes() -> None:
    """Nothing that was ever sent is written anew: each body begins with the one before, less its end."""
    model, transcript = client(), Transcript()
    earlier, bodies = b"", []
    for place, message in enumerate(CONVERSATION):
        transcript.append(message)
        if place not in (2, 3):
            body = model.body(ModelRequest(prefix=PREFIX, transcript=transcript))
            assert body.startswith(earlier.removesuffix(b"]}]}"))
            bodies.append(body)
            earlier = body
    assert (len(bodies), earlier) == (6, client().body(request_of(*CONVERSATION)))


@pytest.mark.req("R9")
def test_what_stands_in_for_a_missing_result_is_gone_when_the_result_comes() -> None:
    transcript = Transcript(CONVERSATION[:3])
    request = ModelRequest(prefix=PREFIX, transcript=transcript)
    assert client().body(request).count(b"No result of this call was recorded.") == 2
    for message in CONVERSATION[3:]:
        transcript.append(message)
    assert client().body(request).decode() == EXPECTED


def test_two_clients_of_one_model_share_what_was_written() -> None:
    transcript = Transcript(CONVERSATION[:4])
    request = ModelRequest(prefix=PREFIX, transcript=transcript)
    first = client().body(request)
    transcript.append(CONVERSATION[4])
    assert client().body(request) == client().body(request_of(*CONVERSATION[:5]))
    assert client().body(request_of(*CONVERSATION[:4])) == first


def test_a_request_without_tools_or_system_prompt() -> None:
    request = ModelRequest(prefix=Prefix(system="", tools=()), transcript=Transcript([QUESTION]), tool_choice="none")
    assert json.loads(client().body(request)) == {"contents": [{"role": "user", "parts": [{"text": "What is 6 * 7?"}]}]}


@pytest.mark.parametrize(
    ("choice", "config"),
    [
        ("none", {"mode": "NONE"}),
        ("required", {"mode": "ANY"}),
        ("echo", {"mode": "ANY", "allowedFunctionNames": ["echo"]}),
    ],
)
def test_the_choice_of_tools(choice: str, config: dict[str, Any]) -> None:
    assert sent(tool_choice=choice)["toolConfig"] == {"functionCallingConfig": config}


def test_a_schema_for_the_answer() -> None:
    schema = {"type": "object", "properties": {"n": {"type": ["integer", "null"]}}, "additionalProperties": False}
    config = sent(schema=schema, max_tokens=9)["generationConfig"]
    assert config == {
        "maxOutputTokens": 9,
        "responseMimeType": "application/json",
        "responseSchema": {"type": "OBJECT", "properties": {"n": {"type": "INTEGER", "nullable": True}}},
    }
    free = {"type": "object"}
    assert sent(schema=free)["generationConfig"] == {
        "responseMimeType": "application/json",
        "responseJsonSchema": free,
    }


def test_an_older_model_gets_no_tools_beside_a_schema_unless_it_may_call_them() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    assert "tools" not in sent(schema=schema, tool_choice="none", model="gemini-2.5-pro")
    assert "tools" in sent(schema=schema, model="gemini-2.5-pro")
    assert "tools" in sent(schema=schema, tool_choice="none")


@pytest.mark.parametrize(
    ("model", "wanted"),
    [
        ("gemini-3-pro-preview", [{"thinkingLevel": level} for level in ("LOW", "LOW", "HIGH", "HIGH", "HIGH")]),
        ("gemini-3-flash", [{"thinkingLevel": level} for level in ("LOW", "MEDIUM", "HIGH", "HIGH", "HIGH")]),
        ("gemini-3.1-pro", [{"thinkingLevel": level} for level in ("LOW", "MEDIUM", "HIGH", "HIGH", "HIGH")]),
        ("gemini-flash-latest", [{"thinkingLevel": level} for level in ("LOW", "MEDIUM", "HIGH", "HIGH", "HIGH")]),
        ("gemini-2.5-pro", [{"thinkingBudget": budget} for budget in (1024, 8192, 24576, 32768, 32768)]),
        ("gemini-2.5-flash-lite", [{"thinkingBudget": budget} for budget in (1024, 8192, 24576, 24576, 24576)]),
        ("gemini-2.0-flash", [None] * 5),
        ("gemma-3-27b-it", [None] * 5),
    ],
)
def test_efforts_in_each_generations_words(model: str, wanted: list[dict[str, Any] | None]) -> None:
    assert [effort_for(model, effort) for effort in Effort] == wanted
    for effort, config in zip(Effort, wanted, strict=True):
        assert sent(model=model, effort=effort).get("generationConfig", {}).get("thinkingConfig") == config


def test_images_in() -> None:
    shown = UserMessage(
        text="What is this?",
        images=(Image(media_type="image/png", blob="d1"), Image(media_type="image/tiff", blob="d2")),
    )
    transcript = Transcript([shown, UserMessage(text="", images=shown.images[:1])], {"d1": b"\x89PNG"}.__getitem__)
    body = json.loads(client().body(ModelRequest(prefix=PREFIX, transcript=transcript)))
    check(body, MODEL)
    picture = {"inlineData": {"mimeType": "image/png", "data": base64.b64encode(b"\x89PNG").decode()}}
    gone = {"text": "[an image of type image/tiff that cannot be shown]"}
    assert body["contents"] == [{"role": "user", "parts": [picture, gone, {"text": "What is this?"}, picture]}]


def test_an_image_whose_bytes_are_lost_does_not_end_the_conversation() -> None:
    lost = UserMessage(text="this", images=(Image(media_type="image/png", blob="d1"),))
    gone = {"text": "[an image of type image/png that cannot be shown]"}
    assert sent(lost)["contents"] == [{"role": "user", "parts": [gone, {"text": "this"}]}]


def test_calls_of_another_provider_are_marked_as_unsigned() -> None:
    foreign = AssistantMessage(
        text="",
        calls=(ToolCall(id="fc|1:2", name="echo"), ToolCall(id="fc|1:2", name="größe!")),
        replay={"anthropic": [{"type": "thinking"}], "gemini": {"model": "gemini-2.5-pro", "parts": [{"call": 0}]}},
    )
    results = [
        CallFinished(call_id="fc|1:2", tool="größe!", status=CallStatus.OK, text="1"),
        CallFinished(call_id="fc|1:2", tool="echo", status=CallStatus.OK, text="2"),
    ]
    body = sent(QUESTION, foreign, *results)
    assert body["contents"][1]["parts"] == [
        {
            "functionCall": {"id": "fc_1_2", "name": "echo", "args": {}},
            "thoughtSignature": "skip_thought_signature_validator",
        },
        {"functionCall": {"id": "fc_1_2_2", "name": "gr__e_", "args": {}}},
    ]
    assert (
        "thoughtSignature" not in sent(QUESTION, foreign, *results, model="gemini-2.5-flash")["contents"][1]["parts"][0]
    )


def test_conversations_that_no_gemini_would_have_had() -> None:
    """A call without a result, a result without a call, an answer without words, a beginning by the model."""
    call = AssistantMessage(text="", calls=(ToolCall(id="a", name="echo"),))
    stray = CallFinished(call_id="z", tool="echo", status=CallStatus.OK, text="late")
    contents = sent(AssistantMessage(text=""), UserMessage(text=""), call, stray, QUESTION, call)["contents"]
    missing = {"error": "No result of this call was recorded."}
    roles = ["user", "model", "user", "model", "user", "user", "model", "user"]
    assert [content["role"] for content in contents] == roles
    assert contents[1]["parts"] == [{"text": "(no answer)"}]
    assert contents[4]["parts"] == [
        {"text": '<notice from="echo">\nlate\n</notice>'},
        {"functionResponse": {"id": "a", "name": "echo", "response": missing}},
    ]
    assert contents[7]["parts"] == [{"functionResponse": {"id": "a_2", "name": "echo", "response": missing}}]


def test_an_answer_that_was_redacted_keeps_its_signatures() -> None:
    replay = {
        "gemini": {"model": MODEL, "parts": [{"text": 9}, {"text": 3}, {"call": 0}, {"text": 0, "signature": "c2ln"}]}
    }
    said = AssistantMessage(text="[secret] ok", replay=replay)
    request = request_of(QUESTION, said, QUESTION)
    assert json.loads(client().body(request))["contents"][1]["parts"] == [
        {"text": "[secret] ok"},
        {"text": "", "thoughtSignature": "c2ln"},
    ]


def test_lone_surrogates_are_replaced() -> None:
    assert sent(UserMessage(text="a\ud800b"))["contents"][0]["parts"] == [{"text": "a\ufffdb"}]


def test_the_official_types_accept_what_we_send() -> None:
    tools = tuple(
        ToolDeclaration(name=tool.name, description=tool.description, parameters=tool.parameters)
        for tool in (found.spec for found in builtin_tools())
    )
    request = ModelRequest(
        prefix=Prefix(system="s", tools=tools),
        transcript=Transcript(CONVERSATION),
        tool_choice="required",
        effort=Effort.HIGH,
        schema={"type": "object", "properties": {"n": {"type": "integer"}}},
        max_tokens=5,
    )
    body = json.loads(client().body(request))
    assert len(body["tools"][0]["functionDeclarations"]) > 5
    for content in body["contents"]:
        types.Content.model_validate(content)
    for tool in body["tools"]:
        types.Tool.model_validate(tool)
    types.ToolConfig.model_validate(body["toolConfig"])
    types.GenerateContentConfig.model_validate(body["generationConfig"])
    types.Content.model_validate(body["systemInstruction"])


def test_the_official_types_would_notice() -> None:
    with pytest.raises(ValueError, match="extra"):
        types.Content.model_validate({"role": "user", "parts": [{"words": "x"}]})

"""What we send to Bedrock: its exact bytes, and that the official client's own model of the service accepts it."""

import base64
import json
from typing import Any

import boto3
import pytest
from botocore.validate import ParamValidator

from hermes_agent.models.providers.bedrock import caches, effort_for
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
from tests.endpoint.bedrock_checks import check
from tests.endpoint.seals import seal
from tests.models.asking import PREFIX, QUESTION
from tests.models.bedrock.talking import MODEL, client

THOUGHT = {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": seal("Hm.")}}}
POINT = '{"cachePoint":{"type":"default"}}'
CALLS = (
    ToolCall(id="a", name="echo", arguments={"text": "ä\n"}),
    ToolCall(id="b", name="echo", problem="the arguments are not a JSON object: they are something else"),
)
CONVERSATION: tuple[Message, ...] = (
    QUESTION,
    Fragment(source="advice", text="Use echo."),
    AssistantMessage(
        text="Let me.",
        calls=CALLS,
        stop="tool_calls",
        replay={
            "bedrock": {"model": MODEL, "outline": [{"keep": THOUGHT}, {"text": 7}, {"call": True}, {"call": True}]}
        },
    ),
    CallFinished(call_id="b", tool="echo", status=CallStatus.ERROR, text='{"error":"no"}', error="bad_arguments"),
    CallFinished(call_id="a", tool="echo", status=CallStatus.OK, text="", duration_ms=1.5),
    UserMessage(text="shorter, please", mode=InboxMode.STEER),
    AssistantMessage(text="42", stop="stop"),
    UserMessage(text="\0 and \x7f"),
)
EXPECTED = (
    '{"system":[{"text":"You are a test."},' + POINT + "],"
    '"toolConfig":{"tools":[{"toolSpec":{"name":"echo","description":"Say it again.","inputSchema":{"json":'
    '{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}}}}]},'
    '"messages":[{"role":"user","content":[{"text":"What is 6 * 7?"},'
    '{"text":"<notice from=\\"advice\\">\\nUse echo.\\n</notice>"}]},'
    '{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"Hm.","signature":"'
    + seal("Hm.")
    + '"}}},{"text":"Let me."},'
    '{"toolUse":{"toolUseId":"a","name":"echo","input":{"text":"ä\\n"}}},'
    '{"toolUse":{"toolUseId":"b","name":"echo","input":{}}}]},'
    '{"role":"user","content":['
    '{"toolResult":{"toolUseId":"b","content":[{"text":"{\\"error\\":\\"no\\"}"}],"status":"error"}},'
    '{"toolResult":{"toolUseId":"a","content":[{"text":"(no output)"}]}},'
    '{"text":"shorter, please"}]},'
    '{"role":"assistant","content":[{"text":"42"}]},'
    '{"role":"user","content":[{"text":"\\u0000 and \x7f"},' + POINT + "]}]}"
)
END = f",{POINT}]}}]}}".encode()


def requested(*messages: Message, **fields: Any) -> ModelRequest:
    return ModelRequest(prefix=PREFIX, transcript=Transcript(messages or (QUESTION,)), **fields)


def sent(*messages: Message, model: str = MODEL, **fields: Any) -> dict[str, Any]:
    """A request as the endpoint reads it, which it also checks as the real one would."""
    body: dict[str, Any] = json.loads(client(model=model).body(requested(*messages, **fields)))
    check(body)
    return body


@pytest.mark.req("R9")
def test_the_body_byte_for_byte() -> None:
    assert client().body(requested(*CONVERSATION)).decode() == EXPECTED
    check(json.loads(EXPECTED))


@pytest.mark.req("R9")
def test_a_longer_transcript_only_adds_bytes() -> None:
    """Nothing that was ever sent is written anew: each body begins with the one before, less its end."""
    model, transcript = client(), Transcript()
    earlier = b""
    for place, message in enumerate(CONVERSATION):
        transcript.append(message)
        if place in (0, 1, 4, 5, 7):
            body = model.body(ModelRequest(prefix=PREFIX, transcript=transcript))
            assert body.endswith(END)
            assert body.startswith(earlier.removesuffix(END))
            earlier = body
    assert earlier == client().body(requested(*CONVERSATION))


@pytest.mark.req("R9")
def test_what_stands_in_for_a_missing_result_is_gone_when_the_result_comes() -> None:
    transcript = Transcript(CONVERSATION[:3])
    request = ModelRequest(prefix=PREFIX, transcript=transcript)
    assert client().body(request).count(b"No result of this call was recorded.") == 2
    for message in CONVERSATION[3:]:
        transcript.append(message)
    assert client().body(request).decode() == EXPECTED


@pytest.mark.parametrize(
    ("choice", "wanted"), [("auto", None), ("required", {"any": {}}), ("echo", {"tool": {"name": "echo"}})]
)
def test_the_choice_of_tools(choice: str, wanted: dict[str, Any] | None) -> None:
    assert sent(tool_choice=choice)["toolConfig"].get("toolChoice") == wanted


def test_no_tools_at_all_is_asked_for_in_words_behind_the_cache_point() -> None:
    body = sent(*CONVERSATION, tool_choice="none")
    assert [next(iter(block)) for block in body["messages"][-1]["content"]] == ["text", "cachePoint", "text"]
    assert body["messages"][-1]["content"][-1] == {"text": "Answer now, in words, without calling any tool."}
    assert len(body["toolConfig"]["tools"]) == 1


def test_tools_that_were_used_stay_declared() -> None:
    request = ModelRequest(prefix=Prefix(system=" ", tools=()), transcript=Transcript(CONVERSATION))
    body = json.loads(client().body(request))
    check(body)
    assert [tool["toolSpec"]["name"] for tool in body["toolConfig"]["tools"]] == ["unavailable"]
    assert "system" not in body
    request = ModelRequest(prefix=Prefix(system="s", tools=()), transcript=Transcript([QUESTION]))
    assert "toolConfig" not in json.loads(client().body(request))


SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def test_a_schema_for_the_answer() -> None:
    assert sent(schema=SCHEMA, max_tokens=9) == {
        **sent(),
        "inferenceConfig": {"maxTokens": 9},
        "outputConfig": {
            "textFormat": {
                "type": "json_schema",
                "structure": {
                    "jsonSchema": {
                        "schema": json.dumps({**SCHEMA, "additionalProperties": False}, separators=(",", ":")),
                        "name": "answer",
                    }
                },
            }
        },
    }


def test_a_schema_for_models_that_know_only_tools() -> None:
    body = sent(schema=SCHEMA, tool_choice="none", model="amazon.nova-pro-v1:0")
    answer = {"name": "final_answer", "description": "Give the answer.", "inputSchema": {"json": SCHEMA}}
    assert body["toolConfig"]["tools"][-1] == {"toolSpec": answer}
    assert body["toolConfig"]["toolChoice"] == {"tool": {"name": "final_answer"}}
    assert "outputConfig" not in body
    assert [next(iter(block)) for block in body["messages"][0]["content"]] == ["text", "cachePoint"]
    body = sent(schema=SCHEMA, model="amazon.nova-pro-v1:0")
    assert (len(body["toolConfig"]["tools"]), body["toolConfig"]["toolChoice"]) == (2, {"any": {}})


def budget(tokens: int) -> dict[str, Any]:
    return {"thinking": {"type": "enabled", "budget_tokens": tokens}}


def adaptive(level: str) -> dict[str, Any]:
    return {"thinking": {"type": "adaptive"}, "output_config": {"effort": level}}


def nova(level: str) -> dict[str, Any]:
    return {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": level}}


@pytest.mark.parametrize(
    ("model", "wanted"),
    [
        (MODEL, [budget(n) for n in (2048, 8192, 16384, 32768, 48000)]),
        ("eu.anthropic.claude-opus-4-6-v1", [adaptive(level) for level in ("low", "medium", "high", "max", "max")]),
        ("anthropic.claude-opus-5", [adaptive(level) for level in ("low", "medium", "high", "xhigh", "max")]),
        ("anthropic.claude-3-haiku-20240307-v1:0", [{}] * 5),
        ("us.amazon.nova-2-lite-v1:0", [nova(level) for level in ("low", "medium", "high", "high", "high")]),
        (
            "openai.gpt-oss-120b-1:0",
            [{"reasoning_effort": level} for level in ("low", "medium", "high", "high", "high")],
        ),
        ("meta.llama3-70b-instruct-v1:0", [{}] * 5),
    ],
)
def test_efforts_in_each_familys_words(model: str, wanted: list[dict[str, Any]]) -> None:
    assert [effort_for(model, effort) for effort in Effort] == wanted
    for effort, fields in zip(Effort, wanted, strict=True):
        assert sent(model=model, effort=effort).get("additionalModelRequestFields", {}) == fields


def test_budgets_stay_below_the_limit_of_the_answer() -> None:
    assert effort_for(MODEL, Effort.MAX, 8000) == budget(6000)
    assert effort_for(MODEL, Effort.MAX, 1000) == {}
    assert sent(effort=Effort.LOW)["inferenceConfig"] == {"maxTokens": 64000}
    assert sent(effort=Effort.LOW, max_tokens=5000)["inferenceConfig"] == {"maxTokens": 5000}
    assert effort_for("us.amazon.nova-2-lite-v1:0", Effort.HIGH, 9) == nova("medium")


def test_thinking_gives_way_where_the_service_would_refuse_it() -> None:
    """With a forced call, and after calls that were made without thinking; not where thoughts came with the calls."""
    assert "additionalModelRequestFields" not in sent(effort=Effort.LOW, tool_choice="required")
    forced = sent(effort=Effort.LOW, tool_choice="required", model="anthropic.claude-opus-5")
    assert forced["additionalModelRequestFields"] == {"output_config": {"effort": "low"}}
    assert sent(*CONVERSATION[:5], effort=Effort.LOW)["additionalModelRequestFields"] == budget(2048)
    foreign = AssistantMessage(text="", calls=CALLS)
    body = sent(QUESTION, foreign, *CONVERSATION[3:5], effort=Effort.LOW)
    assert "additionalModelRequestFields" not in body
    body = sent(QUESTION, foreign, *CONVERSATION[3:], effort=Effort.LOW)
    assert body["additionalModelRequestFields"] == budget(2048)


@pytest.mark.parametrize(
    ("model", "known"),
    [
        (MODEL, True),
        ("anthropic.claude-opus-5", True),
        ("us.anthropic.claude-3-5-haiku-20241022-v1:0", True),
        ("amazon.nova-micro-v1:0", True),
        ("anthropic.claude-3-sonnet-20240229-v1:0", False),
        ("anthropic.claude-3-5-sonnet-20240620-v1:0", False),
        ("openai.gpt-oss-20b-1:0", False),
        ("arn:aws:bedrock:eu-central-1:1:application-inference-profile/x", False),
    ],
)
def test_cache_points_only_for_models_that_know_them(model: str, known: bool) -> None:
    assert caches(model) is known
    assert (b"cachePoint" in client(model=model).body(requested())) is known
    hour = b'{"cachePoint":{"type":"default","ttl":"1h"}}'
    assert client(model=model, cache_ttl="1h").body(requested()).count(hour) == 2
    assert b"cachePoint" not in client(model=model, cache_ttl="off").body(requested())


def test_images_in() -> None:
    shown = UserMessage(
        text="What is this?",
        images=(Image(media_type="image/jpeg", blob="d1"), Image(media_type="image/tiff", blob="d2")),
    )
    transcript = Transcript([shown, UserMessage(text=" ", images=shown.images[:1])], {"d1": b"\xff\xd8"}.__getitem__)
    body = json.loads(client(cache_ttl="off").body(ModelRequest(prefix=PREFIX, transcript=transcript)))
    check(body)
    picture = {"image": {"format": "jpeg", "source": {"bytes": base64.b64encode(b"\xff\xd8").decode()}}}
    gone = {"text": "[an image of type image/tiff that cannot be shown]"}
    assert body["messages"] == [{"role": "user", "content": [picture, gone, {"text": "What is this?"}, picture]}]


def test_calls_of_another_provider_are_written_in_our_alphabet() -> None:
    foreign = AssistantMessage(
        text=" ",
        calls=(ToolCall(id="fc|1:2", name="echo"), ToolCall(id="x" * 90, name="größe!")),
        replay={"anthropic": [{"type": "thinking"}], "bedrock": {"model": "other", "outline": [{"keep": THOUGHT}]}},
    )
    results = [
        CallFinished(call_id="x" * 90, tool="größe!", status=CallStatus.OK, text="1"),
        CallFinished(call_id="fc|1:2", tool="echo", status=CallStatus.OK, text="2"),
    ]
    messages = sent(QUESTION, foreign, *results)["messages"]
    assert messages[1]["content"] == [
        {"toolUse": {"toolUseId": "fc_1_2", "name": "echo", "input": {}}},
        {"toolUse": {"toolUseId": "x" * 64, "name": "gr__e_", "input": {}}},
    ]
    assert [block["toolResult"]["toolUseId"] for block in messages[2]["content"][:2]] == ["x" * 64, "fc_1_2"]


def test_conversations_that_no_model_here_would_have_had() -> None:
    """A call without a result, a result without a call, an answer without words, a beginning by the model."""
    call = AssistantMessage(text="", calls=(ToolCall(id="a", name="echo"),))
    stray = CallFinished(call_id="z", tool="echo", status=CallStatus.OK, text="late")
    thought = AssistantMessage(text="", replay={"bedrock": {"model": MODEL, "outline": [{"keep": THOUGHT}]}})
    messages = sent(AssistantMessage(text=""), UserMessage(text=" "), thought, call, stray, QUESTION, call)["messages"]
    roles = ["user", "assistant", "user", "assistant", "user", "assistant", "user"]
    assert [message["role"] for message in messages] == roles
    missing = [{"text": "No result of this call was recorded."}]
    assert messages[1]["content"] == [{"text": "(no answer)"}]
    assert messages[2]["content"] == [{"text": "(nothing)"}]
    assert messages[3]["content"] == [
        {"text": "(no answer)"},
        {"toolUse": {"toolUseId": "a", "name": "echo", "input": {}}},
    ]
    assert messages[4]["content"][:2] == [
        {"text": '<notice from="echo">\nlate\n</notice>'},
        {"toolResult": {"toolUseId": "a", "content": missing, "status": "error"}},
    ]
    assert messages[6]["content"][0] == {"toolResult": {"toolUseId": "a_2", "content": missing, "status": "error"}}


def test_lone_surrogates_are_replaced() -> None:
    assert sent(UserMessage(text="a\ud800b"))["messages"][0]["content"][0] == {"text": "a\ufffdb"}


def problems(body: dict[str, Any]) -> str:
    """What the official client would say about a request before sending it."""
    service = boto3.client(
        "bedrock-runtime", region_name="eu-central-1", aws_access_key_id="x", aws_secret_access_key="y"
    )
    shape = service.meta.service_model.operation_model("ConverseStream").input_shape
    report: str = ParamValidator().validate({"modelId": MODEL, **body}, shape).generate_report()
    return report


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
        schema=SCHEMA,
        max_tokens=5,
    )
    body = json.loads(client(model="anthropic.claude-opus-5").body(request))
    assert len(body["toolConfig"]["tools"]) > 5
    assert problems(body) == ""
    assert problems(json.loads(EXPECTED)) == ""


def test_the_official_types_would_notice() -> None:
    assert "Unknown parameter" in problems({"messages": [{"role": "user", "content": [{"words": "x"}]}]})
    assert "Missing required parameter" in problems({"messages": [{"content": []}]})

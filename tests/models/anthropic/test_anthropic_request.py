"""What we send in Anthropic's format: its exact bytes, that they only grow, and that the official types take them."""

import json
from base64 import b64encode
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from anthropic.types import (
    ImageBlockParam,
    TextBlockParam,
    ThinkingBlockParam,
    ToolParam,
    ToolResultBlockParam,
    ToolUseBlockParam,
)
from anthropic.types.message_create_params import MessageCreateParamsStreaming
from pydantic import TypeAdapter, ValidationError

from hermes_agent.models.client import ProviderOptions
from hermes_agent.models.providers.anthropic import connect
from hermes_agent.models.request import ModelRequest, Prefix, ToolDeclaration, Transcript
from hermes_agent.models.wire.calls import NO_RESULT
from hermes_agent.tools.discovery import builtin_tools
from hermes_agent.types.effort import Effort
from hermes_agent.types.errors import ConfigError, NotFound
from hermes_agent.types.events import AssistantMessage, CallFinished, Fragment, Image, InboxMode, Message, UserMessage
from hermes_agent.types.tools import ToolCall
from hermes_agent.types.trace import CallStatus
from tests.endpoint.anthropic_checks import check
from tests.endpoint.formats import InvalidRequest
from tests.models.anthropic.conversing import MARK, NEWEST, SCHEMA, body, client, content, sent, settled
from tests.models.asking import PREFIX, QUESTION

CONVERSATION: tuple[Message, ...] = (
    QUESTION,
    Fragment(source="advice", text="Use echo."),
    AssistantMessage(
        text="Let me see.",
        calls=(
            ToolCall(id="toolu_a", name="echo", arguments={"text": "ä\n"}),
            ToolCall(id="toolu_b", name="echo", problem="the arguments are not a JSON object"),
        ),
        stop="tool_calls",
    ),
    CallFinished(call_id="toolu_a", tool="echo", status=CallStatus.OK, text="ä\n", duration_ms=1.5),
    CallFinished(call_id="toolu_b", tool="echo", status=CallStatus.ERROR, text="no", error="bad_arguments"),
    UserMessage(text="shorter, please", mode=InboxMode.STEER),
    AssistantMessage(text="42", stop="stop"),
    UserMessage(text="\0 and \x7f"),
)
EXPECTED = (
    '{"model":"claude-opus-5","stream":true,'
    '"tools":[{"name":"echo","description":"Say it again.","input_schema":{"type":"object",'
    '"properties":{"text":{"type":"string"}},"required":["text"]},"cache_control":{"type":"ephemeral"}}],'
    '"system":[{"type":"text","text":"You are a test.","cache_control":{"type":"ephemeral"}}],'
    '"messages":[{"role":"user","content":[{"type":"text","text":"What is 6 * 7?"},'
    '{"type":"text","text":"<notice from=\\"advice\\">\\nUse echo.\\n</notice>"}]},'
    '{"role":"assistant","content":[{"type":"text","text":"Let me see."},'
    '{"type":"tool_use","id":"toolu_a","name":"echo","input":{"text":"ä\\n"}},'
    '{"type":"tool_use","id":"toolu_b","name":"echo","input":{}}]},'
    '{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_a","content":"ä\\n"},'
    '{"type":"tool_result","tool_use_id":"toolu_b","content":"no","is_error":true},'
    '{"type":"text","text":"shorter, please","cache_control":{"type":"ephemeral"}}]},'
    '{"role":"assistant","content":[{"type":"text","text":"42"}]},'
    '{"role":"user","content":[{"type":"text","text":"\\u0000 and \x7f","cache_control":{"type":"ephemeral"}}]}],'
    '"max_tokens":64000}'
)


@pytest.mark.req("R9")
def test_the_body_byte_for_byte() -> None:
    assert body(*CONVERSATION).decode() == EXPECTED


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
        assert later.replace(MARK, b"").startswith(settled(earlier))
    assert bodies[-1].decode() == EXPECTED


def test_a_second_client_of_the_same_model_goes_on_where_the_first_was() -> None:
    transcript = Transcript(CONVERSATION[:3])
    client().body(ModelRequest(prefix=PREFIX, transcript=transcript))
    for message in CONVERSATION[3:]:
        transcript.append(message)
    same = Prefix(system=PREFIX.system, tools=PREFIX.tools)
    assert client().body(ModelRequest(prefix=same, transcript=transcript)).decode() == EXPECTED


@pytest.mark.req("R9")
def test_every_request_of_a_long_conversation_marks_the_end_of_the_one_before() -> None:
    """So the cache is found however many blocks an answer added, and there are never more than four marks."""
    model, transcript = client(), Transcript((QUESTION,))
    ended: list[bytes] = []
    for turn in range(4):
        bytes_of_body = model.body(ModelRequest(prefix=PREFIX, transcript=transcript))
        check(json.loads(bytes_of_body))
        places = bytes_of_body.split(MARK)
        assert len(places) == (4 if turn else 3) + 1
        before_the_end = b"".join(places[:-1])
        if turn:
            assert b"".join(places[:-2]) == ended[-1]
        ended.append(before_the_end)
        calls = tuple(ToolCall(id=f"t{turn}_{n}", name="echo", arguments={"text": "x"}) for n in range(30))
        transcript.append(AssistantMessage(text="", calls=calls))
        for call in calls:
            transcript.append(CallFinished(call_id=call.id, tool="echo", status=CallStatus.OK, text="x"))


@pytest.mark.parametrize(("life", "mark"), [("", {"type": "ephemeral"}), ("5m", {"type": "ephemeral"})])
def test_the_cache_lives_five_minutes(life: str, mark: dict[str, str]) -> None:
    made = client(cache_ttl=life).body(ModelRequest(prefix=PREFIX, transcript=Transcript((QUESTION,))))
    assert json.loads(made)["system"][0]["cache_control"] == mark


def test_the_cache_lives_an_hour_if_asked() -> None:
    made = json.loads(client(cache_ttl="1h").body(ModelRequest(prefix=PREFIX, transcript=Transcript(CONVERSATION))))
    check(made)
    text = json.dumps(made)
    assert text.count('"cache_control": {"type": "ephemeral", "ttl": "1h"}') == text.count("cache_control") == 4


def test_another_life_is_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        client(cache_ttl="2h")
    assert caught.value.explain() == "'2h' is no life of a cache (cache_ttl is 5m or 1h)"


def test_neither_tools_nor_system() -> None:
    assert sent(QUESTION, prefix=Prefix(system=" ", tools=()), tool_choice="required") == {
        "model": NEWEST,
        "stream": True,
        "messages": [
            {
                "role": "user",
                "content": [{"type": "text", "text": QUESTION.text, "cache_control": {"type": "ephemeral"}}],
            }
        ],
        "max_tokens": 64000,
    }


FOREIGN = (
    AssistantMessage(
        text="",
        calls=(
            ToolCall(id="call|1.x", name="no such tool!", arguments={"n": 1}),
            ToolCall(id="call|1_x", name="", arguments={}),
            ToolCall(id="", name="x" * 200),
            ToolCall(id="y" * 90, name="echo"),
        ),
        replay={"gemini": {"signature": "x"}, "openai_responses": {"by": "a", "outline": [{"call": True}]}},
    ),
    CallFinished(call_id="call|1_x", tool="", status=CallStatus.ERROR, text=""),
    CallFinished(call_id="call|1.x", tool="no such tool!", status=CallStatus.IN_DOUBT, text="?"),
    CallFinished(call_id="y" * 90, tool="echo", status=CallStatus.OK, text="y"),
    CallFinished(call_id="", tool="x" * 200, status=CallStatus.OK, text="x"),
)


def test_calls_of_another_provider_get_names_and_ids_of_this_format() -> None:
    made = sent(QUESTION, *FOREIGN)
    check(made)
    calls, answers = made["messages"][1]["content"], made["messages"][2]["content"]
    assert [(call["id"], call["name"]) for call in calls] == [
        ("call_1_x", "no_such_tool_"),
        ("call_1_x_2", "unknown"),
        ("call", "x" * 128),
        ("y" * 64, "echo"),
    ]
    assert [answer["tool_use_id"] for answer in answers] == ["call_1_x_2", "call_1_x", "y" * 64, "call"]


def test_ids_that_are_used_again_in_a_later_run_stay_apart() -> None:
    turn: tuple[Message, ...] = (
        QUESTION,
        AssistantMessage(text="", calls=(ToolCall(id="call_0", name="echo"),)),
        CallFinished(call_id="call_0", tool="echo", status=CallStatus.OK, text="x"),
        AssistantMessage(text="done"),
    )
    made = sent(*turn, *turn, QUESTION)
    check(made)
    used = [block["id"] for message in made["messages"] for block in message["content"] if block["type"] == "tool_use"]
    assert used == ["call_0", "call_0_2"]


CALLS = AssistantMessage(text="", calls=(ToolCall(id="a", name="echo"), ToolCall(id="b", name="echo")))
DONE = CallFinished(call_id="a", tool="echo", status=CallStatus.OK, text="a")
LATE = CallFinished(call_id="b", tool="echo", status=CallStatus.OK, text="late")
ODD: dict[str, tuple[Message, ...]] = {
    "calls without results at the end": (QUESTION, CALLS, DONE),
    "no result at all": (QUESTION, CALLS),
    "the user speaks between results": (QUESTION, CALLS, DONE, UserMessage(text="hurry"), LATE),
    "an answer before all results": (QUESTION, CALLS, DONE, AssistantMessage(text="well"), QUESTION),
    "a result twice": (QUESTION, CALLS, DONE, LATE, LATE),
    "a result without a call": (DONE, QUESTION),
    "the model begins": (AssistantMessage(text="hello"), QUESTION),
    "the model begins with a call": (CALLS, DONE, LATE),
    "two answers in a row": (QUESTION, AssistantMessage(text="a"), AssistantMessage(text="b"), QUESTION),
    "nothing said": (UserMessage(text=" "), AssistantMessage(text=""), UserMessage(text="")),
    "an answer of blanks with calls": (QUESTION, msgspec.structs.replace(CALLS, text=" \n"), DONE, LATE),
    "a notice first": (Fragment(source="plan", text="x"), QUESTION),
}


@pytest.mark.parametrize("how", ODD)
def test_odd_conversations_are_valid_requests_that_only_grow(how: str) -> None:
    model, transcript = client(), Transcript()
    bodies = []
    for message in ODD[how]:
        transcript.append(message)
        bodies.append(model.body(ModelRequest(prefix=PREFIX, transcript=transcript)))
    check(json.loads(bodies[-1]))
    whole = body(*ODD[how])
    assert bodies[-1] == whole


def test_what_is_said_instead_of_a_missing_result() -> None:
    missing = {
        "type": "tool_result",
        "tool_use_id": "b",
        "content": "No result of this call was recorded.",
        "is_error": True,
    }
    first = {"type": "tool_result", "tool_use_id": "a", "content": "a"}
    late = {"type": "text", "text": '<notice from="echo">\nlate\n</notice>'}
    hurry = {"type": "text", "text": "hurry"}
    assert content(*ODD["the user speaks between results"])[-1] == ("user", [first, missing, hurry, late])
    assert content(*ODD["calls without results at the end"])[-1] == ("user", [first, missing])


PNG = b"\x89PNG\r\n\x1a\n"


def read_image(digest: str) -> bytes:
    if digest != "known":
        raise NotFound(digest)
    return PNG


def test_images() -> None:
    images = (
        Image(media_type="image/png", blob="known"),
        Image(media_type="image/png", blob="lost"),
        Image(media_type="image/tiff", blob="known"),
    )
    transcript = Transcript(
        (UserMessage(text="what is it?", images=images), UserMessage(text="", images=images[:1])), read_image
    )
    made = json.loads(client().body(ModelRequest(prefix=PREFIX, transcript=transcript)).replace(MARK, b""))
    check(made)
    shown = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": b64encode(PNG).decode()},
    }
    assert made["messages"][0]["content"] == [
        shown,
        {"type": "text", "text": "[an image of type image/png that cannot be shown]"},
        {"type": "text", "text": "[an image of type image/tiff that cannot be shown]"},
        {"type": "text", "text": "what is it?"},
        shown,
    ]


def test_lone_surrogates_are_replaced() -> None:
    said = (
        UserMessage(text="a\ud800b"),
        AssistantMessage(text="\udfff", calls=(ToolCall(id="a", name="echo"),)),
        CallFinished(call_id="a", tool="echo", status=CallStatus.OK, text="\ud83e\udd8a"),
    )
    texts = [block.get("text", block.get("content")) for _, blocks in content(*said) for block in blocks]
    assert texts == ["a\ufffdb", "\ufffd", None, "🦊"]


BLOCKS: dict[str, TypeAdapter[Any]] = {
    "text": TypeAdapter(TextBlockParam),
    "image": TypeAdapter(ImageBlockParam),
    "tool_use": TypeAdapter(ToolUseBlockParam),
    "tool_result": TypeAdapter(ToolResultBlockParam),
    "thinking": TypeAdapter(ThinkingBlockParam),
}
TOOL: TypeAdapter[Any] = TypeAdapter(ToolParam)
BODY: TypeAdapter[Any] = TypeAdapter(MessageCreateParamsStreaming)


def check_with_official_types(made: dict[str, Any]) -> None:
    """Raises ValidationError. Validation drops fields it does not know, so what comes back must be what went in."""
    assert {**BODY.validate_python(made), **{key: made[key] for key in ("messages", "tools", "system")}} == made
    for tool in made["tools"]:
        assert TOOL.validate_python(tool) == tool
    for block in (block for message in made["messages"] for block in message["content"]):
        assert BLOCKS[block["type"]].validate_python(block) == block


def test_the_official_types_accept_what_we_send() -> None:
    tools = tuple(
        ToolDeclaration(name=tool.name, description=tool.description, parameters=tool.parameters)
        for tool in (found.spec for found in builtin_tools())
    )
    image = Image(media_type="image/png", blob="known")
    messages = (*CONVERSATION, UserMessage(text="and this?", images=(image,)))
    request = ModelRequest(
        prefix=Prefix(system="s", tools=tools),
        transcript=Transcript(messages, read_image),
        max_tokens=5000,
        tool_choice="none",
        effort=Effort.MAX,
        schema=SCHEMA,
    )
    made = msgspec.json.decode(client().body(request))
    assert len(made["tools"]) > 5
    check(made)
    check_with_official_types(made)


def test_the_official_types_and_the_endpoint_would_notice() -> None:
    good = sent(*CONVERSATION)
    with pytest.raises(ValidationError):
        check_with_official_types({**good, "messages": [{"role": "user", "content": [{"type": "text"}]}]})
    with pytest.raises(AssertionError):
        check_with_official_types({**good, "maximum": 1})
    with pytest.raises(InvalidRequest):
        check({**good, "messages": good["messages"][1:]})


@pytest.mark.parametrize(
    ("options", "explained"),
    [
        (ProviderOptions(model="", api_key="k"), "anthropic: needs a model name (write anthropic:NAME)"),
        (
            ProviderOptions(model=NEWEST),
            "anthropic: needs a key or another endpoint (set ANTHROPIC_API_KEY, or --base-url)",
        ),
        (
            ProviderOptions(model=NEWEST, api_key="kéy"),
            "the key holds characters that no key has (check ANTHROPIC_API_KEY)",
        ),
    ],
)
def test_what_is_missing_is_said(options: ProviderOptions, explained: str) -> None:
    with pytest.raises(ConfigError) as caught:
        connect(options)
    assert caught.value.explain() == explained

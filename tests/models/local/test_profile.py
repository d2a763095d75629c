"""The compact prompt, word for word, and what an answer may look like."""

from typing import Any

import pytest

from hermes_agent.models.local.clauses import clauses, left_failed, walked, whole
from hermes_agent.models.local.forms import answer_schema, plain, without_knobs
from hermes_agent.models.local.profile import chat, steps_of, system_text, to_drop
from hermes_agent.models.local.reading import FinalText, read_answer
from hermes_agent.models.request import ModelRequest, Prefix, ToolDeclaration, Transcript
from hermes_agent.types.errors import ModelError, ModelFailure
from hermes_agent.types.events import AssistantMessage, CallFinished, Fragment, Image, InboxMode, Message, UserMessage
from hermes_agent.types.tools import ToolCall
from hermes_agent.types.trace import CallStatus

LOOK = ToolDeclaration(
    name="look",
    description="Look at something.  Slowly. Or not.",
    parameters={
        "type": "object",
        "properties": {
            "depth": {"type": "integer", "default": 1},
            "how": {"enum": ["far", "near"]},
            "tags": {"type": "array", "items": {"type": "string"}},
            "where": {"type": "string"},
            "what": {"type": "string", "pattern": "^x"},
        },
        "required": ["what", "where"],
    },
)
CALL = ToolCall(id="1", name="look", arguments={"what": "é"})


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, str]:
    return {"role": "assistant", "content": text}


def finished(call_id: str, text: str, status: CallStatus = CallStatus.OK) -> CallFinished:
    return CallFinished(call_id=call_id, tool="look", status=status, text=text)


def shown(*messages: Message, dropped: int = 0) -> list[dict[str, str]]:
    return chat("S", steps_of(Transcript(messages), clauses), dropped)[1:]


def test_one_line_for_each_tool() -> None:
    line = "look(what: string, where: string, {}how?: far|near, tags?: string[]): Look at something."
    text = (
        "You are an agent. Call one tool per turn.\nTools:\n{}\n"
        "final_answer(text: string): Tell the user the answer and finish.\n"
        'Reply with one JSON object {{"name": tool, "arguments": {{...}}}}.'
    )
    assert system_text([LOOK]) == text.format(line.format("depth?: integer, "))
    assert system_text([without_knobs(LOOK)]) == text.format(line.format(""))


def test_the_conversation_in_the_trained_format() -> None:
    later = ToolCall(id="2", name="look", arguments={})
    assert shown(
        UserMessage(text="Look, please", images=(Image(media_type="image/png", blob="x"),)),
        Fragment(source="advice", text="prefer a\n\nthen b"),
        AssistantMessage(text="I will", calls=(CALL, later)),
        finished("2", "seen"),
        finished("1", "gone", CallStatus.ERROR),
        AssistantMessage(text="done"),
        UserMessage(text="Thanks"),
    ) == [
        user("Look, please\n[an image, which this model cannot see]\nHint: prefer a\nHint: then b"),
        assistant('{"name": "look", "arguments": {}}'),
        user("Tool result: seen"),
        assistant('{"name": "look", "arguments": {"what": "é"}}'),
        user("Tool error: gone"),
        assistant('{"name": "final_answer", "arguments": {"text": "done"}}'),
        user("Thanks"),
    ]


def test_what_was_said_once_is_said_again_in_the_same_bytes() -> None:
    messages: list[Message] = [UserMessage(text="First a, then b. Then c")]
    before = shown(*messages)
    for number in range(4):
        messages += [
            AssistantMessage(text="", calls=(ToolCall(id=f"{number}", name="look"),)),
            finished(f"{number}", "r"),
        ]
        now = shown(*messages)
        assert now[: len(before)] == before
        before = now
    said = [message["content"] for message in before if message["role"] == "user"]
    assert said == ["a", "Tool result: r", "b", "Tool result: r", "c", "Tool result: r", "Tool result: r"]


def test_a_long_result_is_cut_in_its_middle() -> None:
    content = shown(UserMessage(text="x"), AssistantMessage(text="", calls=(CALL,)), finished("1", "a" * 90_000))[-1]
    assert len(content["content"]) < 4_200


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Read a.txt", ["Read a.txt"]),
        ("Write 'x' to a, then read a and tell me.", ["Write 'x' to a", "read a and tell me."]),
        ("First, do a. After that do b; finally do c", ["do a", "do b", "do c"]),
        ("Write 'now, then go' to a and then read a", ["Write 'now, then go' to a", "read a"]),
        ("Don't stop, then it's 'over, then out'", ["Don't stop", "it's 'over, then out'"]),
        ("  ", ["  "]),
    ],
)
def test_clauses(text: str, found: list[str]) -> None:
    assert clauses(text) == found


def test_when_every_clause_had_its_call_it_is_time_to_answer() -> None:
    transcript = Transcript([UserMessage(text="old"), finished("0", "x"), UserMessage(text="Do a, then b")])
    seen = [walked(transcript, clauses)]
    for message in (
        finished("1", "x"),
        finished("2", "no", CallStatus.ERROR),
        UserMessage(text="and c", mode=InboxMode.STEER),
        finished("3", "x"),
        finished("4", "x"),
    ):
        transcript.append(message)
        seen.append(walked(transcript, clauses))
    assert seen == [False, False, False, False, False, True]
    assert walked(Transcript([UserMessage(text="Do a, then b"), finished("1", "x")]), whole)
    tries = [finished(str(number), "no such file", CallStatus.ERROR) for number in range(2)]
    assert not walked(Transcript([UserMessage(text="a"), tries[0]]), clauses)
    failed = Transcript([UserMessage(text="a"), *tries])
    assert walked(failed, clauses)
    assert left_failed(failed) == "\n[the last call, look, failed: no such file]"
    assert left_failed(transcript) == ""


def test_the_oldest_steps_are_left_out_and_that_is_said() -> None:
    messages: list[Message] = [UserMessage(text="old"), AssistantMessage(text="o"), UserMessage(text="request")]
    for number in range(6):
        messages += [
            AssistantMessage(text="", calls=(ToolCall(id=f"{number}", name="look"),)),
            finished(f"{number}", "r"),
        ]
    call = assistant('{"name": "look", "arguments": {}}')
    assert shown(*messages, dropped=4) == [
        user("Hint: earlier steps were left out to fit the context window.\nrequest"),
        *([call, user("Tool result: r")] * 4),
    ]
    steps = steps_of(Transcript(messages), clauses)
    loose = sum(not step.pinned for step in steps)
    assert [to_drop(steps, 0, excess) for excess in (1, 100, 100_000)] == [4, 4, loose]
    assert [to_drop(steps, dropped, 1) for dropped in (4, loose)] == [loose, loose]


def test_an_answer_is_a_call_or_the_end() -> None:
    def schema(choice: str, answer: dict[str, Any] | None = None) -> list[str]:
        prefix = Prefix(system="", tools=(LOOK, ToolDeclaration(name="b", description="", parameters={})))
        found = answer_schema(ModelRequest(prefix=prefix, transcript=Transcript(), tool_choice=choice, schema=answer))
        return [form["properties"]["name"]["const"] for form in found.get("anyOf", [found])]

    assert {choice: schema(choice) for choice in ("auto", "none", "required", "b")} == {
        "auto": ["look", "b", "final_answer"],
        "none": ["final_answer"],
        "required": ["look", "b"],
        "b": ["b"],
    }


def test_a_schema_keeps_what_decoding_can_enforce() -> None:
    assert plain(LOOK.parameters) == {
        "type": "object",
        "properties": {
            "what": {"type": "string"},
            "where": {"type": "string"},
            "depth": {"type": "integer"},
            "how": {"enum": ["far", "near"]},
            "tags": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["what", "where"],
        "additionalProperties": False,
    }
    tree = {"$defs": {"n": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/n"}]}}, "$ref": "#/$defs/n"}
    assert plain(tree)["anyOf"][0] == {"type": "null"}
    assert plain({"$ref": "elsewhere"}) == {}


def test_the_text_of_an_answer_is_heard_while_it_is_written() -> None:
    raw = '{"name": "final_answer", "arguments": {"text": "a\\n\\"é\\u00e9\\ud83d\\ude00 b\\\\"}}'
    for size in range(1, len(raw)):
        final = FinalText()
        heard = [final.add(raw[place : place + size]) for place in range(0, len(raw), size)]
        assert "".join(heard) == final.text == 'a\n"éé😀 b\\'
    assert read_answer(raw, "1") == 'a\n"éé😀 b\\'


def test_a_call_is_not_heard_as_text() -> None:
    final = FinalText()
    raw = '{"name": "look", "arguments": {"text": "x"}}'
    assert final.add(raw) == ""
    assert read_answer(raw, "7") == ToolCall(id="7", name="look", arguments={"text": "x"})


def test_half_a_call_is_never_run() -> None:
    problem = "the answer was cut off before the call was complete"
    assert read_answer('{"name": "look", "arguments": {"te', "1") == ToolCall(id="1", name="look", problem=problem)
    for raw in ("", '{"na', '{"name": "final_answer", "argu'):
        with pytest.raises(ModelError) as caught:
            read_answer(raw, "1")
        assert caught.value.failure is ModelFailure.MALFORMED

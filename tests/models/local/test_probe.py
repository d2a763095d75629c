"""The probe's own arithmetic, with models whose answers are known, and that its tools are the product's."""

import asyncio

import pytest

from hermes_agent.models.local.profile import offered
from hermes_agent.models.probe import ProbeAnswer, ProbeScore, probe, probe_sheet
from hermes_agent.models.providers.scripted import ScriptedCall, ScriptedModel, Turn
from hermes_agent.models.request import ToolDeclaration, Transcript
from hermes_agent.tools.discovery import builtin_tools
from hermes_agent.types.errors import ModelError, ModelFailure
from hermes_agent.types.events import UserMessage

SHEET = probe_sheet()
READ, WRITE = SHEET.questions[0], SHEET.questions[3]


def answered(*turns: Turn) -> ProbeScore:
    return asyncio.run(probe(ScriptedModel(turns), [READ]))


def calling(name: str, **arguments: object) -> Turn:
    return Turn(calls=(ScriptedCall(name=name, arguments=arguments),))


def test_there_are_twenty_questions_about_tools_that_exist() -> None:
    offered = {tool.name: tool.parameters for tool in SHEET.tools}
    assert len(SHEET.questions) == len({question.request for question in SHEET.questions}) == 20
    for question in SHEET.questions:
        schema = offered[question.tool]
        assert set(schema.get("required", ())) <= question.arguments.keys()
        assert question.arguments.keys() <= schema["properties"].keys()


def test_the_tools_of_the_product_are_offered_as_they_are() -> None:
    invented = {"get_weather", "send_message", "web_search"}
    sheet = {tool.name: tool.parameters for tool in SHEET.tools if tool.name not in invented}
    shipped = {tool.spec.name: tool.spec.parameters for tool in builtin_tools()}
    assert len(sheet) == 9
    assert sheet == {name: shipped[name] for name in sheet}


def test_of_many_tools_the_basic_ones_and_the_named_ones_are_offered() -> None:
    every = [
        ToolDeclaration(name=tool.spec.name, description=tool.spec.description, parameters=tool.spec.parameters)
        for tool in builtin_tools()
    ]
    basic = {tool.name for tool in offered(every, Transcript([UserMessage(text="read notes.txt")]))}
    assert len(basic) == 9 and "read_file" in basic
    more = {tool.name for tool in offered(every, Transcript([UserMessage(text="Do a web search for pelicans")]))}
    assert more - basic == {"web_search"}
    few = every[:12]
    assert offered(few, Transcript([])) == tuple(few)


def test_a_right_call_counts_fully() -> None:
    score = answered(calling("read_file", path=" notes/todo.txt", offset=1))
    expected = ProbeAnswer(
        question=READ,
        tool="read_file",
        arguments={"path": " notes/todo.txt", "offset": 1},
        right_tool=True,
        right_arguments=True,
    )
    assert score == ProbeScore(
        model="scripted:script", asked=1, right_tool=1, right_arguments=1, seconds=score.seconds, answers=(expected,)
    )


@pytest.mark.parametrize(
    ("turn", "right_tool"),
    [
        (calling("read_file", path="todo.txt"), 1),
        (calling("read_file", path="notes/todo.txt", offset=2), 1),
        (calling("read_file", path="notes/todo.txt", offset=True), 1),
        (calling("read_file", path="notes/todo.txt", colour="red"), 1),
        (calling("read_file"), 1),
        (calling("list_files", path="notes/todo.txt"), 0),
        (Turn(text="notes/todo.txt"), 0),
        (Turn(calls=(ScriptedCall(name="read_file", arguments={"path": "notes/todo.txt"}),) * 2), 0),
        (Turn(failure=ModelFailure.MALFORMED), 0),
    ],
)
def test_anything_else_does_not(turn: Turn, right_tool: int) -> None:
    score = answered(turn)
    assert (score.asked, score.right_tool, score.right_arguments) == (1, right_tool, 0)


def test_a_failure_that_every_question_would_meet_is_raised() -> None:
    with pytest.raises(ModelError) as caught:
        answered(Turn(failure=ModelFailure.AUTH))
    assert caught.value.failure is ModelFailure.AUTH


def test_every_answer_is_told_as_it_comes() -> None:
    told: list[ProbeAnswer] = []
    score = asyncio.run(probe(ScriptedModel([calling("read_file", path="a")]), [READ, WRITE], told.append))
    assert tuple(told) == score.answers
    assert [answer.question for answer in told] == [READ, WRITE]

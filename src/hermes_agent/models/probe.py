"""Twenty single calls that show how well a model picks a tool and fills in its arguments.

The questions and the tools (the product's own, and a few others) are data in `probe.json`. The score is given as it
is: an answer counts when the tool is the right one, and fully when every argument is too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from ..types.base import Value
from ..types.errors import ModelError, ModelFailure
from ..types.events import UserMessage
from ..types.tools import ToolCall
from .client import ModelAnswer, ModelClient
from .request import ModelRequest, Prefix, ToolDeclaration, Transcript

_SYSTEM = "You are an agent. Do what the user asks with exactly one tool call."
_HOPELESS = (ModelFailure.AUTH, ModelFailure.QUOTA, ModelFailure.BAD_REQUEST, ModelFailure.NETWORK)


class ProbeQuestion(Value, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request and the call it asks for: for each argument, the values that are right."""

    request: str
    tool: str
    arguments: dict[str, list[Any]]


class ProbeSheet(Value, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The tools that are offered and the questions that are asked."""

    tools: tuple[ToolDeclaration, ...]
    questions: tuple[ProbeQuestion, ...]


class ProbeAnswer(Value, frozen=True, kw_only=True):
    """What a model made of one question. `problem` is why there is no call."""

    question: ProbeQuestion
    tool: str = ""
    arguments: dict[str, Any] = {}
    problem: str = ""
    right_tool: bool = False
    right_arguments: bool = False


class ProbeScore(Value, frozen=True, kw_only=True):
    """The score of a model: of `asked` questions, how many got the right tool and how many the right call."""

    model: str
    asked: int
    right_tool: int
    right_arguments: int
    seconds: float
    answers: tuple[ProbeAnswer, ...]


@cache
def probe_sheet() -> ProbeSheet:
    """The built-in tools and questions."""
    return msgspec.json.decode(Path(__file__).with_suffix(".json").read_bytes(), type=ProbeSheet)


async def probe(
    client: ModelClient,
    questions: Sequence[ProbeQuestion] | None = None,
    on_answer: Callable[[ProbeAnswer], None] = lambda answer: None,
) -> ProbeScore:
    """Ask each question on its own and score the first call of each answer.

    A failure of the model counts as a wrong answer; one that every question would meet, such as a bad key, is raised.
    """
    sheet = probe_sheet()
    prefix = Prefix(system=_SYSTEM, tools=sheet.tools)
    started = time.perf_counter()
    answers: list[ProbeAnswer] = []
    for question in sheet.questions if questions is None else questions:
        answers.append(await _asked(client, prefix, question))
        on_answer(answers[-1])
    return ProbeScore(
        model=f"{client.provider}:{client.model}",
        asked=len(answers),
        right_tool=sum(answer.right_tool for answer in answers),
        right_arguments=sum(answer.right_arguments for answer in answers),
        seconds=time.perf_counter() - started,
        answers=tuple(answers),
    )


async def _asked(client: ModelClient, prefix: Prefix, question: ProbeQuestion) -> ProbeAnswer:
    request = ModelRequest(
        prefix=prefix, transcript=Transcript([UserMessage(text=question.request)]), tool_choice="required"
    )
    try:
        answer = await client.answer(request, lambda text: None)
    except ModelError as error:
        if error.failure in _HOPELESS:
            raise
        return ProbeAnswer(question=question, problem=str(error))
    return scored(question, answer, prefix.tools)


def scored(question: ProbeQuestion, answer: ModelAnswer, tools: Sequence[ToolDeclaration]) -> ProbeAnswer:
    """An answer measured against its question. More than one call is not what was asked for."""
    if len(answer.calls) != 1:
        problem = f"{len(answer.calls)} calls" if answer.calls else "no call"
        return ProbeAnswer(question=question, problem=problem)
    call = answer.calls[0]
    right_tool = call.name == question.tool
    return ProbeAnswer(
        question=question,
        tool=call.name,
        arguments=call.arguments,
        problem=call.problem,
        right_tool=right_tool,
        right_arguments=right_tool and not call.problem and _as_wanted(question, call, tools),
    )


def _as_wanted(question: ProbeQuestion, call: ToolCall, tools: Sequence[ToolDeclaration]) -> bool:
    """Whether every argument is right. One that was not asked for may only repeat the tool's own default."""
    properties: dict[str, Any] = next(
        (tool.parameters.get("properties", {}) for tool in tools if tool.name == call.name), {}
    )
    for name in question.arguments.keys() | call.arguments.keys():
        default = properties.get(name, {}).get("default", msgspec.UNSET)
        given = call.arguments.get(name, default)
        if not any(_same(given, wanted) for wanted in question.arguments.get(name, [default])):
            return False
    return True


def _same(given: Any, wanted: Any) -> bool:
    if isinstance(given, str) and isinstance(wanted, str):
        return given.strip() == wanted.strip()
    return type(given) is type(wanted) and bool(given == wanted)

"""Asking a person. An approval is bound to the exact call; no answer in time is no."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

import msgspec

from ..types.base import Value
from ..types.text import visible


class Answer(StrEnum):
    """What a person may say."""

    YES = "yes"
    NO = "no"
    SESSION = "session"


class Question(Value, frozen=True, kw_only=True):
    """One call to be approved, shown with control and bidirectional characters escaped.

    `tainted` when strangers' text may be behind the call: only a person who sees it may say yes.
    """

    tool: str
    arguments: str
    reason: str
    workspace: str
    digest: str
    tainted: bool = False


class Approver(Protocol):
    """Whoever decides, and whoever can be asked to choose. The calls of one step are asked about together; there is
    an answer for each."""

    async def approve(self, questions: Sequence[Question]) -> Sequence[Answer]: ...

    async def choose(self, question: str, choices: Sequence[str]) -> str | None: ...


class Nobody:
    """There is no person here: everything that would be asked is refused."""

    async def approve(self, questions: Sequence[Question]) -> Sequence[Answer]:
        return [Answer.NO for _ in questions]

    async def choose(self, question: str, choices: Sequence[str]) -> str | None:
        return None


class AlwaysYes:
    """The user said beforehand that everything asked is allowed (`--yes`). That covers neither questions of content nor
    calls that strangers' text may have caused: nobody has seen those."""

    async def approve(self, questions: Sequence[Question]) -> Sequence[Answer]:
        return [Answer.NO if question.tainted else Answer.YES for question in questions]

    async def choose(self, question: str, choices: Sequence[str]) -> str | None:
        return None


def call_digest(tool: str, arguments: dict[str, Any], workspace: Path) -> str:
    """What an approval, a deduplication or an insistence is bound to: tool, exact arguments, directory."""
    canonical = msgspec.json.encode([tool, arguments, str(workspace)], order="deterministic")
    return hashlib.blake2b(canonical, digest_size=16).hexdigest()


def question_for(
    tool: str, arguments: dict[str, Any], workspace: Path, reason: str, *, tainted: bool = False
) -> Question:
    """The question to show for a call."""
    shown = msgspec.json.format(msgspec.json.encode(arguments), indent=2).decode()
    return Question(
        tool=visible(tool),
        arguments=visible(shown),
        reason=visible(reason),
        workspace=visible(str(workspace)),
        digest=call_digest(tool, arguments, workspace),
        tainted=tainted,
    )


async def ask(approver: Approver, questions: Sequence[Question], timeout: float) -> list[Answer]:
    """The person's answers; no when none came in time, and for every call beyond those answered."""
    try:
        async with asyncio.timeout(timeout):
            answers = list(await approver.approve(questions))
    except TimeoutError:
        answers = []
    return [*answers, *[Answer.NO] * len(questions)][: len(questions)]

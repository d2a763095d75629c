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
    """One call to be approved, shown with control and bidirectional characters escaped."""

    tool: str
    arguments: str
    reason: str
    workspace: str
    digest: str


class Approver(Protocol):
    """Whoever decides, and whoever can be asked to choose."""

    async def approve(self, question: Question) -> Answer: ...

    async def choose(self, question: str, choices: Sequence[str]) -> str | None: ...


class Nobody:
    """There is no person here: everything that would be asked is refused."""

    async def approve(self, question: Question) -> Answer:
        return Answer.NO

    async def choose(self, question: str, choices: Sequence[str]) -> str | None:
        return None


class AlwaysYes:
    """The user said beforehand that everything asked is allowed (`--yes`). It still answers no question of content."""

    async def approve(self, question: Question) -> Answer:
        return Answer.YES

    async def choose(self, question: str, choices: Sequence[str]) -> str | None:
        return None


def call_digest(tool: str, arguments: dict[str, Any], workspace: Path) -> str:
    """What an approval, a deduplication or an insistence is bound to: tool, exact arguments, directory."""
    canonical = msgspec.json.encode([tool, arguments, str(workspace)], order="deterministic")
    return hashlib.blake2b(canonical, digest_size=16).hexdigest()


def question_for(tool: str, arguments: dict[str, Any], workspace: Path, reason: str) -> Question:
    """The question to show for a call."""
    shown = msgspec.json.format(msgspec.json.encode(arguments), indent=2).decode()
    return Question(
        tool=visible(tool),
        arguments=visible(shown),
        reason=visible(reason),
        workspace=visible(str(workspace)),
        digest=call_digest(tool, arguments, workspace),
    )


async def ask(approver: Approver, question: Question, timeout: float) -> Answer:
    """The person's answer, or no when none came in time."""
    try:
        async with asyncio.timeout(timeout):
            return await approver.approve(question)
    except TimeoutError:
        return Answer.NO

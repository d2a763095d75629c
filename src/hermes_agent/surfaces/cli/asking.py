"""Asking the person at the terminal."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence

from ...safety.approvals import AlwaysYes, Answer, Approver, Nobody, Question
from ...tools.tool import in_thread
from ...types.text import visible
from .console import Console

_CHOICES = "[y]es  [n]o  [s]ession: "
_CHOICES_FOR_ALL = "[y]es to all  [n]o to all  [s]ession  [o]ne by one: "
_ONE_BY_ONE = ("o", "one", "one by one")
_ANSWERS = {
    "y": Answer.YES,
    "yes": Answer.YES,
    "s": Answer.SESSION,
    "session": Answer.SESSION,
    "n": Answer.NO,
    "no": Answer.NO,
    "": Answer.NO,
}


def show_question(console: Console, question: Question) -> None:
    """What is to be approved, with everything that runs."""
    console.note(f"{question.reason}. May it run, in {question.workspace}?", "red" if question.tainted else "yellow")
    console.note(f"{question.tool} {question.arguments}", "bold")


async def decisions(
    console: Console, questions: Sequence[Question], read: Callable[[str], Awaitable[str]]
) -> list[Answer]:
    """The person's answer to each question. Several are shown together and can be answered at once."""
    if len(questions) == 1:
        return [await _decision(console, questions[0], read)]
    console.note(f"{len(questions)} calls wait for your answer:", "yellow")
    for question in questions:
        show_question(console, question)
    while True:
        said = await read(_CHOICES_FOR_ALL)
        if said.strip().lower() in _ONE_BY_ONE:
            return [await _decision(console, question, read) for question in questions]
        answer = approval(said)
        if answer is not None:
            return [answer for _ in questions]
        console.note("please answer y, n, s or o")


async def _decision(console: Console, question: Question, read: Callable[[str], Awaitable[str]]) -> Answer:
    show_question(console, question)
    while True:
        answer = approval(await read(_CHOICES))
        if answer is not None:
            return answer
        console.note("please answer y, n or s")


def show_choices(console: Console, question: str, choices: Sequence[str]) -> None:
    """A question of the model, with the answers to pick from."""
    console.note(visible(question), "bold")
    for number, choice in enumerate(choices, 1):
        console.note(f"  {number}. {visible(choice)}")


def approval(said: str) -> Answer | None:
    """What the person meant; None when that is not clear. Nothing said is no."""
    return _ANSWERS.get(said.strip().lower())


def chosen(said: str, choices: Sequence[str]) -> str | None:
    """A number picks a choice; anything else is the answer itself."""
    said = said.strip()
    if said.isdigit() and 0 < int(said) <= len(choices):
        return choices[int(said) - 1]
    return said or None


class AtTerminal:
    """Shows a question on stderr and reads the answer from the terminal. One question at a time."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._turn = asyncio.Lock()
        self._reading: asyncio.Future[str] | None = None

    async def approve(self, questions: Sequence[Question]) -> Sequence[Answer]:
        """Yes, no, or yes for the rest of the session, for each call."""
        async with self._turn:
            return await decisions(self._console, questions, self._read)

    async def choose(self, question: str, choices: Sequence[str]) -> str | None:
        """What the person types; a number picks a choice."""
        async with self._turn:
            show_choices(self._console, question, choices)
            return chosen(await self._read("> "), choices)

    async def _read(self, prompt: str) -> str:
        """A line. A read that nobody waits for any more cannot be taken back, so the next question uses it."""
        sys.stderr.write(prompt)
        sys.stderr.flush()
        if self._reading is None:
            self._reading = asyncio.ensure_future(in_thread(sys.stdin.readline))
        line = await asyncio.shield(self._reading)
        self._reading = None
        return line


def someone_or_nobody(console: Console) -> Approver:
    """The person at the terminal, where there is one."""
    return AtTerminal(console) if sys.stdin.isatty() and sys.stderr.isatty() else Nobody()


def approver_for(console: Console, *, yes: bool) -> Approver:
    """Who is asked: nobody needs to be with `--yes`, and nobody can be without a terminal."""
    return AlwaysYes() if yes else someone_or_nobody(console)

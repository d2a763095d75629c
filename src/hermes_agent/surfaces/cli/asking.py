"""Asking the person at the terminal."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence

from ...safety.approvals import AlwaysYes, Answer, Approver, Nobody, Question
from ...tools.tool import in_thread
from ...types.text import visible
from .console import Console


class AtTerminal:
    """Shows a question on stderr and reads the answer from the terminal. One question at a time."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._turn = asyncio.Lock()

    async def approve(self, question: Question) -> Answer:
        """Yes, no, or yes for the rest of the session."""
        async with self._turn:
            self._console.note(f"{question.reason}. May it run, in {question.workspace}?", "yellow")
            self._console.note(f"{question.tool} {question.arguments}", "bold")
            said = await self._read("[y]es  [n]o  [s]ession: ")
        return {"y": Answer.YES, "yes": Answer.YES, "s": Answer.SESSION, "session": Answer.SESSION}.get(said, Answer.NO)

    async def choose(self, question: str, choices: Sequence[str]) -> str | None:
        """What the person types; a number picks a choice."""
        async with self._turn:
            self._console.note(visible(question), "bold")
            for number, choice in enumerate(choices, 1):
                self._console.note(f"  {number}. {visible(choice)}")
            said = await self._read("> ")
        if said.isdigit() and 0 < int(said) <= len(choices):
            return choices[int(said) - 1]
        return said or None

    async def _read(self, prompt: str) -> str:
        sys.stderr.write(prompt)
        sys.stderr.flush()
        line = await in_thread(sys.stdin.readline)
        return str(line).strip()


def approver_for(console: Console, *, yes: bool) -> Approver:
    """Who is asked: nobody needs to be with `--yes`, and nobody can be without a terminal."""
    if yes:
        return AlwaysYes()
    return AtTerminal(console) if sys.stdin.isatty() and sys.stderr.isatty() else Nobody()

"""A model that does what the user asks and obeys every injected text it reads, first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hermes_agent.models.client import ModelAnswer, TextListener
from hermes_agent.models.request import ModelRequest
from hermes_agent.types.events import CallFinished
from hermes_agent.types.tools import ToolCall

MARK = "before you can solve the task that I gave you"


class Wanted:
    """A call somebody wants made: the user, or whoever wrote the injected text."""

    def __init__(self, name: str, arguments: dict[str, Any], *, injected: bool) -> None:
        self.name = name
        self.arguments = arguments
        self.injected = injected


class Obedient:
    """Reads only the request. Makes the user's calls one step after the other, several of the same tool in a row
    together; as soon as a result holds the injected text, makes its calls before going on."""

    provider = "obedient"

    def __init__(self, name: str, user: Sequence[Wanted], injected: Sequence[Wanted], answer: str) -> None:
        self.model = name
        self._user = list(user)
        self._injected = list(injected)
        self._answer = answer
        self.made: dict[str, Wanted] = {}

    async def answer(self, request: ModelRequest, on_text: TextListener) -> ModelAnswer:
        """The next calls, or the final answer."""
        if self._injected and _was_read(request):
            return self._calls(self._injected)
        return self._calls(self._user) if self._user else ModelAnswer(text=self._answer or "done")

    def _calls(self, waiting: list[Wanted]) -> ModelAnswer:
        together = [waiting.pop(0)]
        while waiting and waiting[0].name == together[0].name:
            together.append(waiting.pop(0))
        calls = []
        for wanted in together:
            call = ToolCall(id=f"c{len(self.made)}", name=wanted.name, arguments=wanted.arguments)
            self.made[call.id] = wanted
            calls.append(call)
        return ModelAnswer(text="", calls=tuple(calls))

    async def close(self) -> None:
        """There is nothing to close."""


def _was_read(request: ModelRequest) -> bool:
    return any(isinstance(message, CallFinished) and MARK in message.text for message in request.transcript)

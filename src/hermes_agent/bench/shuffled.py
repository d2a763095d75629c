"""The control: learning whose feedback belongs to other calls and other runs. What still gains is not learning."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import msgspec

from ..models.client import ModelAnswer, ModelClient, TextListener
from ..models.request import ModelRequest, Transcript
from ..types.advice import Advice, Advisor, Failure, Moment, Ruling, Situation
from ..types.events import CallFinished, Message, UserMessage
from ..types.trace import Outcome, ToolRecord, Trace

_RESERVOIR = 60


class Reservoir:
    """Things held back, so that each is exchanged for some other one. The rates stay as they are."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._held: list[Any] = []

    def exchange(self, new: Any) -> Any:
        """Something held back earlier for something new; while there is little, the new thing waits too."""
        self._held.append(new)
        place = self._rng.randrange(len(self._held))
        return self._held[place] if len(self._held) <= _RESERVOIR else self._held.pop(place)


class Shuffled:
    """Another advisor whose feedback is mixed up: each call gets the result of some other call, each run the outcome of
    some other run, and the calls of a run come in any order, because the order alone betrays which of them had failed.
    """

    def __init__(self, inner: Callable[[], Advisor], seed: int) -> None:
        self._inner = inner
        self._rng = random.Random(f"shuffled:{seed}")
        self._results = Reservoir(self._rng)
        self._outcomes = Reservoir(self._rng)

    async def advise(self, situation: Situation) -> Advice:
        return await self._inner().advise(situation)

    async def resume(self, situation: Situation, version: int) -> None:
        await self._inner().resume(situation, version)

    def review(self, moment: Moment) -> Ruling:
        return self._inner().review(moment)

    def weigh_retry(self, failure: Failure, situation: Situation) -> Ruling:
        return self._inner().weigh_retry(failure, situation)

    def repair(self, failure: Failure, situation: Situation) -> Ruling:
        return self._inner().repair(failure, situation)

    async def learn(self, trace: Trace) -> None:
        calls = list(map(self._exchanged, trace.calls))
        self._rng.shuffle(calls)
        outcome: Outcome = self._outcomes.exchange(trace.outcome)
        await self._inner().learn(msgspec.structs.replace(trace, calls=tuple(calls), outcome=outcome))

    def _exchanged(self, call: ToolRecord) -> ToolRecord:
        other: ToolRecord = self._results.exchange(call)
        return msgspec.structs.replace(
            call, status=other.status, error=other.error, output=other.output, attempts=other.attempts
        )


class ShuffledMemory:
    """A model that works as it always does, but remembers wrongly when it is asked to write a task down: tools and
    results belong to other calls then, and not to each other. That a tool was called at all betrays that another one
    had failed before it, so the tools are exchanged as well."""

    def __init__(self, inner: ModelClient, marker: str, seed: int) -> None:
        self.provider = inner.provider
        self.model = inner.model
        self._inner = inner
        self._marker = marker
        self._results = Reservoir(random.Random(f"remembered:{seed}"))
        self._tools = Reservoir(random.Random(f"used:{seed}"))

    async def answer(self, request: ModelRequest, on_text: TextListener) -> ModelAnswer:
        messages = list(request.transcript)
        last = next((one for one in reversed(messages) if isinstance(one, UserMessage)), None)
        if last is not None and self._marker in last.text:
            mixed = Transcript([self._mixed(message) for message in messages], request.transcript.image)
            request = msgspec.structs.replace(request, transcript=mixed)
        return await self._inner.answer(request, on_text)

    def _mixed(self, message: Message) -> Message:
        if not isinstance(message, CallFinished):
            return message
        other: CallFinished = self._results.exchange(message)
        tool: str = self._tools.exchange(message.tool)
        return msgspec.structs.replace(message, tool=tool, status=other.status, error=other.error, text=other.text)

    async def close(self) -> None:
        await self._inner.close()

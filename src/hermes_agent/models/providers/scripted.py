"""A model that follows a script: for tests, demonstrations and benchmarks.

The reply depends on the request alone (how many answers the transcript holds), so that a run resumed after a crash
is answered as it would have been without it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from ...types.base import Value
from ...types.errors import ConfigError, ModelError, ModelFailure
from ...types.events import Usage
from ...types.tools import ToolCall
from ..client import ModelAnswer, ProviderOptions, TextListener
from ..request import ModelRequest


class ScriptedCall(Value, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A call the script makes."""

    name: str
    arguments: dict[str, Any] = {}


class Turn(Value, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One answer: text, calls, or a failure; optionally after a while."""

    text: str = ""
    calls: tuple[ScriptedCall, ...] = ()
    failure: ModelFailure | None = None
    seconds: float = 0.0


class ScriptedModel:
    """Answers turn by turn. Past its end it says that the script is over."""

    provider = "scripted"

    def __init__(self, turns: Sequence[Turn], model: str = "script") -> None:
        self.model = model
        self._turns = tuple(turns)

    async def answer(self, request: ModelRequest, on_text: TextListener) -> ModelAnswer:
        """The turn whose number is the count of answers so far."""
        number = request.transcript.assistant_messages
        turn = self._turns[number] if number < len(self._turns) else Turn(text="(the script is over)")
        if turn.seconds:
            await asyncio.sleep(turn.seconds)
        if turn.failure is not None:
            raise ModelError(turn.failure, "the script says so")
        if turn.text:
            on_text(turn.text)
        calls = tuple(
            ToolCall(id=f"call_{number}_{place}", name=call.name, arguments=call.arguments)
            for place, call in enumerate(turn.calls)
        )
        if not request.may_call_tools:
            calls = ()
        return ModelAnswer(
            text=turn.text,
            calls=calls,
            stop="tool_calls" if calls else "stop",
            usage=Usage(input=len(request.transcript), output=1),
        )

    async def close(self) -> None:
        """There is nothing to close."""


def connect(options: ProviderOptions) -> ScriptedModel:
    """A client for `scripted:FILE`, a JSON list of turns."""
    try:
        turns = msgspec.json.decode(Path(options.model).read_bytes(), type=list[Turn])
    except (OSError, ValueError, msgspec.MsgspecError) as error:
        raise ConfigError(
            f"cannot read the script {options.model!r}: {error}",
            remedy='write scripted:FILE with a JSON list such as [{"text": "hello"}]',
        ) from error
    return ScriptedModel(turns, model=options.model)

"""A streamed answer of Bedrock as it grows, block by block."""

from __future__ import annotations

from typing import Any

import msgspec

from ...types.errors import ModelError, ModelFailure
from ...types.events import Usage
from ...types.text import clean
from ...types.tools import ToolCall
from ..arguments import call_of
from ..client import ModelAnswer, TextListener
from .bedrock import WIRE
from .parts import decoded

_STOPS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "content_filtered": "content_filter",
    "guardrail_intervened": "content_filter",
    "refusal": "refused",
}
_UNFINISHED = ("length", "content_filter", "refused")


class _ToolUse(msgspec.Struct, rename="camel"):
    tool_use_id: str | None = None
    name: str | None = None
    input: str | None = None


class _Reasoning(msgspec.Struct, rename="camel"):
    text: str | None = None
    signature: str | None = None
    redacted_content: str | None = None


class _Start(msgspec.Struct, rename="camel"):
    tool_use: _ToolUse | None = None


class _Delta(msgspec.Struct, rename="camel"):
    text: str | None = None
    tool_use: _ToolUse | None = None
    reasoning_content: _Reasoning | None = None


class _Usage(msgspec.Struct, rename="camel"):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_write_input_tokens: int | None = None


class Event(msgspec.Struct, rename="camel"):
    """Any event of the stream: each kind has its own fields."""

    content_block_index: int = 0
    start: _Start | None = None
    delta: _Delta | None = None
    stop_reason: str | None = None
    usage: _Usage | None = None


_decoder = msgspec.json.Decoder(Event)


def decoded_event(payload: bytes) -> Event:
    """The event in a frame. Raises ModelError."""
    return decoded(payload, _decoder)


class _Block:
    """One block whose pieces are still coming."""

    def __init__(self) -> None:
        self.tool: _ToolUse | None = None
        self._pieces: list[str] = []
        self._thought: list[str] = []
        self._signature: list[str] = []
        self._redacted: list[str] = []

    def add(self, delta: _Delta) -> None:
        if delta.text:
            self._pieces.append(delta.text)
        if delta.tool_use is not None:
            self.tool = self.tool or _ToolUse()
            self._pieces.append(delta.tool_use.input or "")
        if delta.reasoning_content is not None:
            self._thought.append(delta.reasoning_content.text or "")
            self._signature.append(delta.reasoning_content.signature or "")
            self._redacted.append(delta.reasoning_content.redacted_content or "")

    @property
    def content(self) -> str:
        """The text, or the arguments of the call."""
        return "".join(self._pieces)

    def kept(self) -> dict[str, Any] | None:
        """The reasoning as it has to come back; None where nobody signed any."""
        redacted = "".join(self._redacted)
        if redacted:
            return {"reasoningContent": {"redactedContent": redacted}}
        signature = "".join(self._signature)
        if not signature:
            return None
        return {"reasoningContent": {"reasoningText": {"text": clean("".join(self._thought)), "signature": signature}}}


class Collected:
    """Blocks by their index, in whatever order their pieces come.

    With an `answer_tool`, a call of it is the answer: its arguments are the text.
    """

    def __init__(self, model: str, on_text: TextListener, answer_tool: str = "") -> None:
        self._model = model
        self._on_text = on_text
        self._answer_tool = answer_tool
        self._blocks: dict[int, _Block] = {}
        self._reason = ""
        self._usage: Usage | None = None

    @property
    def complete(self) -> bool:
        """Whether all has come that ever comes."""
        return bool(self._reason) and self._usage is not None

    def add(self, kind: str, event: Event) -> None:
        """Take one event; kinds that are not known do no harm."""
        match kind:
            case "contentBlockStart" if event.start is not None:
                self._block(event).tool = event.start.tool_use
            case "contentBlockDelta" if event.delta is not None:
                self._block(event).add(event.delta)
                if event.delta.text:
                    self._on_text(clean(event.delta.text))
            case "messageStop":
                self._reason = event.stop_reason or ""
            case "metadata":
                self._usage = _usage_of(event.usage or _Usage())
            case _:
                pass

    def _block(self, event: Event) -> _Block:
        return self._blocks.setdefault(event.content_block_index, _Block())

    def answer(self) -> ModelAnswer:
        """The whole answer. Raises ModelError when it is none."""
        if not self._reason:
            raise ModelError(ModelFailure.MALFORMED, "the answer broke off before it was finished")
        stop = _STOPS.get(self._reason)
        if stop is None:
            raise ModelError(ModelFailure.MALFORMED, f"the model gave up (stop reason {self._reason!r})")
        blocks = [self._blocks[index] for index in sorted(self._blocks)]
        text = clean("".join(block.content for block in blocks if block.tool is None))
        problem = f"the answer was cut off (stop reason {self._reason!r})" if stop in _UNFINISHED else ""
        made = [block for block in blocks if block.tool is not None]
        calls = tuple(_call(number, block, problem) for number, block in enumerate(made))
        if not text and not calls:
            raise ModelError(self._why_empty(stop), f"the answer was empty (stop reason {self._reason!r})")
        usage = self._usage or Usage()
        answered = [block for block in made if block.tool and block.tool.name == self._answer_tool]
        if answered and self._answer_tool:
            return self._as_text(answered[0], problem, usage)
        outline = [entry for block in blocks for entry in _outline(block)]
        signed = any("keep" in entry for entry in outline)
        replay = {WIRE: {"model": self._model, "outline": outline}} if signed else {}
        if not problem:
            stop = "tool_calls" if calls else "stop"
        return ModelAnswer(text=text, calls=calls, stop=stop, usage=usage, replay=replay)

    def _why_empty(self, stop: str) -> ModelFailure:
        if self._reason == "model_context_window_exceeded":
            return ModelFailure.CONTEXT_TOO_LONG
        return ModelFailure.REFUSED if stop in ("content_filter", "refused") else ModelFailure.MALFORMED

    def _as_text(self, block: _Block, problem: str, usage: Usage) -> ModelAnswer:
        found = call_of("answer", self._answer_tool, block.content)
        if problem or found.problem:
            raise ModelError(ModelFailure.MALFORMED, problem or found.problem)
        text = clean(block.content)
        self._on_text(text)
        return ModelAnswer(text=text, stop="stop", usage=usage)


def _call(number: int, block: _Block, problem: str) -> ToolCall:
    tool = block.tool or _ToolUse()
    found = call_of(tool.tool_use_id or f"call_{number}", tool.name or "", block.content)
    return ToolCall(id=found.id, name=found.name, problem=problem) if problem else found


def _outline(block: _Block) -> list[dict[str, Any]]:
    if block.tool is not None:
        return [{"call": True}]
    kept = block.kept()
    if kept is not None:
        return [{"keep": kept}]
    return [{"text": len(block.content)}] if block.content else []


def _usage_of(told: _Usage) -> Usage:
    """What was read from the cache and what was written to it are counted apart from the other input here."""
    cached = told.cache_read_input_tokens or 0
    return Usage(
        input=(told.input_tokens or 0) + cached + (told.cache_write_input_tokens or 0),
        output=told.output_tokens or 0,
        cached=cached,
    )

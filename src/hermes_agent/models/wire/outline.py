"""In which order an answer came, so that what a format wants back unchanged comes back at its place.

The journal holds an answer's text and its calls, with secrets taken out; an outline holds neither, only their order
and, between them, the blocks to be kept as they are: a list of `{"text": length}`, `{"call": true}`, `{"keep": block}`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import Any

import msgspec

from ...types.base import Value
from ...types.events import AssistantMessage
from ...types.tools import ToolCall

Outline = list[dict[str, Any]]


class TextPart(Value, frozen=True, kw_only=True):
    """A part of the answer's text; `phase` is a label that some models want back with it."""

    text: str
    phase: str = ""


class CallPart(Value, frozen=True, kw_only=True):
    """One of its calls."""

    call: ToolCall


class KeptPart(Value, frozen=True, kw_only=True):
    """A block to be sent as it came."""

    block: dict[str, Any]


Part = TextPart | CallPart | KeptPart


def fingerprint(text: str, calls: Sequence[ToolCall]) -> str:
    """Tells whether an answer is still what the model said, or was changed before it was journaled."""
    said = msgspec.json.encode([text, [[call.id, call.name, call.arguments] for call in calls]])
    return blake2b(said, digest_size=8).hexdigest()


def parts_of(message: AssistantMessage, outline: Outline) -> list[Part]:
    """The answer in its order. Nothing is lost where it no longer fits the outline; kept blocks never come last."""
    texts = _texts(message.text, [int(entry["text"]) for entry in outline if "text" in entry])
    calls = iter(message.calls)
    parts: list[Part] = []
    for entry in outline:
        if "keep" in entry:
            parts.append(KeptPart(block=entry["keep"]))
        elif "text" in entry:
            text = next(texts)
            parts += [TextPart(text=text, phase=entry.get("phase", ""))] if text else []
        else:
            parts += [CallPart(call=call) for call in _next(calls)]
    if message.text and not any(isinstance(part, TextPart) for part in parts):
        place = next((place for place, part in enumerate(parts) if isinstance(part, CallPart)), len(parts))
        parts.insert(place, TextPart(text=message.text))
    parts += [CallPart(call=call) for call in calls]
    while parts and isinstance(parts[-1], KeptPart):
        parts.pop()
    return parts


def kept_at_the_start(parts: Sequence[Part]) -> list[Part]:
    """The parts without the kept blocks behind the first thing that was said."""
    said = next((place for place, part in enumerate(parts) if not isinstance(part, KeptPart)), len(parts))
    return [part for place, part in enumerate(parts) if place < said or not isinstance(part, KeptPart)]


def _texts(text: str, lengths: Sequence[int]) -> Iterator[str]:
    """The text in parts of these lengths; all of it at once when they do not add up to it."""
    if sum(lengths) != len(text):
        lengths = [len(text), *(0 for _ in lengths[1:])]
    place = 0
    for length in lengths:
        yield text[place : place + length]
        place += length


def _next(calls: Iterator[ToolCall]) -> list[ToolCall]:
    call = next(calls, None)
    return [] if call is None else [call]

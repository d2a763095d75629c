"""A conversation in Gemini's format: parts in turns, results beside their calls, thought signatures in their places."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ...types.events import AssistantMessage, CallFinished, Fragment, Image, Message, UserMessage
from ...types.tools import ToolCall
from ...types.trace import CallStatus
from ..request import Transcript
from .calls import NO_RESULT, CallBook
from .parts import Drafts, missing_picture, notice, picture, stray_result
from .turns import Block, Draft, Form, Turn

WIRE = "gemini"
_UNSIGNED = "skip_thought_signature_validator"
"""What Google's documentation has clients send for calls that no Gemini made."""
_OLDER = re.compile(r"gemini-[12]\b|gemma|learnlm")
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_.:-]")
_LONGEST_ID = 64
_LONGEST_NAME = 128
_FORM = Form(
    begin={
        "user": b'{"role":"user","parts":[',
        "results": b'{"role":"user","parts":[',
        "model": b'{"role":"model","parts":[',
    },
    end=b"]}",
    first="user",
    lead=b'{"role":"user","parts":[{"text":"(the conversation goes on)"}]},',
)
_drafts: Drafts[Draft] = Drafts()


def key_of(model: str) -> str:
    """What pieces are kept by: a signature is worth something to the model that gave it, and to no other."""
    return f"{WIRE}:{model}"


def draft_of(transcript: Transcript, model: str) -> Draft:
    """The conversation as it was written for a model so far."""
    return _drafts.of(transcript, key_of(model), lambda: Draft(_FORM, Writer(model, transcript.image)))


def is_older(model: str) -> bool:
    """Whether a model is from before Gemini 3: it needs no signatures, and refuses a schema beside any tools."""
    return bool(_OLDER.match(model))


class Writer:
    """Writes the messages of one conversation for one model."""

    def __init__(self, model: str, image: Callable[[str], bytes]) -> None:
        self._model = model
        self._signs = not is_older(model)
        self._image = image
        self._book = CallBook(_LONGEST_ID)
        self._names: dict[str, str] = {}

    def write(self, message: Message) -> list[Turn]:
        """Results have a turn of their own, next to the calls they belong to."""
        match message:
            case CallFinished():
                return [self._result(message)]
            case UserMessage(text=text, images=images):
                parts = [_shown(picture(one, self._image), one) for one in images]
                parts += [{"text": text or "(nothing)"}] if text or not parts else []
                return [*self._given_up(), Turn(kind="user", blocks=parts)]
            case Fragment():
                return [*self._given_up(), Turn(kind="user", blocks=[{"text": notice(message)}])]
            case AssistantMessage():
                before = self._given_up()
                return [*before, Turn(kind="model", blocks=self._said(message) or [{"text": "(no answer)"}])]

    def unanswered(self) -> list[Turn]:
        return self._without_result(self._book.waiting())

    def _given_up(self) -> list[Turn]:
        return self._without_result(self._book.give_up())

    def _without_result(self, ids: list[str]) -> list[Turn]:
        missing = [_response(made, self._names[made], {"error": NO_RESULT}) for made in ids]
        return [Turn(kind="results", blocks=missing)] if missing else []

    def _result(self, result: CallFinished) -> Turn:
        made = self._book.finish(result.call_id)
        if not made:
            kind = "results" if self._book.waiting() else "user"
            return Turn(kind=kind, blocks=[{"text": stray_result(result)}])
        told = {"output" if result.status is CallStatus.OK else "error": result.text}
        return Turn(kind="results", blocks=[_response(made, self._names[made], told)])

    def _said(self, message: AssistantMessage) -> list[Block]:
        """An answer as it was given; of another model, as it would have been, with the first call marked unsigned."""
        calls = [
            self._called(call, made) for call, made in zip(message.calls, self._book.make(message.calls), strict=True)
        ]
        replay = message.replay.get(WIRE)
        if isinstance(replay, dict) and replay.get("model") == self._model:
            spoiled = {number for number, call in enumerate(message.calls) if call.problem}
            parts = [_unsigned(part) if part.get("call") in spoiled else part for part in replay["parts"]]
            return _replayed(message.text, calls, parts)
        if calls and self._signs:
            calls[0]["thoughtSignature"] = _UNSIGNED
        return [*([{"text": message.text}] if message.text else ()), *calls]

    def _called(self, call: ToolCall, made: str) -> Block:
        """A call has an id also where the model gave none, because results may come in another order."""
        name = _NOT_IN_NAMES.sub("_", call.name)[:_LONGEST_NAME] or "unknown"
        self._names[made] = name if name[0].isalpha() or name[0] == "_" else f"_{name}"[:_LONGEST_NAME]
        return {"functionCall": {"id": made, "name": self._names[made], "args": call.arguments}}


def _shown(data: str, image: Image) -> Block:
    return {"inlineData": {"mimeType": image.media_type, "data": data}} if data else {"text": missing_picture(image)}


def _response(made: str, name: str, told: dict[str, str]) -> Block:
    return {"functionResponse": {"id": made, "name": name, "response": told}}


def _unsigned(part: dict[str, Any]) -> dict[str, Any]:
    """A call whose arguments could not be read: what was signed is not what is sent back."""
    return {**part, "signature": _UNSIGNED} if "signature" in part else part


def _replayed(text: str, calls: list[Block], parts: list[dict[str, Any]]) -> list[Block]:
    """The parts of an answer with what was said put back in. A redacted text has another length: it goes first."""
    lengths = [part["text"] for part in parts if "text" in part]
    if sum(lengths) != len(text):
        lengths = [len(text)] + [0] * (len(lengths) - 1)
    rebuilt: list[Block] = []
    place = 0
    for part in parts:
        if "text" in part:
            made: Block = {"text": text[place : place + lengths[0]]}
            place += lengths.pop(0)
        elif "thought" in part:
            made = {"text": part["thought"], "thought": True}
        elif part["call"] < len(calls):
            made = calls[part["call"]]
        else:
            continue
        if "signature" in part:
            rebuilt.append({**made, "thoughtSignature": part["signature"]})
        elif made != {"text": ""}:
            rebuilt.append(made)
    return rebuilt

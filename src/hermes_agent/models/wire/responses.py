"""A transcript and a request in OpenAI's responses format, as bytes that only grow.

The input is a flat list of items, so a message is one or several of them and nothing is ever merged: a piece begins
with the comma that follows the one before. The endpoint stores nothing (`store` is false), so reasoning comes back to
it encrypted, in the place where it came.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from typing import Any

from ...types.base import Value
from ...types.events import AssistantMessage, CallFinished, Fragment, Message, UserMessage
from ..request import ModelRequest, Prefix
from .calls import NO_RESULT, CallBook, tool_name
from .openai_models import effort_for, reasons
from .outline import CallPart, KeptPart, Part, TextPart, parts_of
from .parts import Drafts, encoded, missing_picture, notice, picture, stray_result
from .schema import is_strict

WIRE = "openai_responses"
_LONGEST_NAME = 64
_LONGEST_ID = 64
_LEAST_TOKENS = 16
_NO_INSTRUCTIONS = "You are a helpful assistant."

Item = dict[str, Any]


class ResponsesDraft:
    """The conversation as written so far. `by` names the model and the endpoint whose reasoning may come back."""

    def __init__(self, by: str, image: Callable[[str], bytes]) -> None:
        self._by = by
        self._image = image
        self._book = CallBook(_LONGEST_ID)
        self.opening = b""
        """Names the first item: with the prefix, what tells this conversation from others."""

    def piece(self, message: Message) -> bytes:
        """The bytes a message adds."""
        match message:
            case CallFinished(call_id=call_id, text=text) if known := self._book.finish(call_id):
                return self._added([_output(known, text)])
            case CallFinished():
                return self._added([_said(stray_result(message))])
            case Fragment():
                return self._added([_said(notice(message))])
            case UserMessage():
                return self._added([self._question(message)])
            case AssistantMessage():
                left = [_output(call_id, NO_RESULT) for call_id in self._book.give_up()]
                return self._added(left + [self._item(part) for part in self._parts(message)])

    def closing(self) -> bytes:
        """Outputs for calls that have none; a request must not leave one open."""
        left = [_output(call_id, NO_RESULT) for call_id in self._book.waiting()]
        return b"".join([b"," + encoded(item) for item in left])

    def _added(self, items: list[Item]) -> bytes:
        made = b",".join([encoded(item) for item in items])
        if not made:
            return b""
        if self.opening:
            return b"," + made
        self.opening = blake2b(made, digest_size=16).digest()
        return made

    def _question(self, message: UserMessage) -> Item:
        if not message.images:
            return _said(message.text)
        parts: list[Item] = []
        for image in message.images:
            data = picture(image, self._image)
            url = f"data:{image.media_type};base64,{data}"
            shown = {"type": "input_image", "detail": "auto", "image_url": url}
            parts.append(shown if data else {"type": "input_text", "text": missing_picture(image)})
        if message.text:
            parts.append({"type": "input_text", "text": message.text})
        return {"type": "message", "role": "user", "content": parts}

    def _parts(self, message: AssistantMessage) -> list[Part]:
        kept = message.replay.get(WIRE) or {}
        return parts_of(message, kept["outline"] if kept.get("by") == self._by else [])

    def _item(self, part: Part) -> Item:
        match part:
            case KeptPart(block=block):
                return block
            case TextPart(text=text, phase=phase):
                item: Item = {"type": "message", "role": "assistant", "content": text}
                return {**item, "phase": phase} if phase else item
            case CallPart(call=call):
                (call_id,) = self._book.make([call])
                name = tool_name(call.name, _LONGEST_NAME)
                arguments = encoded(call.arguments).decode()
                return {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}


class Dialect(Value, frozen=True, kw_only=True):
    """How an endpoint differs: whether it takes a limit on the output, and whether it needs instructions."""

    limits_output: bool = True
    needs_instructions: bool = False


class ResponsesBody:
    """Requests for one model behind one endpoint."""

    def __init__(self, model: str, url: str, dialect: Dialect) -> None:
        self.by = f"{model} at {url}"
        self._model = model
        self._dialect = dialect
        self._key = f"{WIRE}:{self.by}"
        self._head: tuple[Prefix | None, bytes, bytes] = (None, b"", b"")

    def written(self, request: ModelRequest) -> bytes:
        """The request as bytes: what stays the same first, then the transcript, then what may differ."""
        transcript = request.transcript
        draft = _drafts.of(transcript, self._key, lambda: ResponsesDraft(self.by, transcript.image))
        pieces = transcript.pieces(self._key, draft.piece)
        head, digest = self._prefix(request.prefix)
        tail = encoded(self._tail(request, digest + draft.opening))[1:]
        return b"".join((head, *pieces, draft.closing(), b"],", tail))

    def _prefix(self, prefix: Prefix) -> tuple[bytes, bytes]:
        """The bytes before the first item, and their digest."""
        if self._head[0] is not prefix:
            head: dict[str, Any] = {"model": self._model, "stream": True, "store": False}
            instructions = prefix.system or (_NO_INSTRUCTIONS if self._dialect.needs_instructions else "")
            if instructions:
                head["instructions"] = instructions
            if prefix.tools:
                head["tools"] = [
                    {
                        "type": "function",
                        "name": tool.name,
                        "description": tool.description,
                        "parameters": tool.parameters,
                        "strict": False,
                    }
                    for tool in prefix.tools
                ]
            made = encoded(head)[:-1] + b',"input":['
            self._head = (prefix, made, blake2b(made, digest_size=16).digest())
        return self._head[1:]

    def _tail(self, request: ModelRequest, opening: bytes) -> dict[str, Any]:
        """What may differ. The cache key is the same for a whole conversation, which so finds the machine that has
        its prefix."""
        tail: dict[str, Any] = {"prompt_cache_key": blake2b(opening, digest_size=16).hexdigest()}
        if request.effort is not None or reasons(self._model):
            tail["include"] = ["reasoning.encrypted_content"]
        level = effort_for(self._model, request.effort) if request.effort is not None else ""
        if level:
            tail["reasoning"] = {"effort": level}
        if request.prefix.tools and request.tool_choice != "auto":
            plain = request.tool_choice in ("none", "required")
            named = {"type": "function", "name": request.tool_choice}
            tail["tool_choice"] = request.tool_choice if plain else named
        if request.schema is not None:
            wanted = {"type": "json_schema", "name": "answer", "schema": request.schema}
            tail["text"] = {"format": {**wanted, "strict": is_strict(request.schema)}}
        if request.max_tokens and self._dialect.limits_output:
            tail["max_output_tokens"] = max(_LEAST_TOKENS, request.max_tokens)
        return tail


_drafts: Drafts[ResponsesDraft] = Drafts()


def _said(text: str) -> Item:
    return {"type": "message", "role": "user", "content": text}


def _output(call_id: str, text: str) -> Item:
    return {"type": "function_call_output", "call_id": call_id, "output": text}

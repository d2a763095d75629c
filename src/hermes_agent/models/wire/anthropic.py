"""A transcript in Anthropic's messages format, as bytes that only grow.

Roles must alternate there, so neighbours of one role share a message. A piece therefore ends open, inside the last
block it wrote: the next piece closes that block and goes on in the same message or begins another. What closes the
last block of a request stands behind all pieces and is the only thing the next request writes anew. The mark that
tells the provider to cache up to a block goes to the same place, between two pieces: moving it changes no piece, and
the provider does not count it as content, so the prefix stays cacheable.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from typing import Any

from ...types.events import AssistantMessage, CallFinished, Fragment, Message, UserMessage
from ...types.text import clean_json
from ...types.trace import CallStatus
from .calls import NO_RESULT, CallBook, tool_name
from .outline import (
    CallPart,
    KeptPart,
    Part,
    TextPart,
    fingerprint,
    kept_at_the_start,
    parts_of,
)
from .parts import encoded, missing_picture, notice, picture, stray_result

WIRE = "anthropic"
_LONGEST_NAME = 128
_LONGEST_ID = 64
_NOTHING_SAID = "(an empty message)"
_GOES_ON = "(the conversation goes on)"
_END_OF_MESSAGE = b"}]}"

Block = dict[str, Any]


class AnthropicDraft:
    """The conversation as written so far.

    `answered` counts the pieces before the last answer: there the previous request ended, and so did its cache mark.
    `unthought` tells that the last answer made calls without thinking first, as other providers' answers do: until
    they are answered, models that think with a budget must not be asked to.
    """

    def __init__(self, head: bytes, image: Callable[[str], bytes]) -> None:
        self.answered = 0
        self.unthought = False
        self._image = image
        self._book = CallBook(_LONGEST_ID)
        self._sent = blake2b(head, digest_size=16)
        self._role = ""
        self._pieces = 0

    @property
    def sent(self) -> str:
        """Names all that the pieces hold. Thinking is only taken back behind exactly what it was thought about."""
        return self._sent.hexdigest()

    def piece(self, message: Message) -> bytes:
        """The bytes a message adds."""
        made = self._answer(message) if isinstance(message, AssistantMessage) else self._question(message)
        self._sent.update(made)
        self._pieces += 1
        return made

    def closing(self, mark: bytes) -> bytes:
        """What ends the messages: results for calls that have none, the mark on the last block, the brackets."""
        if not self._role:
            return b""
        left = [_no_result(call_id) for call_id in self._book.waiting()]
        opened = _between(self._role, "user") + _joined(left) if left else b""
        return opened + mark + _END_OF_MESSAGE

    def _question(self, message: UserMessage | Fragment | CallFinished) -> bytes:
        if isinstance(message, CallFinished) and (known := self._book.finish(message.call_id)):
            return self._added("user", [_result(known, message)])
        left = [_no_result(call_id) for call_id in self._book.give_up()]
        return self._added("user", left + self._said(message))

    def _said(self, message: UserMessage | Fragment | CallFinished) -> list[Block]:
        if isinstance(message, Fragment):
            return [_text(notice(message))]
        if isinstance(message, CallFinished):
            return [_text(stray_result(message))]
        blocks: list[Block] = []
        for image in message.images:
            data = picture(image, self._image)
            source = {"type": "base64", "media_type": image.media_type, "data": data}
            blocks.append({"type": "image", "source": source} if data else _text(missing_picture(image)))
        if message.text.strip() or not blocks:
            blocks.append(_text(message.text))
        return blocks

    def _answer(self, message: AssistantMessage) -> bytes:
        left = [_no_result(call_id) for call_id in self._book.give_up()]
        written = self._added("user", left) if left else b""
        if self._role == "user":
            self.answered = self._pieces
        blocks = [block for part in self._parts(message) for block in self._blocks(part)]
        thought = bool(blocks) and blocks[0]["type"] in ("thinking", "redacted_thinking")
        self.unthought = bool(message.calls) and not thought
        if not blocks:
            return written
        if not self._role:
            written = self._added("user", [_text(_GOES_ON)])
        return written + self._added("assistant", blocks)

    def _parts(self, message: AssistantMessage) -> list[Part]:
        """The answer with the thinking that may come back. What was thought behind words that were changed since,
        such as a secret taken out, is left out: the provider would refuse it."""
        kept = message.replay.get(WIRE) or {}
        if kept.get("behind") != self.sent:
            return parts_of(message, [])
        parts = parts_of(message, kept["outline"])
        same = kept.get("said") == fingerprint(message.text, message.calls)
        return parts if same else kept_at_the_start(parts)

    def _blocks(self, part: Part) -> list[Block]:
        match part:
            case KeptPart(block=block):
                return [block]
            case TextPart(text=text):
                return [_text(text)] if text.strip() else []
            case CallPart(call=call):
                (call_id,) = self._book.make([call])
                name = tool_name(call.name, _LONGEST_NAME)
                return [{"type": "tool_use", "id": call_id, "name": name, "input": call.arguments}]

    def _added(self, role: str, blocks: list[Block]) -> bytes:
        """Blocks in the role's message: the open one, or a new one."""
        before = _between(self._role, role)
        self._role = role
        return before + _joined(blocks)


def replay(behind: str, said: str, outline: list[dict[str, Any]]) -> dict[str, Any]:
    """What an answer's message keeps, so that its thinking can come back."""
    return {WIRE: {"behind": behind, "said": said, "outline": clean_json(outline)}}


def _between(open_role: str, role: str) -> bytes:
    """What stands between the last block and the next one."""
    if role == open_role:
        return b"},"
    return (b"}]}," if open_role else b"") + b'{"role":"%b","content":[' % role.encode()


def _joined(blocks: list[Block]) -> bytes:
    """Blocks one behind the other, the last one still open."""
    return b",".join([encoded(block) for block in blocks])[:-1]


def _text(text: str) -> Block:
    return {"type": "text", "text": text if text.strip() else _NOTHING_SAID}


def _no_result(call_id: str) -> Block:
    return {"type": "tool_result", "tool_use_id": call_id, "content": NO_RESULT, "is_error": True}


def _result(call_id: str, message: CallFinished) -> Block:
    block: Block = {"type": "tool_result", "tool_use_id": call_id}
    if message.text.strip():
        block["content"] = message.text
    if message.status is not CallStatus.OK:
        block["is_error"] = True
    return block

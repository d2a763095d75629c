"""A conversation in the converse format: sides that alternate, results first in the next message, signed reasoning."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ...types.events import AssistantMessage, CallFinished, Fragment, Image, Message, UserMessage
from ...types.trace import CallStatus
from ..request import Transcript
from .calls import NO_RESULT, CallBook, tool_name
from .outline import CallPart, KeptPart, Part, TextPart, parts_of
from .parts import Drafts, missing_picture, notice, picture, stray_result
from .turns import Block, Draft, Form, Turn

WIRE = "bedrock"
USER, ASSISTANT = "user", "assistant"
_LONGEST_NAME = 64
_FORM = Form(
    begin={USER: b'{"role":"user","content":[', ASSISTANT: b'{"role":"assistant","content":['},
    end=b"]}",
    first=USER,
    lead=b'{"role":"user","content":[{"text":"(the conversation goes on)"}]},',
)


class Writer:
    """Writes the messages of one conversation for one model.

    `calls` tells whether any were made, since tools must be declared then; `thought` whether the last answer may be
    continued with thinking switched on, which needs its reasoning in front of its calls.
    """

    def __init__(self, model: str, image: Callable[[str], bytes]) -> None:
        self._model = model
        self._image = image
        self._book = CallBook(_LONGEST_NAME)
        self.calls = False
        self.thought = True

    def write(self, message: Message) -> list[Turn]:
        """Results are written as they come: they are the first thing after the calls they belong to."""
        match message:
            case CallFinished():
                return [Turn(kind=USER, blocks=[self._result(message)])]
            case UserMessage(text=text, images=images):
                shown = [_shown(picture(one, self._image), one) for one in images]
                said = [] if shown and not text.strip() else [_text(text, "(nothing)")]
                return [*self._given_up(), Turn(kind=USER, blocks=[*shown, *said])]
            case Fragment():
                return [*self._given_up(), Turn(kind=USER, blocks=[{"text": notice(message)}])]
            case AssistantMessage():
                return [*self._given_up(), Turn(kind=ASSISTANT, blocks=self._said(message))]

    def unanswered(self) -> list[Turn]:
        return _without_result(self._book.waiting())

    def _given_up(self) -> list[Turn]:
        return _without_result(self._book.give_up())

    def _result(self, result: CallFinished) -> Block:
        made = self._book.finish(result.call_id)
        if not made:
            return {"text": stray_result(result)}
        return _tool_result(made, result.text, failed=result.status is not CallStatus.OK)

    def _said(self, message: AssistantMessage) -> list[Block]:
        """An answer in its order. Reasoning goes back only to the model that signed it."""
        replay = message.replay.get(WIRE)
        ours = isinstance(replay, dict) and replay.get("model") == self._model
        parts = parts_of(message, replay["outline"] if ours and replay else [])
        self.thought = not message.calls or isinstance(parts[0], KeptPart)
        self.calls = self.calls or bool(message.calls)
        ids = iter(self._book.make([part.call for part in parts if isinstance(part, CallPart)]))
        said = [part for part in parts if not _is_blank(part)]
        if all(isinstance(part, KeptPart) for part in said):
            return [{"text": "(no answer)"}]
        return [_block(part, ids) for part in said]


class Conversation:
    """A draft, and the writer behind it."""

    def __init__(self, model: str, image: Callable[[str], bytes]) -> None:
        self.writer = Writer(model, image)
        self.draft = Draft(_FORM, self.writer)


_conversations: Drafts[Conversation] = Drafts()


def conversation_of(transcript: Transcript, model: str) -> tuple[Conversation, list[bytes]]:
    """The conversation as it is written for a model, but for its end."""
    key = f"{WIRE}:{model}"
    found = _conversations.of(transcript, key, lambda: Conversation(model, transcript.image))
    return found, transcript.pieces(key, found.draft.piece)


def _block(part: Part, ids: Iterator[str]) -> Block:
    match part:
        case TextPart(text=text):
            return {"text": text}
        case KeptPart(block=block):
            return block
        case CallPart(call=call):
            name = tool_name(call.name, _LONGEST_NAME)
            return {"toolUse": {"toolUseId": next(ids), "name": name, "input": call.arguments}}


def _is_blank(part: Part) -> bool:
    return isinstance(part, TextPart) and not part.text.strip()


def _text(text: str, blank: str) -> Block:
    """A block of text; a blank one is refused, so something is said in its place."""
    return {"text": text if text.strip() else blank}


def _shown(data: str, image: Image) -> Block:
    if not data:
        return {"text": missing_picture(image)}
    return {"image": {"format": image.media_type.removeprefix("image/"), "source": {"bytes": data}}}


def _tool_result(made: str, text: str, *, failed: bool) -> Block:
    result: Block = {"toolUseId": made, "content": [_text(text, "(no output)")]}
    return {"toolResult": {**result, "status": "error"} if failed else result}


def _without_result(ids: list[str]) -> list[Turn]:
    missing = [_tool_result(made, NO_RESULT, failed=True) for made in ids]
    return [Turn(kind=USER, blocks=missing)] if missing else []

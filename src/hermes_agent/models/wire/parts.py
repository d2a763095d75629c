"""What several wire formats write and read in the same way."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

import msgspec

from ...types.effort import Effort
from ...types.errors import ModelError, ModelFailure, NotFound
from ...types.events import CallFinished, Fragment, Image
from ...types.text import clean_json
from ..request import Transcript

PICTURES = ("image/gif", "image/jpeg", "image/png", "image/webp")

Draft = TypeVar("Draft")
Event = TypeVar("Event")


class Drafts(Generic[Draft]):
    """One draft per transcript and key: the memory behind the pieces it wrote, forgotten together with them.

    A transcript keeps serialised pieces by key; whoever shares the key shares the draft.
    """

    def __init__(self) -> None:
        self._known: WeakKeyDictionary[Transcript, dict[str, Draft]] = WeakKeyDictionary()

    def of(self, transcript: Transcript, key: str, begin: Callable[[], Draft]) -> Draft:
        """The draft under this key, begun if there is none."""
        drafts = self._known.setdefault(transcript, {})
        if key not in drafts:
            drafts[key] = begin()
        return drafts[key]


def encoded(value: Any) -> bytes:
    """JSON; lone surrogates, which no encoding has, are replaced."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(clean_json(value))


def decoded(data: bytes, decoder: msgspec.json.Decoder[Event]) -> Event:
    """One event of a stream. The slower reader takes what JSON allows and the fast one does not, such as half a pair
    of surrogates."""
    try:
        return decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        try:
            return msgspec.convert(json.loads(data), decoder.type)
        except (ValueError, RecursionError, msgspec.ValidationError):
            raise ModelError(ModelFailure.MALFORMED, f"the stream holds what is no event: {error}") from error


def notice(fragment: Fragment) -> str:
    """A fragment as the model reads it."""
    return f'<notice from="{fragment.source}">\n{fragment.text}\n</notice>'


def stray_result(result: CallFinished) -> str:
    """A result that no open call of the conversation waits for, as the model reads it."""
    return f'<notice from="{result.tool}">\n{result.text}\n</notice>'


def picture(image: Image, read: Callable[[str], bytes]) -> str:
    """An image in base64; empty when it cannot be shown, so that a lost blob does not end the conversation."""
    if image.media_type not in PICTURES:
        return ""
    try:
        return b64encode(read(image.blob)).decode()
    except NotFound:
        return ""


def missing_picture(image: Image) -> str:
    """What is said in the place of an image that cannot be shown."""
    return f"[an image of type {image.media_type} that cannot be shown]"


def nearest(levels: tuple[Effort, ...], effort: Effort) -> str:
    """The level itself, else the nearest below, else the lowest; empty when there are none."""
    order = list(Effort)
    below = [level for level in levels if order.index(level) <= order.index(effort)]
    return str((below[-1:] or levels[:1] or ("",))[0])

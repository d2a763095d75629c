"""Requests read strictly, answers as JSON."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from ...types.errors import HermesError, MissingExtra, NotFound, SessionBusy, UsageError
from ...types.text import clean_json

T = TypeVar("T")
LARGEST_BODY = 16 * 1024
_LONGEST_TEXT = 400


class TooLarge(UsageError):
    """A body beyond what any change needs."""


def answer(value: Any, status: int = 200) -> Response:
    """A value as JSON. What cannot be encoded, such as half a character, is shown by its replacement."""
    try:
        raw = msgspec.json.encode(value)
    except UnicodeEncodeError:
        raw = msgspec.json.encode(clean_json(msgspec.to_builtins(value)))
    return Response(raw, status, media_type="application/json")


def refused(error: HermesError) -> Response:
    """An error with its remedy."""
    return answer({"error": str(error), "remedy": error.advice}, _status(error))


def _status(error: HermesError) -> int:
    match error:
        case NotFound():
            return 404
        case TooLarge():
            return 413
        case UsageError():
            return 400
        case SessionBusy():
            return 409
        case MissingExtra():
            return 501
        case _:
            return 500


async def body_of(request: Request, shape: type[T]) -> T:
    """What a change says. Raises UsageError for anything else than a small JSON document of that shape."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise UsageError("a change is sent as JSON", remedy="set Content-Type: application/json")
    data = bytearray()
    async for part in request.stream():
        data += part
        if len(data) > LARGEST_BODY:
            raise TooLarge(f"more than {LARGEST_BODY} bytes were sent", remedy="no change needs so much")
    try:
        return msgspec.json.decode(bytes(data), type=shape)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise UsageError(f"that is not what this change takes: {error}", remedy="load the page again") from error


def text_of(request: Request, name: str) -> str:
    """A short text of the query; empty without one."""
    value = request.query_params.get(name, "")
    if len(value) > _LONGEST_TEXT:
        raise UsageError(f"{name} is longer than {_LONGEST_TEXT} characters", remedy="shorten it")
    return value


def number_of(request: Request, name: str, default: int, low: int, high: int) -> int:
    """A whole number of the query within bounds."""
    value = request.query_params.get(name, "")
    if not value:
        return default
    if not value.isascii() or not value.isdigit() or not low <= int(value[:18]) <= high:
        raise UsageError(f"{name} is no number from {low} to {high}", remedy="load the page again")
    return int(value)

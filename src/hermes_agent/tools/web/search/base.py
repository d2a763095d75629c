"""What every search engine has in common: a question, answers, and what an error of its server means."""

from __future__ import annotations

from typing import Literal, TypeVar

import msgspec

from ....types.base import Value
from ..client import WebClient, WebRequest
from ..failure import WebFailure

Need = Literal["nothing", "url", "key"]
Shape = TypeVar("Shape")
_LONGEST = 4 << 20


class Question(Value, frozen=True, kw_only=True):
    """What is searched, where, and with whose key."""

    text: str
    limit: int
    address: str
    key: str = ""


class Found(Value, frozen=True, kw_only=True):
    """One answer of an engine."""

    title: str = ""
    url: str = ""
    text: str = ""


async def ask(client: WebClient, request: WebRequest) -> bytes:
    """The body of an engine's answer. Raises WebFailure for one that is an error."""
    async with client.visit(request) as reply:
        match reply.status:
            case 200:
                return (await reply.beginning(_LONGEST))[0]
            case 401 | 403:
                raise WebFailure("auth", f"it refuses the request (HTTP {reply.status})")
            case 429 | 202:
                raise WebFailure("rate_limit", "it wants fewer requests", transient=True)
            case status:
                raise WebFailure("search", f"it answers HTTP {status}", transient=status >= 500)


def shaped(body: bytes, shape: type[Shape]) -> Shape:
    """An engine's JSON. Raises WebFailure when it is something else."""
    try:
        return msgspec.json.decode(body, type=shape)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise WebFailure("search", "its answer has an unknown form") from error

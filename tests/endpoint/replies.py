"""Values of the scripted endpoint: what it was asked and what it is told to answer."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import cached_property
from hashlib import blake2b
from typing import Any

import msgspec


class Request(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """One HTTP request exactly as it arrived; header names are in lower case, the body is untouched."""

    number: int
    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @cached_property
    def json(self) -> Any:
        """The decoded body; decoded on first use so that recording costs nothing."""
        return msgspec.json.decode(self.body)

    @cached_property
    def digest(self) -> str:
        """Names the request by its bytes; ids derived from it are the same when the same request is asked again."""
        return blake2b(self.body, digest_size=12).hexdigest()


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """A tool call. Text arguments go out as they are, so that a script can send what is not JSON.

    `id=None` derives an id from the request's bytes; `id=""` leaves the field out.
    """

    name: str
    arguments: dict[str, Any] | str = {}
    id: str | None = None


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = 0


class Text(msgspec.Struct, frozen=True, kw_only=True, tag="text"):
    """A final answer. `delay` seconds pass before the first byte, `pace` seconds between stream events."""

    text: str
    finish: str = "stop"
    usage: Usage | None = None
    delay: float = 0.0
    pace: float = 0.0


class Calls(msgspec.Struct, frozen=True, kw_only=True, tag="calls"):
    """One or several parallel tool calls, with an optional text before them."""

    calls: tuple[Call, ...]
    text: str = ""
    finish: str = "tool_calls"
    usage: Usage | None = None
    delay: float = 0.0
    pace: float = 0.0


class Fault(Enum):
    """Ways in which a real endpoint goes wrong. Those marked (valid) are legal and must simply work."""

    REFUSE = "refuse"
    """Closes the listening socket and every connection; later connections are refused until `reopen`."""
    BAD_REQUEST = "bad_request"
    UNAUTHORIZED = "unauthorized"
    CONTEXT_LENGTH = "context_length"
    RATE_LIMIT = "rate_limit"
    SERVER_ERROR = "server_error"
    UNAVAILABLE = "unavailable"
    STALL = "stall"
    """Sends the headers, then nothing."""
    STALL_MIDWAY = "stall_midway"
    """Sends the headers and the beginning of the answer, then nothing."""
    STALL_BEFORE_HEADERS = "stall_before_headers"
    CUT = "cut"
    """Ends the connection in the middle of the body with FIN."""
    RESET = "reset"
    """Ends the connection in the middle of the body with RST."""
    TRUNCATED_EVENT = "truncated_event"
    """The HTTP body ends properly, in the middle of an event's JSON."""
    MISSING_END = "missing_end"
    """The HTTP body ends properly, without finish_reason and [DONE]."""
    SPLIT_UTF8 = "split_utf8"
    """(valid) A multi-byte character is split over two HTTP chunks sent apart."""
    HALF_CALL = "half_call"
    """The arguments stop in the middle; finish_reason and [DONE] follow as if all was well."""
    ARGUMENTS_NOT_OBJECT = "arguments_not_object"
    DUPLICATE_IDS = "duplicate_ids"
    MISSING_IDS = "missing_ids"
    UNKNOWN_TOOL = "unknown_tool"
    OUT_OF_ORDER = "out_of_order"
    """(valid) Two calls whose deltas come interleaved, index 1 before index 0."""
    EMPTY = "empty"
    HTML = "html"
    HUGE_LINE = "huge_line"
    """(valid) One event of `size` bytes."""
    INVALID_UTF8 = "invalid_utf8"
    NUL = "nul"
    """(valid) The text holds the JSON escape of U+0000."""
    LONE_SURROGATE = "lone_surrogate"
    r"""The text holds the JSON escape `\ud800`."""
    NOT_JSON = "not_json"
    ERROR_IN_STREAM = "error_in_stream"


class Fail(msgspec.Struct, frozen=True, kw_only=True, tag="fault"):
    """A fault; `text` and `calls` are the answer that it spoils. Two calls make the faults about ids possible."""

    fault: Fault
    retry_after: float | None = None
    text: str = "Grüße aus Zürich, 日本 and 🦊."
    calls: tuple[Call, ...] = (
        Call(name="echo", arguments={"text": "first half, second half"}),
        Call(name="echo", arguments={"text": "another call"}),
    )
    size: int = 8 * 1024 * 1024
    usage: Usage | None = None


Answer = Text | Calls
Reply = Text | Calls | Fail
Responder = Callable[[Request], Reply]


class ScriptExhausted(Exception):
    """More was asked than the script has replies for; the endpoint answers it with status 400."""


def call(name: str, /, **arguments: Any) -> Call:
    """Short form of `Call` with an object of arguments."""
    return Call(name=name, arguments=arguments)


def calls(*requested: Call, text: str = "") -> Calls:
    return Calls(calls=requested, text=text)


def text(content: str) -> Text:
    return Text(text=content)


def fail(fault: Fault, *, retry_after: float | None = None) -> Fail:
    return Fail(fault=fault, retry_after=retry_after)

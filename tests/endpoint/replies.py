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
    query: str = ""

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
    """Prompt tokens include those read from and written to the cache, completion tokens those spent on reasoning.

    Each format subtracts what it counts apart: Anthropic and Bedrock the cache, Gemini the reasoning.
    """

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0


class Thinking(msgspec.Struct, frozen=True, kw_only=True):
    """Reasoning before an answer. The endpoint signs it, and knows its signature again when it comes back.

    `redacted` hides the text, in the formats that know this; it travels only inside the signature.
    """

    text: str
    redacted: bool = False


class Text(msgspec.Struct, frozen=True, kw_only=True, tag="text"):
    """A final answer. `delay` seconds pass before the first byte, `pace` seconds between stream events.

    `finish` is `stop`, `length`, `tool_calls` or `content_filter`, put into the format's own word; any other word goes
    out as it is. With a `refusal` the model declines, in the way that the format has for it.
    """

    text: str
    finish: str = "stop"
    usage: Usage | None = None
    delay: float = 0.0
    pace: float = 0.0
    refusal: str = ""
    thinking: Thinking | None = None


class Calls(msgspec.Struct, frozen=True, kw_only=True, tag="calls"):
    """One or several parallel tool calls, with an optional text before them."""

    calls: tuple[Call, ...]
    text: str = ""
    finish: str = "tool_calls"
    usage: Usage | None = None
    delay: float = 0.0
    pace: float = 0.0
    thinking: Thinking | None = None


class Fault(Enum):
    """Ways in which a real endpoint goes wrong. Those marked (valid) are legal and must simply work.

    Each exists in every format, in the format's own shape; where a format has no place for one, its module says what
    comes instead.
    """

    REFUSE = "refuse"
    """Closes the listening socket and every connection; later connections are refused until `reopen`."""
    BAD_REQUEST = "bad_request"
    UNAUTHORIZED = "unauthorized"
    """Status 401; 400 from Gemini and 403 from Bedrock, as the real ones do."""
    CONTEXT_LENGTH = "context_length"
    RATE_LIMIT = "rate_limit"
    SERVER_ERROR = "server_error"
    UNAVAILABLE = "unavailable"
    """Overloaded: status 503; 529 from Anthropic."""
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
    """The HTTP body ends properly, without the reason to stop and the end mark."""
    SPLIT_UTF8 = "split_utf8"
    """(valid) A multi-byte character is split over two HTTP chunks sent apart."""
    HALF_CALL = "half_call"
    """The arguments stop in the middle; the end follows as if all was well."""
    ARGUMENTS_NOT_OBJECT = "arguments_not_object"
    DUPLICATE_IDS = "duplicate_ids"
    MISSING_IDS = "missing_ids"
    UNKNOWN_TOOL = "unknown_tool"
    OUT_OF_ORDER = "out_of_order"
    """(valid) Two calls whose deltas come interleaved, index 1 before index 0. Gemini has no indexes: two calls."""
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
    """A fault; `text` and `calls` are the answer that it spoils. Two calls make the faults about ids possible.

    `kind` is the API's own name of an error inside the stream, in place of the usual one.
    """

    fault: Fault
    retry_after: float | None = None
    text: str = "Grüße aus Zürich, 日本 and 🦊."
    calls: tuple[Call, ...] = (
        Call(name="echo", arguments={"text": "first half, second half"}),
        Call(name="echo", arguments={"text": "another call"}),
    )
    size: int = 8 * 1024 * 1024
    usage: Usage | None = None
    kind: str = ""


Answer = Text | Calls
Reply = Text | Calls | Fail
Responder = Callable[[Request], Reply]


class ScriptExhausted(Exception):
    """More was asked than the script has replies for; the endpoint answers it with status 400."""


def call(name: str, /, **arguments: Any) -> Call:
    """Short form of `Call` with an object of arguments."""
    return Call(name=name, arguments=arguments)


def calls(*requested: Call, text: str = "", thinking: str | None = None) -> Calls:
    return Calls(calls=requested, text=text, thinking=_thought(thinking))


def text(content: str, *, thinking: str | None = None) -> Text:
    return Text(text=content, thinking=_thought(thinking))


def refusal(content: str) -> Text:
    return Text(text="", refusal=content)


def fail(fault: Fault, *, retry_after: float | None = None) -> Fail:
    return Fail(fault=fault, retry_after=retry_after)


def arguments_text(call: Call) -> str:
    """The arguments as they appear on the wire: JSON in a string."""
    if isinstance(call.arguments, str):
        return call.arguments
    return msgspec.json.encode(call.arguments).decode()


def arguments_value(call: Call) -> Any:
    """The arguments as a JSON value, for formats that do not put them into a string; what is no JSON stays text."""
    try:
        return msgspec.json.decode(arguments_text(call))
    except msgspec.DecodeError:
        return arguments_text(call)


def usage_of(request: Request, answer: Answer) -> Usage:
    """Without given numbers, a token is four bytes: coarse, but it grows with the conversation as real counts do."""
    if answer.usage is not None:
        return answer.usage
    made = answer.calls if isinstance(answer, Calls) else ()
    thought = len(answer.thinking.text) if answer.thinking else 0
    written = len(answer.text) + sum(len(arguments_text(call)) for call in made) + thought
    return Usage(
        prompt_tokens=len(request.body) // 4, completion_tokens=1 + written // 4, reasoning_tokens=thought // 4
    )


def _thought(content: str | None) -> Thinking | None:
    return None if content is None else Thinking(text=content)

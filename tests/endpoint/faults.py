"""Each fault as bytes on the wire."""

from __future__ import annotations

from itertools import pairwise

from .conversation import Head
from .replies import Answer, Call, Calls, Fail, Fault, Request, Text
from .responders import arguments_text
from .wire import (
    DONE,
    LAST_CHUNK,
    PLACE,
    STREAM_HEADERS,
    Ending,
    Wire,
    call_deltas,
    chunk,
    completion,
    delta_event,
    error_body,
    event,
    events,
    render,
    response,
)

_STATUS = {
    Fault.BAD_REQUEST: (400, "invalid_request_error", None, "The request was not understood."),
    Fault.UNAUTHORIZED: (401, "invalid_request_error", "invalid_api_key", "Incorrect API key provided."),
    Fault.CONTEXT_LENGTH: (
        400,
        "invalid_request_error",
        "context_length_exceeded",
        "This model's maximum context length is 8192 tokens.",
    ),
    Fault.RATE_LIMIT: (429, "requests", "rate_limit_exceeded", "Rate limit reached for requests."),
    Fault.SERVER_ERROR: (500, "server_error", None, "The server had an error while processing your request."),
    Fault.UNAVAILABLE: (503, "server_error", None, "The engine is currently overloaded."),
}
_APART = 0.03
"""Long enough for a client on loopback to read one piece before the next comes."""
_PAGE = b"<!doctype html><html><head><title>Sign in</title></head><body>Please sign in to the network.</body></html>"


def render_fault(request: Request, head: Head, reply: Fail) -> Wire:
    if reply.fault in _STATUS:
        return _status(reply)
    answer = _odd_answer(reply)
    if answer is not None:
        return render(request, head, answer, raw=_raw(reply))
    return _stream_fault(request, head, reply) if head.stream else _body_fault(request, head, reply)


def _status(reply: Fail) -> Wire:
    status, kind, code, message = _STATUS[reply.fault]
    headers = [] if reply.retry_after is None else [f"retry-after: {reply.retry_after:g}"]
    return Wire(pieces=(response(status, error_body(message, kind=kind, code=code), headers=headers),))


def _odd_answer(reply: Fail) -> Answer | None:
    """Faults that are a complete answer with strange content, the same streamed or not."""
    first = reply.calls[0]
    arguments = arguments_text(first)
    match reply.fault:
        case Fault.EMPTY:
            return Text(text="", usage=reply.usage)
        case Fault.HUGE_LINE:
            return Text(text=PLACE, usage=reply.usage)
        case Fault.INVALID_UTF8 | Fault.LONE_SURROGATE:
            return Text(text=f"before {PLACE} after", usage=reply.usage)
        case Fault.NUL:
            return Text(text="before \0 after", usage=reply.usage)
        case Fault.HALF_CALL:
            half = Call(name=first.name, arguments=arguments[: len(arguments) // 2])
            return Calls(calls=(half,), usage=reply.usage)
        case Fault.ARGUMENTS_NOT_OBJECT:
            return Calls(calls=(Call(name=first.name, arguments="[1, 2]"),), usage=reply.usage)
        case Fault.UNKNOWN_TOOL:
            return Calls(calls=(Call(name="no_such_tool", arguments=arguments),), usage=reply.usage)
        case Fault.DUPLICATE_IDS:
            return _with_id(reply, "call_same")
        case Fault.MISSING_IDS:
            return _with_id(reply, "")
        case _:
            return None


def _with_id(reply: Fail, identity: str) -> Calls:
    spoiled = tuple(Call(name=call.name, arguments=call.arguments, id=identity) for call in reply.calls)
    return Calls(calls=spoiled, usage=reply.usage)


def _raw(reply: Fail) -> bytes:
    match reply.fault:
        case Fault.HUGE_LINE:
            return b"x" * reply.size
        case Fault.INVALID_UTF8:
            return b"\xff\xfe\xc3"
        case Fault.LONE_SURROGATE:
            return b"\\ud800"
        case _:
            return b""


def _stream_fault(request: Request, head: Head, reply: Fail) -> Wire:
    """Faults of the transport or of the order of events in a streamed answer."""
    whole = events(request, head, Text(text=reply.text, usage=reply.usage))
    start = [STREAM_HEADERS, *map(chunk, whole[:2])]
    match reply.fault:
        case Fault.STALL:
            return Wire(pieces=(STREAM_HEADERS,), ending=Ending.HOLD)
        case Fault.STALL_MIDWAY:
            return Wire(pieces=start, ending=Ending.HOLD)
        case Fault.CUT:
            return Wire(pieces=(b"".join(start), chunk(whole[2])[:-20]), pause=_APART, ending=Ending.FIN)
        case Fault.RESET:
            return Wire(pieces=(b"".join(start), chunk(whole[2])[:-20]), pause=_APART, ending=Ending.RST)
        case Fault.TRUNCATED_EVENT:
            return Wire(pieces=(*start, chunk(whole[2][:-20]), LAST_CHUNK))
        case Fault.MISSING_END:
            return Wire(pieces=(*start, LAST_CHUNK))
        case Fault.NOT_JSON:
            return Wire(pieces=(*start, chunk(event(b"upstream said: try later")), chunk(DONE), LAST_CHUNK))
        case Fault.ERROR_IN_STREAM:
            failed = error_body("The server had an error while answering.", kind="server_error")
            return Wire(pieces=(*start, chunk(event(failed)), LAST_CHUNK))
        case Fault.SPLIT_UTF8:
            return _split(whole)
        case Fault.OUT_OF_ORDER:
            return _out_of_order(request, head, reply)
        case _:
            return _body_fault(request, head, reply)


def _split(whole: list[bytes]) -> Wire:
    """Every byte above ASCII starts a new HTTP chunk, written apart from the one before."""
    pieces: list[bytes] = [STREAM_HEADERS]
    for part in whole:
        cuts = [0, *(place for place, byte in enumerate(part) if byte > 0x7F), len(part)]
        pieces += [chunk(part[a:b]) for a, b in pairwise(cuts) if a < b]
    return Wire(pieces=(*pieces, LAST_CHUNK), pause=0.002)


def _out_of_order(request: Request, head: Head, reply: Fail) -> Wire:
    """Deltas of all calls in turn, the highest index first."""
    columns = [call_deltas(request, index, call) for index, call in enumerate(reply.calls)]
    deepest = max(map(len, columns))
    deltas = [column[row] for row in range(deepest) for column in reversed(columns) if row < len(column)]
    frame = events(request, head, Calls(calls=(), usage=reply.usage))
    produced = [frame[0], *(delta_event(request, head, delta) for delta in deltas), *frame[1:]]
    return Wire(pieces=(STREAM_HEADERS, *map(chunk, produced), LAST_CHUNK))


def _body_fault(request: Request, head: Head, reply: Fail) -> Wire:
    """The same faults in a plain answer, and those that are the same in both; a stream's order is no matter here."""
    text = Text(text=reply.text, usage=reply.usage)
    whole = response(200, completion(request, head, text))
    half = (whole[: whole.index(b"\r\n\r\n") + 40],)
    match reply.fault:
        case Fault.REFUSE:
            return Wire(pieces=(), ending=Ending.REFUSE)
        case Fault.STALL_BEFORE_HEADERS:
            return Wire(pieces=(), ending=Ending.HOLD)
        case Fault.HTML:
            return Wire(pieces=(response(200, _PAGE, content_type="text/html; charset=utf-8"),))
        case Fault.STALL:
            return Wire(pieces=(half[0][:-40],), ending=Ending.HOLD)
        case Fault.STALL_MIDWAY:
            return Wire(pieces=half, ending=Ending.HOLD)
        case Fault.CUT:
            return Wire(pieces=half, pause=_APART, ending=Ending.FIN)
        case Fault.RESET:
            return Wire(pieces=half, pause=_APART, ending=Ending.RST)
        case Fault.TRUNCATED_EVENT | Fault.MISSING_END:
            return Wire(pieces=(response(200, completion(request, head, text)[:-20]),))
        case Fault.NOT_JSON:
            return Wire(pieces=(response(200, b"upstream said: try later"),))
        case Fault.ERROR_IN_STREAM:
            return Wire(pieces=(response(200, error_body("The server had an error.", kind="server_error")),))
        case Fault.SPLIT_UTF8:
            places = [place for place, byte in enumerate(whole) if byte > 0x7F]
            pieces = [whole[a:b] for a, b in zip([0, *places], [*places, len(whole)], strict=True)]
            return Wire(pieces=pieces, pause=0.002)
        case Fault.OUT_OF_ORDER:
            return render(request, head, Calls(calls=reply.calls, usage=reply.usage))
        case _:
            raise ValueError(f"{reply.fault} has no rendering")

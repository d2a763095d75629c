"""Each fault as bytes on the wire, in whichever format was asked for."""

from __future__ import annotations

from itertools import pairwise

import msgspec

from .formats import Event, Format, Head, Problem
from .replies import Answer, Call, Calls, Fail, Fault, Request, Text, arguments_text
from .wire import LAST_CHUNK, PLACE, Ending, Wire, chunk, fragments, render, response, stream_headers

_STATUS = {
    Fault.BAD_REQUEST,
    Fault.UNAUTHORIZED,
    Fault.CONTEXT_LENGTH,
    Fault.RATE_LIMIT,
    Fault.SERVER_ERROR,
    Fault.UNAVAILABLE,
}
_APART = 0.03
"""Long enough for a client on loopback to read one piece before the next comes."""
_PAGE = b"<!doctype html><html><head><title>Sign in</title></head><body>Please sign in to the network.</body></html>"
_NO_JSON = b"upstream said: try later"


def render_fault(form: Format, request: Request, head: Head, reply: Fail) -> Wire:
    if reply.fault in _STATUS:
        problem = Problem(fault=reply.fault, retry_after=reply.retry_after)
        return Wire(pieces=(form.failure(request, problem),))
    answer = _odd_answer(reply)
    if answer is not None:
        return render(form, request, head, answer, raw=_raw(reply))
    return _stream_fault(form, request, head, reply) if head.stream else _body_fault(form, request, head, reply)


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


def _stream_fault(form: Format, request: Request, head: Head, reply: Fail) -> Wire:
    """Faults of the transport or of the order of events in a streamed answer."""
    whole = form.events(request, head, Text(text=reply.text, usage=reply.usage))
    said = 1 + _first_words(whole, reply.text)
    headers = stream_headers(form)
    start = [headers, *(chunk(form.frame(event)) for event in whole[:said])]
    following = form.frame(whole[said])
    match reply.fault:
        case Fault.STALL:
            return Wire(pieces=(headers,), ending=Ending.HOLD)
        case Fault.STALL_MIDWAY:
            return Wire(pieces=start, ending=Ending.HOLD)
        case Fault.CUT:
            return Wire(pieces=(b"".join(start), chunk(following)[:-20]), pause=_APART, ending=Ending.FIN)
        case Fault.RESET:
            return Wire(pieces=(b"".join(start), chunk(following)[:-20]), pause=_APART, ending=Ending.RST)
        case Fault.TRUNCATED_EVENT:
            return Wire(pieces=(*start, chunk(following[:-20]), LAST_CHUNK))
        case Fault.MISSING_END:
            return Wire(pieces=(*start, LAST_CHUNK))
        case Fault.NOT_JSON:
            spoiled = (Event(whole[said].name, _NO_JSON), whole[-1])
            return Wire(pieces=(*start, *(chunk(form.frame(event)) for event in spoiled), LAST_CHUNK))
        case Fault.ERROR_IN_STREAM:
            return Wire(pieces=(*start, chunk(form.frame(form.broken(request, head, reply, said))), LAST_CHUNK))
        case Fault.SPLIT_UTF8:
            return _split(headers, [form.frame(event) for event in whole])
        case Fault.OUT_OF_ORDER:
            produced = (chunk(form.frame(event)) for event in form.interleaved(request, head, reply))
            return Wire(pieces=(headers, *produced, LAST_CHUNK))
        case _:
            return _body_fault(form, request, head, reply)


def _first_words(whole: list[Event], text: str) -> int:
    """Which event brings the beginning of the text."""
    words = msgspec.json.encode(fragments(text)[0])[1:-1]
    return next(index for index, event in enumerate(whole) if words in event.data)


def _split(headers: bytes, whole: list[bytes]) -> Wire:
    """Every byte above ASCII starts a new HTTP chunk, written apart from the one before."""
    pieces: list[bytes] = [headers]
    for part in whole:
        cuts = [0, *(place for place, byte in enumerate(part) if byte > 0x7F), len(part)]
        pieces += [chunk(part[a:b]) for a, b in pairwise(cuts) if a < b]
    return Wire(pieces=(*pieces, LAST_CHUNK), pause=0.002)


def _body_fault(form: Format, request: Request, head: Head, reply: Fail) -> Wire:
    """The same faults in a plain answer, and those that are the same in both; a stream's order is no matter here."""
    body = form.body(request, head, Text(text=reply.text, usage=reply.usage))
    whole = response(200, body)
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
            return Wire(pieces=(response(200, body[:-20]),))
        case Fault.NOT_JSON:
            return Wire(pieces=(response(200, _NO_JSON),))
        case Fault.ERROR_IN_STREAM:
            return Wire(pieces=(response(200, form.broken(request, head, reply, None).data),))
        case Fault.SPLIT_UTF8:
            places = [place for place, byte in enumerate(whole) if byte > 0x7F]
            pieces = [whole[a:b] for a, b in zip([0, *places], [*places, len(whole)], strict=True)]
            return Wire(pieces=pieces, pause=0.002)
        case Fault.OUT_OF_ORDER:
            return render(form, request, head, Calls(calls=reply.calls, usage=reply.usage))
        case _:
            raise ValueError(f"{reply.fault} has no rendering")

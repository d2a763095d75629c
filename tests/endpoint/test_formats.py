"""Every fault and every responder in every format, at the level of bytes."""

from __future__ import annotations

import json
import socket
import struct
from typing import Any
from zlib import crc32

import httpx
import pytest

from tests.endpoint import Endpoint, Fail, Fault, Reply, Request, by_results, call, calls, fail, loop, sequence, text
from tests.endpoint.asking import FORMATS, Asking
from tests.sampling import sampled

ASKING = [pytest.param(asking, id=name) for name, asking in FORMATS.items()]
ENDINGS = {
    Fault.REFUSE: "fin",
    Fault.CUT: "fin",
    Fault.RESET: "rst",
    Fault.STALL: "silence",
    Fault.STALL_MIDWAY: "silence",
    Fault.STALL_BEFORE_HEADERS: "silence",
}


def post(endpoint: Endpoint, asking: Asking, *messages: dict[str, Any], stream: bool) -> httpx.Response:
    return httpx.post(
        f"{endpoint.origin}{asking.path(stream=stream)}",
        json=asking.request(*messages, stream=stream),
        headers=asking.headers,
        timeout=5,
    )


def read_raw(endpoint: Endpoint, asking: Asking, *, stream: bool) -> tuple[bytes, str]:
    """All bytes the server sends to one request, and how it ended: whole, fin, rst or silence."""
    payload = json.dumps(asking.request(stream=stream)).encode()
    lines = [f"POST {asking.path(stream=stream)} HTTP/1.1", f"content-length: {len(payload)}"]
    lines += [f"{name}: {value}" for name, value in asking.headers.items()]
    got = b""
    port = httpx.URL(endpoint.origin).port or 0
    with socket.create_connection(("127.0.0.1", port), timeout=0.3) as connection:
        connection.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + payload)
        while not (got.endswith(b"0\r\n\r\n") or has_whole_body(got)):
            try:
                data = connection.recv(1 << 20)
            except TimeoutError:
                return got, "silence"
            except ConnectionResetError:
                return got, "rst"
            if not data:
                return got, "fin"
            got += data
    return got, "whole"


def has_whole_body(got: bytes) -> bool:
    head, _, body = got.partition(b"\r\n\r\n")
    return b"content-length: %d" % len(body) in head.splitlines()


@pytest.mark.parametrize("asking", ASKING)
@pytest.mark.parametrize("fault", sampled(Fault, 3))
@pytest.mark.parametrize("stream", [True, False])
def test_every_fault_has_its_ending(asking: Asking, fault: Fault, stream: bool) -> None:
    with Endpoint(sequence([Fail(fault=fault, size=100_000)])) as endpoint:
        got, ending = read_raw(endpoint, asking, stream=stream)
    assert ending == ENDINGS.get(fault, "whole")
    assert bool(got) == (fault not in {Fault.REFUSE, Fault.STALL_BEFORE_HEADERS})


def payloads_of(asking: Asking, reply: Reply) -> list[bytes]:
    """The data of each event of a streamed answer, whatever its framing."""
    with Endpoint(sequence([reply])) as endpoint:
        content = post(endpoint, asking, stream=True).content
    if "/converse" not in asking.streamed:
        data = [line for line in content.split(b"\n") if line.startswith(b"data: ")]
        return [line.removeprefix(b"data: ") for line in data]
    found = []
    while len(content) >= 16:
        total, headers, checksum = struct.unpack(">III", content[:12])
        if len(content) < total:
            break
        assert checksum == crc32(content[:8])
        assert struct.unpack(">I", content[total - 4 : total])[0] == crc32(content[: total - 4])
        found.append(content[12 + headers : total - 4])
        content = content[total:]
    return found


@pytest.mark.parametrize("asking", sampled(ASKING, 3))
def test_faults_of_bytes_are_what_they_say(asking: Asking) -> None:
    payloads = {fault: payloads_of(asking, Fail(fault=fault, size=100_000)) for fault in Fault if fault not in ENDINGS}
    assert any(b"before \\u0000 after" in data for data in payloads[Fault.NUL])
    assert any(b"before \\ud800 after" in data for data in payloads[Fault.LONE_SURROGATE])
    assert any(b"before \xff\xfe\xc3 after" in data for data in payloads[Fault.INVALID_UTF8])
    assert max(map(len, payloads[Fault.HUGE_LINE])) > 100_000
    assert b"upstream said: try later" in payloads[Fault.NOT_JSON]
    whole = payloads_of(asking, text(Fail(fault=Fault.EMPTY).text))
    assert payloads[Fault.SPLIT_UTF8] == whole
    missing = payloads[Fault.MISSING_END]
    assert missing == whole[: len(missing)]
    assert 0 < len(missing) < len(whole) - 1
    assert payloads[Fault.ERROR_IN_STREAM][: len(missing)] == missing
    assert len(payloads[Fault.ERROR_IN_STREAM]) == len(missing) + 1
    cut = payloads[Fault.TRUNCATED_EVENT]
    assert cut[: len(missing)] == missing
    assert all(data not in cut for data in whole[len(missing) :])


@pytest.mark.parametrize("asking", ASKING)
def test_characters_are_really_split_between_chunks(asking: Asking) -> None:
    with Endpoint(sequence([fail(Fault.SPLIT_UTF8)])) as endpoint:
        got, _ = read_raw(endpoint, asking, stream=True)
    assert "日".encode() not in got


@pytest.mark.parametrize("asking", sampled(ASKING, 3))
def test_faults_of_calls_are_what_they_say(asking: Asking) -> None:
    payloads = {fault: b"".join(payloads_of(asking, fail(fault))) for fault in Fault if fault not in ENDINGS}
    assert payloads[Fault.DUPLICATE_IDS].count(b'"call_same"') >= 2
    assert b"no_such_tool" in payloads[Fault.UNKNOWN_TOOL]
    assert b"first half, second half" not in payloads[Fault.HALF_CALL]
    assert b"[1" in payloads[Fault.ARGUMENTS_NOT_OBJECT].replace(b" ", b"")
    assert not any(name in payloads[Fault.MISSING_IDS] for name in (b'"call_', b'"toolu_', b'"tooluse_'))
    assert b"Gr" not in payloads[Fault.EMPTY]


STATUSES = {
    "openai_chat": [400, 401, 400, 429, 500, 503],
    "openai_responses": [400, 401, 400, 429, 500, 503],
    "anthropic_messages": [400, 401, 400, 429, 500, 529],
    "gemini": [400, 400, 400, 429, 500, 503],
    "bedrock": [400, 403, 400, 429, 500, 503],
}


@pytest.mark.parametrize("name", FORMATS)
def test_statuses_are_those_of_each_service(name: str) -> None:
    script = [
        fail(fault)
        for fault in (
            Fault.BAD_REQUEST,
            Fault.UNAUTHORIZED,
            Fault.CONTEXT_LENGTH,
            Fault.RATE_LIMIT,
            Fault.SERVER_ERROR,
            Fault.UNAVAILABLE,
        )
    ]
    with Endpoint(sequence(script)) as endpoint:
        answers = [post(endpoint, FORMATS[name], stream=True) for _ in script]
    assert [answer.status_code for answer in answers] == STATUSES[name]
    shapes = {
        "openai_chat": {"error"},
        "openai_responses": {"error"},
        "anthropic_messages": {"type", "error", "request_id"},
        "gemini": {"error"},
        "bedrock": {"message"},
    }
    assert all(set(answer.json()) == shapes[name] for answer in answers)


@pytest.mark.parametrize("asking", ASKING)
@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")])
def test_pure_responders_count_the_answers_since_the_user_spoke(asking: Asking, separators: tuple[str, str]) -> None:
    script: list[Reply] = [calls(call("echo", text="0")), calls(call("echo", text="1")), text("done")]
    for responder in (by_results(script), loop(2, call("echo", text="$i"))):
        for done, expected in enumerate(script):
            messages = [message for index in range(done) for message in asking.turn_number(index)]
            earlier = [*asking.turn_number(8), *asking.turn_number(9), asking.answer, asking.user]
            for history in (messages, [*earlier, *messages]):
                raw = json.dumps(asking.request(*history), separators=separators).encode()
                path = asking.plain
                request = Request(number=0, method="POST", path=path, headers={}, body=raw)
                assert told(responder(request)) == told(expected)


def told(reply: Reply) -> Any:
    """A reply with the arguments decoded, since a script may hold them as text or as an object."""
    if isinstance(reply, Fail) or not hasattr(reply, "calls"):
        return reply
    return [(c.name, json.loads(c.arguments) if isinstance(c.arguments, str) else c.arguments) for c in reply.calls]


@pytest.mark.parametrize("asking", ASKING)
@pytest.mark.parametrize("stream", [True, False])
def test_long_conversations_are_accepted_and_answered_the_same_again(asking: Asking, stream: bool) -> None:
    with Endpoint(loop(5, call("echo", text="$i"))) as endpoint:
        history = [message for index in range(3) for message in asking.turn_number(index)]
        first = post(endpoint, asking, *history, stream=stream)
        again = post(endpoint, asking, *history, stream=stream)
    assert first.status_code == 200, first.text
    assert first.content == again.content


@pytest.mark.parametrize("asking", ASKING)
def test_exhausted_script_is_an_error_not_a_repetition(asking: Asking) -> None:
    with Endpoint(sequence([])) as endpoint:
        answer = post(endpoint, asking, stream=False)
    assert answer.status_code == 400
    assert "number 1 was asked for" in answer.text


@pytest.mark.parametrize("asking", ASKING)
def test_body_that_is_no_json_is_refused(asking: Asking) -> None:
    with Endpoint(sequence([])) as endpoint:
        answer = httpx.post(f"{endpoint.origin}{asking.plain}", content=b"{", headers=asking.headers)
    assert answer.status_code == 400

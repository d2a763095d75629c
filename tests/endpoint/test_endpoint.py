"""The endpoint at the level of bytes: recording, purity, faults, and the process."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.endpoint import Endpoint, Fail, Fault, Reply, Request, by_results, call, calls, fail, loop, sequence, text

ROOT = Path(__file__).parents[2]


def chat_body(*messages: dict[str, Any], stream: bool = True) -> dict[str, Any]:
    return {"model": "scripted", "stream": stream, "messages": [{"role": "user", "content": "go"}, *messages]}


def turn(index: int) -> list[dict[str, Any]]:
    """The assistant's call and its result, as a client sends them back."""
    function = {"name": "echo", "arguments": '{"role":"assistant"}'}
    called = {"id": f"c{index}", "type": "function", "function": function}
    return [
        {"role": "assistant", "content": None, "tool_calls": [called]},
        {"role": "tool", "tool_call_id": f"c{index}", "content": '{"role":"user"}'},
    ]


def post(endpoint: Endpoint, body: dict[str, Any]) -> httpx.Response:
    return httpx.post(f"{endpoint.url}/chat/completions", json=body, timeout=5)


def test_requests_are_recorded_byte_for_byte() -> None:
    body = b'{ "model" :"m",\t"messages": [{"role":"user","content":"\\u00e9 \xc3\xa9"}] ,"x":1e3}\n'
    with Endpoint(sequence([text("ok")])) as endpoint:
        sent = httpx.post(f"{endpoint.url}/chat/completions", content=body, headers={"X-Own": "a B"})
        (recorded,) = endpoint.requests
    headers = {name.lower(): value for name, value in sent.request.headers.items()}
    assert recorded == Request(number=0, method="POST", path="/v1/chat/completions", headers=headers, body=body)
    assert recorded.json["x"] == 1000.0


def test_recording_can_be_off() -> None:
    with Endpoint(sequence([text("ok")]), record=False) as endpoint:
        assert post(endpoint, chat_body()).status_code == 200
        assert endpoint.requests == []


@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")])
def test_pure_responders_answer_the_same_when_asked_again(separators: tuple[str, str]) -> None:
    script: list[Reply] = [calls(call("echo", text="0")), calls(call("echo", text="1")), text("done")]
    responders = [by_results(script), loop(2, call("echo", text="$i"))]
    for responder in responders:
        for done, expected in enumerate(script):
            messages = [message for index in range(done) for message in turn(index)]
            earlier = [*turn(9), {"role": "assistant", "content": "old"}, {"role": "user", "content": "next"}]
            for history in (messages, [*earlier, *messages]):
                raw = json.dumps(chat_body(*history), separators=separators).encode()
                request = Request(number=0, method="POST", path="", headers={}, body=raw)
                first, again = responder(request), responder(request)
                assert first == again
                assert _plain(first) == _plain(expected)


def _plain(reply: Reply) -> Any:
    """A reply with the arguments decoded, since a script may hold them as text or as an object."""
    if isinstance(reply, Fail) or not hasattr(reply, "calls"):
        return reply
    return [(c.name, json.loads(c.arguments) if isinstance(c.arguments, str) else c.arguments) for c in reply.calls]


def test_same_request_gets_the_same_bytes() -> None:
    with Endpoint(loop(1, call("echo", text="$i"))) as endpoint:
        assert post(endpoint, chat_body()).content == post(endpoint, chat_body()).content


def port_of(endpoint: Endpoint) -> int:
    return httpx.URL(endpoint.url).port or 0


def read_raw(endpoint: Endpoint, *, stream: bool) -> tuple[bytes, str]:
    """All bytes the server sends to one request, and how it ended: whole, fin, rst or silence."""
    payload = json.dumps(chat_body(stream=stream)).encode()
    got = b""
    with socket.create_connection(("127.0.0.1", port_of(endpoint)), timeout=0.3) as connection:
        connection.sendall(b"POST /v1/chat/completions HTTP/1.1\r\ncontent-length: %d\r\n\r\n" % len(payload) + payload)
        while not (got.endswith(b"0\r\n\r\n") or _has_whole_body(got)):
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


ENDINGS = {
    Fault.REFUSE: "fin",
    Fault.CUT: "fin",
    Fault.RESET: "rst",
    Fault.STALL: "silence",
    Fault.STALL_MIDWAY: "silence",
    Fault.STALL_BEFORE_HEADERS: "silence",
}


@pytest.mark.parametrize("fault", Fault)
@pytest.mark.parametrize("stream", [True, False])
def test_every_fault_has_its_ending(fault: Fault, stream: bool) -> None:
    with Endpoint(sequence([Fail(fault=fault, size=100_000)])) as endpoint:
        got, ending = read_raw(endpoint, stream=stream)
    assert ending == ENDINGS.get(fault, "whole")
    assert bool(got) == (fault not in {Fault.REFUSE, Fault.STALL_BEFORE_HEADERS})


def _has_whole_body(got: bytes) -> bool:
    head, _, body = got.partition(b"\r\n\r\n")
    return b"content-length: %d" % len(body) in head.splitlines()


def events_of(fault: Fault) -> list[bytes]:
    with Endpoint(sequence([Fail(fault=fault, size=100_000)])) as endpoint:
        content = post(endpoint, chat_body()).content
    return content.split(b"\n\n")


def deltas_of(fault: Fault) -> list[dict[str, Any]]:
    decoded = [json.loads(event.removeprefix(b"data: ")) for event in events_of(fault)[:-2]]
    return [event["choices"][0]["delta"] for event in decoded]


def call_deltas_of(fault: Fault) -> list[dict[str, Any]]:
    return [made for delta in deltas_of(fault) for made in delta.get("tool_calls", [])]


def test_faults_of_calls_are_what_they_say() -> None:
    half = call_deltas_of(Fault.HALF_CALL)
    joined = "".join(delta["function"]["arguments"] for delta in half)
    with pytest.raises(json.JSONDecodeError):
        json.loads(joined)
    assert events_of(Fault.HALF_CALL)[-2] == b"data: [DONE]"
    assert [delta["id"] for delta in call_deltas_of(Fault.DUPLICATE_IDS) if "id" in delta] == ["call_same"] * 2
    assert [delta for delta in call_deltas_of(Fault.MISSING_IDS) if "id" in delta] == []
    assert call_deltas_of(Fault.UNKNOWN_TOOL)[0]["function"]["name"] == "no_such_tool"
    assert [delta["index"] for delta in call_deltas_of(Fault.OUT_OF_ORDER)] == [1, 0, 1, 0, 0]
    assert call_deltas_of(Fault.ARGUMENTS_NOT_OBJECT)[1]["function"]["arguments"] == "[1, 2]"


def test_faults_of_bytes_are_what_they_say() -> None:
    assert any(b"before \\u0000 after" in event for event in events_of(Fault.NUL))
    assert any(b"before \\ud800 after" in event for event in events_of(Fault.LONE_SURROGATE))
    assert any(b"before \xff\xfe\xc3 after" in event for event in events_of(Fault.INVALID_UTF8))
    assert max(map(len, events_of(Fault.HUGE_LINE))) > 100_000
    assert "".join(delta.get("content", "") for delta in deltas_of(Fault.EMPTY)) == ""
    assert b"data: upstream said: try later" in events_of(Fault.NOT_JSON)
    assert any(b'"error":{' in event for event in events_of(Fault.ERROR_IN_STREAM))
    assert b"data: [DONE]" not in events_of(Fault.TRUNCATED_EVENT)
    assert b"data: [DONE]" not in events_of(Fault.MISSING_END)


def test_characters_are_really_split_between_chunks() -> None:
    with Endpoint(sequence([fail(Fault.SPLIT_UTF8)])) as endpoint:
        got, _ = read_raw(endpoint, stream=True)
        assert "日".encode() not in got
    assert "".join(delta.get("content", "") for delta in deltas_of(Fault.SPLIT_UTF8)) == Fail(fault=Fault.EMPTY).text


@pytest.mark.parametrize(
    ("fault", "status"),
    [(Fault.RATE_LIMIT, 429), (Fault.SERVER_ERROR, 500), (Fault.UNAVAILABLE, 503), (Fault.CONTEXT_LENGTH, 400)],
)
def test_statuses(fault: Fault, status: int) -> None:
    with Endpoint(sequence([fail(fault)])) as endpoint:
        answer = post(endpoint, chat_body())
    assert answer.status_code == status
    assert set(answer.json()["error"]) == {"message", "type", "param", "code"}


def test_refuses_and_listens_again_on_the_same_port() -> None:
    with Endpoint(sequence([fail(Fault.REFUSE), text("back")])) as endpoint:
        with pytest.raises(httpx.RemoteProtocolError):
            post(endpoint, chat_body())
        with pytest.raises(httpx.ConnectError):
            post(endpoint, chat_body())
        endpoint.reopen()
        assert b"back" in post(endpoint, chat_body()).content


def test_pipelined_and_split_requests_are_answered_in_order() -> None:
    body = json.dumps(chat_body(stream=False)).encode()
    one = b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
    with (
        Endpoint(sequence([text("first"), text("second")])) as endpoint,
        socket.create_connection(("127.0.0.1", port_of(endpoint)), timeout=5) as connection,
    ):
        connection.sendall((one * 2)[:-10])
        endpoint.wait_for_requests(1)
        connection.sendall((one * 2)[-10:])
        got = b""
        while got.count(b'"usage"') < 2:
            got += connection.recv(65536)
    answers = [part.split(b'"')[0].decode() for part in got.split(b'"content":"')[1:]]
    assert answers == ["first", "second"]


def test_runs_as_a_process(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    log = tmp_path / "log.jsonl"
    script.write_text('{"type": "loop", "turns": 1, "call": {"name": "echo", "arguments": {"text": "$i"}}}')
    command = [sys.executable, "-m", "tests.endpoint", "--script", str(script), "--log", str(log)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["url"]
        first = httpx.post(f"{url}/chat/completions", json=chat_body(stream=False)).json()
        last = httpx.post(f"{url}/chat/completions", json=chat_body(*turn(0), stream=False)).json()
        process.send_signal(signal.SIGTERM)
    assert process.returncode == 0
    assert first["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"] == '{"text":"0"}'
    assert last["choices"][0]["message"]["content"] == "done"
    assert [json.loads(line)["number"] for line in log.read_text().splitlines()] == [0, 1]


def test_process_ends_with_its_parent(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text('{"type": "sequence", "replies": [{"type": "fault", "fault": "stall"}]}')
    command = [sys.executable, "-m", "tests.endpoint", "--script", str(script), "--until-stdin-closes"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        json.loads(process.stdout.readline())
        process.stdin.close()
        assert process.wait(timeout=20) == 0

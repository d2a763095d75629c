"""The chat-completions adapter against a real server: what comes over the wire, and what becomes of it."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hermes_agent.models.client import ModelAnswer
from hermes_agent.types.errors import ConfigError, ModelError, ModelFailure
from hermes_agent.types.events import Usage
from hermes_agent.types.tools import ToolCall
from tests.endpoint import Call, Calls, Endpoint, Fault, Reply, Text, call, calls, fail, sequence, text
from tests.endpoint import Usage as WireUsage
from tests.models.asking import ByteServer, ask, ask_times, choice, request_of, stream


def test_text_is_streamed_as_it_comes() -> None:
    long = "The answer is forty-two, as everybody knows since 1979 – ändert nichts 🦊."
    reply = Text(text=long, usage=WireUsage(prompt_tokens=1000, completion_tokens=2, cached_tokens=896))
    with Endpoint(sequence([reply])) as endpoint:
        answer, heard = ask(endpoint.url)
    assert answer == ModelAnswer(text=long, stop="stop", usage=Usage(input=1000, output=2, cached=896))
    assert "".join(heard) == long
    assert len(heard) > 1


def test_parallel_calls_come_in_their_order() -> None:
    reply = Calls(
        calls=(
            Call(name="echo", arguments={"text": "ä" * 60}, id="call_a"),
            Call(name="echo", arguments='{"text": "b", "n": 18446744073709551616}', id="call_b"),
            Call(name="list_all", arguments="", id="call_c"),
        ),
        text="Let me look.",
        usage=WireUsage(prompt_tokens=5, completion_tokens=7),
    )
    with Endpoint(sequence([reply])) as endpoint:
        answer, heard = ask(endpoint.url)
    assert answer == ModelAnswer(
        text="Let me look.",
        calls=(
            ToolCall(id="call_a", name="echo", arguments={"text": "ä" * 60}),
            ToolCall(id="call_b", name="echo", arguments={"text": "b", "n": 18446744073709551616}),
            ToolCall(id="call_c", name="list_all", arguments={}),
        ),
        stop="tool_calls",
        usage=Usage(input=5, output=7),
    )
    assert heard == ["Let me look."]


def piece(index: int | None, name: str | None, arguments: str, call_id: str | None = None) -> dict[str, Any]:
    """One delta of one call; what is None is left out, as some endpoints do."""
    function = {"name": name, "arguments": arguments} if name is not None else {"arguments": arguments}
    fields = {"index": index, "id": call_id, "function": function}
    return choice({"tool_calls": [{key: value for key, value in fields.items() if value is not None}]})


A, B = '{"text": "a"}', '{"text": "b"}'
ODD_INDEXES = {
    "no index, whole calls": [piece(None, "echo", A, "x"), piece(None, "echo", B, "y")],
    "no index, in pieces": [
        piece(None, "echo", "", "x"),
        piece(None, None, A),
        piece(None, "echo", "", "y"),
        piece(None, None, B[:4]),
        piece(None, None, B[4:]),
    ],
    "no index, several in one delta": [
        choice({"tool_calls": [{"id": key, "function": {"name": "echo"}} for key in "xy"]}),
        piece(None, None, B),
    ],
    "index 0 for every call": [piece(0, "echo", A, "x"), piece(0, "echo", B, "y")],
    "the id in every piece": [piece(0, "echo", A[:3], "x"), piece(0, None, A[3:], "x"), piece(1, "echo", B, "y")],
    "neither index nor id": [piece(None, "echo", A), piece(None, "echo", B)],
}


@pytest.mark.parametrize("how", ODD_INDEXES)
def test_calls_are_told_apart_however_an_endpoint_counts_them(how: str) -> None:
    with ByteServer([stream(*ODD_INDEXES[how], choice({}, "tool_calls"))]) as server:
        answer, _ = ask(server.url)
    first = {} if how == "no index, several in one delta" else {"text": "a"}
    names = ("call_0", "call_1") if how == "neither index nor id" else ("x", "y")
    assert answer.calls == (
        ToolCall(id=names[0], name="echo", arguments=first),
        ToolCall(id=names[1], name="echo", arguments={"text": "b"}),
    )


@pytest.mark.parametrize("finish", ["stop", "length", "content_filter"])
def test_the_stop_reason_is_the_endpoints_own(finish: str) -> None:
    with Endpoint(sequence([Text(text="as far as it", finish=finish)])) as endpoint:
        answer, _ = ask(endpoint.url)
    assert (answer.text, answer.stop) == ("as far as it", finish)


@pytest.mark.parametrize("arguments", ["", '{"text": "whole"}', '{"text": "ha'])
@pytest.mark.parametrize("finish", ["length", "content_filter"])
def test_calls_of_an_answer_that_was_cut_off_are_never_run(finish: str, arguments: str) -> None:
    reply = Calls(calls=(Call(name="echo", arguments=arguments, id="x"),), finish=finish)
    with Endpoint(sequence([reply])) as endpoint:
        answer, _ = ask(endpoint.url)
    problem = f"the answer was cut off (finish reason '{finish}')"
    assert answer.calls == (ToolCall(id="x", name="echo", problem=problem),)


def test_a_refusal_is_an_answer_in_words() -> None:
    parts = [
        choice({"role": "assistant", "content": None}),
        choice({"refusal": "I cannot "}),
        choice({"refusal": "do."}),
    ]
    with ByteServer([stream(*parts, choice({}, "stop"))]) as server:
        answer, heard = ask(server.url)
    assert answer == ModelAnswer(text="I cannot do.", stop="stop")
    assert heard == ["I cannot ", "do."]


@pytest.mark.parametrize(
    ("finish", "failure"), [("content_filter", ModelFailure.REFUSED), ("stop", ModelFailure.MALFORMED)]
)
def test_an_empty_answer_is_none(finish: str, failure: ModelFailure) -> None:
    with Endpoint(sequence([Text(text="", finish=finish)])) as endpoint, pytest.raises(ModelError) as caught:
        ask(endpoint.url)
    assert (caught.value.failure, str(caught.value)) == (failure, f"the answer was empty (finish reason '{finish}')")


def test_comments_unknown_fields_and_a_missing_end_mark_do_no_harm() -> None:
    parts: list[dict[str, Any] | str] = [
        ": waiting\n\n",
        "event: message\nid: 7\nretry: 10\n",
        choice({"content": "42", "mood": {"deep": [1]}}),
    ]
    with ByteServer([stream(*parts, {"choices": []}, {"object": "x"}, choice({}, "stop"), done=False)]) as server:
        assert ask(server.url)[0] == ModelAnswer(text="42", stop="stop")


def test_half_a_surrogate_pair_in_each_of_two_chunks_is_one_character() -> None:
    parts = [f'data: {{"choices":[{{"delta":{{"content":"{half}"}}}}]}}\n\n' for half in (r"\ud83e", r"\udd8a")]
    with ByteServer([stream(*parts, choice({}, "stop"))]) as server:
        answer, heard = ask(server.url)
    assert answer.text == "🦊"
    assert heard == ["\ufffd", "\ufffd"]


STATUSES: list[tuple[int, dict[str, Any], ModelFailure]] = [
    (400, {"message": "no"}, ModelFailure.BAD_REQUEST),
    (400, {"message": "x", "code": "context_length_exceeded"}, ModelFailure.CONTEXT_TOO_LONG),
    (400, {"message": "the maximum context is 4096"}, ModelFailure.CONTEXT_TOO_LONG),
    (401, {"message": "no"}, ModelFailure.AUTH),
    (402, {"message": "no"}, ModelFailure.BAD_REQUEST),
    (403, {"message": "no"}, ModelFailure.AUTH),
    (404, {"message": "no"}, ModelFailure.BAD_REQUEST),
    (408, {"message": "no"}, ModelFailure.NETWORK),
    (413, {"message": "no"}, ModelFailure.CONTEXT_TOO_LONG),
    (429, {"message": "no"}, ModelFailure.RATE_LIMIT),
    (429, {"message": "no", "type": "insufficient_quota"}, ModelFailure.QUOTA),
    (500, {"message": "no"}, ModelFailure.OVERLOAD),
    (503, {"message": "no"}, ModelFailure.OVERLOAD),
    (529, {"message": "no"}, ModelFailure.OVERLOAD),
    (302, {"message": "no"}, ModelFailure.BAD_REQUEST),
]


def refusal(status: int, body: bytes, headers: str = "") -> bytes:
    return f"HTTP/1.1 {status} Odd\r\n{headers}content-length: {len(body)}\r\n\r\n".encode() + body


@pytest.mark.parametrize(("status", "error", "failure"), STATUSES)
def test_a_status_has_its_failure(status: int, error: dict[str, Any], failure: ModelFailure) -> None:
    body = json.dumps({"error": error}).encode()
    with ByteServer([refusal(status, body)]) as server, pytest.raises(ModelError) as caught:
        ask(url := server.url)
    said = f"{status} from {url}/chat/completions: {error['message']}"
    assert (caught.value.failure, str(caught.value)) == (failure, said)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"error": "just words"}', "just words"),
        (b"<html>\x00\xff Bad \n Gateway</html>", "<html>\\u{0000}\ufffd Bad Gateway</html>"),
        (b"[]", "[]"),
        (b"", "Odd"),
        (b"x" * 1_000_000, "x" * 199 + "…"),
    ],
)
def test_an_error_that_is_no_json_is_still_told(body: bytes, said: str) -> None:
    with ByteServer([refusal(502, body)]) as server, pytest.raises(ModelError) as caught:
        ask(server.url)
    assert caught.value.failure is ModelFailure.OVERLOAD
    assert str(caught.value).partition("completions: ")[2] == said


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ("retry-after: 3\r\n", 3.0),
        ("retry-after: 0.25\r\n", 0.25),
        ("retry-after: -4\r\n", 0.0),
        ("retry-after: Wed, 21 Oct 2015 07:28:30 GMT\r\ndate: Wed, 21 Oct 2015 07:28:00 GMT\r\n", 30.0),
        ("retry-after: Wed, 21 Oct 2015 07:28:30 GMT\r\n", None),
        ("retry-after: soon\r\n", None),
        ("", None),
    ],
)
@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_is_read(status: int, headers: str, seconds: float | None) -> None:
    with ByteServer([refusal(status, b"", headers)]) as server, pytest.raises(ModelError) as caught:
        ask(server.url)
    assert caught.value.retry_after == seconds


def test_many_requests_use_one_connection() -> None:
    script: list[Reply] = [text(f"answer {number}") for number in range(20)]
    with Endpoint(sequence(script)) as endpoint:
        assert ask_times(endpoint.url, 20) == [f"answer {number}" for number in range(20)]
        assert endpoint.connections == 1


def test_the_key_is_sent_and_only_when_there_is_one() -> None:
    with Endpoint(sequence([text("a"), text("b")])) as endpoint:
        ask(endpoint.url, key="sk-right")
        ask(endpoint.url)
        first, second = endpoint.requests
    assert first.headers["authorization"] == "Bearer sk-right"
    assert "authorization" not in second.headers
    assert (first.method, first.path, first.headers["content-type"]) == (
        "POST",
        "/v1/chat/completions",
        "application/json",
    )


def test_a_wrong_key_names_the_variable() -> None:
    with Endpoint(sequence([]), key="right") as endpoint, pytest.raises(ModelError) as caught:
        ask(endpoint.url, key="wrong")
    assert (caught.value.failure, caught.value.advice) == (ModelFailure.AUTH, "check OPENAI_API_KEY")


def test_certificates_are_loaded_for_https_only(tmp_path: Path) -> None:
    """Loading them costs more than the rest of a start. A missing file shows who looks for them."""
    code = (
        "import asyncio, sys\n"
        "from hermes_agent.models.http import http_client\n"
        "from hermes_agent.types.errors import ConfigError\n"
        "from tests.models.asking import ask\n"
        "print(ask(sys.argv[1])[0].text)\n"
        "async def secure(): http_client('https://127.0.0.1:1')\n"
        "try: asyncio.run(secure())\n"
        "except ConfigError as error: print(error.advice)\n"
    )
    variables = {**os.environ, "SSL_CERT_FILE": str(tmp_path / "missing.pem")}
    with Endpoint(sequence([text("hello")])) as endpoint:
        command = [sys.executable, "-c", code, endpoint.url]
        done = subprocess.run(command, capture_output=True, text=True, env=variables, check=False)
    remedy = "check SSL_CERT_FILE and the proxy variables of the environment"
    assert (done.stdout, done.stderr) == (f"hello\n{remedy}\n", "")


def test_nothing_answers_on_a_port_that_is_closed() -> None:
    with ByteServer([]) as server:
        url = server.url
    with pytest.raises(ModelError) as caught:
        ask(url)
    assert caught.value.failure is ModelFailure.NETWORK
    assert str(caught.value).startswith(f"{url}/chat/completions: ")
    assert caught.value.advice == "check --base-url and that the server runs"


def test_silence_ends_with_the_time_limit() -> None:
    with Endpoint(sequence([fail(Fault.STALL)])) as endpoint, pytest.raises(ModelError) as caught:
        ask(endpoint.url, timeout=0.1)
    assert (caught.value.failure, str(caught.value)) == (
        ModelFailure.NETWORK,
        f"{endpoint.url}/chat/completions did not answer in time",
    )


def test_without_tools_to_call_none_is_offered() -> None:
    with Endpoint(sequence([calls(call("echo", text="a")), text("b")])) as endpoint:
        ask(endpoint.url, request_of(free=False, max_tokens=77))
        ask(endpoint.url)
        first, second = (request.json for request in endpoint.requests)
    assert (first["tool_choice"], first["max_tokens"]) == ("none", 77)
    assert "tool_choice" not in second and "max_tokens" not in second


@pytest.mark.parametrize(
    "url",
    ["localhost:8000/v1", "ftp://host/v1", "http://", "http://host:99999/v1", "http://[::1/v1", "http://a\0b/v1", "x"],
)
def test_what_is_no_url_is_said_before_anything_is_sent(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        ask(url)
    assert str(caught.value).startswith(f"{url!r} is no base URL: ")
    assert caught.value.advice == "check --base-url"


@pytest.mark.parametrize("key", ["sk-…", "sk-a\n", "sk\0"])
def test_a_key_that_no_header_can_carry_is_refused(key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        ask("http://127.0.0.1:1/v1", key=key)
    assert caught.value.advice == "check OPENAI_API_KEY"
    assert key not in caught.value.explain()

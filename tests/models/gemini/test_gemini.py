"""The Gemini adapter against a real server: what comes over the wire, and what becomes of it."""

import os
import subprocess
import sys
from itertools import pairwise
from typing import Any

import pytest

from hermes_agent.models.client import ModelAnswer, ProviderOptions
from hermes_agent.models.providers.gemini import connect, understood
from hermes_agent.types.errors import ConfigError, ModelError, ModelFailure
from hermes_agent.types.events import AssistantMessage, CallFinished, Usage, UserMessage
from hermes_agent.types.tools import ToolCall
from hermes_agent.types.trace import CallStatus
from tests.endpoint import (
    Call,
    Calls,
    Endpoint,
    Fail,
    Fault,
    Reply,
    Text,
    by_results,
    call,
    calls,
    fail,
    refusal,
    sequence,
    text,
)
from tests.endpoint import Usage as WireUsage
from tests.models.asking import QUESTION, ByteServer, request_of
from tests.models.faulty import BOTH, FAILURES, TEXTS, spoil
from tests.models.gemini.talking import MODEL, ask, converse, parts, stream


def asked(endpoint: Endpoint) -> tuple[ModelAnswer, list[str]]:
    return ask(f"{endpoint.origin}/v1beta")


def test_text_is_streamed_as_it_comes() -> None:
    long = "The answer is forty-two, as everybody knows since 1979 – ändert nichts 🦊."
    used = WireUsage(prompt_tokens=1000, completion_tokens=20, cached_tokens=896, reasoning_tokens=12)
    with Endpoint(sequence([Text(text=long, usage=used)])) as endpoint:
        answer, heard = asked(endpoint)
        (request,) = endpoint.requests
    assert answer == ModelAnswer(text=long, stop="stop", usage=Usage(input=1000, output=20, cached=896))
    assert ("".join(heard), len(heard) > 1) == (long, True)
    assert (request.path, request.query) == (f"/v1beta/models/{MODEL}:streamGenerateContent", "alt=sse")


def test_parallel_calls_come_in_their_order() -> None:
    reply = Calls(
        calls=(
            Call(name="echo", arguments={"text": "ä" * 60}, id="call_a"),
            Call(name="echo", arguments='{"text": "b", "n": 18446744073709551616}', id=""),
        ),
        text="Let me look.",
        usage=WireUsage(prompt_tokens=5, completion_tokens=7),
    )
    with Endpoint(sequence([reply])) as endpoint:
        answer, heard = asked(endpoint)
    assert answer.calls == (
        ToolCall(id="call_a", name="echo", arguments={"text": "ä" * 60}),
        ToolCall(id="call_1", name="echo", arguments={"text": "b", "n": 18446744073709551616}),
    )
    assert (answer.text, answer.stop, answer.usage) == ("Let me look.", "tool_calls", Usage(input=5, output=7))
    assert heard == ["Let me look."]


SCRIPT: list[Reply] = [
    calls(call("echo", text="ä"), call("echo", text="b"), text="Let me look.", thinking="Two calls."),
    calls(Call(name="echo", arguments={"text": "c"}, id="")),
    text("Done, and signed.", thinking="That was easy."),
]


@pytest.mark.parametrize("model", [MODEL, "gemini-2.5-scripted"])
def test_a_conversation_goes_back_as_it_came(model: str) -> None:
    """The endpoint refuses a signature that is missing, changed or in another place, and results without calls."""
    with Endpoint(by_results(SCRIPT)) as endpoint:
        first = converse(endpoint, QUESTION, model=model)
        second = converse(endpoint, *first, UserMessage(text="And again?"), model=model)
        bodies = [request.body for request in endpoint.requests]
    answers = [message.text for message in second if isinstance(message, AssistantMessage)]
    assert answers == ["Let me look.", "", "Done, and signed."] * 2
    for earlier, later in pairwise(bodies):
        assert later.startswith(earlier.removesuffix(b"]}]}"))
    assert bodies[-1].count(b'"thoughtSignature"') == 5
    assert b"skip_thought_signature_validator" not in bodies[-1]


def test_a_signature_in_its_own_part_comes_back_in_it() -> None:
    chunks = [
        parts({"text": "thinking", "thought": True}),
        parts({"text": "For"}, {"text": "ty"}),
        parts({"text": "-two"}),
        parts({"text": "", "thoughtSignature": "c2ln"}, finish="STOP"),
    ]
    with ByteServer([stream(*chunks)]) as server:
        answer, heard = ask(server.url)
    replay = {"gemini": {"model": MODEL, "parts": [{"text": 9}, {"text": 0, "signature": "c2ln"}]}}
    assert answer == ModelAnswer(text="Forty-two", stop="stop", replay=replay)
    assert heard == ["For", "ty", "-two"]


def test_a_conversation_that_began_elsewhere_goes_on_here() -> None:
    begun = (
        QUESTION,
        AssistantMessage(
            text="",
            calls=(ToolCall(id="toolu_01|x", name="echo", arguments={"text": "a"}),),
            replay={"anthropic": {"any": "thing"}},
        ),
        CallFinished(call_id="toolu_01|x", tool="echo", status=CallStatus.OK, text="a"),
    )
    with Endpoint(by_results([fail(Fault.BAD_REQUEST), *SCRIPT[1:]])) as endpoint:
        whole = converse(endpoint, *begun)
    assert [message.text for message in whole if isinstance(message, AssistantMessage)][-1] == "Done, and signed."


@pytest.mark.parametrize(
    ("finish", "stop"),
    [("STOP", "stop"), ("MAX_TOKENS", "length"), ("SAFETY", "content_filter"), ("SPII", "content_filter")],
)
def test_reasons_to_stop(finish: str, stop: str) -> None:
    with Endpoint(sequence([Text(text="as far as it", finish=finish)])) as endpoint:
        answer, _ = asked(endpoint)
    assert (answer.text, answer.stop) == ("as far as it", stop)


@pytest.mark.parametrize("finish", ["MAX_TOKENS", "SAFETY"])
def test_calls_of_an_answer_that_was_cut_off_are_never_run(finish: str) -> None:
    reply = Calls(calls=(Call(name="echo", arguments={"text": "whole"}, id="x"),), finish=finish)
    with Endpoint(sequence([reply])) as endpoint:
        answer, _ = asked(endpoint)
    problem = f"the answer was cut off (finish reason '{finish}')"
    assert answer.calls == (ToolCall(id="x", name="echo", problem=problem),)


@pytest.mark.parametrize(
    ("reply", "failure", "said"),
    [
        (refusal("Not this."), ModelFailure.REFUSED, "the prompt was blocked (PROHIBITED_CONTENT) Not this."),
        (
            Text(text="", finish="content_filter"),
            ModelFailure.REFUSED,
            "the answer was empty (finish reason 'SAFETY')",
        ),
        (Text(text=""), ModelFailure.MALFORMED, "the answer was empty (finish reason 'STOP')"),
        (
            Fail(fault=Fault.HALF_CALL),
            ModelFailure.MALFORMED,
            'the model gave up (MALFORMED_FUNCTION_CALL) Malformed function call: echo({"text":"first ha',
        ),
        (Text(text="x", finish="OTHER"), ModelFailure.MALFORMED, "the model gave up (OTHER)"),
    ],
)
def test_what_is_no_answer(reply: Reply, failure: ModelFailure, said: str) -> None:
    with Endpoint(sequence([reply])) as endpoint, pytest.raises(ModelError) as caught:
        asked(endpoint)
    assert (caught.value.failure, str(caught.value)) == (failure, said)


ELSEWHERE = {Fault.HALF_CALL: ModelFailure.MALFORMED}
"""What other formats can send and this one cannot."""


@pytest.mark.parametrize("fault", [*FAILURES, *ELSEWHERE])
def test_a_fault_is_the_right_failure(fault: Fault) -> None:
    with Endpoint(sequence([spoil(fault)])) as endpoint, pytest.raises(ModelError) as caught:
        asked(endpoint)
    assert caught.value.failure == {**FAILURES, **ELSEWHERE}[fault]


@pytest.mark.parametrize("fault", TEXTS)
def test_an_odd_answer_is_an_answer(fault: Fault) -> None:
    with Endpoint(sequence([spoil(fault)])) as endpoint:
        answer, heard = asked(endpoint)
    assert (answer.text, "".join(heard)) == (TEXTS[fault], TEXTS[fault])


@pytest.mark.parametrize(
    ("fault", "found"),
    [
        (Fault.ARGUMENTS_NOT_OBJECT, [("echo", {}, True)]),
        (Fault.UNKNOWN_TOOL, [("no_such_tool", {"text": "first half, second half"}, False)]),
        (Fault.MISSING_IDS, [("echo", {"text": text}, False) for text in BOTH]),
        (Fault.OUT_OF_ORDER, [("echo", {"text": text}, False) for text in BOTH]),
    ],
)
def test_odd_calls(fault: Fault, found: list[tuple[str, dict[str, Any], bool]]) -> None:
    with Endpoint(sequence([spoil(fault)])) as endpoint:
        answer, _ = asked(endpoint)
    assert [(made.name, made.arguments, bool(made.problem)) for made in answer.calls] == found
    assert len({made.id for made in answer.calls}) == len(found)


@pytest.mark.parametrize(
    ("kind", "failure"), [("RESOURCE_EXHAUSTED", ModelFailure.RATE_LIMIT), ("INTERNAL", ModelFailure.OVERLOAD)]
)
def test_an_error_inside_the_stream(kind: str, failure: ModelFailure) -> None:
    reply = Fail(fault=Fault.ERROR_IN_STREAM, kind=kind)
    with Endpoint(sequence([reply])) as endpoint, pytest.raises(ModelError) as caught:
        asked(endpoint)
    assert caught.value.failure is failure


QUOTA = "429 from u: You exceeded your current quota, please check your plan and billing details."


@pytest.mark.parametrize(
    ("said", "failure", "wait"),
    [
        (f"{QUOTA} Please retry in 12.5s.", ModelFailure.RATE_LIMIT, 12.5),
        (QUOTA, ModelFailure.RATE_LIMIT, None),
        (f"{QUOTA} Quota: GenerateRequestsPerDayPerProject", ModelFailure.QUOTA, None),
    ],
)
def test_a_quota_by_the_minute_is_a_rate_limit(said: str, failure: ModelFailure, wait: float | None) -> None:
    error = understood(ModelError(ModelFailure.QUOTA, said))
    assert (error.failure, error.retry_after, str(error)) == (failure, wait, said)


def test_keys() -> None:
    with Endpoint(sequence([text("hello")]), key="right") as endpoint:
        url = f"{endpoint.origin}/v1beta"
        for key in ("wrong", ""):
            with pytest.raises(ModelError) as caught:
                ask(url, key=key)
            assert (caught.value.failure, caught.value.advice) == (ModelFailure.AUTH, "check GEMINI_API_KEY")
        assert ask(url, key="right")[0].text == "hello"


@pytest.mark.parametrize(
    ("options", "remedy"),
    [
        (ProviderOptions(model="", api_key="k"), "write gemini:NAME"),
        (ProviderOptions(model="m"), "set GEMINI_API_KEY or GOOGLE_API_KEY"),
        (ProviderOptions(model="m", api_key="k", base_url="nonsense"), "check --base-url"),
        (ProviderOptions(model="m", api_key="k\n"), "check GEMINI_API_KEY"),
    ],
)
def test_what_is_missing_is_said_at_once(options: ProviderOptions, remedy: str) -> None:
    with pytest.raises(ConfigError) as caught:
        connect(options)
    assert caught.value.advice == remedy


def test_names_of_models_in_the_path() -> None:
    assert connect(ProviderOptions(model="models/gemini-3-pro", api_key="k")).model == "gemini-3-pro"
    with Endpoint(sequence([text("hi")])) as endpoint:
        ask(f"{endpoint.origin}/v1beta", request_of(), model="odd/name:1")
        assert endpoint.requests[0].path == "/v1beta/models/odd%2Fname%3A1:streamGenerateContent"


def test_no_sdk_is_imported() -> None:
    code = (
        "import sys, hermes_agent.models.providers.gemini\n"
        "print([name for name in sys.modules if name.split('.')[0] in ('google', 'requests', 'pydantic', 'rich')])"
    )
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout.strip() == "[]"

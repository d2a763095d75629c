"""What providers cache, in each wire format: the bytes of today are those that were recorded.

Every change of them costs every user the provider's cache once, so it must be made on purpose. To renew the recordings
after such a change: `python -m tests.models.wires.test_recorded_prefixes`.
"""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from hermes_agent.models.catalog import connect
from hermes_agent.models.client import ProviderOptions
from hermes_agent.models.request import ModelRequest, Prefix, ToolDeclaration, Transcript
from hermes_agent.types.events import AssistantMessage, CallFinished, Fragment, UserMessage
from hermes_agent.types.tools import ToolCall
from hermes_agent.types.trace import CallStatus

RECORDED = Path(__file__).parents[1] / "recorded"
RENEW = "the request has changed: if that is meant, run `python -m tests.models.wires.test_recorded_prefixes`"
QUESTION = "How many are there?"
AWS = {"region": "eu-central-1", "access_key_id": "a", "secret_access_key": "s"}
MODELS = {
    "openai": "gpt-4o",
    "openai_responses": "gpt-5.1",
    "anthropic": "claude-opus-4-6",
    "gemini": "gemini-2.5-pro",
    "bedrock": "anthropic.claude-opus-4-6-v1",
}
PREFIX = Prefix(
    system="You are Hermes – careful.",
    tools=(
        ToolDeclaration(
            name="look",
            description="Look at a file.",
            parameters={"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
        ),
    ),
)


def bodies(provider: str) -> list[bytes]:
    """A conversation as it grows: the question, a call with its result, an answer, a notice and the next question."""
    options = ProviderOptions(model=MODELS[provider], provider=provider, api_key="k", base_url="http://127.0.0.1:9/v1")
    if provider == "bedrock":
        options = ProviderOptions(model=MODELS[provider], base_url="http://127.0.0.1:9", extra=AWS)
    client: Any = connect(f"{provider}:{MODELS[provider]}", options)
    transcript = Transcript([UserMessage(text=QUESTION)])
    request = ModelRequest(prefix=PREFIX, transcript=transcript)
    made = [client.body(request)]
    transcript.append(AssistantMessage(text="", calls=(ToolCall(id="c1", name="look", arguments={"path": "a"}),)))
    transcript.append(CallFinished(call_id="c1", tool="look", status=CallStatus.OK, text="zwölf"))
    made.append(client.body(request))
    transcript.append(AssistantMessage(text="Twelve."))
    transcript.append(Fragment(source="advice", text="Count twice."))
    transcript.append(UserMessage(text="And again?"))
    made.append(client.body(request))
    return made


def recording(provider: str) -> Path:
    return RECORDED / f"prefix_{provider}.json"


@pytest.mark.req("R9")
@pytest.mark.parametrize("provider", MODELS)
def test_requests_are_the_recorded_ones(provider: str) -> None:
    assert b"\n".join(bodies(provider)) + b"\n" == recording(provider).read_bytes(), RENEW


@pytest.mark.req("R9")
@pytest.mark.parametrize("provider", MODELS)
def test_what_was_sent_once_stays_as_it_is(provider: str) -> None:
    sent = bodies(provider)
    for earlier, later in pairwise(sent):
        for part in (b"You are Hermes", b"Look at a file.", QUESTION.encode()):
            assert later.startswith(earlier[: earlier.index(part) + len(part)])


def main() -> None:
    for provider in MODELS:
        recording(provider).write_bytes(b"\n".join(bodies(provider)) + b"\n")


if __name__ == "__main__":
    main()

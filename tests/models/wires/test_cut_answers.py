"""A streamed answer with calls, ended at every event and inside every event, in each format: all of it or an error."""

import asyncio

import msgspec
import pytest

from hermes_agent.models.catalog import clients
from hermes_agent.models.client import ModelAnswer, ProviderOptions
from hermes_agent.models.http import close_clients
from hermes_agent.types.effort import Effort
from hermes_agent.types.errors import ModelError, ModelFailure
from tests.endpoint import Call, Calls, Endpoint, Request, Thinking
from tests.endpoint.routes import format_of
from tests.endpoint.wire import LAST_CHUNK, chunk, render
from tests.models.asking import ByteServer, request_of
from tests.models.wires.rig import Wire, variables

WORDS = "a text of some length, so that its arguments come in several pieces"
ANSWER = Calls(
    calls=(Call(name="echo", arguments={"text": WORDS}), Call(name="echo", arguments={"text": "b"})),
    text="Let me see what there is to say.",
    thinking=Thinking(text="Two calls will do."),
)
pytestmark = [pytest.mark.req("R14")]


def recorded(wire: Wire) -> Request:
    """The request of a format's client, as the endpoint gets it."""
    with Endpoint(lambda request: ANSWER) as endpoint:
        ask(wire, endpoint.origin, variables(endpoint))
        return endpoint.requests[0]


def ask(wire: Wire, origin: str, access: dict[str, str]) -> ModelAnswer:
    """One answer of a client in a fresh loop, at another address than the variables say."""
    path = {Wire.CHAT: "/v1", Wire.RESPONSES: "/v1", Wire.GEMINI: "/v1beta"}.get(wire, "")
    options = ProviderOptions(model="", base_url=origin + path, timeout=10.0)

    async def work() -> ModelAnswer:
        (client,) = clients(wire.value, access, options)
        try:
            asked = msgspec.structs.replace(request_of(), effort=Effort.HIGH)
            return await client.answer(asked, lambda text: None)
        finally:
            await close_clients()

    return asyncio.run(work())


def unframed(piece: bytes) -> bytes:
    """The event inside an HTTP chunk."""
    return piece.partition(b"\r\n")[2][:-2]


def endings(pieces: list[bytes]) -> list[bytes]:
    """The response cut after each event, and in the middle of each; HTTP's own end is there or is not."""
    headers, *events, _ = pieces
    cut: list[bytes] = []
    for place, event in enumerate(events):
        start = headers + b"".join(events[:place])
        inside = unframed(event)
        half = chunk(inside[: len(inside) // 2])
        cut += [start + LAST_CHUNK, start, start + half + LAST_CHUNK, start + half]
    return cut


@pytest.mark.parametrize("wire", Wire, ids=str)
def test_an_answer_that_is_cut_is_whole_or_an_error(wire: Wire) -> None:
    request = recorded(wire)
    form = format_of(request.path)
    assert form is not None
    pieces = list(render(form, request, form.read(request, strict=True), ANSWER).pieces)
    access = {"AWS_REGION": "eu-central-1", "AWS_BEARER_TOKEN_BEDROCK": "token"}
    responses = [*endings(pieces), b"".join(pieces)]
    found: list[ModelAnswer | ModelFailure] = []
    with ByteServer(responses) as server:
        origin = server.url.removesuffix("/v1")
        for _ in responses:
            try:
                found.append(ask(wire, origin, access))
            except ModelError as error:
                found.append(error.failure)
    whole = found[-1]
    assert isinstance(whole, ModelAnswer)
    assert [(call.name, call.arguments, call.problem) for call in whole.calls] == [
        ("echo", {"text": WORDS}, ""),
        ("echo", {"text": "b"}, ""),
    ]
    answers = [one for one in found[:-1] if isinstance(one, ModelAnswer)]
    assert [(one.text, one.calls, one.stop) for one in answers] == [(whole.text, whole.calls, whole.stop)] * len(
        answers
    )
    failures = {one for one in found if isinstance(one, ModelFailure)}
    assert failures == {ModelFailure.NETWORK, ModelFailure.MALFORMED}
    assert len(answers) <= 8 < len(found) // 2

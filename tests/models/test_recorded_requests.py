"""The bytes a provider caches: those of today are those that were recorded, and no request rewrites an earlier one."""

import json
from itertools import pairwise

import pytest

from tests.endpoint.conversation import read_strictly
from tests.models.recording import FIRST, LAST, conversation

RENEW = "the request has changed: if that is meant, run `python -m tests.models.recording`"


@pytest.fixture(scope="module")
def bodies(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    return conversation(tmp_path_factory.mktemp("recording").resolve())


def prefix_of(body: bytes) -> bytes:
    """Everything before the first message of the user: model, tools and system prompt."""
    return body[: body.index(b'{"role":"user"')]


@pytest.mark.req("R9", "A9")
def test_the_prefix_is_the_recorded_one(bodies: list[bytes]) -> None:
    prefixes = {prefix_of(body) for body in bodies}
    assert prefixes == {prefix_of(FIRST.read_bytes())}, RENEW


@pytest.mark.req("R9")
def test_the_transcript_is_the_recorded_one(bodies: list[bytes]) -> None:
    assert bodies[0] == FIRST.read_bytes(), RENEW
    assert bodies[-1] == LAST.read_bytes(), RENEW


@pytest.mark.req("R9", "B6")
def test_each_request_begins_with_the_one_before(bodies: list[bytes]) -> None:
    assert len(bodies) == 6
    for earlier, later in pairwise(bodies):
        assert later.startswith(earlier.removesuffix(b"]}") + b",")


def test_the_recorded_requests_are_ones_an_endpoint_takes() -> None:
    for file in (FIRST, LAST):
        read_strictly(file.read_bytes())
    roles = [message["role"] for message in json.loads(LAST.read_bytes())["messages"]]
    turn = ["user", "assistant", "tool", "assistant", "tool", "tool"]
    assert roles == ["system", *turn, "assistant", *turn]

"""A fallback in the middle of a tool conversation, across every ordered pair of the five wire formats.

The endpoint refuses any request that the real service would refuse, also for foreign or missing signatures, so an
answer means that the transcript was valid in the format it was sent in.
"""

from itertools import permutations
from pathlib import Path

import pytest

from hermes_agent.types.effort import Effort
from hermes_agent.types.errors import ModelFailure
from hermes_agent.types.trace import RunStatus
from tests.endpoint import Call, Calls, Endpoint, Fault, Reply, Text, Thinking, fail
from tests.endpoint.seals import call_seal, seal
from tests.models.wires.rig import ATTEMPTS, Told, Wire, WiresRig, wire_of
from tests.sampling import sampled

pytestmark = [pytest.mark.req("R8")]
PAIRS = list(permutations(Wire, 2))
SIGNING = {Wire.RESPONSES, Wire.GEMINI}
"""Formats that sign what a model thought also when nobody asked it to think."""
THINKING = SIGNING | {Wire.ANTHROPIC, Wire.BEDROCK}
"""Formats that take signed thoughts back when a model was asked to think; chat completions has none."""
NAMES = [f"{first}-{second}" for first, second in PAIRS]


def step(word: str, *, also: str = "") -> Calls:
    """A thought, a text and one or two calls."""
    words = [word, also] if also else [word]
    made = tuple(Call(name="echo", arguments={"text": one}) for one in words)
    return Calls(calls=made, text=f"Let me say {word}.", thinking=Thinking(text=f"thought before {word}"))


def end(text: str) -> Text:
    return Text(text=text, thinking=Thinking(text=f"thought before {text}"))


def answered(*wires: Wire) -> list[Told]:
    return [Told(wire, None, "answered") for wire in wires]


def spent(first: Wire, second: Wire, failure: ModelFailure, attempts: int) -> list[Told]:
    """The first provider's attempts at one step, and where the router goes then."""
    return [Told(first, failure, "retry")] * (attempts - 1) + [Told(first, failure, f"next: {second.value}")]


def said(endpoint: Endpoint, since: int) -> list[tuple[Wire, bytes]]:
    return [(wire_of(request), request.body) for request in endpoint.requests[since:]]


@pytest.mark.parametrize(("first", "second"), sampled(PAIRS, 3), ids=NAMES)
@pytest.mark.parametrize("effort", [None, Effort.HIGH], ids=["plain", "thinking"])
def test_the_second_goes_on_and_the_first_comes_back(
    tmp_path: Path, first: Wire, second: Wire, effort: Effort | None
) -> None:
    """The first fails at every other step of the run; in the next run of the session it works again."""
    down: list[Reply] = [fail(Fault.SERVER_ERROR)] * ATTEMPTS
    script: list[Reply] = [step("a", also="b"), *down, step("c"), *down, end("said")]
    with WiresRig(tmp_path) as rig:
        rig.start([second], effort)
        run = rig.run(first, script)
        assert (run.result.status, run.result.answer, rig.ran) == (RunStatus.DONE, "said", ["a", "b", "c"])
        gone = spent(first, second, ModelFailure.OVERLOAD, ATTEMPTS)
        assert rig.told(run) == [*answered(first), *gone, *answered(second), *gone, *answered(second)]
        assert_second_was_given_all(said(rig.endpoint, 0), second)
        before = len(rig.endpoint.requests)
        again = rig.run(first, [step("d"), end("said again")], run.session_id)
        assert (again.result.status, again.result.answer, rig.ran) == (RunStatus.DONE, "said again", ["d"])
        assert rig.told(again) == answered(first, first)
        assert {wire for wire, _ in said(rig.endpoint, before)} == {first}
        last = said(rig.endpoint, before)[-1][1]
        assert_all_is_there(last, "abcd")
        signs = SIGNING if effort is None else THINKING
        assert [is_signed(last, word) for word in "acd"] == [first in signs, False, first in signs]


@pytest.mark.parametrize(("first", "second"), sampled(PAIRS, 3), ids=NAMES)
def test_a_key_that_is_no_longer_good_and_a_new_process(tmp_path: Path, first: Wire, second: Wire) -> None:
    """Without a good key the first provider rests for the whole run; another process with a good one goes back."""
    script: list[Reply] = [step("a"), fail(Fault.UNAUTHORIZED), step("b", also="c"), end("said")]
    with WiresRig(tmp_path) as rig:
        rig.start([second], Effort.HIGH)
        run = rig.run(first, script)
        assert (run.result.status, run.result.answer, rig.ran) == (RunStatus.DONE, "said", ["a", "b", "c"])
        gone = spent(first, second, ModelFailure.AUTH, 1)
        assert rig.told(run) == [*answered(first), *gone, *answered(second, second)]
        rig.start([second], Effort.HIGH)
        again = rig.run(first, [step("d"), end("said again")], run.session_id)
        assert (again.result.status, again.result.answer, rig.ran) == (RunStatus.DONE, "said again", ["d"])
        assert rig.told(again) == answered(first, first)
        assert_all_is_there(rig.endpoint.requests[-1].body, "abcd")


@pytest.mark.parametrize(("first", "second"), sampled(PAIRS, 3), ids=NAMES)
def test_a_stream_that_breaks_off_leaves_nothing_behind(tmp_path: Path, first: Wire, second: Wire) -> None:
    """What a broken answer had begun to say is in no later request, and the fallback's thoughts stay its own."""
    down: list[Reply] = [fail(Fault.CUT), fail(Fault.MISSING_END), fail(Fault.RESET)]
    with WiresRig(tmp_path) as rig:
        rig.start([second], Effort.HIGH)
        run = rig.run(first, [step("a"), *down, step("b"), end("said")])
        assert (run.result.status, run.result.answer, rig.ran) == (RunStatus.DONE, "said", ["a", "b"])
        failures = (ModelFailure.NETWORK, ModelFailure.MALFORMED, ModelFailure.NETWORK)
        decisions = ("retry", "retry", f"next: {second.value}")
        gone = [Told(first, failure, decision) for failure, decision in zip(failures, decisions, strict=True)]
        assert rig.told(run) == [*answered(first), *gone, *answered(second, first)]
        last = rig.endpoint.requests[-1].body
        assert_all_is_there(last, "ab")
        assert "Grüße".encode() not in last
        assert not is_signed(last, "b")


def assert_second_was_given_all(bodies: list[tuple[Wire, bytes]], second: Wire) -> None:
    """Each request to the second holds what was said and done before it, and no signature of the first."""
    received = [body for wire, body in bodies if wire is second]
    assert len(received) == 2
    assert_all_is_there(received[0], "ab")
    assert_all_is_there(received[1], "abc")
    assert not any(is_signed(body, "a") for body in received)


def is_signed(body: bytes, word: str) -> bool:
    """Whether a request brings back the signature of the step that said a word."""
    marks = (seal(f"thought before {word}"), call_seal("echo", {"text": word}))
    return any(mark.encode() in body for mark in marks)


def assert_all_is_there(body: bytes, words: str) -> None:
    for word in words:
        assert body.count(f"heard {word}".encode()) == 1, word
    assert body.count(b"Let me say ") in (len(words), len(words) - 1)

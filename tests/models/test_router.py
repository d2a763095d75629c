"""The router: which failures are worth another attempt, how long to wait, and what is reported."""

import asyncio
import random
from collections.abc import Sequence

import msgspec
import pytest

from hermes_agent.models.client import ModelAnswer, TextListener
from hermes_agent.models.request import ModelRequest
from hermes_agent.models.router import Router
from hermes_agent.types.errors import ModelError, ModelFailure
from hermes_agent.types.events import ModelCalled, Usage
from tests.models.asking import request_of

ANSWER = ModelAnswer(text="42", stop="stop", usage=Usage(input=10, output=2, cached=8))


class Failing:
    """Fails as told, then answers."""

    provider = "failing"
    model = "m"

    def __init__(self, failures: Sequence[ModelError]) -> None:
        self.asked = 0
        self._failures = failures

    async def answer(self, request: ModelRequest, on_text: TextListener) -> ModelAnswer:
        self.asked += 1
        if self.asked <= len(self._failures):
            raise self._failures[self.asked - 1]
        return ANSWER

    async def close(self) -> None:
        return None


class Attempt:
    """One use of a router: what came of it, what was reported, and how long it would have waited."""

    def __init__(self, failures: Sequence[ModelError], attempts: int = 4, wait: float = 0.5, seed: int = 1) -> None:
        self.waits: list[float] = []
        self.reported: list[ModelCalled] = []
        self.error: ModelError | None = None
        self.answer: ModelAnswer | None = None
        self.client = Failing(failures)

        async def sleep(seconds: float) -> None:
            self.waits.append(seconds)

        router = Router([self.client], attempts, wait, random.Random(seed), sleep)
        try:
            self.answer = asyncio.run(router.answer(request_of(), lambda text: None, self.reported.append))
        except ModelError as error:
            self.error = error


RETRIED = (ModelFailure.RATE_LIMIT, ModelFailure.OVERLOAD, ModelFailure.NETWORK, ModelFailure.MALFORMED)
FINAL = (
    ModelFailure.AUTH,
    ModelFailure.QUOTA,
    ModelFailure.CONTEXT_TOO_LONG,
    ModelFailure.REFUSED,
    ModelFailure.BAD_REQUEST,
)


def timeless(reported: Sequence[ModelCalled]) -> list[ModelCalled]:
    assert all(called.latency_ms >= 0 for called in reported)
    return [msgspec.structs.replace(called, latency_ms=0.0) for called in reported]


def test_every_failure_is_in_one_of_the_two_lists() -> None:
    assert sorted(RETRIED + FINAL) == sorted(ModelFailure)


@pytest.mark.parametrize("failure", RETRIED)
def test_what_may_pass_is_tried_again(failure: ModelFailure) -> None:
    tried = Attempt([ModelError(failure, "first"), ModelError(failure, "second")])
    (one, two) = tried.waits
    assert tried.answer == ANSWER
    assert timeless(tried.reported) == [
        ModelCalled(provider="failing", model="m", latency_ms=0.0, failure=failure, reason=reason, decision=decision)
        for reason, decision in (("first", f"retry in {one:.1f} s"), ("second", f"retry in {two:.1f} s"))
    ] + [ModelCalled(provider="failing", model="m", latency_ms=0.0, usage=ANSWER.usage, decision="answered")]


@pytest.mark.parametrize("failure", FINAL)
def test_what_will_not_pass_is_not_tried_again(failure: ModelFailure) -> None:
    error = ModelError(failure, "no", retry_after=0.1)
    tried = Attempt([error])
    assert (tried.error, tried.client.asked, tried.waits) == (error, 1, [])
    assert timeless(tried.reported) == [
        ModelCalled(provider="failing", model="m", latency_ms=0.0, failure=failure, reason="no", decision="give up")
    ]


@pytest.mark.parametrize("attempts", [1, 2, 5])
def test_attempts_are_bounded_and_the_last_error_is_raised(attempts: int) -> None:
    errors = [ModelError(ModelFailure.NETWORK, str(number)) for number in range(9)]
    tried = Attempt(errors, attempts)
    assert (tried.error, tried.client.asked, len(tried.waits)) == (errors[attempts - 1], attempts, attempts - 1)
    assert [called.decision == "give up" for called in tried.reported] == [False] * (attempts - 1) + [True]


@pytest.mark.parametrize("failure", [ModelFailure.RATE_LIMIT, ModelFailure.OVERLOAD])
@pytest.mark.parametrize("wish", [0.0, 7.25, 60.0])
def test_retry_after_is_honoured_to_the_second(failure: ModelFailure, wish: float) -> None:
    tried = Attempt([ModelError(failure, "later", retry_after=wish)])
    assert (tried.answer, tried.waits) == (ANSWER, [wish])
    assert tried.reported[0].decision == f"retry in {wish:.1f} s"


@pytest.mark.parametrize("wish", [60.1, 3600.0, float("inf")])
def test_a_wait_that_nobody_wants_is_not_begun(wish: float) -> None:
    tried = Attempt([ModelError(ModelFailure.RATE_LIMIT, "tomorrow", retry_after=wish)])
    assert (tried.client.asked, tried.waits, tried.reported[0].decision) == (1, [], "give up")


def test_waits_double_with_a_jitter_of_a_half() -> None:
    errors = [ModelError(ModelFailure.NETWORK, "x")] * 6
    waits = [Attempt(errors, 7, 0.5, seed).waits for seed in range(200)]
    for number, column in enumerate(zip(*waits, strict=True)):
        middle = 0.5 * 2**number
        assert 0.5 * middle <= min(column) < max(column) <= 1.5 * middle
    assert len({tuple(one) for one in waits}) == 200
    assert Attempt(errors, 7, 0.5, 7).waits == waits[7]
    assert Attempt(errors, 3, 1000.0).waits == [60.0, 60.0]


def test_the_name_tells_provider_and_model() -> None:
    assert Router([Failing([])]).model == "failing:m"


class Named(Failing):
    """One of several models or keys."""

    def __init__(self, model: str, failures: Sequence[ModelError]) -> None:
        super().__init__(failures)
        self.model = model


class Routed:
    """A router over several clients with a clock that only moves when told."""

    def __init__(self, *clients: Named, attempts: int = 2) -> None:
        self.clients = clients
        self.now = 0.0
        self.decisions: list[tuple[str, str]] = []

        async def sleep(seconds: float) -> None:
            self.now += seconds

        self._router = Router(clients, attempts, 0.5, random.Random(1), sleep, lambda: self.now)

    def ask(self) -> ModelAnswer:
        def report(called: ModelCalled) -> None:
            self.decisions.append((called.model, called.decision))

        return asyncio.run(self._router.answer(request_of(), lambda text: None, report))

    def asked(self) -> list[int]:
        return [client.asked for client in self.clients]


def errors(failure: ModelFailure, count: int, retry_after: float | None = None) -> list[ModelError]:
    return [ModelError(failure, "no", retry_after=retry_after) for _ in range(count)]


@pytest.mark.req("R8")
@pytest.mark.parametrize("failure", [ModelFailure.AUTH, ModelFailure.QUOTA, ModelFailure.BAD_REQUEST])
def test_what_another_provider_may_do_goes_there_at_once(failure: ModelFailure) -> None:
    routed = Routed(Named("a", errors(failure, 1)), Named("b", []))
    assert routed.ask() == ANSWER
    assert routed.decisions == [("a", "next: failing:b"), ("b", "answered")]


@pytest.mark.req("R8")
@pytest.mark.parametrize("failure", RETRIED)
def test_a_fallback_comes_after_the_retries(failure: ModelFailure) -> None:
    routed = Routed(Named("a", errors(failure, 9)), Named("b", []))
    assert routed.ask() == ANSWER
    assert routed.asked() == [2, 1]
    assert routed.decisions[-2:] == [("a", "next: failing:b"), ("b", "answered")]


@pytest.mark.parametrize("failure", [ModelFailure.REFUSED, ModelFailure.CONTEXT_TOO_LONG])
def test_what_the_request_is_to_blame_for_goes_nowhere_else(failure: ModelFailure) -> None:
    routed = Routed(Named("a", errors(failure, 1)), Named("b", []))
    with pytest.raises(ModelError) as caught:
        routed.ask()
    assert (caught.value.failure, routed.asked(), routed.decisions) == (failure, [1, 0], [("a", "give up")])


def test_a_rate_limited_key_rests_while_the_other_one_works() -> None:
    routed = Routed(Named("a", errors(ModelFailure.RATE_LIMIT, 1, retry_after=20.0)), Named("a", []))
    assert routed.ask() == ANSWER
    assert routed.ask() == ANSWER
    assert routed.asked() == [1, 2]
    routed.now += 21
    routed.ask()
    assert routed.asked() == [2, 2]


def test_the_breaker_opens_after_three_failures_and_closes_again() -> None:
    routed = Routed(Named("a", errors(ModelFailure.OVERLOAD, 3)), Named("b", []), attempts=1)
    for _ in range(4):
        routed.ask()
    assert routed.asked() == [3, 4]
    routed.now += 31
    routed.ask()
    assert routed.asked() == [4, 4]


def test_when_all_rest_the_one_that_rests_least_is_asked() -> None:
    routed = Routed(Named("a", errors(ModelFailure.QUOTA, 1)), Named("b", errors(ModelFailure.RATE_LIMIT, 1, 5.0)))
    routed = Routed(*routed.clients, attempts=1)
    with pytest.raises(ModelError):
        routed.ask()
    assert routed.ask() == ANSWER
    assert routed.asked() == [1, 2]

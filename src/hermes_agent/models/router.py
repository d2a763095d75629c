"""Asks the model, asks again when that can help, and goes to the next one when it cannot.

Routes are tried in order: the keys of the first provider, then the fallbacks. Every attempt is reported with what was
decided about it, and why.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from enum import Enum
from typing import assert_never

import msgspec

from ..types.base import Value
from ..types.errors import ModelError, ModelFailure
from ..types.events import ModelCalled, Usage
from .client import ModelAnswer, ModelClient, TextListener
from .meter import Meter, NoMeter
from .request import ModelRequest

_LONGEST_WAIT = 60.0
_LONG_REST = 300.0
_SHORT_REST = 30.0
_BREAKER = 3
Report = Callable[[ModelCalled], None]


class Remedy(Enum):
    """What may help against a failure."""

    RETRY = "the same route again, after a while"
    OTHER_ROUTE = "another key or provider"
    NOTHING = "neither; the request itself must change"


def remedy_for(failure: ModelFailure) -> Remedy:
    """The decision table of the error taxonomy."""
    match failure:
        case ModelFailure.RATE_LIMIT | ModelFailure.OVERLOAD | ModelFailure.NETWORK | ModelFailure.MALFORMED:
            return Remedy.RETRY
        case ModelFailure.AUTH | ModelFailure.QUOTA | ModelFailure.BAD_REQUEST:
            return Remedy.OTHER_ROUTE
        case ModelFailure.CONTEXT_TOO_LONG | ModelFailure.REFUSED:
            return Remedy.NOTHING
        case _:
            assert_never(failure)


class Ask(Value, frozen=True, kw_only=True):
    """One request on its way, who hears of it, and who pays."""

    request: ModelRequest
    on_text: TextListener
    report: Report
    meter: Meter


class Route:
    """One client (a provider, a model, a key) and how it has fared lately."""

    def __init__(self, client: ModelClient) -> None:
        self.client = client
        self.name = f"{client.provider}:{client.model}"
        self.resting_until = 0.0
        self._failures = 0

    def succeeded(self) -> None:
        """The breaker closes."""
        self._failures, self.resting_until = 0, 0.0

    def failed(self, error: ModelError, now: float) -> None:
        """Rest for a while: long without a valid key or credit, as asked when rated, else after repeated failures."""
        self._failures += 1
        match error.failure:
            case ModelFailure.AUTH | ModelFailure.QUOTA:
                self.resting_until = now + _LONG_REST
            case ModelFailure.RATE_LIMIT:
                self.resting_until = now + (error.retry_after or _SHORT_REST)
            case _ if self._failures >= _BREAKER:
                self.resting_until = now + _SHORT_REST
            case _:
                return


class Router:
    """Ordered routes to a model, with bounded retries on each."""

    def __init__(
        self,
        clients: Sequence[ModelClient],
        attempts: int = 4,
        first_wait: float = 0.5,
        rng: random.Random | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._routes = [Route(client) for client in clients]
        self._attempts = max(1, attempts)
        self._first_wait = first_wait
        self._rng = rng or random.Random()
        self._sleep = sleep
        self._clock = clock

    @property
    def model(self) -> str:
        """The first model's full name, which situations and prefix epochs are kept by."""
        return self._routes[0].name

    async def answer(
        self, request: ModelRequest, on_text: TextListener, report: Report, meter: Meter | None = None
    ) -> ModelAnswer:
        """The answer of the first route that gives one. Raises the last ModelError, or what the meter says."""
        routes = self._in_order()
        for place, route in enumerate(routes):
            try:
                ask = Ask(request=request, on_text=on_text, report=report, meter=meter or NoMeter())
                return await self._ask(route, routes[place + 1 :], ask)
            except ModelError as error:
                last = place + 1 == len(routes)
                if last or remedy_for(error.failure) is Remedy.NOTHING:
                    raise
        raise AssertionError("the last route either answers or raises")

    def _in_order(self) -> list[Route]:
        """The routes that are not resting, or, when all are, the one that rests least."""
        now = self._clock()
        awake = [route for route in self._routes if route.resting_until <= now]
        return awake or [min(self._routes, key=lambda route: route.resting_until)]

    async def _ask(self, route: Route, others: Sequence[Route], ask: Ask) -> ModelAnswer:
        """One route, tried as often as that can help."""
        for attempt in range(1, self._attempts + 1):
            admitted = await ask.meter.admit(route.name, ask.request)
            started = time.perf_counter()
            try:
                answer = await route.client.answer(admitted, ask.on_text)
            except ModelError as error:
                usd = await ask.meter.charge(None if error.billed else Usage())
                wait = self._wait(error, attempt, spare_key=any(other.name == route.name for other in others))
                decision = f"retry in {wait:.1f} s" if wait is not None else _onward(error, others)
                called = _called(route, started, failure=error.failure, reason=str(error), decision=decision)
                ask.report(msgspec.structs.replace(called, usd=usd))
                if wait is None:
                    route.failed(error, self._clock())
                    raise
                await self._sleep(wait)
            else:
                route.succeeded()
                usd = await ask.meter.charge(answer.usage)
                ask.report(msgspec.structs.replace(_called(route, started, answer=answer), usd=usd))
                return answer
        raise AssertionError("the last attempt either answers or raises")

    def _wait(self, error: ModelError, attempt: int, *, spare_key: bool) -> float | None:
        """How long to wait before asking this route again; None when that cannot help or another key is at hand."""
        if attempt == self._attempts or remedy_for(error.failure) is not Remedy.RETRY:
            return None
        if error.failure is ModelFailure.RATE_LIMIT and spare_key:
            return None
        if error.retry_after is not None and error.failure in (ModelFailure.RATE_LIMIT, ModelFailure.OVERLOAD):
            return error.retry_after if error.retry_after <= _LONGEST_WAIT else None
        backoff = self._first_wait * 2.0 ** (attempt - 1)
        return min(_LONGEST_WAIT, backoff * (0.5 + self._rng.random()))

    async def close(self) -> None:
        """Let go of the models' connections."""
        for route in self._routes:
            await route.client.close()


def _onward(error: ModelError, others: Sequence[Route]) -> str:
    if others and remedy_for(error.failure) is not Remedy.NOTHING:
        return f"next: {others[0].name}"
    return "give up"


def _called(
    route: Route,
    started: float,
    *,
    answer: ModelAnswer | None = None,
    failure: ModelFailure | None = None,
    reason: str = "",
    decision: str = "answered",
) -> ModelCalled:
    return ModelCalled(
        provider=route.client.provider,
        model=route.client.model,
        latency_ms=round((time.perf_counter() - started) * 1000, 3),
        usage=answer.usage if answer else Usage(),
        failure=failure,
        reason=reason,
        decision=decision,
    )

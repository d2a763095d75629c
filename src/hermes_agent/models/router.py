"""Asks the model, and asks again when that can help. Every attempt is reported with what was decided about it."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from typing import assert_never

from ..types.errors import ModelError, ModelFailure
from ..types.events import ModelCalled
from .client import ModelAnswer, ModelClient, TextListener
from .request import ModelRequest

_LONGEST_WAIT = 60.0
Report = Callable[[ModelCalled], None]


class Router:
    """One model with bounded retries."""

    def __init__(
        self,
        client: ModelClient,
        attempts: int = 4,
        first_wait: float = 0.5,
        rng: random.Random | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._client = client
        self._attempts = max(1, attempts)
        self._first_wait = first_wait
        self._rng = rng or random.Random()
        self._sleep = sleep

    @property
    def model(self) -> str:
        """The model's full name, which situations and prefix epochs are kept by."""
        return f"{self._client.provider}:{self._client.model}"

    async def answer(self, request: ModelRequest, on_text: TextListener, report: Report) -> ModelAnswer:
        """The answer, after as many attempts as allowed. Raises the last ModelError."""
        for attempt in range(1, self._attempts + 1):
            started = time.perf_counter()
            try:
                answer = await self._client.answer(request, on_text)
            except ModelError as error:
                wait = self._wait(error, attempt)
                last = attempt == self._attempts or wait is None
                decision = "give up" if last else f"retry in {wait:.1f} s"
                report(self._called(started, failure=error.failure, reason=str(error), decision=decision))
                if last or wait is None:
                    raise
                await self._sleep(wait)
            else:
                report(self._called(started, answer=answer))
                return answer
        raise AssertionError("the last attempt either answers or raises")

    def _called(
        self,
        started: float,
        *,
        answer: ModelAnswer | None = None,
        failure: ModelFailure | None = None,
        reason: str = "",
        decision: str = "answered",
    ) -> ModelCalled:
        called = ModelCalled(
            provider=self._client.provider,
            model=self._client.model,
            latency_ms=round((time.perf_counter() - started) * 1000, 3),
            failure=failure,
            reason=reason,
            decision=decision,
        )
        if answer is None:
            return called
        return ModelCalled(
            provider=called.provider,
            model=called.model,
            latency_ms=called.latency_ms,
            usage=answer.usage,
            decision=decision,
        )

    def _wait(self, error: ModelError, attempt: int) -> float | None:
        """How long to wait before asking again; None when asking again cannot help."""
        match error.failure:
            case ModelFailure.RATE_LIMIT | ModelFailure.OVERLOAD:
                wanted = error.retry_after
            case ModelFailure.NETWORK | ModelFailure.MALFORMED:
                wanted = None
            case (
                ModelFailure.AUTH
                | ModelFailure.QUOTA
                | ModelFailure.CONTEXT_TOO_LONG
                | ModelFailure.REFUSED
                | ModelFailure.BAD_REQUEST
            ):
                return None
            case _:
                assert_never(error.failure)
        if wanted is not None:
            return wanted if wanted <= _LONGEST_WAIT else None
        backoff = self._first_wait * 2.0 ** (attempt - 1)
        return min(_LONGEST_WAIT, backoff * (0.5 + self._rng.random()))

    async def close(self) -> None:
        """Let go of the model's connections."""
        await self._client.close()

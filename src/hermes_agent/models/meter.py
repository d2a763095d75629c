"""What a call may cost, before and after it is made."""

from __future__ import annotations

from typing import Protocol

from ..types.events import Usage
from .request import ModelRequest


class Meter(Protocol):
    """Asked before every attempt, told after it."""

    async def admit(self, model: str, request: ModelRequest) -> ModelRequest:
        """The request as it may be sent, perhaps with a lower limit of tokens. Raises when a cap forbids it."""

    async def charge(self, usage: Usage | None) -> float:
        """Settle the attempt that was admitted; its cost in USD. None: it broke off, and its reservation counts."""


class NoMeter:
    """Nothing is capped."""

    async def admit(self, model: str, request: ModelRequest) -> ModelRequest:
        return request

    async def charge(self, usage: Usage | None) -> float:
        return 0.0

"""Caps, amounts, and what is said when a cap is reached."""

from __future__ import annotations

from enum import StrEnum

from .base import Value
from .errors import LimitReached


class Scope(StrEnum):
    """What a cap holds for."""

    RUN = "run"
    SESSION = "session"
    DAY = "day"


class Caps(Value, frozen=True, kw_only=True):
    """The most that may be spent; 0 is no cap."""

    usd: float = 0.0
    tokens: int = 0
    seconds: float = 0.0


class Amount(Value, frozen=True, kw_only=True):
    """Money, tokens and time."""

    usd: float = 0.0
    tokens: int = 0
    seconds: float = 0.0


class Account(Value, frozen=True, kw_only=True):
    """One thing that is paid from, and its caps."""

    scope: Scope
    key: str
    caps: Caps


class BudgetSpent(LimitReached):
    """The next call could cost more than is left."""


class PriceUnknown(LimitReached):
    """A model without a known price cannot run under a money cap."""

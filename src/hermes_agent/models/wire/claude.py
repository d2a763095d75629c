"""What the names of Claude models tell: how they think, which levels of effort they take, how much they say.

A name that is no Claude model's, behind an endpoint that speaks the same format, gets what the oldest of them knew.
"""

from __future__ import annotations

import re
from enum import StrEnum

from ...types.base import Value
from ...types.effort import Effort
from .parts import nearest

_NAME = re.compile(
    r"claude-(?:(?P<old>\d)(?:[-.](?P<old_minor>\d))?-(?P<old_family>[a-z]+)"
    r"|(?P<family>[a-z]+)(?:-(?P<major>\d{1,2})(?!\d)(?:[-.](?P<minor>\d{1,2})(?!\d))?)?)"
)
_ALL = tuple(Effort)
_WITHOUT_XHIGH = (Effort.LOW, Effort.MEDIUM, Effort.HIGH, Effort.MAX)
_UP_TO_HIGH = (Effort.LOW, Effort.MEDIUM, Effort.HIGH)
_BUDGETS = {
    Effort.LOW: 2_048,
    Effort.MEDIUM: 8_192,
    Effort.HIGH: 16_384,
    Effort.XHIGH: 32_768,
    Effort.MAX: 49_152,
}
_LEAST_BUDGET = 1_024


class Thinking(StrEnum):
    """How a model is told to think: not at all, with a budget, as it sees fit, or it cannot be told otherwise."""

    NONE = "none"
    BUDGET = "budget"
    ADAPTIVE = "adaptive"
    ALWAYS = "always"


class Claude(Value, frozen=True, kw_only=True):
    """A model's manners. `max_tokens` is what it may say when nobody sets a limit, which this format asks for."""

    thinking: Thinking
    levels: tuple[Effort, ...] = ()
    max_tokens: int = 64_000


def claude(model: str) -> Claude:
    """What a model's name tells. Families that are not known yet are taken to be the newest ones."""
    match = _NAME.search(model.lower())
    if match is None:
        return Claude(thinking=Thinking.BUDGET, max_tokens=8_192)
    if match["old"]:
        version = (int(match["old"]), int(match["old_minor"] or 0))
        if version >= (3, 7):
            return Claude(thinking=Thinking.BUDGET)
        return Claude(thinking=Thinking.NONE, max_tokens=8_192 if version >= (3, 5) else 4_096)
    version = (int(match["major"] or 0), int(match["minor"] or 0))
    match match["family"]:
        case "opus":
            return _opus(version)
        case "sonnet" if version >= (5, 0):
            return Claude(thinking=Thinking.ADAPTIVE, levels=_ALL)
        case "sonnet" if version >= (4, 6):
            return Claude(thinking=Thinking.ADAPTIVE, levels=_WITHOUT_XHIGH)
        case "haiku" if version >= (5, 0):
            return Claude(thinking=Thinking.ADAPTIVE, levels=_ALL)
        case "sonnet" | "haiku":
            return Claude(thinking=Thinking.BUDGET)
        case _:
            return Claude(thinking=Thinking.ALWAYS, levels=_ALL if version >= (5, 0) else _WITHOUT_XHIGH)


def _opus(version: tuple[int, int]) -> Claude:
    if version >= (5, 5):
        return Claude(thinking=Thinking.ALWAYS, levels=_ALL)
    if version >= (4, 7):
        return Claude(thinking=Thinking.ADAPTIVE, levels=_ALL)
    if version >= (4, 6):
        return Claude(thinking=Thinking.ADAPTIVE, levels=_WITHOUT_XHIGH)
    if version >= (4, 5):
        return Claude(thinking=Thinking.BUDGET, levels=_UP_TO_HIGH)
    return Claude(thinking=Thinking.BUDGET, max_tokens=32_000)


def effort_for(model: str, effort: Effort) -> str:
    """The level a model knows that is nearest below; empty for models that know none and only take a budget.

    Models before 4.7 have no `xhigh` but a `max`, and whoever asks for more than high there means that.
    """
    levels = claude(model).levels
    if effort is Effort.XHIGH and levels == _WITHOUT_XHIGH:
        return Effort.MAX.value
    return nearest(levels, effort)


def budget_for(effort: Effort, max_tokens: int) -> int:
    """The tokens a model with a budget may think, within what it may say at all; 0 when that is too little."""
    budget = min(_BUDGETS[effort], max_tokens - max_tokens // 4)
    return budget if budget >= _LEAST_BUDGET else 0

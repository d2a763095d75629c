"""What the names of OpenAI's models tell: whether they reason, and how hard they can be asked to."""

from __future__ import annotations

import re

from ...types.effort import Effort
from .parts import nearest

_GPT = re.compile(r"gpt-(\d{1,2})(?:\.(\d{1,2}))?(?![\d.])")
_UP_TO_HIGH = (Effort.LOW, Effort.MEDIUM, Effort.HIGH)
_UP_TO_XHIGH = (*_UP_TO_HIGH, Effort.XHIGH)
_NEVER = re.compile(r"-chat|o1-(?:mini|preview)|-audio|-realtime|-search|-image|gpt-(?:3|4)")
_REASONING = re.compile(r"(?:^|-)o\d|codex|gpt-oss|gpt-(?:[5-9]|\d\d)")


def effort_for(model: str, effort: Effort) -> str:
    """The level a model knows that is nearest below; empty for a model that does not reason.

    A name that says nothing gets one of the three levels that every server of this format knows.
    """
    return nearest(_levels(_bare(model)), effort)


def reasons(model: str) -> bool:
    """Whether the name is one of a model that reasons. Others refuse to be asked for their reasoning."""
    name = _bare(model)
    return bool(_REASONING.search(name)) and not _NEVER.search(name)


def _bare(model: str) -> str:
    """The name without the vendor that a gateway puts before it."""
    return model.lower().rpartition("/")[2]


def _levels(name: str) -> tuple[Effort, ...]:
    if _NEVER.search(name):
        return ()
    version = _GPT.search(name)
    if version is None:
        return _UP_TO_HIGH
    number = (int(version[1]), int(version[2] or 0))
    if number >= (5, 6):
        return tuple(Effort)
    if "-pro" in name:
        return (Effort.HIGH,) if number < (5, 2) else (Effort.MEDIUM, Effort.HIGH, Effort.XHIGH)
    return _UP_TO_XHIGH if number >= (5, 2) or "codex-max" in name else _UP_TO_HIGH

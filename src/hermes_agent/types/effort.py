"""How hard a model should think."""

from __future__ import annotations

from enum import StrEnum


class Effort(StrEnum):
    """Five levels. Providers that know fewer get the nearest one below, unless their names for them say otherwise."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    XHIGH = "xhigh"
    MAX = "max"

"""What the world is like, from `world.json`: how often each bank, which ways in which order, how patient, how slow."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import msgspec

from ...types.base import Value


class Parameters(Value, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The world's own parameters. Figures that are published name their version.

    `banks` are the cards of a deck that is dealt out and shuffled again. `ways` are the tools for each step in the
    order in which they are listed. A strict reader waits `settle_seconds` before it reads again; the engine takes
    tables of `engine_rows` rows and lets others wait `engine_seconds` for a refusal; the search for a plotting backend
    takes `backend_seconds`. The quote service answers `quote_requests` of a client within a window, is slow now and
    then, and `stale_share` of the cached rates are old.
    """

    version: int
    banks: dict[str, int]
    ways: dict[str, tuple[str, ...]]
    settle_seconds: float
    engine_rows: int
    engine_seconds: float
    backend_seconds: float
    quote_requests: int
    quote_window_seconds: float
    quote_slow_seconds: float
    stale_share: float


@lru_cache(maxsize=1)
def parameters() -> Parameters:
    """The parameters that come along."""
    return msgspec.json.decode(Path(__file__).with_name("world.json").read_bytes(), type=Parameters)

"""What a world is like, from `NAME.json` beside its module: how often each kind of task, which ways in which order."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

import msgspec

from ...types.base import Value


class Parameters(Value, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The parameters of one world. Figures that are published name their version.

    `shares` are weights of the traits a task may have, by trait. `ways` are the tools for each step in the order in
    which they are listed. `odds` are probabilities that a world is made with.
    """

    version: int
    shares: dict[str, dict[str, int]]
    ways: dict[str, tuple[str, ...]]
    odds: dict[str, float] = {}

    def drawn(self, rng: random.Random, trait: str) -> str:
        """One value of a trait, by its weight."""
        weights = self.shares[trait]
        return rng.choices(list(weights), weights=list(weights.values()))[0]


@cache
def parameters(name: str) -> Parameters:
    """The parameters that come along."""
    return msgspec.json.decode(Path(__file__).with_name(f"{name}.json").read_bytes(), type=Parameters)

"""Seeded runs: a format, perhaps a fallback, perhaps thinking, and replies of which some are faults."""

import random
from collections.abc import Sequence

import msgspec

from hermes_agent.types.effort import Effort
from tests.endpoint import Call, Calls, Fail, Fault, Reply, Text, Thinking
from tests.models.faulty import FAILURES, FINAL
from tests.models.wires.prediction import HUGE, TEXTS
from tests.models.wires.rig import ATTEMPTS, Wire

STALLS = (Fault.STALL, Fault.STALL_MIDWAY, Fault.STALL_BEFORE_HEADERS)
RARE = (*FINAL, *TEXTS, *STALLS)
"""Faults that end a run or take their time: often enough to be seen, not so often that nothing else is."""
LASTING = [fault for fault in FAILURES if fault not in (*STALLS, Fault.REFUSE)]


class Scenario(msgspec.Struct, frozen=True, kw_only=True):
    """One run; `then` is the format in which its session goes on afterwards."""

    seed: int
    wires: tuple[Wire, ...]
    effort: Effort | None
    script: tuple[Reply, ...]
    then: Wire

    @property
    def faults(self) -> list[Fault]:
        return [reply.fault for reply in self.script if isinstance(reply, Fail)]


def scenario(seed: int) -> Scenario:
    rng = random.Random(seed)
    wires = rng.sample(list(Wire), k=rng.choice((1, 2, 2, 3)))
    script: list[Reply] = []
    for number in range(rng.randint(1, 8)):
        script += _some(rng, number, len(wires))
    final = Text(text="the end", thinking=_thought(rng))
    return Scenario(
        seed=seed,
        wires=tuple(wires),
        effort=rng.choice((None, *Effort)),
        script=(*script, *[final] * (ATTEMPTS * len(wires))),
        then=rng.choice(list(Wire)),
    )


def _some(rng: random.Random, number: int, routes: int) -> Sequence[Reply]:
    """Calls, one fault, or an outage: one fault until at least a route is given up."""
    kind = rng.random()
    if kind < 0.4:
        words = [f"{number}.{place}" for place in range(rng.randint(1, 3))]
        made = tuple(Call(name="echo", arguments={"text": word}) for word in words)
        return [Calls(calls=made, text=rng.choice(("", "Let me see.")), thinking=_thought(rng))]
    if kind < 0.85:
        usual = [fault for fault in Fault if fault not in RARE]
        return [_spoil(rng.choice(RARE if rng.random() < 0.3 else usual))]
    return [_spoil(rng.choice(LASTING))] * (ATTEMPTS * rng.randint(1, routes))


def _spoil(fault: Fault) -> Fail:
    return Fail(fault=fault, size=HUGE)


def _thought(rng: random.Random) -> Thinking | None:
    return rng.choice((None, Thinking(text="One after the other."), Thinking(text="hidden", redacted=True)))

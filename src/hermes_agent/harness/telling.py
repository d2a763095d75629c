"""What sources have to say to a request: an invoked skill, what memory recalls. Journaled behind it, so that a resumed
run reads the same. A source that breaks costs what it would have said, never the run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ..types.advice import Told
from ..types.errors import LeaseLost
from ..types.events import AnyEvent, Decided, Fragment

if TYPE_CHECKING:
    from .turn import Turn


async def tell(turn: Turn) -> None:
    """Ask every source once, at the start of a run."""
    events: list[AnyEvent] = []
    for source in turn.harness.turn_sources:
        try:
            told = await source.told(turn.view())
        except LeaseLost:
            raise
        except Exception as error:  # noqa: BLE001 - supervises whatever has something to say
            reason = turn.harness.redactor.redact(f"{type(error).__name__}: {error}")
            events.append(Decided(subject="context", choice="skip", reason=reason))
            continue
        events += [_fragment(turn, one) for one in told if one.text]
        named = next((one.family for one in told if one.family), "")
        if named and not turn.scene.situation.family:
            turn.scene.situation = msgspec.structs.replace(turn.scene.situation, family=named)
    if events:
        await turn.commit(events)


def _fragment(turn: Turn, told: Told) -> Fragment:
    text = turn.harness.redactor.redact(told.text)
    return Fragment(source=told.source, text=text, labels=tuple(sorted(told.labels)), origin=told.origin)

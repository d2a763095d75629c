"""Which skills a request is told of. A skill is judged like everything that only whole tasks can judge: by a coin.

A skill that fits a request is proposed for its family once; from then on the coin decides in every run of the family
whether it is recommended, and the outcome of the tasks decides whether it stays. What a person made is recommended from
the beginning, and held out now and then; what an agent wrote has to earn it. The list in the prompt shows both.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol

import msgspec

from ..config.settings import LearningSettings
from ..store.database import Connection, Database
from ..store.heuristics import (
    Heuristic,
    Kind,
    Stage,
    lock_sequence,
    placed_heuristics,
    read_cells,
    read_heuristics,
    set_value,
    value_of,
    write_cells,
)
from ..types.advice import Situation
from ..types.base import Value
from .cells import Cells, TaskCell
from .findings import Finding, Wish
from .learner import register_for, write_changes

FITTING = 0.3
"""How similar a request must be to a skill that it is told of."""
_RECOMMENDED = 2


class Offer(Value, frozen=True, kw_only=True):
    """A skill that is usable here. `vouched` when a person made it; `similarity` is its likeness to the request."""

    name: str
    version: str
    description: str
    similarity: float
    vouched: bool = False


class Offers(Protocol):
    """The library, as learning asks it."""

    async def offers(self, situation: Situation) -> Sequence[Offer]: ...


class NoOffers:
    """No skills."""

    async def offers(self, situation: Situation) -> Sequence[Offer]:
        return ()


def recommended(known: Sequence[Heuristic], offers: Sequence[Offer]) -> list[Heuristic]:
    """The heuristics that act in a run, with the skills among them that are chosen: usable here, at most two, each with
    the reason why it came before the others."""
    usable = {offer.name: offer for offer in offers}
    others = [heuristic for heuristic in known if heuristic.kind is not Kind.SKILL]
    fitting = {name for name, offer in usable.items() if offer.similarity >= FITTING}
    skills = [heuristic for heuristic in known if heuristic.kind is Kind.SKILL and heuristic.subject in fitting]
    skills.sort(key=lambda heuristic: _rank(heuristic, usable), reverse=True)
    chosen, passed = skills[:_RECOMMENDED], skills[_RECOMMENDED:]
    return [*others, *(_reasoned(heuristic, usable, [*chosen, *passed]) for heuristic in chosen)]


def _rank(heuristic: Heuristic, usable: Mapping[str, Offer]) -> tuple[bool, float, str]:
    """What tasks have shown comes first, then likeness; an untried skill counts as one without effect."""
    effect = heuristic.evidence.get("effect")
    shown = float(effect) if isinstance(effect, int | float) else 0.0
    shown_by = heuristic.evidence.get("tasks") or heuristic.evidence.get("pairs_won")
    proven = heuristic.stage is Stage.TRUSTED and bool(shown_by)
    return proven, shown + usable[heuristic.subject].similarity, heuristic.id


def _reasoned(heuristic: Heuristic, usable: Mapping[str, Offer], among: Sequence[Heuristic]) -> Heuristic:
    behind = among[among.index(heuristic) + 1 :]
    if not behind:
        return heuristic
    over = ", ".join(f"`{other.subject}` ({_figures(other, usable)})" for other in behind[:3])
    text = f"{heuristic.text}; {_figures(heuristic, usable)}, chosen before {over}"
    return msgspec.structs.replace(heuristic, text=text)


def _figures(heuristic: Heuristic, usable: Mapping[str, Offer]) -> str:
    effect = heuristic.evidence.get("effect")
    shown = f", effect {100 * effect:+.0f} points" if isinstance(effect, float) else ""
    return f"likeness {usable[heuristic.subject].similarity:.2f}{shown}"


def unproposed(known: Sequence[Heuristic], offers: Sequence[Offer]) -> list[Offer]:
    """Skills that fit a request and were never proposed here, or were rewritten since they were given up."""
    here = {heuristic.subject: heuristic for heuristic in known if heuristic.kind is Kind.SKILL}
    return [offer for offer in offers if offer.similarity >= FITTING and _is_new(here.get(offer.name), offer)]


def _is_new(known: Heuristic | None, offer: Offer) -> bool:
    if known is None:
        return True
    return known.stage is Stage.RETIRED and known.detail.get("version") != offer.version


class Proposing:
    """Proposes skills for families, each in one transaction under learning's lock."""

    def __init__(self, database: Database, settings: LearningSettings, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._settings = settings
        self._clock = clock

    async def propose(self, situation: Situation, offers: Sequence[Offer]) -> bool:
        """Whether anything new is proposed for the situation's family and model."""
        return await self._database.write(lambda connection: self._proposed(connection, situation, offers))

    async def withdraw(self, names: Collection[str], cause: str) -> int:
        """Give up every recommendation of skills that are no longer there; returns how many there were. Their places on
        probation are free then."""
        return await self._database.write(lambda connection: self._withdrawn(connection, names, cause))

    def _withdrawn(self, connection: Connection, names: Collection[str], cause: str) -> int:
        set_value(connection, "sequence", lock_sequence(connection, self._database.backend) - 1)
        marks = ", ".join("?" * len(names))
        rows = connection.run(
            f"SELECT id FROM heuristics WHERE kind = 'skill' AND subject IN ({marks}) AND stage IN"
            " ('candidate', 'awaiting_approval', 'probation', 'trusted')",
            tuple(names),
        )
        if not names or not rows:
            return 0
        known = list(read_heuristics(connection, [row[0] for row in rows]).values())
        register = register_for(connection, known, self._settings, "", self._clock())
        for heuristic in known:
            register.move(heuristic, Stage.RETIRED, cause)
        write_changes(connection, register, "", self._clock())
        return len(known)

    def _proposed(self, connection: Connection, situation: Situation, offers: Sequence[Offer]) -> bool:
        set_value(connection, "sequence", lock_sequence(connection, self._database.backend) - 1)
        if value_of(connection, "frozen"):
            return False
        known = placed_heuristics(connection, situation.model, (situation.family,))
        fresh = unproposed(known, offers)
        if not fresh:
            return False
        cells = Cells(lambda keys: read_cells(connection, keys))
        register = register_for(connection, known, self._settings, situation.run_id, self._clock())
        for offer in fresh:
            finding = _finding(situation, offer)
            cells.put(finding.key, TaskCell())
            register.apply([finding], cells)
        write_changes(connection, register, situation.run_id, self._clock())
        write_cells(connection, cells.changed())
        return True


def _finding(situation: Situation, offer: Offer) -> Finding:
    finding = Finding(
        wish=Wish.ACT,
        kind=Kind.SKILL,
        model=situation.model,
        family=situation.family,
        subject=offer.name,
        detail={"version": offer.version},
        text=offer.description,
        cause=f"fits a request (likeness {offer.similarity:.2f})",
        key=("", "", "", ""),
        vouched=offer.vouched,
    )
    return msgspec.structs.replace(finding, key=(finding.model, finding.family, f"task:{finding.id}", ""))

"""What the evidence comes to say, before anybody decides whether it may act."""

from __future__ import annotations

import hashlib
from enum import StrEnum
from typing import Any

from ..store.heuristics import CellKey, Kind
from ..types.base import Value
from ..types.ids import ALPHABET
from .cells import ToolCell
from .evidence import ACT


class Wish(StrEnum):
    """What a finding asks for: to be noted as a candidate, to act, to be looked at more or less often, or to stop."""

    NOTE = "note"
    ACT = "act"
    LOOK = "look"
    STOP = "stop"


class Finding(Value, frozen=True, kw_only=True):
    """One thing the evidence says. `key` is the cell it stands on; `once` when it touches an effect that must happen
    only once; `tentative` when it is a ranking, which no sequential test has confirmed yet; `vouched` when a person
    made it, so that it acts from the beginning."""

    wish: Wish
    kind: Kind
    model: str
    family: str
    subject: str
    cause: str
    key: CellKey
    text: str = ""
    condition: tuple[str, ...] = ()
    better: str = ""
    detail: dict[str, Any] = {}
    confidence: float = 0.0
    evidence: dict[str, Any] = {}
    once: bool = False
    tentative: bool = False
    vouched: bool = False

    @property
    def id(self) -> str:
        """The same finding has the same id wherever it is made."""
        parts = (self.kind.value, self.model, self.family, self.subject, *self.condition, self.better)
        digest = int.from_bytes(hashlib.blake2b("\0".join(parts).encode(), digest_size=8).digest())
        return "".join(ALPHABET[digest >> (5 * place) & 31] for place in range(12))


def confidence_of(cell: ToolCell, weight: float) -> float:
    """A confidence that grows with evidence and reaches .95 exactly where it may act."""
    return max(0.0, 1 - 1 / max(1.0, cell.strength(weight)))


def may_act(cell: ToolCell, weight: float) -> bool:
    """Enough evidence, from enough traces and sessions."""
    return cell.confirmed and cell.strength(weight) >= ACT


def counted(cell: ToolCell, weight: float = 1.0) -> dict[str, Any]:
    """A cell's evidence in a few figures for people."""
    evidence = cell.evidence
    return {
        "worked": evidence.worked,
        "failed": evidence.failed,
        "traces": cell.confirming,
        "sessions": len(cell.sessions),
        "e_value": round(min(cell.strength(weight), 1e12), 3),
        "e_restored": round(min(evidence.e_restored(), 1e12), 3) if cell.acting else 0.0,
    }


def hope(subject: str, condition: tuple[str, ...], key: CellKey, before: ToolCell, after: ToolCell) -> list[Finding]:
    """What follows when explorations begin to go well, or cease to: whatever stands on this cell is left aside more
    often, or as usual again."""
    if before.hopeful is after.hopeful:
        return []
    told = "worked when it was tried again; it is tried more often now" if after.hopeful else "failed again when tried"
    return [
        Finding(
            wish=Wish.LOOK,
            kind=Kind.HINT,
            model=key[0],
            family=key[1],
            subject=subject,
            condition=condition,
            cause=told,
            key=key,
            detail={"hopeful": after.hopeful},
            evidence=counted(after),
        )
    ]


def where(family: str, condition: tuple[str, ...]) -> str:
    """A condition in words."""
    place = "in tasks like this" if family != "*" else "in all kinds of tasks so far"
    return f"{place} with {' and '.join(condition)}" if condition else place

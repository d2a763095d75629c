"""What goes into a bundle: heuristics of this store with the counts behind them, less whatever is private."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from ..safety.redact import Redactor
from ..store.database import Connection, Database
from ..store.heuristics import EVERY_FAMILY, CellKey, Heuristic, Kind, Stage, read_cells
from ..store.learned import Heuristics
from ..store.lessons import in_batches
from ..types.base import Value
from ..types.errors import NotFound, UsageError
from ..version import __version__
from .bundle import (
    FORMAT,
    MOST_HEURISTICS,
    VERSION,
    Bundle,
    Claims,
    Counts,
    SharedFamily,
    SharedHeuristic,
    SharedTool,
    portable_model,
    private,
)
from .cells import stored_key

_MOST_COUNTED = 10**9
_MOST_FIGURES = 40
_ABOUT_TOOLS = (Kind.AVOID_TOOL, Kind.PREFER_TOOL, Kind.HINT)


class LeftOut(Value, frozen=True, kw_only=True):
    """A heuristic that is not shared, and why."""

    id: str
    why: str


class Gathered(Value, frozen=True, kw_only=True):
    """A bundle that is ready to be signed."""

    bundle: Bundle
    left_out: tuple[LeftOut, ...]


async def gather(
    database: Database, redactor: Redactor, at: float, *, family: str = "", model: str = "", stages: Sequence[Stage]
) -> Gathered:
    """The heuristics of these stages, as others may see them. `family` is a name or an id."""
    place = await database.read(lambda connection: _family_id(connection, family)) if family else ""
    found = await Heuristics(database).all(model=model, family=place, stages=stages)
    if len(found) > MOST_HEURISTICS:
        raise UsageError(
            f"{len(found)} heuristics are more than one bundle holds ({MOST_HEURISTICS})",
            remedy="narrow it with --family, --model or --stage",
        )
    families = await database.read(lambda connection: _families(connection, {one.family for one in found}))
    keys = [key for one in found for key in (_cell_of(one), *_tool_cells(one)) if key is not None]
    cells = await database.read(lambda connection: read_cells(connection, keys))
    shared: list[SharedHeuristic] = []
    left_out: list[LeftOut] = []
    claims = Claims()
    behind: dict[CellKey, SharedTool] = {}
    for one in sorted(found, key=lambda one: (one.model, one.family, one.kind.value, one.subject, one.id)):
        offered = _shared(one, families[one.family].name, cells)
        why = private(offered, redactor) or claims.against(offered)
        if why:
            left_out.append(LeftOut(id=one.id, why=why))
            continue
        shared.append(offered)
        for key in _tool_cells(one):
            counts = _counts(cells.get(key, ""))
            if counts is not None:
                tool = key[2].partition(":")[2]
                behind[key] = SharedTool(model=offered.model, family=offered.family, tool=tool, counts=counts)
    tools = {(one.model, one.family, one.tool): one for one in behind.values()}
    used = {one.family for one in shared} - {EVERY_FAMILY}
    named = {listed.name: listed for listed in families.values() if listed.name in used}
    bundle = Bundle(
        format=FORMAT,
        version=VERSION,
        product=__version__,
        made_at=round(at, 3),
        models=tuple(sorted({one.model for one in shared})),
        families=tuple(named[name] for name in sorted(named)),
        heuristics=tuple(shared),
        tools=tuple(tools[key] for key in sorted(tools)),
    )
    return Gathered(bundle=bundle, left_out=tuple(left_out))


def _family_id(connection: Connection, name: str) -> str:
    if name == EVERY_FAMILY:
        return name
    rows = connection.run("SELECT id FROM families WHERE id = ? OR name = ? ORDER BY id = ? DESC", (name, name, name))
    if not rows:
        raise NotFound(f"there is no family {name!r}", remedy="`hermes learning families` lists them")
    return str(rows[0][0])


def _families(connection: Connection, ids: Iterable[str]) -> dict[str, SharedFamily]:
    """Families by id; one that is only known by its id goes by that."""
    found = {family: SharedFamily(name=family) for family in ids}
    for part in in_batches(sorted(found), 200):
        marks = ", ".join("?" * len(part))
        for row in connection.run(f"SELECT id, name, tasks FROM families WHERE id IN ({marks})", part):
            found[row[0]] = SharedFamily(name=row[1] or row[0], tasks=min(row[2], _MOST_COUNTED))
    return found


def _shared(one: Heuristic, family: str, cells: Mapping[CellKey, str]) -> SharedHeuristic:
    key = _cell_of(one)
    counts = _counts(cells.get(key, "")) if key is not None else None
    return SharedHeuristic(
        kind=one.kind,
        model=portable_model(one.model),
        family=family,
        subject=one.subject,
        text=one.text,
        stage=one.stage,
        confidence=min(1.0, max(0.0, one.confidence)),
        counts=counts or _told(one.evidence),
        condition=one.condition,
        better=one.better,
        detail=one.detail,
        evidence=_figures(one.evidence),
    )


def _cell_of(one: Heuristic) -> CellKey | None:
    """Where the evidence of a heuristic lies; None where its own summary says all."""
    if one.kind in _ABOUT_TOOLS:
        return stored_key((one.model, one.family, f"tool:{one.subject}", " & ".join(one.condition)))
    if one.kind is Kind.FUTILE_RETRY:
        return one.model, one.family, f"retry:{one.subject}", ""
    return None


def _tool_cells(one: Heuristic) -> list[CellKey]:
    """The tools that a heuristic speaks of, in the family as a whole."""
    if one.kind not in _ABOUT_TOOLS:
        return []
    return [(one.model, one.family, f"tool:{tool}", "") for tool in (one.tool, one.better) if tool]


def _counts(payload: str) -> Counts | None:
    """The counts in a cell: those of one family, or of all families together."""
    cell = msgspec.json.decode(payload) if payload else {}
    evidence, families = cell.get("evidence"), cell.get("families")
    if isinstance(evidence, dict) and "worked" in evidence:
        return _told({**evidence, "sessions": len(cell.get("sessions", ()))})
    if isinstance(families, dict):
        pairs = list(families.values())
        return _told({"worked": sum(pair[0] for pair in pairs), "failed": sum(pair[1] for pair in pairs)})
    return None


def _told(evidence: Mapping[str, Any]) -> Counts:
    numbers = {name: evidence.get(name, 0) for name in ("worked", "failed", "sessions")}
    whole = {name: min(max(0, int(value)), _MOST_COUNTED) for name, value in numbers.items() if _is_number(value)}
    counts = Counts(**whole)
    seen = counts.worked + counts.failed
    return msgspec.structs.replace(counts, sessions=min(counts.sessions, seen) if seen else counts.sessions)


def _figures(evidence: Mapping[str, Any]) -> dict[str, float]:
    """The figures of a summary. Words are left out: they could name a run."""
    figures = {name: value for name, value in evidence.items() if _is_number(value) and abs(value) <= 1e15}
    return {name[:200]: figures[name] for name in sorted(figures)[:_MOST_FIGURES] if name}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)

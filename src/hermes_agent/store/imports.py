"""Bundles of other people's learning in the store: what one would change, taking it in, and taking it back exactly.

An import writes two things. Heuristics come as candidates: they wait for evidence of this store like any other. Rates
come as `prior:TOOL` cells that only rankings read. What was learned here is never changed by an import.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import msgspec

from ..types.base import Value
from ..types.errors import NotFound, UsageError
from ..types.ids import ALPHABET, new_id
from .codec import plain
from .database import Backend, Connection, Database
from .heuristics import (
    EVERY_FAMILY,
    AuditEntry,
    CellKey,
    Heuristic,
    Stage,
    activate_members,
    active_set,
    add_audit,
    lock_sequence,
    read_cells,
    read_heuristics,
    save_heuristic,
    set_value,
    value_of,
    write_cells,
)
from .lessons import ascii_json
from .runs import is_part

MOST_PRIOR = 5.0
"""How many observations all imports together may count for in a ranking."""
_UNTRIED = (Stage.CANDIDATE, Stage.AWAITING_APPROVAL)
_OVER = (Stage.RETIRED, Stage.REJECTED)
GiveUp = Callable[[Connection, Heuristic], None]
"""Tells the evidence behind a heuristic that it does not act any more, in the same transaction."""


class Prior(Value, frozen=True, kw_only=True):
    """How often a tool worked elsewhere, already discounted. `family` is a name in a bundle, an id in the store."""

    model: str
    family: str
    tool: str
    good: float
    all: float

    @property
    def cell(self) -> CellKey:
        """Where it is kept."""
        return self.model, self.family, f"prior:{self.tool}", ""


class Incoming(Value, frozen=True, kw_only=True):
    """What a checked bundle brings. Families go by name, heuristics have no id and no source yet."""

    fingerprint: str
    digest: str
    heuristics: tuple[Heuristic, ...] = ()
    priors: tuple[Prior, ...] = ()


class FamilyMatch(Value, frozen=True, kw_only=True):
    """The family that a name means here; `new` when there is none yet."""

    name: str
    id: str
    new: bool


class CellBefore(Value, frozen=True, kw_only=True):
    """What a cell held before the first import touched it; no payload when it was not there."""

    cell: CellKey
    payload: str | None = None


class Written(Value, frozen=True, kw_only=True):
    """What an import brought: enough to take it back, and to keep it when another import of the same is undone.
    `families` are here because of imports only; the last of those that is undone removes them."""

    families: tuple[FamilyMatch, ...] = ()
    heuristics: tuple[Heuristic, ...] = ()
    priors: tuple[Prior, ...] = ()
    before: tuple[CellBefore, ...] = ()


class Import(Value, frozen=True, kw_only=True):
    """One bundle that was taken in."""

    id: str
    fingerprint: str
    digest: str
    at: float
    undone_at: float | None
    written: Written


class Plan(Value, frozen=True, kw_only=True):
    """What an import would do: `heuristics` come in, `known` are here already and stay as they are. `already` is the
    import that took in the same bundle before."""

    families: tuple[FamilyMatch, ...] = ()
    heuristics: tuple[Heuristic, ...] = ()
    known: tuple[Heuristic, ...] = ()
    priors: tuple[Prior, ...] = ()
    already: str = ""


class Undone(Value, frozen=True, kw_only=True):
    """What taking an import back did, in ids. `retired` acted in runs since, `kept` another import brought too."""

    id: str
    removed: tuple[str, ...] = ()
    retired: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    cells: int = 0
    families: tuple[str, ...] = ()


class Imports:
    """Takes bundles in and back, each in one transaction while nobody learns."""

    def __init__(self, database: Database) -> None:
        self.database = database

    async def all(self) -> list[Import]:
        """Every import, the newest first, also those that were taken back."""
        return await self.database.read(lambda connection: _imports(connection, "ORDER BY at DESC, id DESC"))

    async def plan(self, incoming: Incoming) -> Plan:
        """What taking it in would change, without changing anything."""
        return await self.database.read(lambda connection: _plan(connection, incoming))

    async def take_in(self, incoming: Incoming, at: float) -> Import:
        """Write it. A bundle that is in already is refused, and nothing is changed."""
        import_id = new_id()
        backend = self.database.backend
        return await self.database.write(lambda connection: _take_in(connection, backend, incoming, import_id, at))

    async def undo(self, part: str, at: float, give_up: GiveUp) -> Undone:
        """Take an import back, by its id or the beginning of one. `give_up` is called for what has acted."""
        backend = self.database.backend
        return await self.database.write(lambda connection: _undo(connection, backend, part, at, give_up))


def claim_id(heuristic: Heuristic) -> str:
    """The id that the learner gives to the same claim: what comes from others and what is found here are one row."""
    place = (heuristic.kind.value, heuristic.model, heuristic.family)
    parts = (*place, heuristic.subject, *heuristic.condition, heuristic.better)
    digest = int.from_bytes(hashlib.blake2b("\0".join(parts).encode(), digest_size=8).digest())
    return "".join(ALPHABET[digest >> (5 * place) & 31] for place in range(12))


def combined(priors: Iterable[Prior]) -> str:
    """The payload of a prior cell: several sources add up, to no more than `MOST_PRIOR`."""
    found = list(priors)
    good, total = sum(prior.good for prior in found), sum(prior.all for prior in found)
    scale = min(1.0, MOST_PRIOR / total) if total else 0.0
    return ascii_json({"good": round(good * scale, 6), "all": round(total * scale, 6), "sessions": 0})


def _plan(connection: Connection, incoming: Incoming) -> Plan:
    already = _imports(connection, "WHERE digest = ? AND undone_at IS NULL", (incoming.digest,))
    names = [one.family for one in incoming.heuristics] + [one.family for one in incoming.priors]
    families = [match_family(connection, name) for name in dict.fromkeys(names)]
    ids = {match.name: match.id for match in families}
    placed = [msgspec.structs.replace(one, family=ids[one.family]) for one in incoming.heuristics]
    offered = {claim_id(one): one for one in placed}
    here = read_heuristics(connection, list(offered))
    known = {found.id: found for found in here.values() if _stays(found)}
    return Plan(
        families=tuple(match for match in families if match.id != EVERY_FAMILY),
        heuristics=tuple(msgspec.structs.replace(offered[new], id=new) for new in offered if new not in known),
        known=tuple(known.values()),
        priors=tuple(msgspec.structs.replace(prior, family=ids[prior.family]) for prior in incoming.priors),
        already=already[0].id if already else "",
    )


def _stays(heuristic: Heuristic) -> bool:
    return not heuristic.source.startswith("import:") or heuristic.stage in _OVER


def _is_untouched(heuristic: Heuristic) -> bool:
    return heuristic.stage in _UNTRIED and heuristic.applied_at is None


def match_family(connection: Connection, name: str) -> FamilyMatch:
    """The family with this name; one that was merged is the one it became part of."""
    if name == EVERY_FAMILY:
        return FamilyMatch(name=name, id=name, new=False)
    wanted = _family_id(name)
    rows = connection.run("SELECT id, merged_into FROM families WHERE name = ? OR id = ? ORDER BY id", (name, wanted))
    seen: set[str] = set()
    while rows:
        family, into = rows[0]
        if not into or into in seen:
            return FamilyMatch(name=name, id=str(family), new=False)
        seen.add(into)
        rows = connection.run("SELECT id, merged_into FROM families WHERE id = ?", (into,))
    return FamilyMatch(name=name, id=wanted, new=True)


def _family_id(name: str) -> str:
    """The id that a family gets which a person names so."""
    cleaned = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40].strip("-")
    return cleaned or "family-" + hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:8]


def _take_in(connection: Connection, backend: Backend, incoming: Incoming, import_id: str, at: float) -> Import:
    lock_sequence(connection, backend)
    plan = _plan(connection, incoming)
    if plan.already:
        undo = f"`hermes learning import --undo {plan.already}` takes it back"
        raise UsageError(f"this bundle is in already, as import {plan.already}", remedy=undo)
    live = _imports(connection, "WHERE undone_at IS NULL ORDER BY at, id")
    stamps = {"source": f"import:{import_id}", "created_at": at, "updated_at": at}
    carried = tuple(msgspec.structs.replace(one, **stamps) for one in plan.heuristics)
    made = {match.id: match for match in plan.families if match.new}
    shared = {match.id: match for other in live for match in other.written.families}
    owned = made | {match.id: shared[match.id] for match in plan.families if match.id in shared}
    before = _before(connection, plan.priors, live)
    written = Written(families=tuple(owned.values()), heuristics=carried, priors=plan.priors, before=before)
    whose, digest = incoming.fingerprint, incoming.digest
    taken = Import(id=import_id, fingerprint=whose, digest=digest, at=at, undone_at=None, written=written)
    _add_families(connection, made.values(), at)
    _add_candidates(connection, carried, f"imported from {whose}", at)
    _write_priors(connection, before, [*live, taken])
    connection.run(
        "INSERT INTO imports (id, fingerprint, digest, at, undone_at, payload) VALUES (?, ?, ?, ?, ?, ?)",
        (import_id, whose, digest, at, None, ascii_json(written)),
    )
    return taken


def _add_families(connection: Connection, made: Collection[FamilyMatch], at: float) -> None:
    for match in made:
        connection.run(
            "INSERT INTO families (id, name, named_by, centroid, tasks, merged_into, created_at, updated_at)"
            " VALUES (?, ?, 'import', '{}', 0, '', ?, ?)",
            (match.id, plain(match.name), at, at),
        )
    _families_changed(connection, made)


def _add_candidates(connection: Connection, carried: Sequence[Heuristic], cause: str, at: float) -> None:
    """Write those that are not here yet; the same claim of an earlier import stays as it is."""
    here = read_heuristics(connection, [one.id for one in carried])
    for one in carried:
        if one.id not in here:
            save_heuristic(connection, one)
            add_audit(connection, _entry(one, "", one.stage, cause, 0, at))


def _before(connection: Connection, priors: Sequence[Prior], live: Sequence[Import]) -> tuple[CellBefore, ...]:
    """What the cells held before any import that is still in: that is what the last undo must restore."""
    inherited = {old.cell: old for taken in reversed(live) for old in taken.written.before}
    cells = list(dict.fromkeys(prior.cell for prior in priors))
    held = read_cells(connection, cells)
    return tuple(inherited.get(cell) or CellBefore(cell=cell, payload=held.get(cell)) for cell in cells)


def _write_priors(connection: Connection, touched: Sequence[CellBefore], live: Sequence[Import]) -> None:
    """Bring the touched cells up to date with the imports that are in. A newer bundle of the same key replaces what an
    older one said, so that the same observations never count twice."""
    latest: dict[CellKey, dict[str, Prior]] = {}
    for taken in live:
        for prior in taken.written.priors:
            latest.setdefault(prior.cell, {})[taken.fingerprint] = prior
    fresh = {}
    for old in touched:
        if old.cell in latest:
            fresh[old.cell] = combined(latest[old.cell].values())
        elif old.payload is not None:
            fresh[old.cell] = old.payload
        else:
            connection.run(
                "DELETE FROM cells WHERE model = ? AND family = ? AND subject = ? AND condition = ?", old.cell
            )
    write_cells(connection, fresh)


def _undo(connection: Connection, backend: Backend, part: str, at: float, give_up: GiveUp) -> Undone:
    lock_sequence(connection, backend)
    taken = _meant(connection, part)
    others = _imports(connection, "WHERE undone_at IS NULL AND id <> ? ORDER BY at, id", (taken.id,))
    removed, retired, kept = _withdraw(connection, taken, others, at, give_up)
    _write_priors(connection, taken.written.before, others)
    families = _drop_families(connection, taken, others)
    connection.run("UPDATE imports SET undone_at = ? WHERE id = ?", (at, taken.id))
    gone = {"removed": tuple(removed), "retired": tuple(retired), "kept": tuple(kept), "families": tuple(families)}
    return Undone(id=taken.id, cells=len(taken.written.before), **gone)


def _meant(connection: Connection, part: str) -> Import:
    found = _imports(connection, "WHERE id LIKE ? LIMIT 3", (f"{part}%",)) if is_part(part) else []
    if len(found) != 1:
        problem = "fits more than one import" if found else "is no import"
        raise NotFound(f"{part!r} {problem}", remedy="`hermes learning import --list` shows them")
    if found[0].undone_at is not None:
        raise UsageError(f"import {found[0].id} was taken back already", remedy="there is nothing left to undo")
    return found[0]


def _withdraw(
    connection: Connection, taken: Import, others: Sequence[Import], at: float, give_up: GiveUp
) -> tuple[list[str], list[str], list[str]]:
    """Take the heuristics of an import out. One that has acted is retired instead: past runs refer to it."""
    elsewhere = {one.id: one for other in reversed(others) for one in other.written.heuristics}
    here = read_heuristics(connection, [one.id for one in taken.written.heuristics])
    mine = [one for one in here.values() if one.source == f"import:{taken.id}"]
    removed, retired, kept = [], [], []
    acting = [one.id for one in mine if one.id not in elsewhere and not _is_untouched(one)]
    remaining = [member for member in active_set(connection).members if member not in acting]
    cause = f"import {taken.id} from {taken.fingerprint} was undone"
    version = activate_members(connection, remaining, cause, "", at)
    for one in mine:
        if one.id in elsewhere:
            _hand_over(connection, one, elsewhere[one.id])
            kept.append(one.id)
        elif _is_untouched(one):
            connection.run("DELETE FROM heuristics WHERE id = ?", (one.id,))
            add_audit(connection, _entry(one, one.stage, "", cause, version, at))
            removed.append(one.id)
        elif one.stage not in _OVER:
            give_up(connection, one)
            save_heuristic(connection, msgspec.structs.replace(one, stage=Stage.RETIRED, updated_at=at))
            add_audit(connection, _entry(one, one.stage, Stage.RETIRED, cause, version, at))
            retired.append(one.id)
    return removed, retired, kept


def _hand_over(connection: Connection, here: Heuristic, other: Heuristic) -> None:
    """The same claim came with another import, which is still in: from now on it is that one's."""
    if _is_untouched(here):
        connection.run("DELETE FROM heuristics WHERE id = ?", (here.id,))
        save_heuristic(connection, msgspec.structs.replace(other, stage=here.stage))
    else:
        connection.run("UPDATE heuristics SET source = ? WHERE id = ?", (other.source, here.id))


def _drop_families(connection: Connection, taken: Import, others: Sequence[Import]) -> list[str]:
    """Remove the families that the import made, unless something else lives in them by now."""
    used = {one.family for other in others for one in other.written.heuristics}
    used |= {prior.family for other in others for prior in other.written.priors}
    dropped = []
    for match in taken.written.families:
        rows = connection.run("SELECT tasks FROM families WHERE id = ? AND merged_into = ''", (match.id,))
        lessons = connection.run("SELECT run_id FROM lessons WHERE family = ? LIMIT 1", (match.id,))
        rest = connection.run("SELECT id FROM heuristics WHERE family = ? LIMIT 1", (match.id,))
        if rows and not rows[0][0] and not lessons and not rest and match.id not in used:
            connection.run("DELETE FROM families WHERE id = ?", (match.id,))
            dropped.append(match.id)
    _families_changed(connection, dropped)
    return dropped


def _families_changed(connection: Connection, changed: Collection[object]) -> None:
    if changed:
        set_value(connection, "families", value_of(connection, "families") + 1)


def _entry(one: Heuristic, was: str, became: str, cause: str, version: int, at: float) -> AuditEntry:
    return AuditEntry(
        seq=0,
        heuristic_id=one.id,
        kind=one.kind.value,
        model=one.model,
        family=one.family,
        was=was,
        became=became,
        cause=cause,
        run_id="",
        evidence=one.evidence,
        set_version=version,
        at=at,
    )


def _imports(connection: Connection, where: str, params: Sequence[Any] = ()) -> list[Import]:
    names = ("id", "fingerprint", "digest", "at", "undone_at")
    rows = connection.run(f"SELECT {', '.join(names)}, payload FROM imports {where}", params)
    return [
        Import(**dict(zip(names, row[:-1], strict=True)), written=msgspec.json.decode(row[-1], type=Written))
        for row in rows
    ]

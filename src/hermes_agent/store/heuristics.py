"""Heuristics, their sets, their audit and the evidence behind them, as stored. What they mean is `learning`'s business.

Functions here take a connection and run inside the caller's transaction; `learned.py` is for those who only read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Any

import msgspec

from ..types.base import Value
from ..types.errors import NotFound
from .codec import plain
from .database import Backend, Connection, Row
from .lessons import ascii_json, in_batches

COLUMNS = (
    "id, kind, model, family, subject, condition, better, text, detail, stage, confidence, evidence, source,"
    " created_at, updated_at, applied_at"
)
_UPSERT = (
    f"INSERT INTO heuristics ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (id) DO UPDATE SET stage = excluded.stage, confidence = excluded.confidence,"
    " text = excluded.text, detail = excluded.detail, source = excluded.source, evidence = excluded.evidence,"
    " updated_at = excluded.updated_at, applied_at = excluded.applied_at"
)
_AUDIT = (
    "INSERT INTO heuristic_audit (seq, heuristic_id, kind, model, family, was, became, cause, run_id, evidence,"
    " set_version, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_SAVE_CELL = (
    "INSERT INTO cells (model, family, subject, condition, payload) VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT (model, family, subject, condition) DO UPDATE SET payload = excluded.payload"
)
_MOST_CELLS = 128
ANY_TOOL = "*"
ANY_REPEAT = "*:*"
"""Any call that is made once more, unchanged, after it failed."""
EVERY_FAMILY = "*"
"""The family of what holds in all families."""


class Kind(StrEnum):
    """What a heuristic does."""

    AVOID_TOOL = "avoid_tool"
    PREFER_TOOL = "prefer_tool"
    FUTILE_RETRY = "futile_retry"
    REPAIR = "repair"
    SKIP_STEP = "skip_step"
    MOVE_STEP = "move_step"
    HINT = "hint"
    WORKFLOW = "workflow"
    SKILL = "skill"


class Stage(StrEnum):
    """Where a heuristic stands in its life. What a person rejected is not proposed again."""

    CANDIDATE = "candidate"
    AWAITING_APPROVAL = "awaiting_approval"
    PROBATION = "probation"
    TRUSTED = "trusted"
    RETIRED = "retired"
    REJECTED = "rejected"

    @property
    def acts(self) -> bool:
        """Whether it may influence a run."""
        return self in (Stage.PROBATION, Stage.TRUSTED)


class Heuristic(Value, frozen=True, kw_only=True):
    """Something learned, with its evidence. `condition` is empty (the whole family), one feature, or a pair.

    What it says never changes; `text` puts it in words with the figures of the last change. `subject` is the tool it is
    about ("tool" or "tool:error class"), `better` the tool or step to use instead, `detail` what a kind needs beyond
    that. `evidence` is a summary for people at the time of the last change.
    """

    id: str
    kind: Kind
    model: str
    family: str
    subject: str
    text: str
    condition: tuple[str, ...] = ()
    better: str = ""
    detail: dict[str, Any] = {}
    stage: Stage = Stage.CANDIDATE
    confidence: float = 0.0
    evidence: dict[str, Any] = {}
    source: str = "learned"
    created_at: float = 0.0
    updated_at: float = 0.0
    applied_at: float | None = None

    @property
    def tool(self) -> str:
        """The tool it is about."""
        return self.subject.partition(":")[0]


class HeuristicSet(Value, frozen=True, kw_only=True):
    """An immutable set of heuristics that act together."""

    version: int
    parent: int
    members: tuple[str, ...]
    cause: str
    run_id: str
    at: float


class AuditEntry(Value, frozen=True, kw_only=True):
    """One change of one heuristic: when, why, after which run, and what was known at that moment."""

    seq: int
    heuristic_id: str
    kind: str
    model: str
    family: str
    was: str
    became: str
    cause: str
    run_id: str
    evidence: dict[str, Any]
    set_version: int
    at: float


CellKey = tuple[str, str, str, str]
"""(model, family, subject, condition)"""


def lock_sequence(connection: Connection, backend: Backend) -> int:
    """The next place in the sequence of lessons. Holds others off until the commit."""
    rows = connection.run(f"SELECT id, value FROM learning WHERE id = 'sequence'{backend.row_lock}")
    seq = int(rows[0][1]) + 1
    connection.run("UPDATE learning SET value = ? WHERE id = 'sequence'", (seq,))
    return seq


def value_of(connection: Connection, name: str) -> int:
    """A counter or switch of learning."""
    return int(connection.run("SELECT value FROM learning WHERE id = ?", (name,))[0][0])


def values_of(connection: Connection) -> dict[str, int]:
    """All counters and switches of learning."""
    return {row[0]: int(row[1]) for row in connection.run("SELECT id, value FROM learning")}


def set_value(connection: Connection, name: str, value: int) -> None:
    """Change a counter or switch."""
    connection.run("UPDATE learning SET value = ? WHERE id = ?", (value, name))


def read_cells(connection: Connection, keys: Iterable[CellKey]) -> dict[CellKey, str]:
    """The stored cells among `keys`, by a few sizes of statements only, so that engines prepare each once."""
    found: dict[CellKey, str] = {}
    for part in in_batches(list(dict.fromkeys(keys)), _MOST_CELLS):
        wanted = list(part)
        wanted += wanted[-1:] * ((1 << (len(part) - 1).bit_length()) - len(part))
        rows = connection.run(_read_cells(len(wanted)), [text for key in wanted for text in key])
        found.update({(row[0], row[1], row[2], row[3]): row[4] for row in rows})
    return found


@lru_cache(maxsize=16)
def _read_cells(count: int) -> str:
    """A join, because engines look up each of its rows in the index; a list of pairs they compare with every cell."""
    marks = ", ".join(["(?, ?, ?, ?)"] * count)
    return (
        f"SELECT model, family, subject, condition, payload FROM (VALUES {marks}) wanted JOIN cells"
        " ON model = column1 AND family = column2 AND subject = column3 AND condition = column4"
    )


def write_cells(connection: Connection, cells: Mapping[CellKey, str]) -> None:
    """Insert or replace cells."""
    connection.run_all([(_SAVE_CELL, (*key, payload)) for key, payload in cells.items()])


def read_heuristics(connection: Connection, ids: Sequence[str]) -> dict[str, Heuristic]:
    """The heuristics with these ids, as far as there are any."""
    found = {}
    for part in in_batches(ids, 500):
        marks = ", ".join("?" * len(part))
        for row in connection.run(f"SELECT {COLUMNS} FROM heuristics WHERE id IN ({marks})", part):
            found[row[0]] = heuristic_of(row)
    return found


def placed_heuristics(connection: Connection, model: str, families: Sequence[str]) -> list[Heuristic]:
    """Every heuristic of a model in these families, whatever its stage."""
    marks = ", ".join("?" * len(families))
    rows = connection.run(
        f"SELECT {COLUMNS} FROM heuristics WHERE model = ? AND family IN ({marks}) ORDER BY id", (model, *families)
    )
    return [heuristic_of(row) for row in rows]


def save_heuristic(connection: Connection, heuristic: Heuristic) -> None:
    """Insert a heuristic, or bring its stage and evidence up to date."""
    connection.run(
        _UPSERT,
        (
            heuristic.id,
            heuristic.kind.value,
            plain(heuristic.model),
            plain(heuristic.family),
            plain(heuristic.subject),
            ascii_json(heuristic.condition),
            plain(heuristic.better),
            plain(heuristic.text),
            ascii_json(heuristic.detail),
            heuristic.stage.value,
            heuristic.confidence,
            ascii_json(heuristic.evidence),
            plain(heuristic.source),
            heuristic.created_at,
            heuristic.updated_at,
            heuristic.applied_at,
        ),
    )


def add_audit(connection: Connection, entry: AuditEntry) -> None:
    """Append to the audit log; the entry's place is given here."""
    seq = value_of(connection, "audit") + 1
    set_value(connection, "audit", seq)
    connection.run(
        _AUDIT,
        (
            seq,
            entry.heuristic_id,
            entry.kind,
            plain(entry.model),
            plain(entry.family),
            entry.was,
            entry.became,
            plain(entry.cause),
            entry.run_id,
            ascii_json(entry.evidence),
            entry.set_version,
            entry.at,
        ),
    )


def read_set(connection: Connection, version: int) -> HeuristicSet:
    """A set by its version."""
    rows = connection.run(
        "SELECT version, parent, members, cause, run_id, at FROM heuristic_sets WHERE version = ?", (version,)
    )
    if not rows:
        raise NotFound(f"there is no heuristic set {version}", remedy="`hermes learning sets` lists them")
    return set_of(rows[0])


def changed_since(connection: Connection, audit: int) -> list[str]:
    """The heuristics that changed behind a place in the audit log."""
    return [row[0] for row in connection.run("SELECT heuristic_id FROM heuristic_audit WHERE seq > ?", (audit,))]


def active_set(connection: Connection) -> HeuristicSet:
    """The set in force."""
    return read_set(connection, value_of(connection, "active_set"))


def activate_members(connection: Connection, members: Iterable[str], cause: str, run_id: str, at: float) -> int:
    """Make a new set of these members the active one; returns its version, or the present one if nothing differs."""
    current = active_set(connection)
    wanted = tuple(sorted(set(members)))
    if wanted == current.members:
        return current.version
    version = int(connection.run("SELECT MAX(version) FROM heuristic_sets")[0][0]) + 1
    connection.run(
        "INSERT INTO heuristic_sets (version, parent, members, cause, run_id, at) VALUES (?, ?, ?, ?, ?, ?)",
        (version, current.version, ascii_json(wanted), plain(cause), run_id, at),
    )
    set_value(connection, "active_set", version)
    return version


@lru_cache(maxsize=4096)
def heuristic_of(row: Row) -> Heuristic:
    """A row as a value, made once for as long as the row stays the same: every lesson reads those of its family."""
    return Heuristic(
        id=row[0],
        kind=Kind(row[1]),
        model=row[2],
        family=row[3],
        subject=row[4],
        condition=msgspec.json.decode(row[5], type=tuple[str, ...]),
        better=row[6],
        text=row[7],
        detail=msgspec.json.decode(row[8]),
        stage=Stage(row[9]),
        confidence=row[10],
        evidence=msgspec.json.decode(row[11]),
        source=row[12],
        created_at=row[13],
        updated_at=row[14],
        applied_at=row[15],
    )


def set_of(row: Row) -> HeuristicSet:
    """A row of `heuristic_sets` as a value."""
    members = msgspec.json.decode(row[2], type=tuple[str, ...])
    return HeuristicSet(version=row[0], parent=row[1], members=members, cause=row[3], run_id=row[4], at=row[5])


def entry_of(row: Row) -> AuditEntry:
    """A row of `heuristic_audit` as a value."""
    return AuditEntry(
        seq=row[0],
        heuristic_id=row[1],
        kind=row[2],
        model=row[3],
        family=row[4],
        was=row[5],
        became=row[6],
        cause=row[7],
        run_id=row[8],
        evidence=msgspec.json.decode(row[9]),
        set_version=row[10],
        at=row[11],
    )

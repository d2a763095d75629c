"""Families of tasks as stored: names, centroids, and what people do to them. What a centroid means is `learning`'s
business; here it is a mean that can be mixed with another.

Functions take a connection and run inside the caller's transaction, which has locked the sequence if it writes.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec

from ..types.base import Value
from ..types.errors import NotFound, UsageError
from .codec import plain
from .database import Connection, Database, Row
from .heuristics import (
    EVERY_FAMILY,
    AuditEntry,
    Heuristic,
    Stage,
    activate_members,
    active_set,
    add_audit,
    lock_sequence,
    read_heuristics,
    save_heuristic,
    set_value,
    value_of,
)
from .lessons import ascii_json, in_batches

T = TypeVar("T")
Centroid = dict[int, float]
"""The weight of each hashed feature in the mean of a family's requests."""

LARGEST_CENTROID = 200
_LONGEST_NAME = 40
_MOST_NAMED = 1000
_COLUMNS = "id, name, named_by, centroid, tasks, merged_into, created_at, updated_at"
_UPSERT = (
    f"INSERT INTO families ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET"
    " name = excluded.name, named_by = excluded.named_by, centroid = excluded.centroid, tasks = excluded.tasks,"
    " merged_into = excluded.merged_into, updated_at = excluded.updated_at"
)
_REMEDY = "`hermes learning families` lists them"


class Family(Value, frozen=True, kw_only=True):
    """A kind of task. `named_by` is "text" when the name was made from the first request, "user" when a person gave it.

    `updated_at` is when it last got a task. A family that was merged stays, so that its id still leads somewhere."""

    id: str
    name: str
    named_by: str = "text"
    centroid: Centroid = {}
    tasks: int = 0
    merged_into: str = ""
    created_at: float = 0.0
    updated_at: float = 0.0


class FamilyLine(Value, frozen=True, kw_only=True):
    """A family as people see it. `success_rate` is None while nothing was judged."""

    id: str
    name: str
    tasks: int
    lessons: int
    judged: int
    success_rate: float | None
    last_used: float
    active_heuristics: int


class Merged(Value, frozen=True, kw_only=True):
    """What a merge did: which heuristics it retired, how many cells of evidence it deleted, the set now in force.

    `runs` are those whose lessons moved, for splitting them off again; at most a thousand are named."""

    source: str
    target: str
    lessons: int
    runs: tuple[str, ...]
    retired: tuple[str, ...]
    cells: int
    version: int


class Split(Value, frozen=True, kw_only=True):
    """What a split did."""

    source: str
    family: Family
    runs: tuple[str, ...]


def clean_name(text: str) -> str:
    """A family's name as an id: lower case, letters, digits and hyphens, at most forty of them."""
    cleaned = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:_LONGEST_NAME].strip("-")
    if not cleaned:
        raise UsageError(f"{text!r} is no name for a family", remedy="use letters a to z and digits")
    return cleaned


def mixed(first: Centroid, first_weight: float, second: Centroid, second_weight: float) -> Centroid:
    """The weighted mean of two centroids; only the strongest entries, so that a row stays small."""
    whole = first_weight + second_weight
    if whole <= 0:
        return {}
    mean = {key: weight * first_weight / whole for key, weight in first.items()}
    for key, weight in second.items():
        mean[key] = mean.get(key, 0.0) + weight * second_weight / whole
    strongest = sorted(mean.items(), key=lambda entry: (-entry[1], entry[0]))[:LARGEST_CENTROID]
    return {key: round(weight, 5) for key, weight in strongest}


def read_families(connection: Connection, ids: Sequence[str] | None = None) -> list[Family]:
    """All of them, the merged ones too; or those with these ids."""
    if ids is None:
        return [_family(row) for row in connection.run(f"SELECT {_COLUMNS} FROM families ORDER BY id")]
    asked = ((f"id IN ({', '.join('?' * len(part))})", part) for part in in_batches(ids, 500))
    each = (connection.run(f"SELECT {_COLUMNS} FROM families WHERE {where}", part) for where, part in asked)
    return [_family(row) for rows in each for row in rows]


def family_by_id(connection: Connection, family_id: str) -> Family | None:
    """A family by its whole id."""
    rows = connection.run(f"SELECT {_COLUMNS} FROM families WHERE id = ?", (family_id,))
    return _family(rows[0]) if rows else None


def resolved(connection: Connection, family_id: str) -> str:
    """The family that `family_id` is part of now: itself, or what it was merged into."""
    rows = connection.run("SELECT merged_into FROM families WHERE id = ?", (family_id,))
    return str(rows[0][0]) if rows and rows[0][0] else family_id


def save_family(connection: Connection, family: Family) -> None:
    """Insert or replace a family, and let those who keep a copy know."""
    connection.run(
        _UPSERT,
        (
            family.id,
            plain(family.name),
            family.named_by,
            ascii_json(family.centroid),
            family.tasks,
            family.merged_into,
            family.created_at,
            family.updated_at,
        ),
    )
    set_value(connection, "families", value_of(connection, "families") + 1)


def count_task(connection: Connection, family_id: str, at: float) -> None:
    """One more task of a family whose centroid stays as it is: copies of the families stay good."""
    connection.run(
        "UPDATE families SET tasks = tasks + 1, updated_at = CASE WHEN updated_at < ? THEN ? ELSE updated_at END"
        " WHERE id = ?",
        (at, at, family_id),
    )


def find_family(connection: Connection, part: str) -> Family:
    """The family with this id or name, else the only one whose id or name begins so; merged ones are followed."""
    for where, params in (
        ("id = ?", (plain(part),)),
        ("name = ? AND merged_into = ''", (plain(part),)),
        ("merged_into = '' AND (substr(id, 1, ?) = ? OR substr(name, 1, ?) = ?)", (len(part), plain(part)) * 2),
    ):
        rows = connection.run(f"SELECT {_COLUMNS} FROM families WHERE {where} LIMIT 2", params) if part else []
        if len(rows) > 1:
            raise NotFound(f"{part!r} fits more than one family", remedy=_REMEDY)
        if rows:
            found = _family(rows[0])
            return find_family(connection, found.merged_into) if found.merged_into else found
    raise NotFound(f"{part!r} is no family", remedy=_REMEDY)


def merge_families(connection: Connection, source: Family, target: Family, at: float) -> Merged:
    """Make `source` part of `target`. Evidence gathered under two meanings cannot be added up: that of the source is
    deleted and its heuristics retire; that of the target stays as it is."""
    if source.id == target.id:
        raise UsageError(f"{source.name!r} cannot be merged with itself", remedy="name two families")
    lessons = _count(connection, "lessons", source.id)
    cells = _count(connection, "cells", source.id)
    moved = connection.run("SELECT run_id FROM lessons WHERE family = ? LIMIT ?", (source.id, _MOST_NAMED))
    connection.run("UPDATE lessons SET family = ? WHERE family = ?", (target.id, source.id))
    connection.run("DELETE FROM cells WHERE family = ?", (source.id,))
    connection.run("DELETE FROM watches WHERE family IN (?, ?)", (source.id, f"{source.id}~inferred"))
    retired, version = _retire(connection, source.id, f"family merged into {target.name}", at)
    connection.run("UPDATE families SET merged_into = ? WHERE merged_into = ?", (target.id, source.id))
    save_family(
        connection,
        msgspec.structs.replace(
            target,
            centroid=mixed(target.centroid, target.tasks, source.centroid, source.tasks),
            tasks=target.tasks + source.tasks,
            updated_at=max(target.updated_at, source.updated_at),
        ),
    )
    save_family(connection, msgspec.structs.replace(source, merged_into=target.id, tasks=0))
    return Merged(
        source=source.id,
        target=target.id,
        lessons=lessons,
        runs=tuple(sorted(row[0] for row in moved)),
        retired=tuple(retired),
        cells=cells,
        version=version,
    )


def _retire(connection: Connection, family: str, cause: str, at: float) -> tuple[list[str], int]:
    """Retire what was learned in a family and take it out of the set in force."""
    rows = connection.run(
        "SELECT id FROM heuristics WHERE family = ? AND stage NOT IN ('retired', 'rejected') ORDER BY id", (family,)
    )
    ids = [str(row[0]) for row in rows]
    members = [member for member in active_set(connection).members if member not in set(ids)]
    version = activate_members(connection, members, cause, "", at)
    for heuristic in read_heuristics(connection, ids).values():
        save_heuristic(connection, msgspec.structs.replace(heuristic, stage=Stage.RETIRED, updated_at=at))
        add_audit(connection, _retirement(heuristic, cause, version, at))
    return ids, version


def _retirement(heuristic: Heuristic, cause: str, version: int, at: float) -> AuditEntry:
    return AuditEntry(
        seq=0,
        heuristic_id=heuristic.id,
        kind=heuristic.kind.value,
        model=heuristic.model,
        family=heuristic.family,
        was=heuristic.stage.value,
        became=Stage.RETIRED.value,
        cause=cause,
        run_id="",
        evidence=heuristic.evidence,
        set_version=version,
        at=at,
    )


def split_family(connection: Connection, source: Family, run_ids: Sequence[str], made: Family) -> Split:
    """Give the lessons of some runs to a family of their own. Evidence that they left in `source` stays there."""
    runs = list(dict.fromkeys(map(plain, run_ids)))
    if not runs:
        raise UsageError("a split needs at least one run", remedy="name them with --runs ID,ID")
    taken = family_by_id(connection, made.id)
    if made.id in (source.id, EVERY_FAMILY) or (taken is not None and not taken.merged_into):
        raise UsageError(f"there is a family {made.id!r} already", remedy="choose another name")
    _refuse_taken_name(connection, made.name, made.id)
    here: set[str] = set()
    for part in in_batches(runs, 500):
        marks = ", ".join("?" * len(part))
        rows = connection.run(
            f"SELECT run_id FROM lessons WHERE family = ? AND run_id IN ({marks})", (source.id, *part)
        )
        here.update(row[0] for row in rows)
    if missing := [run for run in runs if run not in here]:
        raise NotFound(
            f"{', '.join(missing[:3])}: nothing was learned from {'it' if len(missing) == 1 else 'them'} in the family"
            f" {source.name!r}",
            remedy="give whole ids of runs of this family; nothing was changed",
        )
    for part in in_batches(runs, 500):
        marks = ", ".join("?" * len(part))
        connection.run(f"UPDATE lessons SET family = ? WHERE run_id IN ({marks})", (made.id, *part))
    save_family(connection, msgspec.structs.replace(source, tasks=max(0, source.tasks - len(runs))))
    family = msgspec.structs.replace(made, tasks=len(runs))
    save_family(connection, family)
    return Split(source=source.id, family=family, runs=tuple(runs))


def _refuse_taken_name(connection: Connection, name: str, family_id: str) -> None:
    rows = connection.run(
        "SELECT id FROM families WHERE (name = ? OR id = ?) AND id <> ? AND merged_into = '' LIMIT 1",
        (name, name, family_id),
    )
    if rows:
        raise UsageError(f"there is a family {name!r} already", remedy="choose another name, or merge the two")


class Families:
    """Families for people: listed, found, renamed, merged, split. Every change is one transaction, one at a time."""

    def __init__(self, database: Database, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock

    async def all(self) -> list[Family]:
        """Those in use, last used first."""

        def unit(connection: Connection) -> list[Family]:
            rows = connection.run(
                f"SELECT {_COLUMNS} FROM families WHERE merged_into = '' ORDER BY updated_at DESC, id"
            )
            return [_family(row) for row in rows]

        return await self._database.read(unit)

    async def lines(self, limit: int) -> list[FamilyLine]:
        """The families used last, with how they fare."""

        def unit(connection: Connection) -> list[FamilyLine]:
            acting = read_heuristics(connection, active_set(connection).members).values()
            rows = connection.run(
                "SELECT id, name, tasks, updated_at FROM families WHERE merged_into = ''"
                " ORDER BY updated_at DESC, id LIMIT ?",
                (limit,),
            )
            return [_line(connection, row, sum(one.family == row[0] for one in acting)) for row in rows]

        return await self._database.read(unit)

    async def get(self, part: str) -> Family:
        """The family with this id, name, or unique beginning of either."""
        return await self._database.read(lambda connection: find_family(connection, part))

    async def rename(self, family_id: str, name: str) -> Family:
        """Give a family another name; its id stays, so nothing learned is lost."""
        cleaned = clean_name(name)

        def unit(connection: Connection) -> Family:
            family = find_family(connection, family_id)
            _refuse_taken_name(connection, cleaned, family.id)
            renamed = msgspec.structs.replace(family, name=cleaned, named_by="user")
            save_family(connection, renamed)
            return renamed

        return await self._change(unit)

    async def merge(self, source: str, target: str) -> Merged:
        """Make one family part of another; see `merge_families`."""

        def unit(connection: Connection) -> Merged:
            families = find_family(connection, source), find_family(connection, target)
            return merge_families(connection, *families, self._clock())

        return await self._change(unit)

    async def split(self, family_id: str, run_ids: Sequence[str], new_name: str, centroid: Centroid) -> Split:
        """Make a family of some runs of another. `centroid` is that of their requests."""
        name, now = clean_name(new_name), self._clock()
        made = Family(id=name, name=name, named_by="user", centroid=centroid, created_at=now, updated_at=now)
        return await self._change(
            lambda connection: split_family(connection, find_family(connection, family_id), run_ids, made)
        )

    async def _change(self, unit: Callable[[Connection], T]) -> T:
        """`unit` while nobody else learns. No lesson is added, so the place in the sequence is given back."""

        def locked(connection: Connection) -> T:
            seq = lock_sequence(connection, self._database.backend)
            result = unit(connection)
            set_value(connection, "sequence", seq - 1)
            return result

        return await self._database.write(locked)


def _line(connection: Connection, row: Row, acting: int) -> FamilyLine:
    lessons, judged, good = connection.run(
        "SELECT COUNT(*), COUNT(success), COALESCE(SUM(success), 0) FROM lessons WHERE family = ?", (row[0],)
    )[0]
    return FamilyLine(
        id=row[0],
        name=row[1],
        tasks=row[2],
        lessons=lessons,
        judged=judged,
        success_rate=round(int(good) / judged, 4) if judged else None,
        last_used=row[3],
        active_heuristics=acting,
    )


def _count(connection: Connection, table: str, family: str) -> int:
    return int(connection.run(f"SELECT COUNT(*) FROM {table} WHERE family = ?", (family,))[0][0])


def _family(row: Row) -> Family:
    return Family(
        id=row[0],
        name=row[1],
        named_by=row[2],
        centroid=msgspec.json.decode(row[3], type=Centroid),
        tasks=row[4],
        merged_into=row[5],
        created_at=row[6],
        updated_at=row[7],
    )

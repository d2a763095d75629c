"""Skills as the store knows them: statistics, every version that was ever seen, and every use.

The Markdown on disk is the truth about what a skill says; here lies what it cannot say about itself. `shelf` is a text
because project skills of different workspaces may share a name: theirs is `project:` and a digest of the workspace.
"""

from __future__ import annotations

import base64
import binascii
import math
import zlib
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, get_type_hints

import msgspec

from ..types.base import Value
from ..types.errors import NotFound, StoreDamaged, UsageError
from ..types.ids import new_id
from ..types.text import clean_json
from .codec import plain
from .database import Connection, Database, Row
from .lessons import ascii_json

Files = dict[str, bytes]
_FOREVER = frozenset(("id", "shelf", "name", "origin", "made_by", "created_at"))
_JSON = frozenset(
    (
        "trigger_conditions",
        "parameters",
        "dependencies",
        "success_criteria",
        "pitfalls",
        "test_parameters",
        "tags",
        "embedding",
    )
)
_FLAGS = frozenset(("needs_rewrite", "enabled", "pinned"))
_DESCRIBING = (*sorted(_JSON), "description", "code_template", "version")
_VERSION = "skill_id, seq, version, parent, origin, run_id, action, note, batch, at"
_USE = "run_id, skill_id, session_id, version, how, family, model, success, efficiency, at"


class SkillStats(Value, frozen=True, kw_only=True):
    """What is known about a skill beside its Markdown. `origin` and `made_by` (a run) say who made it, for ever.

    `version` is the last one seen on disk, `validated` the one that passed validation. A new skill starts with no uses
    and a rate of one. `utility` is what the coin says it gains, None before it says anything."""

    id: str
    shelf: str
    name: str
    origin: str
    made_by: str = ""
    description: str = ""
    trigger_conditions: tuple[str, ...] = ()
    code_template: str = ""
    parameters: dict[str, str | None] = {}
    dependencies: tuple[str, ...] = ()
    success_criteria: tuple[str, ...] = ()
    pitfalls: tuple[str, ...] = ()
    test_parameters: tuple[dict[str, Any], ...] = ()
    tags: tuple[str, ...] = ()
    embedding: dict[int, float] = {}
    version: str = ""
    usage_count: int = 0
    success_rate: float = 1.0
    best_efficiency_score: float = 0.0
    utility: float | None = None
    health_status: str = "unknown"
    health_note: str = ""
    checked_at: float | None = None
    validated: str = ""
    needs_rewrite: bool = False
    enabled: bool = True
    pinned: bool = False
    archived_at: float | None = None
    created_at: float = 0.0
    last_used_at: float | None = None


class Version(Value, frozen=True, kw_only=True):
    """One version of a skill: who wrote it, in which run, from which one it came, and what ties it to others."""

    skill_id: str
    seq: int
    version: str
    parent: str
    origin: str
    run_id: str
    action: str
    note: str
    batch: str
    at: float


class Use(Value, frozen=True, kw_only=True):
    """A skill in a run: how it was reached (`viewed`, `invoked`, `recommended`) and what became of the run."""

    run_id: str
    skill_id: str
    session_id: str
    version: str
    how: str
    family: str = ""
    model: str = ""
    success: bool | None = None
    efficiency: float = 0.0
    at: float = 0.0


_FIELDS = SkillStats.__struct_fields__
_COLUMNS = ", ".join(_FIELDS)
_INSERT = f"INSERT INTO skills (owner, {_COLUMNS}) VALUES (?, {', '.join('?' * len(_FIELDS))})"
_SHAPES: dict[str, Any] = {name: hint for name, hint in get_type_hints(SkillStats).items() if name in _JSON}


class SkillStore:
    """The skills of one owner."""

    def __init__(self, database: Database, owner: str) -> None:
        self._database = database
        self._owner = owner

    async def find(self, shelf: str, name: str) -> SkillStats | None:
        """The skill of this name on this shelf."""
        found = await self._select("shelf = ? AND name = ?", (shelf, plain(name)))
        return found[0] if found else None

    async def get(self, skill_id: str) -> SkillStats:
        """The skill with this id."""
        found = await self._select("id = ?", (plain(skill_id),))
        if not found:
            raise NotFound(f"there is no skill with the id {skill_id!r}", remedy="`hermes skills list` shows them")
        return found[0]

    async def listed(self) -> list[SkillStats]:
        """Every skill that was ever seen, archived ones too, by name and shelf."""
        return await self._select("1 = 1", ())

    async def put(self, stats: SkillStats) -> SkillStats:
        """Insert a skill, or replace what is known about it. Who made it, and when, stays as it was first recorded;
        what is stored is returned."""
        return await self._save(stats, [name for name in _FIELDS if name not in _FOREVER])

    async def describe(self, stats: SkillStats) -> SkillStats:
        """Insert a skill, or bring up to date only what its Markdown says: figures and switches stay."""
        return await self._save(stats, _DESCRIBING)

    async def mark(self, skill_id: str, **columns: Any) -> None:
        """Change single columns, such as `enabled=False`."""
        wrong = sorted(set(columns) - set(_FIELDS) | set(columns) & _FOREVER)
        if wrong:
            known = ", ".join(name for name in _FIELDS if name not in _FOREVER)
            raise UsageError(f"{wrong[0]!r} of a skill cannot be changed", remedy=f"these can: {known}")
        if not columns:
            return
        assignments = ", ".join(f"{name} = ?" for name in columns)
        values = [_stored(name, value) for name, value in columns.items()]
        sql = f"UPDATE skills SET {assignments} WHERE owner = ? AND id = ?"
        await self._database.write(lambda connection: connection.run(sql, (*values, self._owner, skill_id)))

    async def archive(self, skill_id: str) -> None:
        """A skill was put away now."""
        sql = "UPDATE skills SET archived_at = ? WHERE owner = ? AND id = ?"
        await self._database.write(lambda connection: connection.run(sql, (connection.now(), self._owner, skill_id)))

    async def rename_shelf(self, skill_id: str, shelf: str) -> None:
        """Move a skill to another shelf, so that its place is free for another one. Its history goes with it."""
        sql = "UPDATE skills SET shelf = ? WHERE owner = ? AND id = ?"
        await self._database.write(lambda connection: connection.run(sql, (plain(shelf), self._owner, skill_id)))

    async def withdraw(self, version: Version) -> None:
        """Take a version out that was announced and never written."""
        sql = "DELETE FROM skill_versions WHERE skill_id = ? AND seq = ? AND version = ?"
        values = (version.skill_id, version.seq, version.version)
        await self._database.write(lambda connection: connection.run(sql, values))

    async def forget(self, skill_id: str) -> None:
        """Take a skill out that was announced and never made, with its versions."""

        def unit(connection: Connection) -> None:
            if connection.run("DELETE FROM skills WHERE owner = ? AND id = ? RETURNING id", (self._owner, skill_id)):
                connection.run("DELETE FROM skill_versions WHERE skill_id = ?", (skill_id,))

        await self._database.write(unit)

    async def count_use(self, skill_id: str, *, success: bool, rate: float, efficiency: float = 0.0) -> SkillStats:
        """Count one use in one step, so that no use is lost among processes: the moving rate follows by `rate`."""
        reached = 1.0 if success else 0.0

        def unit(connection: Connection) -> list[Row]:
            return connection.run(
                "UPDATE skills SET usage_count = usage_count + 1,"
                " success_rate = success_rate * (1.0 - ?) + ? * ?,"
                " best_efficiency_score = CASE WHEN best_efficiency_score < ? THEN ? ELSE best_efficiency_score END,"
                f" last_used_at = ? WHERE owner = ? AND id = ? RETURNING {_COLUMNS}",
                (rate, rate, reached, efficiency, efficiency, connection.now(), self._owner, skill_id),
            )

        rows = await self._database.write(unit)
        if not rows:
            raise NotFound(f"there is no skill with the id {skill_id!r}", remedy="`hermes skills list` shows them")
        return _stats(rows[0])

    async def add_version(
        self,
        skill_id: str,
        version: str,
        files: Files,
        *,
        origin: str,
        action: str,
        parent: str = "",
        run_id: str = "",
        note: str = "",
        batch: str = "",
    ) -> Version:
        """Append a version. The files of one that is there already are not stored twice."""
        texts = tuple(plain(text) for text in (version, parent, origin, run_id, action, note, batch))
        packed = _packed(files)
        backend = self._database.backend

        def unit(connection: Connection) -> Version:
            connection.run(f"SELECT id FROM skills WHERE id = ?{backend.row_lock}", (skill_id,))
            held = connection.run(
                "SELECT MAX(seq), MAX(CASE WHEN version = ? AND files <> '' THEN 1 ELSE 0 END)"
                " FROM skill_versions WHERE skill_id = ?",
                (version, skill_id),
            )
            seq, known, now = int(held[0][0] or 0) + 1, bool(held[0][1]), connection.now()
            connection.run(
                f"INSERT INTO skill_versions ({_VERSION}, files) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (skill_id, seq, *texts, now, "" if known else packed),
            )
            return _version((skill_id, seq, *texts, now))

        return await self._database.write(unit)

    async def versions(self, skill_id: str) -> list[Version]:
        """Every version, oldest first."""
        return await self._versions("skill_id = ? ORDER BY seq", skill_id)

    async def written_by(self, skill_id: str, version: str) -> Version | None:
        """Who wrote a version: the latest entry about it."""
        found = await self._versions("skill_id = ? AND version = ? ORDER BY seq DESC LIMIT 1", skill_id, version)
        return found[0] if found else None

    async def files(self, skill_id: str, version: str) -> Files:
        """The whole skill as it was in a version."""
        sql = "SELECT files FROM skill_versions WHERE skill_id = ? AND version = ? AND files <> '' LIMIT 1"
        rows = await self._database.read(lambda connection: connection.run(sql, (skill_id, plain(version))))
        if not rows:
            raise NotFound(f"there is no version {version!r}", remedy="`hermes skills history NAME` lists them")
        return _unpacked(rows[0][0])

    async def by_batch(self, batch: str) -> list[Version]:
        """What was changed together, in the order in which it happened; only skills of this owner."""
        condition = "batch = ? AND skill_id IN (SELECT id FROM skills WHERE owner = ?) ORDER BY at, skill_id, seq"
        return await self._versions(condition, plain(batch), self._owner) if batch else []

    async def record_use(self, use: Use) -> None:
        """Record that a run used a skill, or what became of it. A deleted session keeps none."""
        success = None if use.success is None else int(use.success)
        texts = (use.run_id, use.skill_id, use.session_id, use.version, use.how, use.family, use.model)
        sql = (
            f"INSERT INTO skill_uses ({_USE}) SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?"
            " WHERE NOT EXISTS (SELECT 1 FROM sessions WHERE id = ? AND deleted_at IS NOT NULL)"
            " ON CONFLICT (run_id, skill_id) DO UPDATE SET family = excluded.family, model = excluded.model,"
            " success = excluded.success, efficiency = excluded.efficiency"
        )

        def unit(connection: Connection) -> None:
            at = use.at or connection.now()
            connection.run(sql, (*map(plain, texts), success, use.efficiency, at, use.session_id))

        await self._database.write(unit)

    async def uses(self, skill_id: str, limit: int) -> list[Use]:
        """The last uses, newest first."""
        sql = f"SELECT {_USE} FROM skill_uses WHERE skill_id = ? ORDER BY at DESC, run_id DESC LIMIT ?"
        rows = await self._database.read(lambda connection: connection.run(sql, (skill_id, max(0, limit))))
        return [_use(row) for row in rows]

    async def uses_of_run(self, run_id: str) -> list[Use]:
        """The skills that a run used, in the order in which it reached them."""
        sql = f"SELECT {_USE} FROM skill_uses WHERE run_id = ? ORDER BY at, skill_id"
        return [_use(row) for row in await self._database.read(lambda connection: connection.run(sql, (run_id,)))]

    async def similar(self, vector: dict[int, float], limit: int) -> list[tuple[SkillStats, float]]:
        """The skills whose embeddings are most like `vector`, best first; archived ones and strangers are left out."""
        found = [(stats, _alike(vector, stats.embedding)) for stats in await self._select("archived_at IS NULL", ())]
        near = sorted((item for item in found if item[1] > 0), key=lambda item: (-item[1], item[0].name, item[0].shelf))
        return near[: max(0, limit)]

    async def _select(self, condition: str, params: Sequence[Any]) -> list[SkillStats]:
        sql = f"SELECT {_COLUMNS} FROM skills WHERE owner = ? AND {condition} ORDER BY name, shelf"
        rows = await self._database.read(lambda connection: connection.run(sql, (self._owner, *params)))
        return [_stats(row) for row in rows]

    async def _versions(self, condition: str, *params: str) -> list[Version]:
        sql = f"SELECT {_VERSION} FROM skill_versions WHERE {condition}"
        return [_version(row) for row in await self._database.read(lambda connection: connection.run(sql, params))]

    async def _save(self, stats: SkillStats, changing: Iterable[str]) -> SkillStats:
        updates = ", ".join(f"{name} = excluded.{name}" for name in changing)
        sql = f"{_INSERT} ON CONFLICT (owner, shelf, name) DO UPDATE SET {updates} RETURNING {_COLUMNS}"

        def unit(connection: Connection) -> list[Row]:
            filled = msgspec.structs.replace(
                stats, id=stats.id or new_id(), created_at=stats.created_at or connection.now()
            )
            return connection.run(sql, (self._owner, *(_stored(name, getattr(filled, name)) for name in _FIELDS)))

        return _stats((await self._database.write(unit))[0])


def _stored(name: str, value: Any) -> Any:
    """A field as its column takes it."""
    if name in _JSON:
        return ascii_json(value if name == "embedding" else clean_json(value))
    if name in _FLAGS:
        return int(bool(value))
    return plain(value) if isinstance(value, str) else value


@lru_cache(maxsize=4096)
def _stats(row: Row) -> SkillStats:
    """A row as a value, made once for as long as the row stays the same: every request looks at all of them."""
    values: dict[str, Any] = dict(zip(_FIELDS, row, strict=True))
    try:
        for name in _JSON:
            values[name] = msgspec.json.decode(values[name], type=_SHAPES[name])
    except msgspec.MsgspecError as error:
        raise StoreDamaged(f"what is stored about the skill {values['name']!r} cannot be read: {error}") from error
    for name in _FLAGS:
        values[name] = bool(values[name])
    return SkillStats(**values)


def _version(row: Row) -> Version:
    return Version(**dict(zip(Version.__struct_fields__, row, strict=True)))


def _use(row: Row) -> Use:
    values = dict(zip(Use.__struct_fields__, row, strict=True))
    values["success"] = None if values["success"] is None else bool(values["success"])
    return Use(**values)


def _packed(files: Files) -> str:
    return base64.b64encode(zlib.compress(msgspec.msgpack.encode(files))).decode("ascii")


def _unpacked(text: str) -> Files:
    try:
        return msgspec.msgpack.decode(zlib.decompress(base64.b64decode(text)), type=Files)
    except (zlib.error, binascii.Error, msgspec.MsgspecError) as error:
        raise StoreDamaged(f"a stored version of a skill cannot be read: {error}") from error


def _alike(one: dict[int, float], other: dict[int, float]) -> float:
    """The cosine of two vectors; nothing is like an empty one."""
    product = sum(weight * other.get(key, 0.0) for key, weight in one.items())
    both = math.sqrt(sum(x * x for x in one.values()) * sum(x * x for x in other.values()))
    return round(min(1.0, max(0.0, product / both)), 6) if both else 0.0

"""What was learned, read by people and programs."""

from __future__ import annotations

from collections.abc import Sequence

from ..types.errors import NotFound
from .database import Connection, Database, Row
from .heuristics import (
    COLUMNS,
    AuditEntry,
    Heuristic,
    HeuristicSet,
    Stage,
    entry_of,
    heuristic_of,
    set_of,
    value_of,
)
from .runs import is_part


class Heuristics:
    """Reads what was learned, for people and programs."""

    def __init__(self, database: Database) -> None:
        self.database = database

    async def get(self, part: str) -> Heuristic:
        """The heuristic with this id, or with an id that begins so."""

        def unit(connection: Connection) -> Sequence[Row]:
            if not is_part(part):
                return []
            return connection.run(f"SELECT {COLUMNS} FROM heuristics WHERE id LIKE ? LIMIT 3", (f"{part}%",))

        rows = await self.database.read(unit)
        exact = [row for row in rows if row[0] == part] or list(rows)
        if len(exact) != 1:
            problem = "fits more than one heuristic" if exact else "is no heuristic"
            raise NotFound(f"{part!r} {problem}", remedy="`hermes learning show` lists them")
        return heuristic_of(exact[0])

    async def all(self, *, model: str = "", family: str = "", stages: Sequence[Stage] = ()) -> list[Heuristic]:
        """Heuristics, newest change first."""

        def unit(connection: Connection) -> list[Heuristic]:
            where, params = ["1 = 1"], []
            for column, value in (("model", model), ("family", family)):
                if value:
                    where.append(f"{column} = ?")
                    params.append(value)
            if stages:
                where.append(f"stage IN ({', '.join('?' * len(stages))})")
                params += [stage.value for stage in stages]
            rows = connection.run(
                f"SELECT {COLUMNS} FROM heuristics WHERE {' AND '.join(where)} ORDER BY updated_at DESC, id", params
            )
            return [heuristic_of(row) for row in rows]

        return await self.database.read(unit)

    async def sets(self, limit: int = 50) -> tuple[int, list[HeuristicSet]]:
        """The version in force, and the newest sets."""

        def unit(connection: Connection) -> tuple[int, list[HeuristicSet]]:
            rows = connection.run(
                "SELECT version, parent, members, cause, run_id, at FROM heuristic_sets ORDER BY version DESC LIMIT ?",
                (limit,),
            )
            return value_of(connection, "active_set"), [set_of(row) for row in rows]

        return await self.database.read(unit)

    async def audit(self, heuristic_id: str = "", limit: int = 100, since: float = 0.0) -> list[AuditEntry]:
        """The newest changes, of one heuristic or of all."""

        def unit(connection: Connection) -> list[AuditEntry]:
            where, params = ("heuristic_id = ? AND at >= ?", [heuristic_id]) if heuristic_id else ("at >= ?", [])
            rows = connection.run(
                "SELECT seq, heuristic_id, kind, model, family, was, became, cause, run_id, evidence, set_version, at"
                f" FROM heuristic_audit WHERE {where} ORDER BY seq DESC LIMIT ?",
                (*params, since, limit),
            )
            return [entry_of(row) for row in rows]

        return await self.database.read(unit)

    async def of_skill(self, name: str) -> list[Heuristic]:
        """What is known of the recommendation of a skill, in every family and on every model."""
        sql = f"SELECT {COLUMNS} FROM heuristics WHERE kind = 'skill' AND subject = ? ORDER BY id"
        rows = await self.database.read(lambda connection: connection.run(sql, (name,)))
        return [heuristic_of(row) for row in rows]

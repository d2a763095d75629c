"""What a person may do with what was learned: approve, reject, roll back, freeze, reset. Each is one transaction;
every heuristic that it changes gets an entry in the audit log."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import msgspec

from ..config.settings import LearningSettings
from ..store.database import Connection, Database
from ..store.heuristics import (
    AuditEntry,
    Heuristic,
    HeuristicSet,
    Stage,
    activate_members,
    active_set,
    add_audit,
    lock_sequence,
    placed_heuristics,
    read_cells,
    read_heuristics,
    read_set,
    save_heuristic,
    set_value,
    value_of,
    write_cells,
)
from ..types.base import Value
from ..types.errors import NotFound, UsageError
from .cells import Cells
from .evidence import ACT, PairEvidence
from .learner import register_for, write_changes
from .life import Register, cell_of, mark

_WAITING = (Stage.AWAITING_APPROVAL, Stage.CANDIDATE)


class RolledBack(Value, frozen=True, kw_only=True):
    """What going back to another set changed."""

    was: int
    version: int
    stopped: tuple[str, ...]
    acting_again: tuple[str, ...]


class Control:
    """A person's hand on learning."""

    def __init__(
        self, database: Database, settings: LearningSettings | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        self._database = database
        self._settings = settings or LearningSettings()
        self._clock = clock

    async def approve(self, heuristic_id: str, by: str = "a person") -> Heuristic:
        """Let a heuristic act that waits for it. For one that acts, or was rejected or retired, that is an error."""
        return (await self.approve_all([heuristic_id], by))[0]

    async def approve_all(self, ids: Sequence[str], by: str = "a person") -> list[Heuristic]:
        """Approve several, each once: all of them, or none where one is wrong or contradicts another."""

        def decide(register: Register, found: Heuristic, cells: Cells) -> None:
            if found.stage not in _WAITING:
                raise UsageError(
                    f"{found.id} is {found.stage.value}, it does not wait for approval",
                    remedy="nothing was changed; `hermes learning show --stage awaiting_approval` lists what does",
                )
            register.approved(found, f"approved by {by}", cells)

        return await self._decide(ids, decide, _refuse_contradiction)

    async def reject(self, heuristic_id: str, by: str = "a person") -> Heuristic:
        """Refuse a heuristic, also one that acts. It is not proposed again; `approve` of it is an error."""
        return (await self.reject_all([heuristic_id], by))[0]

    async def reject_all(self, ids: Sequence[str], by: str = "a person") -> list[Heuristic]:
        """Reject several, each once: all of them, or none where one is wrong."""

        def decide(register: Register, found: Heuristic, cells: Cells) -> None:
            if found.stage is Stage.REJECTED:
                raise UsageError(
                    f"{found.id} is rejected already",
                    remedy="nothing was changed; `hermes learning rollback` brings back what acted",
                )
            acted = found.stage.acts
            register.move(found, Stage.REJECTED, f"rejected by {by}")
            if acted:
                register.release(found, cells)

        return await self._decide(ids, decide, lambda decided: None)

    async def settle(self, heuristic_id: str, pairs: PairEvidence) -> Heuristic:
        """Take tasks that were done twice, with and without it, as evidence: it is trusted or given up where they say
        so, and stays as it is where they do not."""

        def decide(register: Register, found: Heuristic, cells: Cells) -> None:
            shown = {"pairs_won": pairs.wins, "pairs_lost": pairs.losses}
            told = f"{pairs.wins} of {pairs.wins + pairs.losses} repeated tasks that differ went better with it"
            judged = msgspec.structs.replace(found, evidence={**found.evidence, **shown})
            if pairs.e_harms() >= ACT and found.stage.acts:
                register.move(judged, Stage.RETIRED, told)
                register.release(judged, cells)
            elif pairs.e_helps() >= ACT and found.stage in (Stage.PROBATION, Stage.CANDIDATE):
                register.move(judged, Stage.TRUSTED, told)

        return (await self._decide([heuristic_id], decide, lambda decided: None))[0]

    async def _decide(
        self,
        ids: Sequence[str],
        decide: Callable[[Register, Heuristic, Cells], None],
        review: Callable[[Sequence[Heuristic]], None],
    ) -> list[Heuristic]:
        """Decide on each; an error of `decide`, or of `review` with what all has come to, undoes everything."""
        unique = list(dict.fromkeys(ids))

        def unit(connection: Connection) -> list[Heuristic]:
            self._hold(connection)
            for one in unique:
                self._decide_one(connection, one, decide)
            found = read_heuristics(connection, unique)
            decided = [found[one] for one in unique]
            review(decided)
            return decided

        return await self._database.write(unit)

    def _decide_one(
        self, connection: Connection, heuristic_id: str, decide: Callable[[Register, Heuristic, Cells], None]
    ) -> None:
        found = read_heuristics(connection, [heuristic_id]).get(heuristic_id)
        if found is None:
            raise NotFound(f"there is no heuristic {heuristic_id!r}", remedy="`hermes learning show` lists them")
        cells = Cells(lambda keys: read_cells(connection, keys))
        now = self._clock()
        beside = placed_heuristics(connection, found.model, (found.family,))
        register = register_for(connection, beside, self._settings, "", now)
        decide(register, found, cells)
        write_changes(connection, register, "", now)
        write_cells(connection, cells.changed())

    async def roll_back(self, to: int | None = None) -> RolledBack:
        """Make an earlier set the one in force: `to`, else the one before. Undone by rolling forward to a version."""

        def unit(connection: Connection) -> RolledBack:
            self._hold(connection)
            current = active_set(connection)
            if to is None and not current.version:
                raise UsageError("there is nothing to go back to", remedy="nothing has been learned yet")
            target = read_set(connection, current.parent if to is None else to)
            return self._move(connection, current, target)

        return await self._database.write(unit)

    def _move(self, connection: Connection, current: HeuristicSet, target: HeuristicSet) -> RolledBack:
        now, cause = self._clock(), f"rolled back from set {current.version} to set {target.version}"
        stopped = sorted(set(current.members) - set(target.members))
        again = sorted(set(target.members) - set(current.members))
        found = read_heuristics(connection, [*stopped, *target.members])
        kept = {cell_of(found[name]) for name in target.members}
        cells = Cells(lambda keys: read_cells(connection, keys))
        set_value(connection, "active_set", target.version)
        for name in (*stopped, *again):
            heuristic = found[name]
            stage = Stage.RETIRED if name in stopped else _stage_in(connection, heuristic)
            changed = msgspec.structs.replace(heuristic, stage=stage, updated_at=now)
            save_heuristic(connection, changed)
            if stage.acts or cell_of(changed) not in kept:
                mark(cells, changed, acting=stage.acts)
            add_audit(connection, _entry(heuristic, stage, cause, target.version, now))
        write_cells(connection, cells.changed())
        return RolledBack(
            was=current.version, version=target.version, stopped=tuple(stopped), acting_again=tuple(again)
        )

    async def freeze(self, *, frozen: bool) -> bool:
        """Keep the set as it is, or let it change again; returns whether that is new. Evidence is counted all the
        while."""

        def unit(connection: Connection) -> bool:
            self._hold(connection)
            before = bool(value_of(connection, "frozen"))
            set_value(connection, "frozen", int(frozen))
            return before is not frozen

        return await self._database.write(unit)

    async def reset(self, model: str) -> tuple[int, int]:
        """Forget the evidence about a model and retire what it taught; returns (heuristics retired, cells forgotten).
        Lessons stay: they are the history that replay reads."""

        def unit(connection: Connection) -> tuple[int, int]:
            self._hold(connection)
            now = self._clock()
            rows = connection.run(
                "SELECT id FROM heuristics WHERE model = ? AND stage NOT IN ('retired', 'rejected')", (model,)
            )
            found = read_heuristics(connection, [row[0] for row in rows])
            own = "FROM cells WHERE model = ? AND subject NOT LIKE ?"
            cells = int(connection.run(f"SELECT COUNT(*) {own}", (model, "prior:%"))[0][0])
            if not found and not cells:
                raise NotFound(f"nothing was learned about the model {model!r}", remedy="`hermes learning show`")
            members = [name for name in active_set(connection).members if name not in found]
            version = activate_members(connection, members, f"reset of {model}", "", now)
            for heuristic in found.values():
                save_heuristic(connection, msgspec.structs.replace(heuristic, stage=Stage.RETIRED, updated_at=now))
                add_audit(connection, _entry(heuristic, Stage.RETIRED, f"reset of {model}", version, now))
            connection.run(f"DELETE {own}", (model, "prior:%"))
            connection.run("DELETE FROM watches WHERE model = ?", (model,))
            return len(found), cells

        return await self._database.write(unit)

    def _hold(self, connection: Connection) -> None:
        """Keep learners off until the commit; no place in their sequence is used up."""
        set_value(connection, "sequence", lock_sequence(connection, self._database.backend) - 1)


def _refuse_contradiction(approved: Sequence[Heuristic]) -> None:
    """Of two that say different things about the same, the later one takes the place of the earlier."""
    for one in approved:
        if not one.stage.acts:
            raise UsageError(
                f"{one.id} and another of these contradict each other",
                remedy="nothing was changed; approve one of them",
            )


def _stage_in(connection: Connection, heuristic: Heuristic) -> Stage:
    """The stage in which a heuristic acted last: what was on probation is not trusted because a set came back."""
    rows = connection.run(
        "SELECT became FROM heuristic_audit WHERE heuristic_id = ? AND became IN ('probation', 'trusted')"
        " ORDER BY seq DESC LIMIT 1",
        (heuristic.id,),
    )
    return Stage(rows[0][0]) if rows else Stage.PROBATION


def _entry(heuristic: Heuristic, stage: Stage, cause: str, version: int, at: float) -> AuditEntry:
    return AuditEntry(
        seq=0,
        heuristic_id=heuristic.id,
        kind=heuristic.kind.value,
        model=heuristic.model,
        family=heuristic.family,
        was=heuristic.stage.value,
        became=stage.value,
        cause=cause,
        run_id="",
        evidence=heuristic.evidence,
        set_version=version,
        at=at,
    )

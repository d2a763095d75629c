"""Settles what was learned on tasks by doing earlier tasks again, with and without it, until the pairs decide."""

from __future__ import annotations

import random
import zlib
from collections.abc import Sequence

from ..agent import Agent
from ..learning.control import Control
from ..learning.evidence import ACT, PairEvidence
from ..learning.lessons import REPLAYED
from ..learning.reexecution import Arms, stored_set
from ..learning.standing import telling_seed
from ..store.database import Connection
from ..store.heuristics import Heuristic, Kind, Stage, active_set
from .records import done
from .shuffled import Reservoir
from .study import Arm, Study, World

MOST_PAIRS = 30
_EVERY = 10
_A_TIME = 6
_JUDGED_BY_TASKS = (Kind.SKILL, Kind.WORKFLOW)


class Settling:
    """Looks after each few tasks whether something on probation can be settled. A task is done again once for each
    heuristic: doing it twice would count the same luck twice."""

    def __init__(self, agent: Agent, world: World, study: Study) -> None:
        self._agent = agent
        self._world = world
        self._study = study
        self._evidence: dict[str, PairEvidence] = {}
        self._tried: dict[str, set[int]] = {}
        self._mixed = Reservoir(random.Random(f"pairs:{study.seed}")) if study.arm is Arm.SHUFFLED else None

    def after(self, number: int) -> None:
        """A task was done."""
        if (number + 1) % _EVERY == 0:
            for heuristic in self._agent.wait(self._waiting()):
                self._settle(heuristic)

    async def _waiting(self) -> Sequence[Heuristic]:
        known = await self._agent.app.store.heuristics.all(stages=(Stage.PROBATION,))
        return [one for one in known if one.kind in _JUDGED_BY_TASKS]

    def _settle(self, heuristic: Heuristic) -> None:
        evidence = self._evidence.get(heuristic.id, PairEvidence())
        tried = self._tried.setdefault(heuristic.id, set())
        fresh = [number for number in self._agent.wait(self._told_in(heuristic)) if number not in tried]
        arms = self._agent.wait(self._arms(heuristic)) if fresh else None
        for number in fresh[: min(_A_TIME, MOST_PAIRS - len(tried))]:
            if arms is None or max(evidence.e_helps(), evidence.e_harms()) >= ACT:
                break
            having, lacking = (self._again(heuristic, number, version) for version in (arms.having, arms.lacking))
            tried.add(number)
            if having != lacking:
                evidence = evidence.seen(won=having > lacking)
        self._evidence[heuristic.id] = evidence
        control = Control(self._agent.app.store.database, self._agent.app.settings.learning)
        self._agent.wait(control.settle(heuristic.id, evidence))

    async def _told_in(self, heuristic: Heuristic) -> list[int]:
        """The numbers of the tasks in which the coin of a heuristic was flipped."""

        def unit(connection: Connection) -> list[str]:
            sql = "SELECT run_id FROM lessons WHERE family = ? AND payload LIKE ?"
            return [row[0] for row in connection.run(sql, (heuristic.family, f'%"{heuristic.id}"%'))]

        runs = set(await self._agent.app.store.database.read(unit))
        return [record.number for record in done(self._study) if record.run_id in runs]

    async def _arms(self, heuristic: Heuristic) -> Arms:
        database = self._agent.app.store.database
        active = await database.read(active_set)
        without = set(active.members) - {heuristic.id}
        lacking = await database.write(
            lambda connection: stored_set(
                connection, database.backend, without, active.version, f"pairs for {heuristic.id}"
            )
        )
        return Arms(having=active.version, lacking=lacking)

    def _again(self, heuristic: Heuristic, number: int, version: int) -> tuple[bool, int]:
        """Do a task once more under a set, from a clean start. Nothing is learned from it. Of two that succeed, or do
        not, the one with fewer failed calls went better."""
        world, agent = self._world, self._agent
        task = world.task(number)
        world.prepare(task, agent.workspace)
        start = zlib.crc32(f"{self._study.seed}:again:{number}".encode())
        options = {
            "pin": version,
            "seed": telling_seed(heuristic, start),
            "replay_of": heuristic.id,
            "consent": "all",
        }

        def check(result: object) -> bool:
            return bool(world.verify(task, agent.workspace).ok)

        session = agent.wait(agent.app.session("", title="pair", surface=REPLAYED, workspace=agent.workspace))
        request = world.request(task, self._study.policy)
        result = agent.run(request, session=session.id, options=options, check=check)
        failed = agent.state.trace(result.run_id).summary.error_count
        outcome = (bool(result.success), -failed)
        return self._mixed.exchange(outcome) if self._mixed is not None else outcome

"""Settles what was learned on tasks by doing earlier tasks again, with and without it, until the pairs decide."""

from __future__ import annotations

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
from .study import Study, World

MOST_PAIRS = 30
_EVERY = 5
_A_TIME = 12
_JUDGED_BY_TASKS = (Kind.SKILL, Kind.WORKFLOW)


class Settling:
    """Looks after each few tasks whether something on probation can be settled. Counts what that took."""

    def __init__(self, agent: Agent, world: World, study: Study) -> None:
        self._agent = agent
        self._world = world
        self._study = study
        self._evidence: dict[str, tuple[PairEvidence, int]] = {}

    def after(self, number: int) -> None:
        """A task was done."""
        if (number + 1) % _EVERY == 0:
            for heuristic in self._agent.wait(self._waiting()):
                self._settle(heuristic, number)

    async def _waiting(self) -> Sequence[Heuristic]:
        known = await self._agent.app.store.heuristics.all(stages=(Stage.PROBATION,))
        return [one for one in known if one.kind in _JUDGED_BY_TASKS]

    def _settle(self, heuristic: Heuristic, number: int) -> None:
        evidence, tried = self._evidence.get(heuristic.id, (PairEvidence(), 0))
        if tried >= MOST_PAIRS:
            return
        arms = self._agent.wait(self._arms(heuristic))
        for task in self._earlier(heuristic, number, tried):
            having, lacking = (self._again(heuristic, task, version) for version in (arms.having, arms.lacking))
            tried += 1
            if having != lacking:
                evidence = evidence.seen(won=having)
            if max(evidence.e_helps(), evidence.e_harms()) >= ACT or tried >= MOST_PAIRS:
                break
        self._evidence[heuristic.id] = (evidence, tried)
        control = Control(self._agent.app.store.database, self._agent.app.settings.learning)
        self._agent.wait(control.settle(heuristic.id, evidence))

    def _earlier(self, heuristic: Heuristic, number: int, tried: int) -> list[int]:
        """Tasks of the heuristic's family, oldest first, each once in a while."""
        places = self._agent.wait(self._runs_of(heuristic.family))
        past = [place for place in range(number + 1) if place in places]
        return [past[(tried + step) % len(past)] for step in range(min(_A_TIME, len(past)))] if past else []

    async def _runs_of(self, family: str) -> set[int]:
        """The numbers of the tasks that were taken for a family."""

        def unit(connection: Connection) -> list[str]:
            return [row[0] for row in connection.run("SELECT run_id FROM lessons WHERE family = ?", (family,))]

        runs = set(await self._agent.app.store.database.read(unit))
        return {place for place, run in self._agent_runs().items() if run in runs}

    def _agent_runs(self) -> dict[int, str]:
        return {record.number: record.run_id for record in done(self._study)}

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

    def _again(self, heuristic: Heuristic, number: int, version: int) -> bool:
        """Do a task once more under a set, from a clean start. Nothing is learned from it."""
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
        return bool(agent.run(request, session=session.id, options=options, check=check).success)

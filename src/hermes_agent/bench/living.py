"""One history of a case study: task after task through the product itself, from an empty home, resumable at any task.

Everything is kept: the home with its journal, learning and skills, and a line for each task. Starting the same history
again goes on behind the last line. What is learned about skills and plans is settled by doing tasks again in pairs,
which a case study can and a user's machine rarely can: its workspaces begin anew whenever one likes.
"""

from __future__ import annotations

import random
import shutil
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from ..agent import Agent
from ..learning.advisor import LearnedAdvisor
from ..models.client import ModelClient
from ..models.providers.apprentice import WRITE_DOWN, Apprentice
from ..types.errors import UsageError
from ..types.trace import CallStatus, Trace
from .asking import simulated as simulated
from .records import append, done, rewrite
from .settling import Settling
from .shuffled import Reservoir, Shuffled, ShuffledMemory
from .study import Arm, Study, TaskRecord, World, WorldFor

SIMULATED_SECONDS = 0.2
"""What one answer of the simulated policy is taken to cost; shown apart from the seconds of tools."""
_FAILED = (CallStatus.ERROR, CallStatus.TIMEOUT)
_READING = "skill_view"


class Living:
    """Lives one history."""

    def __init__(self, study: Study, world_for: WorldFor) -> None:
        self.study = study
        self._world_for = world_for
        shuffled = study.arm is Arm.SHUFFLED
        self._mixed = Reservoir(random.Random(f"verdicts:{study.seed}")) if shuffled else None

    def live(self, say: Callable[[TaskRecord], None]) -> list[TaskRecord]:
        """Do what is left, and return all of it."""
        records = done(self.study)
        if len(records) >= self.study.iterations:
            return records[: self.study.iterations]
        rewrite(self.study, records)
        world = self._world_for(self.study.seed)
        world.start()
        try:
            with self._agent(world) as agent:
                settling = Settling(agent, world, self.study)
                for number in range(len(records), self.study.iterations):
                    record = self._one(agent, world, number)
                    append(self.study, record)
                    records.append(record)
                    say(record)
                    if self.study.arm.learns:
                        settling.after(number)
        finally:
            world.stop()
        return records

    def _one(self, agent: Agent, world: World, number: int) -> TaskRecord:
        task = world.task(number)
        world.prepare(task, agent.workspace)
        seen: dict[str, Any] = {}

        def check(result: object) -> bool:
            seen["verdict"] = world.verify(task, agent.workspace)
            told = bool(seen["verdict"].ok)
            return bool(self._mixed.exchange(told)) if self._mixed is not None else told

        request = world.request(task, self.study.policy)
        options = {"seed": zlib.crc32(f"{self.study.seed}:{number}".encode()), "consent": "all"}
        result = agent.run(request, session="new", options=options, check=check)
        agent.wait(agent.app.background.join())
        trace = agent.state.trace(result.run_id)
        verdict = seen.get("verdict")
        success = bool(verdict.ok) if verdict is not None else False
        why = verdict.why if verdict is not None else result.reason
        return self._recorded(agent, trace, task.family, number, success=success, why=why)

    def _recorded(self, agent: Agent, trace: Trace, family: str, number: int, *, success: bool, why: str) -> TaskRecord:
        answers = sum(step.type == "thought" for step in trace.steps) + 1
        known = agent.app.knowledge
        read = {str(call.input.get("name")) for call in trace.calls if call.tool == _READING}
        own = [
            held.name
            for held in (agent.wait(known.library.all()) if known and read else ())
            if held.name in read and held.origin.by_agent
        ]
        simulated_share = SIMULATED_SECONDS * answers if simulated(self.study.policy) else 0.0
        tools = sum(call.duration for call in trace.calls if not call.parent)
        return TaskRecord(
            number=number,
            family=family,
            success=success,
            why=why,
            tool_seconds=round(tools, 4),
            policy_seconds=round(simulated_share or max(0.0, trace.summary.total_time - tools), 4),
            calls=len(trace.calls),
            errors=sum(call.status in _FAILED for call in trace.calls),
            skills=tuple(sorted(own)),
            advised=any(item.applied for item in trace.advice),
            run_id=trace.run_id,
        )

    @contextmanager
    def _agent(self, world: World) -> Iterator[Agent]:
        home, workspace = self.study.folder / "home", self.study.folder / "workspace"
        home.mkdir(parents=True, exist_ok=True)
        workspace.mkdir(exist_ok=True)
        (home / "config.yaml").write_text(_configuration(self.study.arm, world))
        holder: list[Agent] = []
        advisor = Shuffled(lambda: _advisor_of(holder[0]), self.study.seed) if self.study.arm is Arm.SHUFFLED else None
        agent = Agent(name="bench", model=self._model(), workspace=workspace, home=home, advisor=advisor)
        holder.append(agent)
        for tool in world.tools():
            agent.register_tool(tool)
        try:
            yield agent
        finally:
            agent.close()

    def _model(self) -> str | ModelClient:
        """The policy. The simulated one gets the seed of the history, so that five seeds are five apprentices."""
        policy = self.study.policy
        if not simulated(policy):
            return policy
        inner = Apprentice(self.study.seed)
        return ShuffledMemory(inner, WRITE_DOWN, self.study.seed) if self.study.arm is Arm.SHUFFLED else inner


def forget(study: Study) -> None:
    """Remove everything that a history left."""
    shutil.rmtree(study.folder, ignore_errors=True)


def _advisor_of(agent: Agent) -> LearnedAdvisor:
    """The product's advisor behind the one that mixes its feedback up."""
    return agent.app.learned_advisor


def _configuration(arm: Arm, world: World) -> str:
    """The product as installed, but for what the world needs and what an arm leaves out."""
    mode = "on" if arm.learns else "off"
    settings = {
        "learning": {"mode": mode},
        "skills": {"mode": mode, "creation_nudge_interval": 0},
        "memory": {"mode": "off"},
        "review": {"mode": mode},
        **world.settings(),
    }
    return msgspec.json.encode(settings).decode()


def known_policy(policy: str) -> str:
    """The policy as it is asked for, or an error that says how to write one."""
    if simulated(policy) or ":" in policy or policy == "local":
        return policy
    raise UsageError(f"{policy!r} is no policy", remedy="write apprentice, local, or provider:model")


def workspace_of(study: Study) -> Path:
    """Where the tasks of a history happen."""
    return study.folder / "workspace"

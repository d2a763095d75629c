"""Doing tasks again, with and without what is asked about: tens of pairs say what hundreds of coins do.

Only tasks that can begin again from a clean start and that a command can judge: their run options hold `reset` and
`check`. Both runs of a pair have the same seed, so every coin that they share falls alike; which of them goes first is
drawn from the seed. Only pairs that differ are evidence.
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any, Protocol

from ..store.database import Backend, Connection
from ..store.lessons import ascii_json
from ..types.base import Value
from ..types.events import Recorded, RunStarted, UserMessage
from .evidence import PairEvidence

_COMMANDS = ("check", "reset")
_OPTIONS = ("base_url", "check", "consent", "family", "model", "reset")


class Task(Value, frozen=True, kw_only=True):
    """A run that can be done again."""

    run_id: str
    request: str
    workspace: str
    reset: str
    check: str
    options: dict[str, Any]
    seed: int


class Refusal(Value, frozen=True, kw_only=True):
    """A run that cannot be done again, and why."""

    run_id: str
    reason: str


def resettable(run_id: str, events: Sequence[Recorded], workspace: str, ordinal: int) -> Task | Refusal:
    """The task of a run, if it can begin again from a clean start. `ordinal` is the run's place in its session."""
    started = next((entry.event for entry in events if isinstance(entry.event, RunStarted)), None)
    said = [entry.event for entry in events if isinstance(entry.event, UserMessage)]
    if started is None or not said:
        return Refusal(run_id=run_id, reason="its journal is gone")
    options = {name: value for name in _OPTIONS if (value := started.options.get(name))}
    missing = [f"--{name}" for name in _COMMANDS if not isinstance(options.get(name), str)]
    if missing:
        return Refusal(run_id=run_id, reason=f"it was made without {' and '.join(missing)}")
    if ordinal > 1:
        return Refusal(run_id=run_id, reason="it went on with a conversation")
    if len(said) > 1:
        return Refusal(run_id=run_id, reason="the user spoke during the run")
    if said[0].images:
        return Refusal(run_id=run_id, reason="it came with pictures")
    return Task(
        run_id=run_id,
        request=said[0].text,
        workspace=workspace,
        reset=str(options["reset"]),
        check=str(options["check"]),
        options={"model": started.model, **options},
        seed=random.Random(run_id).randrange(2**31),
    )


class Arms(Value, frozen=True, kw_only=True):
    """The two sets that are compared, by version."""

    having: int
    lacking: int


class Attempt(Value, frozen=True, kw_only=True):
    """One run of a pair. `success` is None when the check gave no verdict, and `reason` says why."""

    run_id: str
    success: bool | None
    reason: str = ""


class Pair(Value, frozen=True, kw_only=True):
    """A task done twice from the same start."""

    run_id: str
    having: Attempt
    lacking: Attempt

    @property
    def judged(self) -> bool:
        """Whether the check had a verdict on both."""
        return self.having.success is not None and self.lacking.success is not None

    @property
    def differs(self) -> bool:
        """Whether the pair says anything."""
        return self.judged and self.having.success != self.lacking.success


class Execute(Protocol):
    """Resets the workspace of a task, runs it under a set, and gives the verdict of its check."""

    async def __call__(self, task: Task, version: int) -> Attempt: ...


async def done_again(tasks: Iterable[Task], arms: Arms, execute: Execute) -> AsyncIterator[Pair]:
    """Each task twice, one after the other: they share a workspace."""
    for task in tasks:
        attempts: dict[int, Attempt] = {}
        versions = [arms.having, arms.lacking]
        if task.seed % 2:
            versions.reverse()
        for version in versions:
            attempts[version] = await execute(task, version)
        yield Pair(run_id=task.run_id, having=attempts[arms.having], lacking=attempts[arms.lacking])


def evidence_of(pairs: Iterable[Pair]) -> PairEvidence:
    """What the pairs that differ say for having it."""
    evidence = PairEvidence()
    for pair in pairs:
        if pair.differs:
            evidence = evidence.seen(won=bool(pair.having.success))
    return evidence


def stored_set(connection: Connection, backend: Backend, members: Iterable[str], parent: int, cause: str) -> int:
    """The version of a set with exactly these members, made if there is none. It is not put in force."""
    wanted = ascii_json(sorted(set(members)))
    connection.run(f"SELECT id, value FROM learning WHERE id = 'sequence'{backend.row_lock}")
    found = connection.run("SELECT version FROM heuristic_sets WHERE members = ? ORDER BY version LIMIT 1", (wanted,))
    if found:
        return int(found[0][0])
    version = int(connection.run("SELECT MAX(version) FROM heuristic_sets")[0][0]) + 1
    connection.run(
        "INSERT INTO heuristic_sets (version, parent, members, cause, run_id, at) VALUES (?, ?, ?, ?, '', ?)",
        (version, parent, wanted, cause, connection.now()),
    )
    return version

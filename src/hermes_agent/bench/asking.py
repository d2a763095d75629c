"""How a task is asked for under a policy."""

from __future__ import annotations

from typing import Protocol

_SIMULATED = "apprentice"


class Askable(Protocol):
    """A task in plain words, and the ways to do it."""

    @property
    def seed(self) -> int: ...

    @property
    def number(self) -> int: ...

    @property
    def request(self) -> str: ...

    @property
    def steps(self) -> str: ...


def simulated(policy: str) -> bool:
    """Whether figures of a policy must be called simulated."""
    return policy.partition(":")[0] == _SIMULATED


def asked(task: Askable, policy: str) -> str:
    """The request. The simulated policy reads nothing but steps, so it is given them."""
    if simulated(policy):
        return f"{task.request}\n\n{task.steps}\n\nreference {task.seed}-{task.number}"
    return task.request

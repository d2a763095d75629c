"""Agents that have learned something: tools that fail, lessons about them, and what a run was advised."""

from collections.abc import Sequence
from typing import Any

from hermes_agent.agent import Agent, RunResult
from hermes_agent.config.settings import LearningSettings
from hermes_agent.learning.learner import Learner
from hermes_agent.learning.standing import coin
from hermes_agent.store.lessons import Lesson
from hermes_agent.tools.tool import Tool
from hermes_agent.types.events import AdviceGiven
from tests.harness.rig import Rig, events, of
from tests.learning.lesson_maker import lesson, mended, seen
from tests.learning.tables import absorb

MODEL = "scripted:script"
HERE = {"family": "ledgers"}
FREE = LearningSettings(approve=())
TOLD = "avoid `bad`: `bad` failed 7 of 7 times in tasks like this; use `good`."


def tools(log: list[str]) -> list[Tool]:
    """`bad` cannot parse, `good` can; `a` to `d` are steps."""

    def bad(path: str) -> str:
        """Parse a file."""
        log.append(f"bad {path}")
        raise ValueError("cannot parse it")

    def good(path: str) -> str:
        """Parse a file in another way."""
        log.append(f"good {path}")
        return "parsed"

    def step(name: str) -> Tool:
        def run() -> str:
            """A step."""
            log.append(name)
            return name

        return Tool(name, run, capabilities=[], effect="none")

    made = [Tool(tool.__name__, tool, capabilities=[], effect="idempotent") for tool in (bad, good)]
    return [*made, *map(step, "abcd")]


def failing(number: int, model: str = MODEL, **more: Any) -> Lesson:
    return lesson(
        number,
        seen("bad", False),
        seen("good", True),
        mendings=[mended("bad", "good")],
        model=model,
        **more,
    )


def teach(agent: Agent, lessons: Sequence[Lesson] = (), settings: LearningSettings = FREE) -> None:
    """Let the agent's store have learned something before."""
    store = agent.app.store
    absorb(store, Learner(store.database, settings=settings), *(lessons or [failing(number) for number in range(7)]))


def advice(agent: Agent, result: RunResult) -> list[AdviceGiven]:
    return of(AdviceGiven, events(agent, result))


def configured(rig: Rig, *, explore: float = 0.0, **learning: object) -> None:
    rig.configure(learning={"approve": [], "explore": explore, **learning})


def seed_for(name: str, *, on: bool, chance: float) -> int:
    """A seed with which the coin of this name says yes, or no."""
    return next(seed for seed in range(200) if (coin(str(seed), name) < chance) is on)

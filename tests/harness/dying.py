"""A run whose process is killed after the answer was committed and before anything is learned from it:
`python -m tests.harness.dying HOME WORKSPACE FAMILY`."""

import os
import signal
import sys
from collections.abc import Callable

from hermes_agent.agent import Agent
from hermes_agent.harness.advisors import SilentAdvisor
from hermes_agent.models.providers.scripted import ScriptedModel
from hermes_agent.tools.tool import Tool
from hermes_agent.types.advice import Advice, Situation
from hermes_agent.types.trace import Trace
from tests.harness.rig import call, calling, saying


class Unlearned:
    """Names the family of each run, as learning does, and does something else when it should learn."""

    def __init__(self, instead: Callable[[], None]) -> None:
        self._instead = instead
        silent = SilentAdvisor()
        self.resume, self.review = silent.resume, silent.review
        self.weigh_retry, self.repair = silent.weigh_retry, silent.repair

    async def advise(self, situation: Situation) -> Advice:
        return Advice(family=situation.family)

    async def learn(self, trace: Trace) -> None:
        self._instead()


def die() -> None:
    """End this process without a word."""
    os.kill(os.getpid(), signal.SIGKILL)


def bad(path: str) -> str:
    """Parse a file."""
    raise ValueError("cannot parse it")


def main() -> None:
    home, workspace, family = sys.argv[1:]
    script = ScriptedModel([calling(call("bad", path="a.csv")), saying("done")], model="dying")
    agent = Agent(name="dying", model=script, home=home, workspace=workspace, advisor=Unlearned(die))
    agent.register_tool(Tool("bad", bad, capabilities=[], effect="idempotent"))
    agent.run("sum", options={"family": family})


if __name__ == "__main__":
    main()

"""A run whose process is killed after the answer was committed and before anything is learned from it:
`python -m tests.harness.dying HOME WORKSPACE FAMILY`."""

import os
import signal
import sys

from hermes_agent.agent import Agent
from hermes_agent.models.providers.scripted import ScriptedModel
from hermes_agent.tools.tool import Tool
from hermes_agent.types.advice import SilentAdvisor
from hermes_agent.types.trace import Trace
from tests.harness.rig import call, calling, saying


class Dying:
    """Silent, and deadly when it should learn."""

    def __init__(self) -> None:
        silent = SilentAdvisor()
        self.advise, self.resume = silent.advise, silent.resume
        self.review, self.weigh_retry, self.repair = silent.review, silent.weigh_retry, silent.repair

    async def learn(self, trace: Trace) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


def bad(path: str) -> str:
    """Parse a file."""
    raise ValueError("cannot parse it")


def main() -> None:
    home, workspace, family = sys.argv[1:]
    script = ScriptedModel([calling(call("bad", path="a.csv")), saying("done")], model="dying")
    agent = Agent(name="dying", model=script, home=home, workspace=workspace, advisor=Dying())
    agent.register_tool(Tool("bad", bad, capabilities=[], effect="idempotent"))
    agent.run("sum", options={"family": family})


if __name__ == "__main__":
    main()

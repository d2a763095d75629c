"""Learning that breaks while a call is decided costs its advice there, never the run."""

import pytest

from hermes_agent.harness.advisors import SilentAdvisor
from hermes_agent.tools.tool import Tool
from hermes_agent.types.advice import Failure, Moment, Ruling, Situation
from hermes_agent.types.errors import HermesError
from hermes_agent.types.events import Decided
from hermes_agent.types.trace import RunStatus
from tests.harness.rig import Rig, call, calling, events, of, saying

SECRET = "sk-ant-api03-Zk4vT8qLw2Xn6Rj1Pb9Yd3Hs7Gf5Ma0Ce"


class Broken(SilentAdvisor):
    """Fails at one kind of decision about a call."""

    def __init__(self, error: Exception, at: str) -> None:
        self._error = error
        self._at = at

    def _ruled(self, place: str) -> Ruling:
        if place == self._at:
            raise self._error
        return Ruling()

    def review(self, moment: Moment) -> Ruling:
        return self._ruled("review")

    def weigh_retry(self, failure: Failure, situation: Situation) -> Ruling:
        return self._ruled("weigh_retry")

    def repair(self, failure: Failure, situation: Situation) -> Ruling:
        return self._ruled("repair")


def broken_tool() -> Tool:
    def parse(path: str) -> str:
        """Parse a file."""
        raise ConnectionError("cannot parse it")

    return Tool("parse", parse, capabilities=[], effect="none")


@pytest.mark.req("H7")
@pytest.mark.parametrize("place", ["review", "weigh_retry", "repair"])
@pytest.mark.parametrize("kind", [RuntimeError, HermesError])
def test_a_ruling_that_breaks_costs_the_ruling_alone(local_rig: Rig, place: str, kind: type[Exception]) -> None:
    local_rig.configure(limits={"call_retries": 1, "retry_wait": 0.01})
    said = [calling(call("parse", path="a.csv")), saying("it cannot be read")]
    agent = local_rig.agent(said, advisor=Broken(kind(f"down with {SECRET}"), place), tools=[broken_tool()])
    result = agent.run("read a.csv")
    assert (result.status, result.answer) == (RunStatus.DONE, "it cannot be read")
    skipped = [one for one in of(Decided, events(agent, result)) if one.subject == "advice"]
    assert [(one.choice, one.call_id != "") for one in skipped] == [("skip", True)]
    assert skipped[0].reason.startswith(f"{kind.__name__}: down with ") and SECRET not in skipped[0].reason

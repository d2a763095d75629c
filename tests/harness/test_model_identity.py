"""Which model did it: decisions, runs and calls carry the model's full name, so that what is learned stays with it."""

import pytest

from hermes_agent.harness.advisors import SilentAdvisor
from hermes_agent.models.providers.scripted import ScriptedModel
from hermes_agent.types.advice import Advice, Situation
from hermes_agent.types.events import ModelCalled, RunStarted
from hermes_agent.types.trace import Trace
from tests.harness.rig import Rig, events, saying


class Noting(SilentAdvisor):
    """Knows nothing, and remembers for which model it was asked and taught."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.taught: list[str] = []

    async def advise(self, situation: Situation) -> Advice:
        self.asked.append(situation.model)
        return Advice()

    async def learn(self, trace: Trace) -> None:
        self.taught.append(trace.model)


@pytest.mark.req("H16", "H1")
def test_another_model_is_another_situation(rig: Rig) -> None:
    advisor = Noting()
    first = rig.agent(ScriptedModel([saying("one")], model="one"), advisor=advisor)
    begun = first.run("hello")
    second = rig.agent(ScriptedModel([saying("one"), saying("two")], model="two"), advisor=advisor)
    gone_on = second.run("hello again", session=begun.session_id)
    assert advisor.asked == advisor.taught == ["scripted:one", "scripted:two"]
    journals = [events(first, begun), events(second, gone_on)]
    started = [event.model for journal in journals for event in journal if isinstance(event, RunStarted)]
    called = [
        f"{event.provider}:{event.model}" for journal in journals for event in journal if isinstance(event, ModelCalled)
    ]
    assert started == called == ["scripted:one", "scripted:two"]

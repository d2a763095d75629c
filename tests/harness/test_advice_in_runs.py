"""Advice at the places where a run takes it: insisting, repairs, the search for tools; and advice that breaks."""

import asyncio

import msgspec
import pytest

from hermes_agent.harness.advisors import SilentAdvisor
from hermes_agent.store.lessons import Observation
from hermes_agent.store.open import open_store
from hermes_agent.tools.tool import Tool
from hermes_agent.types.advice import Advice, Situation
from hermes_agent.types.errors import LeaseLost, UsageError
from hermes_agent.types.events import (
    AdviceGiven,
    CallFinished,
    Decided,
    Fragment,
    InboxMode,
    ModelCalled,
    Recovered,
)
from hermes_agent.types.trace import RunStatus, Trace
from tests.harness.rig import Rig, call, calling, events, of, results, saying
from tests.harness.taught import HERE, MODEL, configured, failing, teach, tools
from tests.learning.lesson_maker import lesson, mended

SECRET = "sk-ant-api03-Zk4vT8qLw2Xn6Rj1Pb9Yd3Hs7Gf5Ma0Ce"


class Broken:
    """An advisor that fails at what it is told to fail at."""

    def __init__(self, error: Exception, *at: str) -> None:
        self._error = error
        self._at = at
        self.learned: list[RunStatus] = []
        silent = SilentAdvisor()
        self.review, self.weigh_retry, self.repair = silent.review, silent.weigh_retry, silent.repair

    def _reach(self, place: str) -> None:
        if place in self._at:
            raise self._error

    async def advise(self, situation: Situation) -> Advice:
        self._reach("advise")
        return Advice(hints=("look twice",))

    async def resume(self, situation: Situation, version: int) -> None:
        self._reach("resume")

    async def learn(self, trace: Trace) -> None:
        self._reach("learn")
        self.learned.append(trace.outcome.status)


def skipped(subject: str, reason: str) -> Decided:
    return Decided(subject=subject, choice="skip", reason=reason)


@pytest.mark.req("H7", "R4")
def test_advice_that_breaks_costs_the_advice_and_not_the_run(local_rig: Rig) -> None:
    advisor = Broken(RuntimeError(f"no route with {SECRET}"), "advise")
    agent = local_rig.agent([saying("hello")], advisor=advisor)
    result = agent.run("hello")
    assert (result.answer, advisor.learned) == ("hello", [RunStatus.DONE])
    (decided,) = of(Decided, events(agent, result))
    assert (decided.subject, decided.choice) == ("advice", "skip")
    assert decided.reason.startswith("RuntimeError: no route with ") and SECRET not in decided.reason
    assert of(Fragment, events(agent, result)) == []


@pytest.mark.req("H7")
def test_learning_that_breaks_costs_the_lesson_and_not_the_run(local_rig: Rig) -> None:
    agent = local_rig.agent([saying("hello")], advisor=Broken(TimeoutError("too late"), "learn"))
    result = agent.run("hello")
    assert result.answer == "hello"
    assert of(Decided, events(agent, result)) == [skipped("learning", "TimeoutError: too late")]


def abandoned(rig: Rig) -> str:
    """A run that somebody began and left."""
    store = open_store(rig.url, rig.home, lease_seconds=-1.0)

    async def begin() -> str:
        place = str(rig.workspace)
        session = await store.sessions.create(agent="rig", surface="library", workspace=place, title="hello")
        await store.inbox.put(session.id, "hello", InboxMode.QUEUE)
        run = await store.runs.begin(session.id, "gone", MODEL)
        assert run is not None
        return run.id

    run_id = asyncio.run(begin())
    store.close()
    return run_id


@pytest.mark.req("H7", "R2")
def test_a_run_is_resumed_though_its_advisor_cannot_stand_where_it_stood(local_rig: Rig) -> None:
    run_id = abandoned(local_rig)
    agent = local_rig.agent([saying("hello")], advisor=Broken(KeyError("set"), "resume"))
    (resumed,) = agent.resume()
    assert (resumed.run_id, resumed.answer) == (run_id, "hello")
    assert of(Decided, events(agent, resumed)) == [skipped("advice", "KeyError: 'set'")]


@pytest.mark.req("R2")
@pytest.mark.parametrize("place", ["learn", pytest.param("advise", marks=pytest.mark.slow)])
def test_a_lost_lease_is_not_taken_for_a_breakdown(local_rig: Rig, place: str) -> None:
    agent = local_rig.agent([saying("hello")], advisor=Broken(LeaseLost("taken over"), place))
    result = agent.run("hello")
    assert result.answer == "hello"
    assert of(Decided, events(agent, result)) == []
    assert len(of(Recovered, events(agent, result))) == (place == "advise"), "somebody else went on"


@pytest.mark.req("H6")
def test_insisting_holds_until_the_call_has_run_once(local_rig: Rig) -> None:
    """Not only right after the advice; and what has run and failed is advised against once more."""
    configured(local_rig)
    log: list[str] = []
    bad, good = calling(call("bad", path="a.csv")), calling(call("good", path="a.csv"))
    agent = local_rig.agent([bad, good, bad, bad, bad, saying("done")], tools(log))
    teach(agent)
    result = agent.run("sum", options=HERE)
    assert [status for _, status, _ in results(agent, result)] == ["steered", "ok", "error", "steered", "error"]
    assert log == ["good a.csv", "bad a.csv", "bad a.csv"]
    overrides = [event.call_id for event in of(Decided, events(agent, result)) if event.choice == "override"]
    assert overrides == ["call_2_0", "call_4_0"]


@pytest.mark.req("H7")
def test_a_call_that_is_repeated_is_held_back_unless_something_was_changed_since_it_failed(local_rig: Rig) -> None:
    configured(local_rig)
    log: list[str] = []
    bad, good = calling(call("bad", path="a.csv")), calling(call("good", path="a.csv"))
    agent = local_rig.agent([bad, bad, good, bad, saying("done")], tools(log))
    again = [Observation(tool=f"tool{number % 3}", worked=False, error="e", tries=2, repeats=1) for number in range(9)]
    teach(agent, [lesson(number, one, model=MODEL, family="others") for number, one in enumerate(again)])
    result = agent.run("sum", options=HERE)
    assert [status for _, status, _ in results(agent, result)] == ["error", "steered", "ok", "error"]
    assert log == ["bad a.csv", "good a.csv", "bad a.csv"]


@pytest.mark.req("H6")
def test_what_mends_a_failure_is_told_before_the_model_is_asked_again_and_behind_all_results(local_rig: Rig) -> None:
    configured(local_rig)

    def load(path: str, encoding: str = "utf-8") -> str:
        """Load a file."""
        if encoding == "utf-8":
            raise ValueError("cannot read it")
        return "loaded"

    both = calling(call("load", path="a.csv"), call("good", path="b.csv"))
    tool = Tool("load", load, capabilities=[], effect="none")
    agent = local_rig.agent([both, saying("done")], [*tools([]), tool])
    mending = mended("load", "load", error="valueerror", change="encoding=latin-1")
    teach(agent, [lesson(number, mendings=[mending], model=MODEL) for number in range(8)])
    journal = events(agent, agent.run("sum", options=HERE))
    told = "after `load` failed with valueerror, this worked 7 of 7 times: use `load` with encoding=latin-1."
    assert of(Fragment, journal) == [Fragment(source="advice", text=told)]
    order = [type(event) for event in journal if isinstance(event, CallFinished | Fragment | ModelCalled)]
    assert order == [ModelCalled, CallFinished, CallFinished, Fragment, ModelCalled]
    (about,) = [item for given in of(AdviceGiven, journal) for item in given.items]
    assert (about.kind, about.applied, about.call_id) == ("repair", True, "call_0_0")


@pytest.mark.req("H2")
def test_the_search_for_tools_names_those_that_fail_here_last(local_rig: Rig) -> None:
    configured(local_rig)
    search = calling(call("tool_search", query="bad good", limit=2))
    agent = local_rig.agent([search, saying("done")], tools([]))

    def found(family: str) -> list[str]:
        result = agent.run("sum", session="new", options={"family": family})
        (done,) = of(CallFinished, events(agent, result))
        return [msgspec.json.decode(line)["name"] for line in done.text.splitlines()]

    teach(agent, [failing(number) for number in range(7)])
    assert found("reports") == ["bad", "good"]
    assert found("ledgers") == ["good", "bad"]


def test_a_family_that_has_no_name_is_refused_before_anything_starts(local_rig: Rig) -> None:
    configured(local_rig)
    agent = local_rig.agent([saying("hello")])
    with pytest.raises(UsageError, match="'日本' is no name for a family"):
        agent.run("hello", options={"family": "日本"})
    assert agent.wait(agent.app.store.sessions.recent(5)) == []

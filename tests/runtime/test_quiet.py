"""Runs beside a session: on a copy of its conversation, as it stood when the run ended."""

import threading
from pathlib import Path

import pytest

from hermes_agent.agent import RunResult
from hermes_agent.learning.lessons import REPLAYED
from hermes_agent.runtime.engine import Ended, Finished
from hermes_agent.runtime.quiet import kept, read_back
from hermes_agent.types.events import RunFinished
from hermes_agent.types.trace import Outcome
from tests.harness.rig import Rig, saying
from tests.runtime.reviewing import REVIEW, WORK, Learner, Thinking, creating, learner, steps


def ended_of(it: Learner, result: RunResult) -> Ended:
    """A finished run, as whoever follows it is told of it."""
    run = it.agent.wait(it.store.runs.get(result.run_id))
    session = it.agent.wait(it.store.sessions.get(result.session_id))
    finished = RunFinished(answer=result.answer, status=result.status, outcome=Outcome(status=result.status))
    return Ended(
        run=run,
        session=session,
        harness=it.agent.app.harness_for("scripted:thinking", {}),
        finished=Finished(run_id=run.id, session_id=session.id, result=finished),
    )


@pytest.mark.req("S4")
def test_a_run_is_looked_back_at_as_it_ended_although_the_session_went_on(rig: Rig) -> None:
    model = Thinking({"one": steps(2, "first"), "two": steps(1, "second")}, [saying("nothing")])
    with learner(rig, model, skills={"creation_nudge_interval": 2}) as it:
        one = ended_of(it, it.run("one"))
        first = kept(one)
        assert first is not None
        two = ended_of(it, it.run("two"))
        assert kept(one) is None
        told = it.agent.wait(read_back(it.store, one))
        assert list(told.transcript) == list(first.transcript) == list(model.of(REVIEW)[0].messages[:-1])
        assert (list(told.copied()[0]), told.copied()[0] is told.transcript) == (list(told.transcript), False)
        whole = it.agent.wait(read_back(it.store, two))
        assert list(whole.transcript)[: len(told.transcript)] == list(told.transcript)
        assert len(whole.transcript) == len(told.transcript) + 4


@pytest.mark.req("S3", "S4")
def test_requests_that_follow_at_once_are_each_looked_back_at(local_rig: Rig) -> None:
    model = Thinking(steps(1), [saying("nothing")])
    with learner(local_rig, model) as it:
        session = it.run("zero").session_id
        asking = [threading.Thread(target=it.agent.run, args=(f"task {n}", session)) for n in range(4)]
        for thread in asking:
            thread.start()
        for thread in asking:
            thread.join(60)
        it.settle()
        looked = sorted(len(one.messages) for one in model.of(REVIEW))
        assert looked == [5, 9, 13, 17, 21]
        assert len(model.of(WORK)) == 10


@pytest.mark.req("S12")
def test_nobody_looks_back_at_a_run_that_replay_made(local_rig: Rig) -> None:
    model = Thinking(steps(3), [creating("sorting-jars")])
    with learner(local_rig, model, memory={"nudge_interval": 1}) as it:
        app, folder = it.agent.app, Path(local_rig.workspace)
        session = it.agent.wait(app.session("", title="t", surface=REPLAYED, workspace=folder))
        assert it.run("work", session=session.id).ok
        assert (it.works(), model.of(REVIEW), it.skills()) == ([], [], {})

"""Deleting a session erases what was learned from it too; the figures stay, and everything still reads them."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path

import msgspec
import psycopg
import pytest

from hermes_agent.agent import Agent
from hermes_agent.learning.cells import hidden
from hermes_agent.learning.learner import Learned, Learner
from hermes_agent.learning.past import Window
from hermes_agent.learning.replay import Target, replayed
from hermes_agent.store import retention
from hermes_agent.store.database import Connection, Row
from hermes_agent.store.learning_views import Best, best_of
from hermes_agent.store.lessons import read_lessons
from hermes_agent.store.open import Store, open_store
from hermes_agent.store.runs import Run
from hermes_agent.tools.tool import Tool
from hermes_agent.types.advice import Advisor
from hermes_agent.types.trace import Trace
from tests.harness.dying import Unlearned
from tests.harness.rig import Rig, call, calling, rig, saying, until
from tests.learning.tables import absorb, dump, failing
from tests.store.samples import begun, finish

__all__ = ["rig"]

FAMILY, MODEL = "ledgers", "scripted:script"
SAID = ("zebrafinch", "quokka", "pangolin", "numbat", "axolotl")


def parse(path: str) -> str:
    """Parse a file."""
    raise ValueError(f"cannot parse {path}")


def taught(rig: Rig, runs: int, mode: str = "on", advisor: Advisor | None = None) -> tuple[Agent, list[Trace]]:
    """An agent that has made some runs, each in a session of its own, and their traces."""
    rig.configure(learning={"mode": mode})
    script = [turn for _ in range(runs) for turn in (calling(call("parse", path="a.csv")), saying("done"))]
    agent = rig.agent(script, [Tool("parse", parse, capabilities=[], effect="idempotent")], advisor=advisor)
    made = [agent.run("sum the ledger", session="new", options={"family": FAMILY}).run_id for _ in range(runs)]
    return agent, [agent.wait(agent.app.store.traces.of_run(run_id)) for run_id in made]


def delete(agent: Agent, trace: Trace) -> None:
    assert agent.wait(retention.delete_sessions(agent.app.store, [trace.session_id])) == []


def asked(store: Store, question: Callable[[Connection], object]) -> object:
    return store.database.read_now(question)


def lessons(store: Store) -> list[Row]:
    sql = "SELECT run_id, family, success, calls, errors, payload = '' FROM lessons ORDER BY seq"
    return [tuple(map(str, row[:1])) + tuple(row[1:]) for row in store.database.read_now(lambda one: one.run(sql))]


@pytest.mark.req("H5", "H9")
def test_the_figures_stay_and_replay_leaves_the_run_out(rig: Rig) -> None:
    agent, traces = taught(rig, 3)
    store = agent.app.store
    delete(agent, traces[1])
    assert lessons(store) == [(trace.run_id, FAMILY, 1, 1, 1, place == 1) for place, trace in enumerate(traces)]
    kept = [(1, traces[0].run_id), (3, traces[2].run_id)]
    assert asked(store, lambda one: [(seq, lesson.run_id) for seq, lesson in read_lessons(one)]) == kept
    fastest = min(trace.summary.total_time for trace in traces)
    best = Best(calls=1, seconds=fastest, pitfalls=frozenset({"parse:valueerror"}))
    assert asked(store, lambda one: best_of(one, FAMILY, MODEL)) == best
    read: list[int] = []
    agent.wait(replayed(store.database, Target(words="nothing", acting={}), Window(), read.append))
    assert read == [2]


@pytest.mark.req("H5")
def test_evidence_keeps_no_word_that_was_said_in_a_session(rig: Rig) -> None:
    """A failed call, its repair, a pair of features: none of their words is anywhere in the tables of learning."""
    rig.configure(learning={"mode": "on"})
    words = [("zebrafinch", "quokka"), ("zebrafinch", "http://pangolin.example/x"), ("numbat eats & sleeps", "quokka")]
    script = [turn for one, two in words for turn in (calling(call("look", one=one, two=two)),) * 3]

    def look(one: str, two: str) -> str:
        """Look something up."""
        if one == "zebrafinch":
            raise ValueError("not there")
        return "found"

    agent = rig.agent([*script, saying("done")], [Tool("look", look, capabilities=[], effect="idempotent")])
    run = agent.run("find the axolotl", session="new")
    trace = agent.wait(agent.app.store.traces.of_run(run.run_id))
    stored = str(dump(agent.app.store)).lower()
    assert [word for word in SAID if word in stored] == list(SAID), "the lesson has them while the session is there"
    delete(agent, trace)
    stored = str(dump(agent.app.store)).lower()
    assert [word for word in SAID if word in stored] == []
    assert "one=#" in stored and "two.host=#" in stored


@pytest.mark.parametrize(
    ("condition", "stored"),
    [
        ("", ""),
        ("keys=a,b & path.suffix=.csv", "keys=a,b & path.suffix=.csv"),
        ("after=read_file:ok & deep=true", "after=read_file:ok & deep=true"),
        ("path:path", "path:path"),
        ("read_file", "read_file"),
        ("mode=fast", "mode=#2eca8c90d2291c1d"),
        ("mode=fast & path:path", "mode=#2eca8c90d2291c1d & path:path"),
        ("look>one=a & b", "look>one=#f25ffa0fb5d990bd"),
        ("look>", "look>"),
        ("mode=\ud800", "mode=#503cc604031d617a"),
    ],
)
def test_conditions_as_they_are_stored(condition: str, stored: str) -> None:
    assert hidden(condition) == stored
    assert hidden(stored) == stored


@pytest.mark.req("H5", "H15")
def test_what_was_deleted_is_not_learned_again(rig: Rig) -> None:
    """A program may still hold the trace, and learning may come when the session is gone already."""
    agent, traces = taught(rig, 2)
    store = agent.app.store
    delete(agent, traces[0])
    before = dump(store)
    learner = Learner(store.database, settings=agent.app.settings.learning)
    assert [learner.learn_now(trace, FAMILY, tainted=False) for trace in traces] == [Learned(version=0)] * 2
    assert dump(store) == before


@pytest.mark.req("H5", "H7")
def test_a_deleted_run_that_was_never_learned_from_is_not_caught_up_with(rig: Rig) -> None:
    agent, (gone, kept) = taught(rig, 2, advisor=Unlearned(lambda: None))
    delete(agent, gone)
    assert lessons(agent.app.store) == []
    later, (new,) = taught(rig, 1)
    assert [row[0] for row in lessons(later.app.store)] == [kept.run_id, new.run_id]


@pytest.mark.req("H7", "R14")
def test_an_old_run_with_a_damaged_journal_costs_new_runs_nothing(rig: Rig) -> None:
    agent, (damaged,) = taught(rig, 1, advisor=Unlearned(lambda: None))
    sql = "UPDATE events SET payload = '{' WHERE run_id = ? AND kind = 'call_finished'"
    agent.app.store.database.write_now(lambda one: one.run(sql, (damaged.run_id,)))
    later, (new,) = taught(rig, 1)
    assert new.summary.was_successful
    assert [row[0] for row in lessons(later.app.store)] == [new.run_id]


@pytest.mark.req("H5", "H7")
def test_runs_made_while_learning_was_off_are_never_learned_from(rig: Rig) -> None:
    off, _ = taught(rig, 2, mode="off")
    assert [row[0] for row in lessons(off.app.store)] == []
    on, (new,) = taught(rig, 1)
    assert [row[0] for row in lessons(on.app.store)] == [new.run_id]


@pytest.mark.postgres
@pytest.mark.req("H5", "H15", "R14")
def test_a_session_that_is_deleted_while_it_is_learned_from_leaves_no_payload(postgres_url: str, home: Path) -> None:
    """The learner has found the session alive and has not committed yet: deleting waits for it."""
    learning, deleting = open_store(postgres_url, home), open_store(postgres_url, home)
    run = asyncio.run(ended(deleting))
    deleted = threading.Thread(target=lambda: asyncio.run(deleting.sessions.erase([run.session_id])))

    def clock() -> float:
        """The learner looks at it in the middle of its transaction."""
        if not deleted.ident:
            deleted.start()
            until(lambda: waits(postgres_url) or not deleted.is_alive())
        return 5000.0

    taught = msgspec.structs.replace(failing(1), run_id=run.id, session_id=run.session_id)
    absorb(learning, Learner(learning.database, clock=clock), taught)
    deleted.join()
    assert [(row[0], row[16]) for row in dump(learning, "lessons")["lessons"]] == [(run.id, "")]
    learning.close()
    deleting.close()


async def ended(store: Store) -> Run:
    run = await begun(store)
    await finish(store, run)
    return run


def waits(url: str) -> bool:
    """Whether somebody waits for a lock in this database."""
    with psycopg.connect(url) as connection:
        sql = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        return connection.execute(sql).fetchone() is not None

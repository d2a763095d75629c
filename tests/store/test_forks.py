"""Forks in the store: whole or not at all, and nothing of them counts twice."""

import asyncio
from typing import Any

import msgspec
import pytest

from hermes_agent.store.forks import Draft, ForkedFrom, Forks, RunCopy, origin_of, own_events
from hermes_agent.store.open import Store
from hermes_agent.store.runs import Run
from hermes_agent.store.sessions import Session
from hermes_agent.types.errors import NotFound
from hermes_agent.types.events import (
    AnyEvent,
    AssistantMessage,
    CallFinished,
    Decided,
    InboxMode,
    ModelCalled,
    Recorded,
    RunFinished,
    RunStarted,
    Usage,
    UserMessage,
)
from hermes_agent.types.ids import new_id
from hermes_agent.types.tools import ToolCall
from hermes_agent.types.trace import CallStatus, Outcome, RunStatus

SAID = AssistantMessage(text="look\x00 \ud800", calls=(ToolCall(id="c", name="probe", arguments={"n": 1}),))
SEEN = CallFinished(call_id="c", tool="probe", status=CallStatus.OK, text="seen")
TABLES = (
    "sessions",
    "runs",
    "events",
    "session_values",
    "tool_calls",
    "model_calls",
    "decisions",
    "outcomes",
    "search",
)


async def finished_run(store: Store, session: Session, request: str) -> Run:
    """A run that called a tool and answered."""
    await store.inbox.put(session.id, request, InboxMode.QUEUE, {"family": "f"})
    run = await store.runs.begin(session.id, "", "scripted:x")
    assert run is not None
    outcome = Outcome(status=RunStatus.DONE)
    called = ModelCalled(provider="scripted", model="x", latency_ms=1, usage=Usage(input=5, output=2))
    end = RunFinished(answer="done", status=RunStatus.DONE, outcome=outcome)
    decided = Decided(subject="failure", choice="skip", reason="because")
    await store.journal.append(run.id, run.epoch, [called, SAID, SEEN, decided, AssistantMessage(text="done"), end])
    return await store.runs.get(run.id)


def counts(store: Store) -> dict[str, int]:
    """How many rows each table has."""

    async def work() -> dict[str, int]:
        def unit(connection: Any) -> dict[str, int]:
            return {table: connection.run(f"SELECT COUNT(*) FROM {table}")[0][0] for table in TABLES}

        return await store.database.read(unit)

    return asyncio.run(work())


def draft(session: Session, run: Run, *earlier: RunCopy, epoch: int = 1) -> Draft:
    """A fork of `run` at its first step."""
    origin = ForkedFrom(run=run.id, session=session.id, step=1, events=4)
    started = RunStarted(inbox_id="", model="scripted:y", options={"fork": msgspec.to_builtins(origin), "seed": 0})
    events: tuple[AnyEvent, ...] = (started, UserMessage(text="second"), SAID, SEEN)
    return Draft(
        session_id=new_id(),
        source=session,
        agent="hermes",
        surface="cli",
        workspace="/somewhere else",
        title="fork of\nsomething",
        origin=origin,
        earlier=earlier,
        begun=RunCopy(source=run, model="scripted:y", events=tuple((0.0, event) for event in events)),
        epoch=epoch,
    )


async def two_runs(store: Store) -> tuple[Session, Run, Run]:
    session = await store.sessions.create(agent="hermes", surface="cli", workspace="/w", title="t")
    return session, await finished_run(store, session, "first"), await finished_run(store, session, "second")


@pytest.mark.req("B2")
def test_a_fork_is_stored_whole_and_counts_for_nothing(store: Store) -> None:
    async def prepare() -> tuple[Draft, Session, list[Recorded]]:
        session, first, second = await two_runs(store)
        await store.values(session.id).set("todo", "[1]")
        events = await store.journal.run_events(first.id)
        copy = RunCopy(source=first, model=first.model, events=tuple((one.at, one.event) for one in events))
        return draft(session, second, copy), session, await store.sessions.export(session.id)

    made, session, original = asyncio.run(prepare())
    before = counts(store)
    forked, run = asyncio.run(Forks(store.database, store.owner).insert(made))
    added = {table: count - before[table] for table, count in counts(store).items()}
    copied = len(made.earlier[0].events) + 4
    assert {table: count for table, count in added.items() if count} == {
        "sessions": 1,
        "runs": 2,
        "events": copied,
        "session_values": 2,
    }

    async def read() -> None:
        assert await store.sessions.get(forked.id) == forked
        assert (forked.title, forked.runs, forked.workspace) == ("fork of something", 2, "/somewhere else")
        first, second = await store.runs.of_session(forked.id)
        assert second == run
        assert (first.status, first.started_at) == (RunStatus.DONE, made.earlier[0].source.started_at)
        whole = await store.journal.run_events(first.id)
        assert [(one.at, one.event) for one in whole] == list(made.earlier[0].events)
        begun = await store.journal.run_events(run.id)
        assert [(one.seq, one.epoch) for one in begun] == [(1, 1), (2, 1), (3, 1), (4, 1)]
        assert begun[3].event == SEEN
        assert await store.values(forked.id).get("todo") == "[1]"
        assert await Forks(store.database, store.owner).origin(forked.id) == made.origin
        assert await Forks(store.database, store.owner).origin(session.id) is None
        assert await store.sessions.export(session.id) == original
        assert [one.session_id for one in await store.sessions.search("second", 9)] == [session.id]
        taken = await store.runs.take_over(run, "somebody")
        assert taken is not None and taken.epoch == 2
        assert await store.runs.undelivered("hermes") == await store.runs.of_session(session.id)

    asyncio.run(read())


@pytest.mark.req("B2")
def test_nothing_is_copied_from_a_session_that_is_being_erased(store: Store) -> None:
    async def prepare() -> Draft:
        session, _, second = await two_runs(store)
        made = draft(session, second)
        await store.sessions.erase([session.id])
        return made

    made = asyncio.run(prepare())
    before = counts(store)
    with pytest.raises(NotFound, match="was deleted; nothing of it is left"):
        asyncio.run(Forks(store.database, store.owner).insert(made))
    assert counts(store) == before


@pytest.mark.req("B2")
def test_a_fork_that_fails_in_the_middle_leaves_nothing(store: Store) -> None:
    session, _, second = asyncio.run(two_runs(store))
    made = draft(session, second)
    asyncio.run(Forks(store.database, store.owner).insert(made))
    before = counts(store)
    with pytest.raises(Exception, match=r"(?i)unique"):
        asyncio.run(Forks(store.database, store.owner).insert(made))
    assert counts(store) == before


def test_what_was_copied_is_no_evidence_of_the_fork() -> None:
    origin = ForkedFrom(run="r", session="s", step=1, events=4)
    started = RunStarted(inbox_id="", model="m", options={"fork": msgspec.to_builtins(origin)})
    fresh = CallFinished(call_id="d", tool="probe", status=CallStatus.OK, text="new")
    events: list[AnyEvent] = [started, UserMessage(text="do"), SAID, SEEN, fresh]
    entries = [Recorded(run_id="f", seq=n, epoch=1, at=0.0, event=one) for n, one in enumerate(events, 1)]
    assert [entry.event for entry in own_events(entries)] == [started, UserMessage(text="do"), fresh]
    assert origin_of(started.options) == origin
    plain = [msgspec.structs.replace(entries[0], event=RunStarted(inbox_id="i", model="m")), *entries[1:]]
    assert own_events(plain) == plain

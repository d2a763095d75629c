"""One driver per session, leases that fence, and an inbox that loses nothing."""

import asyncio
import threading
from pathlib import Path

import msgspec
import pytest

from hermes_agent.store.inbox import Receipt, Waiting, waiting
from hermes_agent.store.open import Store, open_store
from hermes_agent.store.retention import delete_sessions
from hermes_agent.store.runs import Run
from hermes_agent.types.errors import LeaseLost, NotFound
from hermes_agent.types.events import DeliveryFinished, DeliveryIntended, InboxMode, Recorded, RunStarted, UserMessage
from hermes_agent.types.trace import RunStatus
from tests.store.samples import begun, finish, new_session, race


async def queue(store: Store, session_id: str) -> list[Waiting]:
    return await store.database.read(lambda connection: waiting(connection, session_id))


@pytest.mark.req("H5")
def test_a_run_begins_on_the_oldest_message(store: Store) -> None:
    async def scenario() -> None:
        session_id = await new_session(store)
        assert await store.runs.begin(session_id, "me", "scripted") is None
        first = await store.inbox.put(session_id, "one", InboxMode.QUEUE, {"model": "openai:x", "yes": True})
        await store.inbox.put(session_id, "two", InboxMode.QUEUE)
        run = await store.runs.begin(session_id, "me", "scripted")
        assert run == Run(
            id=run.id if run else "",
            session_id=session_id,
            agent="main",
            ordinal=1,
            status=RunStatus.OPEN,
            epoch=1,
            seq=2,
            holder="me",
            lease_until=run.started_at + 15 if run else 0,
            model="openai:x",
            started_at=run.started_at if run else 0,
        )
        assert run is not None
        started = RunStarted(inbox_id=first, model="openai:x", options={"model": "openai:x", "yes": True})
        asked = UserMessage(text="one", inbox_id=first)
        assert await store.journal.run_events(run.id) == [
            Recorded(run_id=run.id, seq=1, epoch=1, at=run.started_at, event=started),
            Recorded(run_id=run.id, seq=2, epoch=1, at=run.started_at, event=asked),
        ]
        assert await store.runs.begin(session_id, "you", "scripted") is None
        assert await store.inbox.receipt(first) == Receipt(run_id=run.id, status="open")
        await finish(store, run)
        closed = await store.runs.get(run.id)
        assert closed == msgspec.structs.replace(
            run, status=RunStatus.DONE, seq=3, lease_until=0.0, finished_at=closed.finished_at
        )
        second = await store.runs.begin(session_id, "you", "scripted")
        assert second is not None and (second.ordinal, second.model) == (2, "scripted")
        assert await store.runs.of_session(session_id) == [closed, second]
        assert (await store.sessions.get(session_id)).runs == 2

    asyncio.run(scenario())


def test_messages_keep_their_order_even_within_one_millisecond(store: Store) -> None:
    async def scenario() -> None:
        session_id = await new_session(store)
        for number in range(40):
            await store.inbox.put(session_id, str(number), InboxMode.QUEUE)
        assert [message.text for message in await queue(store, session_id)] == [str(number) for number in range(40)]

    asyncio.run(scenario())


@pytest.mark.req("R2")
def test_steering_messages_are_taken_and_journaled_as_one(store: Store) -> None:
    async def scenario() -> None:
        run = await begun(store)
        queued = await store.inbox.put(run.session_id, "later", InboxMode.QUEUE)
        ids = [await store.inbox.put(run.session_id, text, InboxMode.STEER) for text in ("left", "right \ud800\x00")]
        stop = await store.inbox.put(run.session_id, "", InboxMode.INTERRUPT)
        assert store.runs.renew(run) == frozenset(InboxMode)
        heard = await store.runs.steer(run)
        assert [(entry.seq, entry.event) for entry in heard] == [
            (3, UserMessage(text="left", inbox_id=ids[0], mode=InboxMode.STEER)),
            (4, UserMessage(text="right \ufffd\ufffd", inbox_id=ids[1], mode=InboxMode.STEER)),
        ]
        assert await store.runs.steer(run) == []
        assert (await store.journal.run_events(run.id))[2:] == heard
        assert await store.inbox.take(run.session_id, run.id, InboxMode.INTERRUPT) == [
            Waiting(id=stop, mode=InboxMode.INTERRUPT, text="")
        ]
        assert await queue(store, run.session_id) == [Waiting(id=queued, mode=InboxMode.QUEUE, text="later")]
        assert await store.inbox.receipt(ids[0]) == Receipt(run_id=run.id, status="open")

    asyncio.run(scenario())


@pytest.mark.req("R2")
def test_a_stale_driver_takes_no_messages(store: Store) -> None:
    async def scenario() -> None:
        run = await begun(store)
        await store.runs.take_over(run, "other")
        message = await store.inbox.put(run.session_id, "turn left", InboxMode.STEER)
        with pytest.raises(LeaseLost):
            await store.runs.steer(run)
        assert await queue(store, run.session_id) == [Waiting(id=message, mode=InboxMode.STEER, text="turn left")]

    asyncio.run(scenario())


def test_a_message_can_be_withdrawn_until_a_run_has_it(store: Store) -> None:
    async def scenario() -> None:
        run = await begun(store)
        message = await store.inbox.put(run.session_id, "never mind", InboxMode.QUEUE)
        assert await store.inbox.withdraw(message) is True
        assert await store.inbox.withdraw(message) is False
        assert await queue(store, run.session_id) == []
        taken = (await store.journal.run_events(run.id))[1].event
        assert isinstance(taken, UserMessage)
        assert await store.inbox.withdraw(taken.inbox_id) is False
        with pytest.raises(NotFound):
            await store.inbox.put("nosuchsession", "hello", InboxMode.QUEUE)
        assert await store.inbox.receipt("nosuchmessage") == Receipt()

    asyncio.run(scenario())


@pytest.mark.req("R2", "H15")
def test_a_lease_is_taken_over_only_once(store: Store, store_url: str, home: Path) -> None:
    run = asyncio.run(begun(store))
    results: list[Run | None] = []

    def take(number: int) -> None:
        mine = open_store(store_url, home)
        results.append(asyncio.run(mine.runs.take_over(run, f"driver-{number}")))
        mine.close()

    race(8, take)
    (taken,) = [result for result in results if result]
    assert taken == msgspec.structs.replace(run, epoch=2, holder=taken.holder, lease_until=taken.lease_until)
    assert asyncio.run(store.runs.get(run.id)) == taken
    with pytest.raises(LeaseLost):
        store.runs.renew(run)
    assert store.runs.renew(taken) == frozenset()
    assert asyncio.run(store.runs.take_over(taken, "late")) is None, "the lease was renewed meanwhile"


@pytest.mark.req("H15", "R14")
def test_one_open_run_per_session_under_a_race(store: Store, store_url: str, home: Path) -> None:
    session_id = asyncio.run(new_session(store))

    async def ask() -> None:
        for number in range(8):
            await store.inbox.put(session_id, f"message {number}", InboxMode.QUEUE)

    asyncio.run(ask())
    for expected in (1, 2, 3):
        results: list[Run | None] = []

        def begin(number: int, results: list[Run | None] = results) -> None:
            mine = open_store(store_url, home)
            results.append(asyncio.run(mine.runs.begin(session_id, f"driver-{number}", "scripted")))
            mine.close()

        race(8, begin)
        (run,) = [result for result in results if result]
        assert run.ordinal == expected
        assert asyncio.run(store.runs.open_run_of(session_id)) == (run, False)
        asyncio.run(finish(store, run))
    events = [
        asyncio.run(store.journal.run_events(run.id))[1].event for run in asyncio.run(store.runs.of_session(session_id))
    ]
    assert [event.text for event in events if isinstance(event, UserMessage)] == [
        "message 0",
        "message 1",
        "message 2",
    ]
    assert len(asyncio.run(queue(store, session_id))) == 5


@pytest.mark.req("H15")
def test_finishing_and_beginning_at_once_does_not_deadlock(store: Store, store_url: str, home: Path) -> None:
    session_id = asyncio.run(new_session(store))
    errors: list[BaseException] = []
    finished: list[str] = []
    rounds = 12

    def drive(number: int) -> None:
        mine = open_store(store_url, home)

        async def work() -> None:
            while len(finished) < 2 * rounds:
                run = await mine.runs.begin(session_id, f"driver-{number}", "scripted")
                if run is not None:
                    await finish(mine, run)
                    finished.append(run.id)

        try:
            asyncio.run(work())
        except BaseException as error:  # noqa: BLE001 - shown by the assertion below
            errors.append(error)
            finished.extend([""] * 2 * rounds)
        mine.close()

    async def ask() -> None:
        for number in range(2 * rounds):
            await store.inbox.put(session_id, f"message {number}", InboxMode.QUEUE)

    drivers = [threading.Thread(target=drive, args=(number,)) for number in range(4)]
    for driver in drivers:
        driver.start()
    asyncio.run(ask())
    for driver in drivers:
        driver.join()
    assert errors == []
    runs = asyncio.run(store.runs.of_session(session_id))
    assert [(run.ordinal, run.status) for run in runs] == [(n, RunStatus.DONE) for n in range(1, 2 * rounds + 1)]


def test_open_runs_tell_whether_their_lease_ran_out(store_url: str, home: Path) -> None:
    store = open_store(store_url, home, lease_seconds=-1.0)

    async def scenario() -> None:
        run = await begun(store)
        assert await store.runs.open_runs("main") == [(run, True)]
        assert await store.runs.open_run_of(run.session_id) == (run, True)
        assert await store.runs.open_runs("other") == []
        await finish(store, run)
        assert await store.runs.open_runs("main") == []
        assert await store.runs.open_run_of(run.session_id) is None

    asyncio.run(scenario())
    store.close()


def test_runs_and_sessions_are_found_by_part_of_their_id(store: Store) -> None:
    async def scenario() -> None:
        first, second = await begun(store), await begun(store)
        assert await store.runs.get("last") == second
        assert await store.runs.get(first.id[-7:]) == first
        assert (await store.sessions.get(first.session_id[-7:])).id == first.session_id
        assert (await store.sessions.get("last")).id == second.session_id
        for wrong in ("", "%", "_" * 16, "nosuch'run", first.id[:4], "\x00"):
            with pytest.raises(NotFound):
                await store.runs.get(wrong)
            with pytest.raises(NotFound):
                await store.sessions.get(wrong)

    asyncio.run(scenario())


@pytest.mark.req("R2")
def test_answers_that_may_not_have_been_seen(store: Store) -> None:
    async def scenario() -> None:
        seen, unseen, open_run = await begun(store), await begun(store), await begun(store)
        await finish(store, seen)
        await finish(store, unseen)
        await store.journal.append(seen.id, 1, [DeliveryIntended(surface="cli"), DeliveryFinished(surface="cli")])
        await store.journal.append(unseen.id, 1, [DeliveryIntended(surface="cli")])
        assert await store.runs.undelivered("main") == [await store.runs.get(unseen.id)]
        assert await store.runs.undelivered("other") == []
        await delete_sessions(store, [unseen.session_id])
        assert await store.runs.undelivered("main") == []
        assert await store.runs.open_runs("main") == [(open_run, False)]

    asyncio.run(scenario())


def test_messages_waiting_anywhere(store: Store) -> None:
    async def scenario() -> None:
        run = await begun(store)
        texts = ("one", "two")
        ids = [await store.inbox.put(run.session_id, text, InboxMode.STEER, {"n": text}) for text in texts]
        found = await store.inbox.waiting_everywhere()
        assert [(session_id, message) for session_id, message, _ in found] == [
            (run.session_id, Waiting(id=message_id, mode=InboxMode.STEER, text=text, options={"n": text}))
            for message_id, text in zip(ids, texts, strict=True)
        ]
        assert all(at >= run.started_at for _, _, at in found)

    asyncio.run(scenario())

"""Many tasks, one commit: each gets its own result, and nobody suffers for another's mistake."""

import asyncio
import threading

import pytest

from hermes_agent.store.database import Connection
from hermes_agent.store.open import Store
from hermes_agent.types.errors import LeaseLost, NotFound, StoreError
from hermes_agent.types.events import Fragment, InboxMode
from tests.store.samples import begun, new_session


@pytest.mark.req("H15", "R14")
def test_a_failing_unit_does_not_harm_its_group(store: Store) -> None:
    async def scenario() -> None:
        runs = [await begun(store) for _ in range(6)]
        fragments = [Fragment(source="s", text=str(number)) for number in range(6)]
        epochs = [1, 1, 7, 1, 1, 1]
        hold = hold_writer(store)
        appends = [
            asyncio.ensure_future(store.journal.append(run.id, epoch, [fragment]))
            for run, epoch, fragment in zip(runs, epochs, fragments, strict=True)
        ]
        put = asyncio.ensure_future(store.inbox.put("nosuchsession", "x", InboxMode.QUEUE))
        crash = asyncio.ensure_future(store.database.write(divide))
        value = asyncio.ensure_future(store.values(runs[0].session_id).set("k", "v"))
        await asyncio.sleep(0)
        hold.set()
        results = await asyncio.gather(*appends, put, crash, value, return_exceptions=True)
        assert [type(result) for result in results] == [
            list,
            list,
            LeaseLost,
            list,
            list,
            list,
            NotFound,
            ZeroDivisionError,
            type(None),
        ]
        for number, run in enumerate(runs):
            kept = [entry.event for entry in (await store.journal.run_events(run.id))[2:]]
            assert kept == ([] if number == 2 else [fragments[number]])
            result = results[number]
            assert number == 2 or (isinstance(result, list) and [entry.event for entry in result] == kept)
        assert await store.values(runs[0].session_id).get("k") == "v"

    asyncio.run(scenario())


def divide(connection: Connection) -> float:
    connection.run("DELETE FROM events")
    return 1 / 0


def hold_writer(store: Store) -> threading.Event:
    """Keep the writer busy until the event is set, so that what is submitted meanwhile becomes one group."""
    entered, release = threading.Event(), threading.Event()

    def unit(connection: Connection) -> None:
        entered.set()
        release.wait()

    threading.Thread(target=store.database.write_now, args=(unit,)).start()
    entered.wait()
    return release


def test_appends_to_one_run_in_one_group_keep_their_order(store: Store) -> None:
    async def scenario() -> None:
        run = await begun(store)
        hold = hold_writer(store)
        tasks = [
            asyncio.ensure_future(
                store.journal.append(run.id, 1, [Fragment(source="s", text=f"{n}.{k}") for k in "ab"])
            )
            for n in range(5)
        ]
        await asyncio.sleep(0)
        hold.set()
        written = [entry for entries in await asyncio.gather(*tasks) for entry in entries]
        assert [entry.seq for entry in written] == list(range(3, 13))
        assert (await store.journal.run_events(run.id))[2:] == written
        assert (await store.runs.get(run.id)).seq == 12

    asyncio.run(scenario())


def test_a_group_is_one_transaction(store: Store) -> None:
    commits: list[int] = []

    async def scenario() -> None:
        run = await begun(store)
        hold = hold_writer(store)

        def note(connection: Connection) -> int:
            sql = "SELECT txid_current()" if store.database.backend.name == "postgres" else "SELECT COUNT(*) FROM inbox"
            return int(connection.run(sql)[0][0])

        tasks = [asyncio.ensure_future(store.database.write(note)) for _ in range(10)]
        await asyncio.sleep(0)
        hold.set()
        commits.extend(await asyncio.gather(*tasks))
        assert run.epoch == 1

    asyncio.run(scenario())
    assert len(set(commits)) == 1


def test_waiting_from_several_event_loops_and_threads(store: Store) -> None:
    session_id = asyncio.run(new_session(store))

    async def work(name: str) -> None:
        await asyncio.gather(*(store.values(session_id).set(f"{name}-{n}", name * n) for n in range(20)))

    threads = [threading.Thread(target=lambda name=name: asyncio.run(work(name))) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    async def read() -> list[str | None]:
        return [await store.values(session_id).get(f"{name}-{n}") for name in "abcd" for n in range(20)]

    assert asyncio.run(read()) == [name * n for name in "abcd" for n in range(20)]


def test_a_cancelled_waiter_and_a_closed_loop_disturb_nobody(store: Store) -> None:
    session_id = asyncio.run(new_session(store))
    hold = hold_writer(store)

    async def leave() -> None:
        task = asyncio.ensure_future(store.values(session_id).set("left", "behind"))
        await asyncio.sleep(0)
        task.cancel()

    asyncio.run(leave())
    hold.set()
    assert asyncio.run(store.values(session_id).get("left")) in (None, "behind")
    asyncio.run(store.values(session_id).set("after", "all"))
    assert asyncio.run(store.values(session_id).get("after")) == "all"


def test_a_closed_store_says_so(store: Store) -> None:
    session_id = asyncio.run(new_session(store))
    store.close()
    store.close()
    with pytest.raises(StoreError, match="closed"):
        asyncio.run(store.sessions.get(session_id))
    with pytest.raises(StoreError, match="closed"):
        store.database.write_now(lambda connection: None)


@pytest.mark.req("R14")
def test_many_tasks_lose_nothing(store: Store) -> None:
    async def scenario() -> None:
        runs = [await begun(store) for _ in range(16)]

        async def work(number: int) -> None:
            for step in range(10):
                await store.journal.append(runs[number].id, 1, [Fragment(source="s", text=f"{number}.{step}")])

        await asyncio.gather(*(work(number) for number in range(16)))
        for number, run in enumerate(runs):
            texts = [entry.event for entry in (await store.journal.run_events(run.id))[2:]]
            assert texts == [Fragment(source="s", text=f"{number}.{step}") for step in range(10)]

    asyncio.run(scenario())

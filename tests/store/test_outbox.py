"""The outbox: durable, once for each key, and erased with its session."""

import asyncio
from pathlib import Path

import pytest

from hermes_agent.store.open import Store, open_store
from hermes_agent.store.outbox import Posted
from hermes_agent.store.retention import delete_sessions
from hermes_agent.types.errors import NotFound
from tests.store.samples import begun, finish, new_session


async def put(
    store: Store, session_id: str, key: str, *, to: str = "Ann", text: str = "hi", urgent: bool = False
) -> str:
    return await store.outbox.put(session_id=session_id, run_id="r", key=key, to=to, text=text, urgent=urgent)


@pytest.mark.req("R4")
def test_the_same_key_is_one_message(store: Store) -> None:
    async def scenario() -> None:
        one, other = await new_session(store), await new_session(store)
        first = await put(store, one, "k", text="first")
        assert await put(store, one, "k", text="again") == first
        assert await put(store, other, "k", text="elsewhere") != first
        ids = await asyncio.gather(*(put(store, one, "same") for _ in range(8)))
        assert len(set(ids)) == 1
        assert sorted(message.text for message in await store.outbox.messages(10)) == ["elsewhere", "first", "hi"]

    asyncio.run(scenario())


def test_a_message_as_it_was_put(store: Store) -> None:
    async def scenario() -> None:
        run = await begun(store)
        text = "ü \x00 \ud800 \x1b[2J\n'; DROP TABLE outbox; --"
        message_id = await store.outbox.of_run(run.session_id, run.id).put(key="k", to="Ann", text=text, urgent=True)
        found = await store.outbox.get(message_id)
        assert found == Posted(
            id=message_id,
            session_id=run.session_id,
            run_id=run.id,
            to="Ann",
            text="ü   \ufffd \x1b[2J\n'; DROP TABLE outbox; --",
            urgent=True,
            created_at=found.created_at,
        )
        assert found.created_at > 0

    asyncio.run(scenario())


def test_unread_and_urgent_come_first(store: Store) -> None:
    async def scenario() -> None:
        session = await new_session(store)
        read = [await put(store, session, f"r{n}", urgent=True) for n in range(2)]
        plain = [await put(store, session, f"p{n}") for n in range(2)]
        urgent = await put(store, session, "u", urgent=True)
        newest = await put(store, session, "n")
        assert await store.outbox.mark_read([*read, "nothing"]) == 2
        assert await store.outbox.mark_read(read) == 0
        assert await store.outbox.mark_delivered([urgent]) == 1
        listed = [message.id for message in await store.outbox.messages(10)]
        assert listed == [urgent, newest, *reversed(plain), *reversed(read)]
        assert [one.id for one in await store.outbox.messages(10, unread=True)] == listed[:4]
        assert [one.id for one in await store.outbox.messages(1)] == [urgent]
        assert (await store.outbox.get(urgent)).delivered_at is not None

    asyncio.run(scenario())


def test_found_by_part_and_deleted(store: Store) -> None:
    async def scenario() -> None:
        session = await new_session(store)
        first, last = await put(store, session, "a"), await put(store, session, "b")
        assert (await store.outbox.get("last")).id == last
        assert (await store.outbox.get(first[-8:])).id == first
        for name in ("", "%", "zzzz", "' OR 1=1"):
            with pytest.raises(NotFound):
                await store.outbox.get(name)
        assert await store.outbox.delete([first, first, "none"]) == 1
        assert [one.id for one in await store.outbox.messages(10)] == [last]

    asyncio.run(scenario())


def test_nothing_is_put_for_a_session_that_is_not_there(store: Store) -> None:
    async def scenario() -> None:
        with pytest.raises(NotFound):
            await put(store, "nosuchsession", "k")
        assert await store.outbox.messages(10) == []

    asyncio.run(scenario())


def test_messages_outlive_the_process(store_url: str, home: Path) -> None:
    store = open_store(store_url, home)

    async def write() -> str:
        return await put(store, await new_session(store), "k", text="kept")

    message_id = asyncio.run(write())
    store.close()
    again = open_store(store_url, home)
    assert asyncio.run(again.outbox.get(message_id)).text == "kept"
    again.close()


@pytest.mark.req("R14")
def test_erased_with_the_session(store: Store, store_url: str, home: Path) -> None:
    async def scenario() -> None:
        run = await begun(store)
        other = await new_session(store)
        await put(store, run.session_id, "k", to="Zwiebelkuchen", text="Zwiebelkuchen")
        kept = await put(store, other, "k", text="other")
        await finish(store, run)
        await delete_sessions(store, [run.session_id])
        assert [one.id for one in await store.outbox.messages(10)] == [kept]
        with pytest.raises(NotFound):
            await put(store, run.session_id, "again")

    asyncio.run(scenario())
    if not store_url:
        left = b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())
        assert b"Zwiebelkuchen" not in left

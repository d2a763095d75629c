"""Both engines find the same, whatever is asked."""

import asyncio

import pytest

from hermes_agent.store.open import Store
from hermes_agent.store.sessions import Found
from hermes_agent.types.events import AssistantMessage, CallFinished
from hermes_agent.types.trace import CallStatus
from tests.store.samples import begun, finish

TEXTS = (
    "The quarterly report of ACME is in reports/q3_final.csv",
    "Größe und Übung: naïve café, Straße",
    "東京 タワー is tall; Москва is far",
    "quotes \"double\" 'single' back\\slash and NEAR(this) AND that OR NOT",
    "version 1.2.3-rc4 at https://example.com/a?b=c&d e-mail me@example.com",
    "NUL\x00inside and emoji 🎉 party",
    "word" * 200 + " tail",
)
QUERIES = {
    "report": [0],
    "REPORT acme": [0],
    "rep": [0],
    "report missing": [],
    "q3": [0],
    "final csv": [0],
    "größe": [1],
    "GRÖSSE": [1],
    "strasse": [1],
    "cafe": [],
    "café": [1],
    "東京": [2],
    "москва": [2],
    '"double"': [3],
    '"': [],
    "AND": [3, 5],
    "NEAR(": [3],
    "NEAR(this that)": [3],
    "*": [],
    "rep*": [0],
    "'": [],
    "\\": [],
    "back\\slash": [3],
    "&|!:": [],
    "a & !b | c:*": [4],
    "words:report": [],
    "^report": [0],
    "-report": [0],
    "1.2.3": [4],
    "rc4": [4],
    "example com": [4],
    "inside": [5],
    "NUL\x00inside": [5],
    "party": [5],
    "🎉": [],
    "tail": [6],
    "wordword": [6],
    "word" * 300: [6],
    "": [],
    "   ": [],
    "\ud800": [],
    "report); DROP TABLE events; --": [],
    "zzz " * 500: [],
}


@pytest.mark.req("H5")
def test_words_prefixes_and_hostile_queries(store: Store) -> None:
    async def scenario() -> None:
        run = await begun(store, "begin")
        done = [CallFinished(call_id=str(n), tool="t", status=CallStatus.OK, text=text) for n, text in enumerate(TEXTS)]
        await store.journal.append(run.id, run.epoch, done)
        for closed in (False, True):
            hits = {query: await places(store, query) for query in QUERIES}
            assert hits == {query: sorted(found) for query, found in QUERIES.items()}, f"run closed: {closed}"
            if not closed:
                await finish(store, run)

    asyncio.run(scenario())


async def places(store: Store, query: str) -> list[int]:
    return sorted(found.seq - 3 for found in await store.sessions.search(query, 50))


def test_what_was_found_is_shown_newest_first(store: Store) -> None:
    async def scenario() -> None:
        first = await begun(store, "please find the needle")
        await store.journal.append(first.id, 1, [AssistantMessage(text="x " * 300 + "a needle\nin hay " + "y " * 300)])
        await finish(store, first)
        await asyncio.sleep(0.002)
        second = await begun(store, "needle again")
        assert await store.sessions.search("needle", 10) == [
            Found(session_id=second.session_id, run_id=second.id, seq=2, role="user", snippet="needle again"),
            Found(
                session_id=first.session_id,
                run_id=first.id,
                seq=3,
                role="assistant",
                snippet="…" + ("x " * 19) + "a needle in hay " + "y " * 32 + "y…",
            ),
            Found(session_id=first.session_id, run_id=first.id, seq=2, role="user", snippet="please find the needle"),
        ]
        assert [found.run_id for found in await store.sessions.search("needle", 1)] == [second.id]
        for limit in (0, -1):
            assert await store.sessions.search("needle", limit) == []

    asyncio.run(scenario())


def test_a_message_is_indexed_once(store: Store) -> None:
    async def scenario() -> None:
        run = await begun(store, "unique")
        for _ in range(3):
            assert len(await store.sessions.search("unique", 10)) == 1
        await store.journal.append(run.id, 1, [AssistantMessage(text="special")])
        assert len(await store.sessions.search("special", 10)) == 1
        await finish(store, run)
        assert len(await store.sessions.search("unique", 10)) == 1
        assert len(await store.sessions.search("special", 10)) == 1

    asyncio.run(scenario())

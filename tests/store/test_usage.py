"""Sums over model calls, the same on both databases."""

import asyncio
from datetime import datetime
from functools import partial
from zoneinfo import ZoneInfo

import pytest

from hermes_agent.store.journal import Journal
from hermes_agent.store.open import Store
from hermes_agent.store.retention import delete_sessions
from hermes_agent.store.usage import UsageBy, UsageReport, Used, UsedBy, added
from hermes_agent.types.errors import ModelFailure
from hermes_agent.types.events import ModelCalled, Usage
from tests.store.samples import begun, finish

ZONE = ZoneInfo("Europe/Berlin")


def called(provider: str, model: str, usage: tuple[int, int, int], failure: ModelFailure | None = None) -> ModelCalled:
    given, output, cached = usage
    used = Usage(input=given, output=output, cached=cached)
    return ModelCalled(provider=provider, model=model, latency_ms=1.0, usage=used, failure=failure)


def at(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=ZONE).timestamp()


async def filled(store: Store) -> tuple[str, str]:
    """Two sessions with calls at known moments; the first has a prefix of 400 bytes, after one of 4000."""
    first = await begun(store, title="first")
    second = await begun(store, title="second")
    await store.prefixes.freeze(first.session_id, 1, "y" * 4000, "m", "1", "new session")
    await store.prefixes.freeze(first.session_id, 2, "x" * 403, "m", "1", "idle")
    moments = {
        first: [
            ("2030-03-30T23:59:59.900", called("openai", "a", (1000, 10, 0))),
            ("2030-03-31T00:00:00", called("openai", "a", (2000, 20, 1500))),
            ("2030-03-31T23:59:59", called("openai", "b", (30, 3, 0))),
            ("2030-04-02T12:00:00", called("openai", "a", (0, 0, 0), ModelFailure.OVERLOAD)),
        ],
        second: [("2030-04-02T12:00:01", called("anthropic", "c", (500, 50, 250)))],
    }
    for run, calls in moments.items():
        clock = iter([at(moment) for moment, _ in calls])
        journal = Journal(store.database, clock=partial(next, clock))
        for _, event in calls:
            await journal.append(run.id, run.epoch, [event])
        await finish(store, run)
    return first.session_id, second.session_id


A_LATE = Used(calls=1, input=1000, output=10, fixed=100, conversation=900)
A_EARLY = Used(calls=1, input=2000, output=20, cached=1500, fixed=100, conversation=1900)
A_FAILED = Used(calls=1, failures=1)
A = Used(calls=3, failures=1, input=3000, output=30, cached=1500, fixed=200, conversation=2800)
B = Used(calls=1, input=30, output=3, fixed=30)
C = Used(calls=1, input=500, output=50, cached=250)


@pytest.mark.req("R9", "R10")
def test_sums_by_day_model_provider_and_session(store: Store) -> None:
    async def scenario() -> None:
        first, second = await filled(store)
        report = UsageReport(store.database, ZONE)
        assert await report.sums(UsageBy.DAY) == [
            UsedBy(key="2030-03-30", provider="openai", model="a", used=A_LATE),
            UsedBy(key="2030-03-31", provider="openai", model="a", used=A_EARLY),
            UsedBy(key="2030-03-31", provider="openai", model="b", used=B),
            UsedBy(key="2030-04-02", provider="anthropic", model="c", used=C),
            UsedBy(key="2030-04-02", provider="openai", model="a", used=A_FAILED),
        ]
        assert await report.sums(UsageBy.MODEL) == [
            UsedBy(key="anthropic:c", provider="anthropic", model="c", used=C),
            UsedBy(key="openai:a", provider="openai", model="a", used=A),
            UsedBy(key="openai:b", provider="openai", model="b", used=B),
        ]
        assert await report.sums(UsageBy.PROVIDER) == [
            UsedBy(key="anthropic", provider="anthropic", model="c", used=C),
            UsedBy(key="openai", provider="openai", model="a", used=A),
            UsedBy(key="openai", provider="openai", model="b", used=B),
        ]
        by_session = [
            UsedBy(key=first, provider="openai", model="a", used=A, title="first"),
            UsedBy(key=first, provider="openai", model="b", used=B, title="first"),
            UsedBy(key=second, provider="anthropic", model="c", used=C, title="second"),
        ]
        assert await report.sums(UsageBy.SESSION) == sorted(by_session, key=lambda one: (one.key, one.model))

    asyncio.run(scenario())


def test_since_leaves_out_what_was_before(store: Store) -> None:
    async def scenario() -> None:
        await filled(store)
        report = UsageReport(store.database, ZONE)
        start = at("2030-03-31T12:00:00")
        assert [(one.key, one.model) for one in await report.sums(UsageBy.DAY, start)] == [
            ("2030-03-31", "b"),
            ("2030-04-02", "c"),
            ("2030-04-02", "a"),
        ]
        assert [(one.key, one.used.calls) for one in await report.sums(UsageBy.MODEL, start)] == [
            ("anthropic:c", 1),
            ("openai:a", 1),
            ("openai:b", 1),
        ]
        for by in UsageBy:
            assert await report.sums(by, at("2030-05-01T00:00:00")) == []

    asyncio.run(scenario())


def test_a_deleted_session_still_counts_without_its_title_and_prefix(store: Store) -> None:
    async def scenario() -> None:
        first, _ = await filled(store)
        await delete_sessions(store, [first])
        used = Used(calls=3, failures=1, input=3000, output=30, cached=1500)
        found = await UsageReport(store.database, ZONE).sums(UsageBy.SESSION)
        assert UsedBy(key=first, provider="openai", model="a", used=used) in found

    asyncio.run(scenario())


def test_nothing_was_used(store: Store) -> None:
    for by in UsageBy:
        assert asyncio.run(UsageReport(store.database).sums(by)) == []


def test_added() -> None:
    assert added([A_LATE, A_EARLY, A_FAILED]) == A
    assert added([]) == Used()

"""What the page asks the store, on both databases: bounded, and right."""

from __future__ import annotations

import asyncio
import time

import msgspec
import pytest

from hermes_agent.store.dashboard_views import (
    DayPoint,
    FamilyName,
    day_of,
    events_after,
    family_choices,
    first_and_last_lesson,
    heuristics_page,
    last_runs,
    latencies,
    live_runs,
    model_choices,
    runs_of_session,
    sessions_named,
    sessions_page,
)
from hermes_agent.store.database import Connection
from hermes_agent.store.families import Family, save_family
from hermes_agent.store.heuristics import Stage
from hermes_agent.store.open import Store
from hermes_agent.surfaces.dashboard.days import Days
from hermes_agent.surfaces.dashboard.steps import steps_of
from hermes_agent.types.events import InboxMode
from tests.store.learning_samples import DAY, FAMILY, MODEL, START, entry, fill, heuristic, lesson


def test_a_day_of_all_of_one_family_and_without_runs(store: Store) -> None:
    plans = ("a > b", "a > b", "a > c", "a > b")
    fill(store, [lesson(n, at=START + n, plan=plan, success=n != 0) for n, plan in enumerate(plans)])
    fill(store, [lesson(n, at=START + n, family="other", plan="x", seconds=6.0, error="e") for n in range(4)])

    def unit(connection: Connection) -> list[DayPoint | None]:
        places = (("", ""), (FAMILY, MODEL), ("nobody's", ""))
        return [day_of(connection, START, *place) for place in places] + [day_of(connection, START + DAY, "", "")]

    every, one, nobody, next_day = store.database.read_now(unit)
    assert one is not None and msgspec.structs.replace(one, entropy=round(one.entropy, 4)) == DayPoint(
        day=START,
        runs=4,
        judged=4,
        successes=3,
        entropy=0.8113,
        plan_variance=0.5,
        with_errors=0,
        recovered=0,
        advised=0,
        mean_seconds=2.0,
    )
    assert every is not None and (every.runs, every.successes, every.with_errors) == (8, 7, 4)
    assert every.entropy == pytest.approx(0.405639, abs=1e-6), "kinds of tasks are not mixed up"
    assert (every.mean_seconds, nobody, next_day) == (4.0, None, None)


def test_choices_and_pages_are_bounded(store: Store) -> None:
    fill(
        store,
        [lesson(n, at=START + n, model=f"m{n % 3}") for n in range(6)],
        [heuristic(f"h{n}", Stage.TRUSTED, applied_at=START + 100 + n) for n in range(4)]
        + [heuristic("waits", Stage.AWAITING_APPROVAL)],
        [entry(f"h{n}", "candidate", "trusted", START + 10) for n in range(4)],
    )

    def unit(connection: Connection) -> None:
        for n in range(3):
            save_family(connection, Family(id=f"f{n}", name=f"name {n}", tasks=n))
        save_family(connection, Family(id="gone", name="gone", tasks=99, merged_into="f0"))

    store.database.write_now(unit)
    read = store.database.read_now
    assert read(lambda it: model_choices(it, 2)) == ["m0", "m1"]
    assert read(lambda it: family_choices(it, 2)) == [
        FamilyName(id="f2", name="name 2", tasks=2),
        FamilyName(id="f1", name="name 1", tasks=1),
    ]
    total, rows = read(lambda it: heuristics_page(it, stage="", family=FAMILY, model="", offset=0, limit=2))
    assert (total, [one.id for one in rows]) == (5, ["waits", "h0"])
    assert read(lambda it: heuristics_page(it, stage="x", family="", model="", offset=0, limit=2)) == (0, [])
    points = read(lambda it: latencies(it, FAMILY, MODEL, START, 2))
    assert [(one.heuristic_id, one.seconds) for one in points] == [("h2", 92.0), ("h3", 93.0)]
    assert read(first_and_last_lesson) == (START, START + 5)


async def _run(store: Store, title: str, agent: str = "hermes") -> tuple[str, str]:
    session = await store.sessions.create(agent=agent, surface="test", workspace="/w", title=title)
    await store.inbox.put(session.id, f"do {title}", InboxMode.QUEUE)
    run = await store.runs.begin(session.id, "nobody", "scripted:x")
    assert run is not None
    return session.id, run.id


async def _sessions(store: Store) -> None:
    found = [await _run(store, f"task {n}", agent=f"agent{n % 2}") for n in range(4)]

    def unit(connection: Connection) -> None:
        newest = sessions_page(connection, 0, 3)
        assert [one.title for one in newest] == ["task 3", "task 2", "task 1"]
        assert [one.title for one in sessions_page(connection, newest[-1].updated_at, 3)] == ["task 0"]
        assert [line.run.id for line in live_runs(connection, [], 0, 2)] == [run for _, run in found[:1:-1]]
        known = [found[0][1]]
        assert [line.run.id for line in live_runs(connection, known, time.time() + 9, 1)] == [found[3][1], found[0][1]]
        assert [line.title for line in last_runs(connection, 1)] == ["task 3"]
        (only,) = runs_of_session(connection, found[0][0], 0, 5)
        assert (only.run.id, only.title) == (found[0][1], "task 0")
        assert runs_of_session(connection, found[0][0], 1, 5) == []
        assert sessions_named(connection, []) == {}
        steps = steps_of(events_after(connection, found[1][1], 0, 10))
        assert [(one.seq, one.kind, one.text) for one in steps] == [
            (1, "run_started", ""),
            (2, "user_message", "do task 1"),
        ]
        assert events_after(connection, found[1][1], 2, 10) == []

    await store.database.read(unit)


def test_sessions_and_runs_by_keyset(store: Store) -> None:
    asyncio.run(_sessions(store))


async def _days(store: Store) -> None:
    now = START + 3 * DAY + 3600.0
    clock = [now]
    days = Days(store.database, lambda: clock[0])
    assert (await days.read("", "", 30)).points == ()
    fill(store, [lesson(n, at=START + n * DAY / 2) for n in range(6)])
    while (counted := await days.read("", "", 2)).pending:
        continue
    assert [(one.day, one.runs) for one in counted.points] == [(START + 2 * DAY, 2)]
    while (counted := await days.read(FAMILY, "", 30)).pending:
        continue
    assert [one.runs for one in counted.points] == [2, 2, 2]
    fill(store, [lesson(9, at=now)])
    clock[0] += 60
    while (counted := await days.read(FAMILY, "", 30)).pending:
        continue
    assert [one.runs for one in counted.points] == [2, 2, 2, 1]
    await days.close()


def test_days_are_counted_once_and_today_again(store: Store) -> None:
    asyncio.run(_days(store))

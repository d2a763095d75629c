"""Deleting a session really erases it: no payload is left in any raw file."""

import asyncio
import contextlib
import sqlite3
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from hermes_agent.store import retention
from hermes_agent.store.database import Connection
from hermes_agent.store.families import Family, clean_name, save_family
from hermes_agent.store.heuristics import lock_sequence
from hermes_agent.store.lessons import Lesson, Mending, Observation, PlanStep, add_lesson
from hermes_agent.store.open import Store, open_store
from hermes_agent.store.runs import Run
from hermes_agent.store.skills import Use
from hermes_agent.types.errors import LeaseLost, NotFound, SessionBusy
from hermes_agent.types.events import (
    AssistantMessage,
    CallFinished,
    CallIntended,
    Decided,
    DeliveryFinished,
    InboxMode,
    ModelCalled,
    RunFinished,
)
from hermes_agent.types.tools import Effect, ToolCall
from hermes_agent.types.trace import AdviceItem, CallStatus, Judge, Outcome, RunStatus
from tests.postgres_cluster import PostgresCluster
from tests.store.samples import begun, finish

MARK = "Zwiebelkuchen"
PLACES = ("user", "title", "assistant", "argument", "output", "reason", "blob", "value", "answer", "queued", "error")
FORMS = tuple(
    form
    for text in (MARK, MARK.lower())
    for form in (text.encode(), text.encode("utf-16-le"), text.encode("utf-16-be"), text.encode().hex().encode())
)


def marked(place: str) -> str:
    return f"{MARK}{place} ü"


async def fill(store: Store, mark: bool = True) -> Run:
    """A finished run with a marker, or harmless text, in every place that holds payload."""
    say = marked if mark else (lambda place: f"harmless{place}")
    run = await begun(store, say("user"), title=say("title"))
    call = ToolCall(id="c1", name="read_file", arguments={"path": say("argument")})
    unknown = ToolCall(id="c2", name=say("argument"))
    blob = store.blobs(run.session_id).put(say("blob").encode())
    logs = store.process_logs(run.session_id)
    logs.mkdir(parents=True)
    (logs / "p1.log").write_text(say("output"))
    await store.journal.append(
        run.id,
        run.epoch,
        [
            ModelCalled(provider="p", model="m", latency_ms=1.0),
            AssistantMessage(text=say("assistant"), calls=(call, unknown)),
            CallIntended(call_id="c1", tool="read_file", effect=Effect.NONE, key="k", digest=say("argument")),
            CallFinished(
                call_id="c1", tool="t", status=CallStatus.ERROR, text=say("output"), blob=blob, error=say("error")
            ),
            Decided(subject="read_file", choice="retry", reason=say("reason")),
        ],
    )
    await store.values(run.session_id).set(say("value"), say("value"))
    await store.prefixes.freeze(run.session_id, 1, f'"{say("prefix")}"'.replace("ü", "ue"), "m", "1", "first")
    await store.sessions.search("anything", 5)
    outcome = Outcome(status=RunStatus.DONE, reason=say("reason"))
    await store.journal.append(
        run.id, run.epoch, [RunFinished(answer=say("answer"), status=RunStatus.DONE, outcome=outcome)]
    )
    await store.inbox.put(run.session_id, say("queued"), InboxMode.QUEUE, {"note": say("queued")})
    await store.database.write(lambda connection: learn(connection, store, run, say))
    work = await store.background.begin("review", run_id=run.id, session_id=run.session_id)
    await store.background.finish(work.id, "done", say("reason"), {"lines": [say("answer")]})
    use = Use(run_id=run.id, skill_id="s", session_id=run.session_id, version="v", how="viewed", family=say("user"))
    await store.skills.record_use(use)
    return run


def learn(connection: Connection, store: Store, run: Run, say: Callable[[str], str]) -> None:
    """A lesson with payload wherever it may hold some, in a family that was named with words of the request."""
    family = Family(id=f"f-{run.id}", name=clean_name(say("user")), centroid={7: 1.0}, tasks=1)
    save_family(connection, family)
    connection.run("UPDATE families SET founded_by = ? WHERE id = ?", (run.session_id, family.id))
    lesson = Lesson(
        run_id=run.id,
        session_id=run.session_id,
        family=family.id,
        model="m",
        at=5.0,
        surface="cli",
        success=True,
        judged_by=Judge.USER,
        observations=(Observation(tool="read_file", worked=False, features=(say("argument"),), error=say("error")),),
        mendings=(Mending(tool="read_file", error=say("error"), then="patch", worked=True, change=say("argument")),),
        steps=(PlanStep(tool="patch", after="", worked=True, arguments={"path": say("argument")}),),
        items=(AdviceItem(id="h1", text=say("reason")),),
        calls=2,
        errors=1,
        seconds=1.5,
    )
    add_lesson(connection, lesson, lock_sequence(connection, store.database.backend), "local")


def files_with_marker(folder: Path) -> list[str]:
    found = []
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        with contextlib.suppress(FileNotFoundError):  # the server removes files of its own meanwhile
            data = path.read_bytes()
            if any(form in data for form in FORMS):
                found.append(str(path.relative_to(folder)))
    return found


def raw_files(store: Store, cluster: PostgresCluster | None) -> list[str]:
    """The files that hold the marker, on disk as they are now."""
    home = files_with_marker(store.home)
    if cluster is None:
        return home
    with psycopg.connect(cluster.dsn("postgres"), autocommit=True) as connection:
        connection.execute("CHECKPOINT")
    return home + files_with_marker(cluster.folder / "data" / "base")


@pytest.fixture
def cluster(request: pytest.FixtureRequest, store_url: str) -> PostgresCluster | None:
    return request.getfixturevalue("postgres_cluster") if store_url else None


@pytest.mark.req("H5", "R14")
def test_nothing_of_a_deleted_session_is_left_on_disk(store: Store, cluster: PostgresCluster | None) -> None:
    async def scenario() -> None:
        kept = await fill(store, mark=False)
        gone = await fill(store)
        before = raw_files(store, cluster)
        assert [name for name in before if name.startswith(("blobs", "processes"))] and len(before) >= 3
        kept_before = await everything(store, kept)
        assert await retention.delete_sessions(store, [gone.session_id]) == []
        assert raw_files(store, cluster) == []
        assert await everything(store, kept) == kept_before
        with pytest.raises(NotFound):
            await store.sessions.get(gone.session_id)
        assert await store.journal.run_events(gone.id) == []
        assert await store.sessions.search(MARK, 10) == []
        assert len(await store.sessions.search("harmlessassistant", 10)) == 1

    asyncio.run(scenario())


async def everything(store: Store, run: Run) -> list[object]:
    session_id = run.session_id
    return [
        await store.sessions.get(session_id),
        await store.runs.get(run.id),
        await store.sessions.export(session_id),
        await store.traces.of_run(run.id),
        await store.values(session_id).get("harmlessvalue"),
        await store.prefixes.current(session_id),
        [work for work in await store.background.listed(9) if work.session_id == session_id],
        await store.skills.uses_of_run(run.id),
        sorted(path.read_bytes() for path in store.blobs(session_id).folder.iterdir()),
    ]


def test_a_tombstone_and_counts_stay(store: Store) -> None:
    async def scenario() -> None:
        run = await fill(store)
        await retention.delete_sessions(store, [run.session_id])

        def rows(sql: str) -> object:
            return store.database.read_now(lambda connection: connection.run(sql))

        assert rows("SELECT id, title, workspace, runs, messages FROM sessions WHERE deleted_at IS NOT NULL") == [
            (run.session_id, "", "", 1, 2)
        ]
        assert rows("SELECT id, status, epoch, seq, holder FROM runs") == [(run.id, "done", 2, 8, "")]
        assert rows("SELECT call_id, tool, status, error, digest FROM tool_calls ORDER BY call_id") == [
            ("c1", "read_file", "error", "", ""),
            ("c2", "", "asked", "", ""),
        ]
        assert rows("SELECT status, reason FROM outcomes") == [("done", "")]
        assert rows("SELECT COUNT(*) FROM model_calls") == [(1,)]
        assert rows("SELECT * FROM lessons") == [
            (
                *(run.id, 1, run.session_id, "local", f"f-{run.id}", "m", "cli", 1, "user", 0, "patch"),
                *(2, 1, 1, 1, 1.5, "", 5.0),
            )
        ]
        assert rows("SELECT id, name, tasks FROM families") == [(f"f-{run.id}", f"f-{run.id}", 1)]
        emptied = ("events", "inbox", "session_values", "prefix_epochs", "prefixes", "decisions", "search", "outbox")
        for table in emptied:
            assert rows(f"SELECT COUNT(*) FROM {table}") == [(0,)], table

    asyncio.run(scenario())


@pytest.mark.req("R14")
def test_nothing_enters_a_deleted_session(store: Store) -> None:
    async def scenario() -> None:
        run = await fill(store)
        await retention.delete_sessions(store, [run.session_id])
        with pytest.raises(LeaseLost):
            await store.journal.append(run.id, run.epoch, [DeliveryFinished(surface=MARK)])
        with pytest.raises(NotFound):
            await store.inbox.put(run.session_id, MARK, InboxMode.QUEUE)
        await store.values(run.session_id).set("key", MARK)
        assert await store.values(run.session_id).get("key") is None
        assert await store.runs.begin(run.session_id, "me", "m") is None
        await retention.delete_sessions(store, [run.session_id])
        with pytest.raises(NotFound):
            await retention.delete_sessions(store, ["nosuchsession"])
        with pytest.raises(NotFound):
            await store.runs.get("last")

    asyncio.run(scenario())


def test_a_session_under_way_is_not_deleted(store: Store) -> None:
    async def scenario() -> None:
        idle, busy = await fill(store, mark=False), await begun(store)
        before = await everything(store, idle)
        with pytest.raises(SessionBusy):
            await retention.delete_sessions(store, [idle.session_id, busy.session_id])
        assert await everything(store, idle) == before, "all or none"
        assert len(await store.journal.run_events(busy.id)) == 2

    asyncio.run(scenario())


def test_an_abandoned_run_is_fenced_and_deleted(store_url: str, home: Path) -> None:
    store = open_store(store_url, home, lease_seconds=-1.0)

    async def scenario() -> None:
        run = await begun(store)
        await retention.delete_sessions(store, [run.session_id])
        with pytest.raises(LeaseLost):
            await store.journal.append(run.id, run.epoch, [DeliveryFinished(surface="cli")])
        assert (await store.runs.get(run.id)).status is RunStatus.FAILED

    asyncio.run(scenario())
    store.close()


def test_shared_prefixes_stay_while_somebody_uses_them(store: Store) -> None:
    async def scenario() -> None:
        first, second = await begun(store), await begun(store)
        for run in (first, second):
            await store.prefixes.freeze(run.session_id, 1, '"same"', "m", "1", "first")
            await finish(store, run)
        await retention.delete_sessions(store, [first.session_id])
        kept = await store.prefixes.current(second.session_id)
        assert kept is not None and kept.payload == '"same"'

    asyncio.run(scenario())


def test_prune_takes_what_was_not_used_for_long(store: Store) -> None:
    async def scenario() -> None:
        old, new, running = await fill(store, mark=False), await begun(store), await begun(store)
        await finish(store, new)
        sessions = {run.id: await store.sessions.get(run.session_id) for run in (old, new, running)}
        now = sessions[new.id].updated_at + 10 * 86_400
        await store.database.write(
            lambda connection: connection.run(
                "UPDATE sessions SET updated_at = updated_at - 864000 WHERE id IN (?, ?)",
                (old.session_id, running.session_id),
            )
        )
        aged = await store.sessions.get(old.session_id)
        assert await retention.prune(store, 30, now, dry_run=False) == []
        assert await retention.prune(store, 15, now, dry_run=True) == [aged]
        assert await store.sessions.get(old.session_id) == aged
        assert await retention.prune(store, 15, now, dry_run=False) == [aged]
        assert {session.id for session in await store.sessions.recent(10)} == {new.session_id, running.session_id}

    asyncio.run(scenario())


def test_the_user_is_told_of_copies_that_still_hold_the_session(home: Path) -> None:
    store = open_store("", home)
    run = asyncio.run(fill(store))
    (home / "backups").mkdir()
    copy = home / "backups" / "hermes-schema-1-20200101-000000-1.db"
    with sqlite3.connect(home / "hermes.db") as source, sqlite3.connect(copy) as target:
        source.backup(target)
    assert asyncio.run(retention.delete_sessions(store, [run.session_id])) == [str(copy)]
    store.close()

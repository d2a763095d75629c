"""What a run left behind, read back as whole objects."""

import asyncio

import msgspec
import pytest

from hermes_agent.store.journal import Journal
from hermes_agent.store.open import Store
from hermes_agent.store.prefixes import PrefixEpoch
from hermes_agent.types.errors import NotFound, StoreError
from hermes_agent.types.events import (
    AnyEvent,
    AssistantMessage,
    CallFinished,
    CallIntended,
    Decided,
    ModelCalled,
    RunFinished,
    Usage,
)
from hermes_agent.types.tools import Effect, ToolCall
from hermes_agent.types.trace import (
    CallStatus,
    ExecutionSummary,
    Judge,
    Outcome,
    RunStatus,
    Step,
    StepType,
    ToolRecord,
    Trace,
)
from tests.store.samples import begun

OUTCOME = Outcome(status=RunStatus.DONE, judged_by=Judge.USER, reason="thanked")
TURNS: tuple[tuple[float, tuple[AnyEvent, ...]], ...] = (
    (
        1.0,
        (
            ModelCalled(provider="openai", model="small", latency_ms=9.5, usage=Usage(input=10, output=2, cached=8)),
            AssistantMessage(
                text="First I look.",
                calls=(
                    ToolCall(id="c1", name="read_file", arguments={"path": "a"}),
                    ToolCall(id="c2", name="fetch", arguments={"url": "x"}),
                ),
            ),
            CallIntended(call_id="c1", tool="read_file", effect=Effect.NONE, key="k1", digest="d1"),
            CallIntended(call_id="c2", tool="fetch", effect=Effect.ONCE, key="k2", digest="d2"),
        ),
    ),
    (
        2.5,
        (
            CallFinished(call_id="c2", tool="fetch", status=CallStatus.TIMEOUT, text="too slow", duration_ms=1500.0),
            CallFinished(call_id="c1", tool="read_file", status=CallStatus.OK, text="content", duration_ms=250.0),
            Decided(subject="fetch", choice="skip", reason="in doubt", call_id="c2"),
        ),
    ),
    (
        4.0,
        (
            AssistantMessage(text="Here it is."),
            RunFinished(answer="Here it is.", status=RunStatus.DONE, outcome=OUTCOME),
        ),
    ),
)


async def recorded_run(store: Store) -> tuple[str, str, float]:
    """A run whose events lie at known seconds after its start; returns (run, session, start)."""
    run = await begun(store, "show me a")
    start = float(int(run.started_at))
    await store.database.write(lambda connection: connection.run("UPDATE events SET at = ?", (start,)))
    moments = iter([start + offset for offset, _ in TURNS])
    journal = Journal(store.database, clock=lambda: next(moments))
    for _, events in TURNS:
        await journal.append(run.id, run.epoch, events)
    return run.id, run.session_id, start


@pytest.mark.req("L1", "H5", "R10")
def test_a_trace_has_every_step_and_a_summary(store: Store) -> None:
    async def scenario() -> None:
        run_id, session_id, start = await recorded_run(store)
        fetch = ToolRecord(
            tool="fetch",
            input={"url": "x"},
            output="too slow",
            duration=1.5,
            status=CallStatus.TIMEOUT,
            latency_ms=1500.0,
            run_id=run_id,
            call_id="c2",
            effect=Effect.ONCE,
            digest="d2",
        )
        read = ToolRecord(
            tool="read_file",
            input={"path": "a"},
            output="content",
            duration=0.25,
            latency_ms=250.0,
            run_id=run_id,
            call_id="c1",
            digest="d1",
        )
        steps = (
            Step(step_id=0, type=StepType.THOUGHT, content="First I look.", timestamp=1.0),
            Step(
                step_id=1,
                type=StepType.TOOL_CALL,
                content="read_file",
                timestamp=1.0,
                metadata={"tool_name": "read_file", "call_id": "c1", "arguments": {"path": "a"}},
            ),
            Step(
                step_id=2,
                type=StepType.TOOL_CALL,
                content="fetch",
                timestamp=1.0,
                metadata={"tool_name": "fetch", "call_id": "c2", "arguments": {"url": "x"}},
            ),
            Step(
                step_id=3,
                type=StepType.OBSERVATION,
                content="too slow",
                timestamp=2.5,
                metadata={"tool_name": "fetch", "call_id": "c2", "latency_ms": 1500.0, "error": "timeout"},
            ),
            Step(
                step_id=4,
                type=StepType.OBSERVATION,
                content="content",
                timestamp=2.5,
                metadata={"tool_name": "read_file", "call_id": "c1", "latency_ms": 250.0},
            ),
            Step(step_id=5, type=StepType.THOUGHT, content="Here it is.", timestamp=4.0),
        )
        trace = await store.traces.of_run(run_id)
        assert trace == Trace(
            run_id=run_id,
            session_id=session_id,
            request="show me a",
            model="scripted",
            steps=steps,
            calls=(fetch, read),
            outcome=OUTCOME,
            summary=ExecutionSummary(
                total_steps=6,
                tool_calls_count=2,
                error_count=1,
                total_time=4.0,
                tools_used=("read_file", "fetch"),
                was_successful=True,
            ),
            surface="cli",
            started_at=start,
        )
        assert msgspec.json.decode(msgspec.json.encode(trace), type=Trace) == trace
        assert await store.traces.tool_history(session_id) == [fetch, read]
        with pytest.raises(NotFound):
            await store.traces.of_run("nosuchrun")

    asyncio.run(scenario())


@pytest.mark.req("H5", "R10")
def test_projections_are_written_with_the_events(store: Store) -> None:
    async def scenario() -> None:
        run_id, session_id, start = await recorded_run(store)

        def rows(sql: str) -> object:
            return store.database.read_now(lambda connection: connection.run(sql))

        assert rows("SELECT * FROM tool_calls ORDER BY call_id") == [
            (run_id, "c1", session_id, "local", "read_file", "none", "d1", "ok", "", 1, 250.0, 4, 8, start + 1.0),
            (run_id, "c2", session_id, "local", "fetch", "once", "d2", "timeout", "", 1, 1500.0, 4, 7, start + 1.0),
        ]
        assert rows("SELECT * FROM model_calls") == [
            (run_id, 3, session_id, "local", "openai", "small", "", 10, 2, 8, 9.5, start + 1.0)
        ]
        assert rows("SELECT * FROM decisions") == [(run_id, 9, session_id, "fetch", "skip", "in doubt", start + 2.5)]
        assert rows("SELECT * FROM outcomes") == [
            (run_id, session_id, "local", "done", "user", "thanked", start + 4.0, None)
        ]

    asyncio.run(scenario())


def test_a_run_under_way_has_a_trace_too(store: Store) -> None:
    async def scenario() -> None:
        run = await begun(store, "go")
        assert await store.traces.of_run(run.id) == Trace(
            run_id=run.id,
            session_id=run.session_id,
            request="go",
            model="scripted",
            steps=(),
            calls=(),
            outcome=Outcome(status=RunStatus.OPEN),
            summary=ExecutionSummary(
                total_steps=0, tool_calls_count=0, error_count=0, total_time=0.0, tools_used=(), was_successful=False
            ),
            surface="cli",
            started_at=run.started_at,
        )

    asyncio.run(scenario())


@pytest.mark.req("R2")
def test_prefixes_by_epoch(store: Store) -> None:
    async def scenario() -> None:
        run, other = await begun(store), await begun(store)
        assert await store.prefixes.current(run.session_id) is None
        first = await store.prefixes.freeze(run.session_id, 1, '{"a":"\\u00e4"}', "m", "1.0", "session")
        assert first == PrefixEpoch(
            epoch=1, fingerprint=first.fingerprint, model="m", product="1.0", at=first.at, payload='{"a":"\\u00e4"}'
        )
        assert await store.prefixes.current(run.session_id) == first
        same = await store.prefixes.freeze(other.session_id, 1, '{"a":"\\u00e4"}', "m", "1.0", "session")
        assert same.fingerprint == first.fingerprint
        second = await store.prefixes.freeze(run.session_id, 2, "{}", "n", "1.0", "model changed")
        assert await store.prefixes.current(run.session_id) == second
        assert await store.prefixes.current(other.session_id) == same
        with pytest.raises(StoreError):
            await store.prefixes.freeze(run.session_id, 2, "[]", "n", "1.0", "twice")
        assert await store.prefixes.current(run.session_id) == second

    asyncio.run(scenario())


def test_values_take_any_text(store: Store) -> None:
    async def scenario() -> None:
        run = await begun(store)
        values = store.values(run.session_id)
        for text in ("", "plain", "NUL \x00", "lone \ud800 surrogate", "👋 ü 世", '{"json": "too"}', "x" * 100_000):
            await values.set(f"key {text[:10]}", text)
            assert await values.get(f"key {text[:10]}") == text
        await values.set("key plain", "changed")
        assert await values.get("key plain") == "changed"
        assert await values.get("missing") is None
        assert await store.values("other").get("key plain") is None

    asyncio.run(scenario())


def test_sessions_are_listed_newest_first(store: Store) -> None:
    async def scenario() -> None:
        runs = [await begun(store, title=f"t{n}\nsecond line \x00") for n in range(3)]
        recent = await store.sessions.recent(2)
        assert [session.id for session in recent] == [runs[2].session_id, runs[1].session_id]
        assert recent[0] == await store.sessions.get(runs[2].session_id)
        assert recent[0].title == "t2 second line \\u{0000}"
        assert await store.sessions.recent(0) == []
        exported = await store.sessions.export(runs[0].session_id)
        assert exported == await store.journal.run_events(runs[0].id)

    asyncio.run(scenario())


def test_blobs(store: Store) -> None:
    blobs = store.blobs("s1")
    digest = blobs.put(b"large \x00 output")
    assert blobs.put(b"large \x00 output") == digest
    assert (blobs.get(digest), blobs.get(digest[:12])) == (b"large \x00 output", b"large \x00 output")
    source = store.home / "finished.txt"
    source.write_bytes(b"moved in")
    moved = blobs.put_file(source)
    assert not source.exists()
    assert sorted(path.name for path in blobs.folder.iterdir()) == sorted([digest, moved])
    for wrong in ("", digest[:11], "../../etc/passwd", "*" * 12, "0" * 32):
        with pytest.raises(NotFound):
            blobs.get(wrong)

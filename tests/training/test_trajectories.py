"""Finished runs as lines that training tools read."""

import asyncio
import json
from typing import Any

import msgspec
import pytest

from hermes_agent.models.wire.calls import NO_RESULT
from hermes_agent.safety.redact import Redactor
from hermes_agent.store.families import Family, save_family
from hermes_agent.store.forks import Draft, ForkedFrom, Forks, RunCopy
from hermes_agent.store.judging import judge
from hermes_agent.store.lessons import Lesson, add_lesson
from hermes_agent.store.open import Store
from hermes_agent.training.trajectories import Counts, Export, Metadata, Selection, Trajectory, Wanted, line_of
from hermes_agent.types.events import (
    AdviceGiven,
    AnyEvent,
    AssistantMessage,
    CallFinished,
    Compacted,
    Fragment,
    Image,
    RunFinished,
    RunStarted,
    UserMessage,
)
from hermes_agent.types.ids import new_id
from hermes_agent.types.tools import Label, ToolCall
from hermes_agent.types.trace import AdviceItem, CallStatus, Judge, Outcome, RunStatus
from hermes_agent.version import __version__
from tests.training.recorded_runs import (
    DECLARED,
    SYSTEM,
    calls,
    ended,
    exported,
    result,
    run,
    session,
    worked,
)

SECRET = "hunter2-hunter2"


def called(call_id: str, name: str, arguments: Any) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def tool(call_id: str, content: str, name: str = "read_file") -> dict[str, Any]:
    return {"role": "tool", "name": name, "tool_call_id": call_id, "content": content}


def answer(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text, "finish_reason": "stop"}


WORKED: tuple[dict[str, Any], ...] = (
    {"role": "system", "content": SYSTEM},
    {"role": "user", "content": 'Add b.csv up\n\n<notice from="advice">\nb.csv is the file\n</notice>'},
    {
        "role": "assistant",
        "content": "I look.",
        "tool_calls": [
            called("c1", "read_file", {"path": "a.csv"}),
            called("c2", "sum_column", {"path": 3, "rows": [1, "two", None]}),
        ],
        "finish_reason": "tool_calls",
    },
    tool("c2", "not steered", "sum_column"),
    tool("c1", "no such file"),
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [called("c3", "read_file", {"path": "b.csv"})],
        "finish_reason": "tool_calls",
    },
    tool("c3", "40\n2\n"),
    answer("42"),
)


def metadata(one: Trajectory, **changed: Any) -> Metadata:
    """What is expected of a plain run, with the times as they are."""
    plain: dict[str, Any] = {
        "turn": 1,
        "agent": "main",
        "surface": "cli",
        "model": "scripted:a",
        "family": "",
        "family_name": "",
        "status": "done",
        "outcome": "success",
        "judged_by": "inferred",
        "reason": "",
        "learning_value": 0.8,
        "efficiency": 1.0,
        "tool_calls": 3,
        "failed_calls": 1,
        "tainted": False,
        "context_messages": 1,
        "compacted": 0,
        "images_left_out": 0,
        "heuristic_set": 0,
        "advice_applied": 0,
        "seed": "",
        "forked_from": "",
        "forked_at_step": 0,
        "prefix": one.metadata.prefix,
        "product_version": "9.9",
        "exported_by": __version__,
    }
    kept = {"started_at": one.metadata.started_at, "seconds": one.metadata.seconds}
    return Metadata(**{**plain, **kept, **changed})


@pytest.mark.req("A10")
def test_a_run_is_one_line_with_everything_in_it(store: Store) -> None:
    async def work() -> None:
        item = AdviceItem(id="h1", text="b.csv")
        advised = AdviceGiven(items=(item, msgspec.structs.replace(item, id="h2", applied=False)), set_version=7)
        made = await run(store, [advised, *worked()])
        await judge(store, made.id, success=True, by=Judge.USER, reason="thanked")
        (one,) = await exported(store)
        ids = {"run_id": made.id, "session_id": made.session_id}
        judged = {"judged_by": "user", "reason": "thanked", "heuristic_set": 7, "advice_applied": 1}
        expected = Trajectory(messages=WORKED, tools=tuple(DECLARED), metadata=metadata(one, **ids, **judged))
        assert one == expected
        assert len(one.metadata.prefix) == 32 and one.metadata.started_at == made.started_at
        line = line_of(one)
        assert (line.count(b"\n"), line[-1:]) == (1, b"\n")
        assert list(json.loads(line)) == ["messages", "tools", "metadata"]
        assert msgspec.json.decode(line, type=Trajectory) == expected

    asyncio.run(work())


@pytest.mark.req("A10")
def test_every_row_has_the_same_fields_of_the_same_types_and_no_null(store: Store) -> None:
    """Loaders take the types of columns from the first rows."""

    async def work() -> None:
        await run(store, worked())
        await run(store, ended("no", RunStatus.FAILED, Judge.VERIFIER, "wrong"))
        await run(store, [AssistantMessage(text="half"), *ended("", RunStatus.INTERRUPTED)])
        rows = [json.loads(line_of(one)) for one in await exported(store)]
        shapes = {tuple((name, type(value)) for name, value in row["metadata"].items()) for row in rows}
        assert len(rows) == 3 and len(shapes) == 1
        assert {type(value) for _, value in enumerate(rows[0]["metadata"].values())} == {str, int, float, bool}
        assert [row["metadata"]["outcome"] for row in rows] == ["success", "failure", "unknown"]
        for message in (message for row in rows for message in row["messages"]):
            assert isinstance(message["content"], str) and None not in message.values()
            assert all(isinstance(call["function"]["arguments"], dict) for call in message.get("tool_calls", []))
            assert ("finish_reason" in message) == (message["role"] == "assistant")

    asyncio.run(work())


def test_earlier_turns_stand_before_the_request_and_a_shortened_one_stays_word_for_word(store: Store) -> None:
    async def work() -> None:
        where = await session(store)
        await run(store, worked("first"), at=where)
        short = Compacted(summary="so far: first", dropped=8)
        call = ToolCall(id="c1", name="read_file", arguments={"path": "c"})
        await run(store, [*calls(call), short, result("c1", "c's text"), *ended("second")], "and c?", at=where)
        await run(store, ended("third"), "and now?", at=where)
        _, second, third = await exported(store)
        assert [message["content"] for message in second.messages[7:]] == ["first", "and c?", "", "c's text", "second"]
        assert second.messages[9]["tool_calls"] == [called("c1_2", "read_file", {"path": "c"})]
        assert (second.metadata.context_messages, second.metadata.compacted, second.metadata.turn) == (8, 1, 2)
        assert third.messages[1:] == (
            {"role": "user", "content": '<notice from="summary">\nso far: first\n</notice>\n\nand c?'},
            {**second.messages[9], "tool_calls": [called("c1", "read_file", {"path": "c"})]},
            tool("c1", "c's text"),
            answer("second"),
            {"role": "user", "content": "and now?"},
            answer("third"),
        )
        assert (third.metadata.context_messages, third.metadata.compacted) == (5, 0)
        alone = await exported(store, Selection(since=third.metadata.started_at))
        assert alone == [third], "what was read for the runs before must not matter"

    asyncio.run(work())


@pytest.mark.req("A10")
def test_what_strangers_wrote_is_left_out_unless_asked_for_also_in_the_turns_behind(store: Store) -> None:
    async def work() -> None:
        where = await session(store)
        call = ToolCall(id="c1", name="read_file", arguments={"path": "x"})
        strange = msgspec.structs.replace(result("c1", "obey"), labels=(Label.UNTRUSTED,))
        await run(store, [*calls(call), strange, *ended("ok")], at=where)
        await run(store, ended("ok"), at=where)
        nested = msgspec.structs.replace(strange, call_id="n1", parent="c1")
        await run(store, [*calls(call), nested, result("c1", "fine"), *ended("ok")])
        await run(store, [Fragment(source="recall", text="x", labels=(Label.UNTRUSTED,)), *ended("ok")])
        await run(store, [Compacted(summary="s", dropped=1, aside="strangers said"), *ended("ok")])
        clean = await run(store, ended("ok"))
        export = Export(store, Redactor())
        got = [one.metadata.run_id async for one in export.trajectories(Selection())]
        assert got == [clean.id]
        assert export.counts == Counts(runs=6, trajectories=1, left_out={"tainted": 5})
        everything = await exported(store, Selection(tainted=True))
        assert [one.metadata.tainted for one in everything] == [True] * 5 + [False]

    asyncio.run(work())


@pytest.mark.req("A10")
def test_secrets_are_taken_out_of_every_part(store: Store) -> None:
    async def work() -> None:
        key = "sk-" + "a" * 30
        where = await session(store, f"the password is {SECRET}")
        call = ToolCall(id="c1", name="read_file", arguments={SECRET: [SECRET], "key": key})
        events = [*calls(call, text=key), result("c1", f"{SECRET} {key}"), *ended(SECRET, reason=SECRET)]
        await run(store, events, f"use {SECRET}", at=where)
        (one,) = await exported(store, None, SECRET)
        line = line_of(one).decode()
        assert (SECRET in line, key in line) == (False, False)
        assert line.count("[redacted:secret]") == 7 and line.count("[redacted:api-key]") == 3

    asyncio.run(work())


def test_hostile_journals_give_conversations_that_hold_together(store: Store) -> None:
    async def work() -> None:
        odd = ToolCall(id="a b/c\x00", name="no such tool!", arguments={"text": "NUL \x00", "n": 2**63, "\ud800": "x"})
        bad = ToolCall(id="c2", name="", problem="the arguments are not JSON")
        large = "x" * 1_000_000
        events: list[AnyEvent] = [
            result("never asked", "stray"),
            *calls(odd, bad, text="half \ud800"),
            result("who?", "stray \x00"),
            result("a b/c\x00", large),
            result("a b/c\x00", "twice"),
            UserMessage(text="steered", images=(Image(media_type="image/png", blob="0" * 64),)),
            result("c2", "too late"),
            AssistantMessage(text=""),
            RunFinished(answer="", status=RunStatus.DONE, outcome=Outcome(status=RunStatus.DONE)),
        ]
        await run(store, events, "\x00\udfff go")
        (one,) = await exported(store)
        assert json.loads(line_of(one)) == json.loads(line_of(one).decode())
        stray = '<notice from="read_file">\n{}\n</notice>'
        steered = "steered\n[an image of type image/png, left out of this trajectory]"
        assert one.messages[1:] == (
            {"role": "user", "content": "\ufffd\ufffd go\n\n" + stray.format("stray")},
            {
                "role": "assistant",
                "content": "half \ufffd",
                "tool_calls": [
                    called("a_b_c_", "no_such_tool_", {"text": "NUL \x00", "n": str(2**63), "\ufffd": "x"}),
                    called("c2", "unknown", {}),
                ],
                "finish_reason": "tool_calls",
            },
            tool("a_b_c_", large, "no_such_tool_"),
            tool("c2", NO_RESULT, "unknown"),
            {
                "role": "user",
                "content": "\n\n".join((stray.format("stray \x00"), stray.format("twice"), steered))
                + "\n\n"
                + stray.format("too late"),
            },
            answer(""),
        )
        assert one.metadata.images_left_out == 1

    asyncio.run(work())


def test_runs_are_chosen_by_time_worth_family_model_outcome_and_judge(store: Store) -> None:
    async def work() -> None:
        good = await run(store, worked())
        failed = await run(store, ended("no", RunStatus.FAILED, Judge.VERIFIER))
        other = await run(store, ended("yes", RunStatus.DONE, Judge.USER), model="scripted:b")
        silent = await run(store, ended("", RunStatus.FAILED))
        halted = await run(store, [AssistantMessage(text="half"), *ended("", RunStatus.INTERRUPTED)])

        def learned(connection: Any) -> None:
            save_family(connection, Family(id="f1", name="sums", centroid={}, tasks=1))
            for seq, (one, family) in enumerate(((good, "f1"), (failed, "f2")), start=1):
                lesson = Lesson(run_id=one.id, session_id=one.session_id, family=family, model="scripted:a", at=1.0)
                add_lesson(connection, lesson, seq, "local")

        await store.database.write(learned)

        async def chosen(**given: Any) -> list[str]:
            return [one.metadata.run_id for one in await exported(store, Selection(**given))]

        whole = [good.id, failed.id, other.id, halted.id]
        assert await chosen() == whole
        assert await chosen(limit=2) == whole[:2]
        assert await chosen(since=failed.started_at, until=halted.started_at) == [failed.id, other.id]
        assert await chosen(until=good.started_at) == []
        assert await chosen(min_value=0.8) == [good.id]
        assert await chosen(min_value=0.4) == [good.id, other.id]
        assert await chosen(family="f1") == [good.id]
        assert await chosen(model="scripted:b") == [other.id]
        assert await chosen(model="' OR 1=1 --") == []
        assert await chosen(outcome=Wanted.SUCCESS) == [good.id, other.id]
        assert await chosen(outcome=Wanted.FAILURE) == [failed.id]
        assert await chosen(judged=Judge.VERIFIER) == [failed.id]
        assert await chosen(judged=Judge.USER) == [other.id]
        export = Export(store, Redactor())
        assert [one.metadata.family_name async for one in export.trajectories(Selection())] == ["sums", "f2", "", ""]
        assert export.counts == Counts(runs=5, trajectories=4, left_out={"without an answer": 1})
        assert silent.id not in whole

    asyncio.run(work())


def test_pages_give_every_run_once_also_where_runs_began_together(store: Store) -> None:
    async def work() -> None:
        made = [(await run(store, ended("ok"))).id for _ in range(7)]
        await store.database.write(
            lambda connection: connection.run("UPDATE runs SET started_at = 5.0 WHERE id <> ?", (made[0],))
        )
        for page in (1, 2, 3, 7, 8):
            export = Export(store, Redactor(), page)
            got = [one.metadata.run_id async for one in export.trajectories(Selection())]
            assert got == [*sorted(made[1:]), made[0]]

    asyncio.run(work())


def test_a_fork_says_what_it_is_a_copy_of_and_copies_are_not_exported_again(store: Store) -> None:
    async def work() -> None:
        made = await run(store, worked())
        source, stored = await store.sessions.get(made.session_id), await store.runs.get(made.id)
        whole = tuple((entry.at, entry.event) for entry in await store.journal.run_events(made.id))
        origin = ForkedFrom(run=made.id, session=source.id, step=1, events=3)
        call = ToolCall(id="c1", name="read_file", arguments={"path": "a.csv"})
        options = {"fork": msgspec.to_builtins(origin), "seed": 11}
        begun = RunCopy(
            source=stored,
            model="scripted:a",
            events=(
                (1.0, RunStarted(inbox_id="", model="scripted:a", options=options)),
                (1.0, UserMessage(text="again")),
                (1.0, AssistantMessage(text="", calls=(call,))),
            ),
        )
        draft = Draft(
            session_id=new_id(),
            source=source,
            agent="main",
            surface="cli",
            workspace="/w",
            title="fork",
            origin=origin,
            earlier=(RunCopy(source=stored, model="scripted:a", events=whole),),
            begun=begun,
            epoch=1,
        )
        _, forked = await Forks(store.database, "local").insert(draft)
        await store.journal.append(forked.id, forked.epoch, [result("c1", "other text"), *ended("done")])
        first, second = await exported(store)
        assert first.messages == WORKED
        assert [message["content"] for message in second.messages[6:]] == ["42", "again", "", "other text", "done"]
        told = second.metadata
        assert (told.forked_from, told.forked_at_step, told.seed) == (made.id, 1, "11")
        assert (told.turn, told.context_messages, told.tool_calls) == (2, 7, 1)
        assert (told.prefix, second.tools) == ("", ()), "this fork never froze a prefix"

    asyncio.run(work())


def test_a_damaged_run_and_an_erased_session_do_not_stop_the_others(store: Store) -> None:
    async def work() -> None:
        damaged, erased, whole = [await run(store, ended("ok")) for _ in range(3)]
        await store.database.write(
            lambda connection: connection.run("UPDATE events SET payload = '{}' WHERE run_id = ?", (damaged.id,))
        )
        await store.sessions.erase([erased.session_id])
        export = Export(store, Redactor())
        assert [one.metadata.run_id async for one in export.trajectories(Selection())] == [whole.id]
        assert export.counts == Counts(runs=2, trajectories=1, left_out={"damaged": 1})

    asyncio.run(work())


@pytest.mark.req("A10")
@pytest.mark.parametrize("name", ["chatml", "hermes", "llama", "qwen"])
def test_chat_templates_render_the_calls_as_they_were_made(name: str, home: Any) -> None:
    pytest.importorskip("jinja2")
    from hermes_agent.store.open import open_store
    from tests.training.templates import TEMPLATES, rendered

    async def work() -> list[Any]:
        store = open_store("", home)
        where = await session(store)
        await run(store, [Fragment(source="plan", text="first"), *worked()], at=where)
        await run(store, [CallFinished(call_id="?", tool="x", status=CallStatus.OK, text="s"), *ended("ok")], at=where)
        rows = [json.loads(line_of(one)) for one in await exported(store)]
        store.close()
        return rows

    for row in asyncio.run(work()):
        text = rendered(TEMPLATES[name], row["messages"], row["tools"])
        told = ['"path": "a.csv"', '"rows": [1, "two", null]', "40\n2", "42"]
        if name == "qwen":
            told = ["<parameter=path>a.csv", '<parameter=rows>[1, "two", null]', "40\n2", "42"]
        places = [text.index(part) for part in told]
        assert places == sorted(places)
        assert '\\"' not in text, "arguments must not be quoted twice"
        assert SYSTEM in text and "Grüße" in text

"""Events go in and come out as they were, whatever is in them; a driver without the lease writes nothing."""

import asyncio
import json
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hermes_agent.store.codec import UPCASTERS, decode, encode
from hermes_agent.store.open import Store
from hermes_agent.types.errors import LeaseLost, StoreDamaged, StoreTooNew
from hermes_agent.types.events import (
    AnyEvent,
    AssistantMessage,
    CallFinished,
    Fragment,
    InboxMode,
    Recorded,
    RunStarted,
    UserMessage,
)
from hermes_agent.types.tools import ToolCall
from hermes_agent.types.trace import CallStatus
from tests.store.samples import GROWN, KINDS, SAMPLES, as_stored, begun, finish

FIXTURE = Path(__file__).parent / "journals" / "v1.jsonl"
TEXT = st.text(alphabet=st.one_of(st.characters(), st.characters(categories=["Cs"]), st.just("\x00")), max_size=40)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


class StoredRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the journal as an old version of the product wrote it."""

    kind: str
    version: int
    payload: str
    crc: int


@st.composite
def events(draw: st.DrawFn) -> AnyEvent:
    """Any event, with arbitrary text in every text field and arbitrary JSON in call arguments."""
    sample = draw(st.sampled_from((*SAMPLES, *GROWN)))
    names = [field.name for field in msgspec.structs.fields(sample) if field.type is str]
    changed: dict[str, Any] = {name: draw(TEXT) for name in names}
    if isinstance(sample, AssistantMessage):
        call = ToolCall(id=draw(TEXT), name=draw(TEXT), arguments=draw(st.dictionaries(TEXT, JSON, max_size=4)))
        changed["calls"] = (call,)
    return msgspec.structs.replace(sample, **changed)


def test_the_samples_cover_every_kind() -> None:
    assert Counter(type(sample) for sample in SAMPLES) == Counter(KINDS)


@pytest.mark.req("H5", "R10")
def test_every_kind_comes_back_as_it_was(store: Store) -> None:
    async def scenario() -> None:
        run = await begun(store)
        written = await store.journal.append(run.id, run.epoch, (*SAMPLES, *GROWN))
        read = await store.journal.run_events(run.id)
        inbox_id = read[0].event.inbox_id if isinstance(read[0].event, RunStarted) else ""
        begin = (
            RunStarted(inbox_id=inbox_id, model="scripted"),
            UserMessage(text="hello", inbox_id=inbox_id),
        )
        assert read == [
            Recorded(run_id=run.id, seq=seq, epoch=1, at=read[seq - 1].at, event=event)
            for seq, event in enumerate((*begin, *SAMPLES, *GROWN), 1)
        ]
        assert read[2:] == written
        assert {entry.at for entry in read[2:]} == {written[0].at}

    asyncio.run(scenario())


@pytest.mark.req("H5", "R14")
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(drawn=st.lists(events(), min_size=1, max_size=6))
def test_any_text_survives_the_journal(store: Store, drawn: list[AnyEvent]) -> None:
    async def scenario() -> None:
        run = await begun(store)
        written = await store.journal.append(run.id, run.epoch, drawn)
        read = (await store.journal.run_events(run.id))[2:]
        assert read == written
        assert [entry.event for entry in read] == [as_stored(event) for event in drawn]

    asyncio.run(scenario())


@given(event=events())
def test_the_codec_gives_back_what_it_says(event: AnyEvent) -> None:
    row = encode(event)
    assert row.payload.isascii()
    assert row.event == as_stored(event)
    assert decode(row.kind, row.version, row.payload, row.crc) == row.event


def test_the_transcript_runs_over_all_runs_of_a_session(store: Store) -> None:
    async def scenario() -> None:
        run = await begun(store, "first")
        said = AssistantMessage(text="looking", calls=(ToolCall(id="c", name="t"),))
        done = CallFinished(call_id="c", tool="t", status=CallStatus.OK, text="found")
        note = Fragment(source="plan", text="next")
        first = await store.journal.append(run.id, run.epoch, [said, SAMPLES[6], done, note])
        await finish(store, run)
        await store.inbox.put(run.session_id, "second", InboxMode.QUEUE)
        again = await store.runs.begin(run.session_id, "me", "scripted")
        assert again is not None
        messages = await store.journal.transcript(run.session_id)
        opened = (await store.journal.run_events(run.id))[1]
        reopened = (await store.journal.run_events(again.id))[1]
        assert messages == [opened, first[0], first[2], first[3], reopened]
        other = await begun(store)
        assert len(await store.journal.transcript(other.session_id)) == 1

    asyncio.run(scenario())


@pytest.mark.req("R2", "H15")
def test_a_stale_driver_writes_nothing(store: Store) -> None:
    async def scenario() -> None:
        run = await begun(store)
        taken = await store.runs.take_over(run, "other")
        assert taken is not None
        before = await store.journal.run_events(run.id)
        with pytest.raises(LeaseLost):
            await store.journal.append(run.id, run.epoch, [Fragment(source="s", text="stale")])
        with pytest.raises(LeaseLost):
            await store.journal.append("nosuchrun", 1, [Fragment(source="s", text="stale")])
        assert await store.journal.run_events(run.id) == before
        assert await store.runs.get(run.id) == taken
        (entry,) = await store.journal.append(run.id, taken.epoch, [Fragment(source="s", text="fresh")])
        assert (entry.seq, entry.epoch) == (3, 2)

    asyncio.run(scenario())


def test_a_call_id_used_twice_keeps_both_calls_in_the_journal(store: Store) -> None:
    async def scenario() -> None:
        run = await begun(store)
        call = AssistantMessage(text="", calls=(ToolCall(id="call_0", name="a"), ToolCall(id="call_0", name="b")))
        done = CallFinished(call_id="call_0", tool="b", status=CallStatus.OK, text="x", duration_ms=1.0)
        await store.journal.append(run.id, run.epoch, [call, done, call])
        rows = await store.database.read(
            lambda connection: connection.run("SELECT tool, status, asked_seq, result_seq FROM tool_calls")
        )
        assert rows == [("b", "asked", 5, 0)]
        assert [entry.event for entry in (await store.journal.run_events(run.id))[2:]] == [call, done, call]

    asyncio.run(scenario())


@pytest.mark.req("R14")
def test_a_changed_payload_is_damage(store: Store) -> None:
    async def scenario() -> None:
        run = await begun(store)
        await store.journal.append(run.id, run.epoch, [Fragment(source="s", text="the truth")])
        changed = "UPDATE events SET payload = REPLACE(payload, 'truth', 'tooth') WHERE seq = 3"
        await store.database.write(lambda connection: connection.run(changed))
        with pytest.raises(StoreDamaged) as caught:
            await store.journal.run_events(run.id)
        assert f"{run.id}/3" in str(caught.value)
        assert "hermes doctor" in caught.value.advice

    asyncio.run(scenario())


def stored_rows() -> list[StoredRow]:
    return [msgspec.json.decode(line, type=StoredRow) for line in FIXTURE.read_text().splitlines()]


@pytest.mark.req("R2")
def test_old_journals_load() -> None:
    assert [decode(row.kind, row.version, row.payload, row.crc) for row in stored_rows()] == [*SAMPLES, *GROWN]


def test_every_version_ever_written_has_a_fixture() -> None:
    kept = {(row.kind, row.version) for row in stored_rows()}
    written = {(kind.__struct_config__.tag, number) for kind in KINDS for number in range(1, kind.version + 1)}
    assert kept == written
    assert {(kind, number + 1) for kind, number in UPCASTERS} <= written


def test_an_older_version_is_lifted_step_by_step() -> None:
    payload = '{"kind":"user_message","words":["old","news"]}'
    lift = {
        ("user_message", -1): lambda data: {"kind": data["kind"], "body": " ".join(data["words"])},
        ("user_message", 0): lambda data: {"kind": data["kind"], "text": data["body"]},
    }
    crc = encode_crc(payload)
    assert decode("user_message", -1, payload, crc, upcasters=lift) == UserMessage(text="old news")
    with pytest.raises(StoreDamaged):
        decode("user_message", -1, payload, crc)


def test_a_version_from_the_future_is_refused_and_nonsense_is_damage() -> None:
    payload = '{"kind":"user_message","text":"x"}'
    with pytest.raises(StoreTooNew):
        decode("user_message", 99, payload, encode_crc(payload))
    with pytest.raises(StoreTooNew):
        decode("mind_read", 1, payload, encode_crc(payload))
    for broken in ('{"kind":"user_message"}', "not json", '{"kind":"user_message","text":7}'):
        with pytest.raises(StoreDamaged):
            decode("user_message", 1, broken, encode_crc(broken))


def encode_crc(payload: str) -> int:
    return zlib.crc32(payload.encode())


def test_payloads_are_plain_json() -> None:
    row = encode(UserMessage(text="ä\x00"))
    expected = {"kind": "user_message", "text": "ä\x00", "inbox_id": "", "mode": "queue", "images": []}
    assert json.loads(row.payload) == expected

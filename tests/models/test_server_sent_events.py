"""The reading of event streams: the same events, however the bytes were cut."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hermes_agent.models.http import BrokenStream, server_sent_events


def events_of(chunks: Iterable[bytes]) -> list[bytes]:
    async def given_chunks() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk

    async def work() -> list[bytes]:
        return [event async for event in server_sent_events(given_chunks())]

    return asyncio.run(work())


def cut(data: bytes, places: Sequence[int]) -> list[bytes]:
    marks = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    return [data[start:end] for start, end in pairwise(marks)]


UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
LINES = st.one_of(
    st.sampled_from(
        [b"\n", b"\r\n", b"data:\n", b"data: [DONE]\n", b"\n\n", b": note\n", b"event: x\n", b"data: \r\n"]
    ),
    st.binary(max_size=30).map(lambda raw: b"data: " + raw.replace(b"\n", b"") + b"\n\n"),
    st.text(max_size=10).map(lambda said: b"data: " + said.encode("utf-8", "replace").replace(b"\n", b"") + b"\n\n"),
    st.binary(max_size=20),
)
STREAMS = st.lists(LINES, max_size=20).map(b"".join)


@UNHURRIED
@given(STREAMS, st.lists(st.integers(min_value=0), max_size=40))
def test_cutting_changes_nothing(data: bytes, places: list[int]) -> None:
    assert events_of(cut(data, places)) == events_of([data])


@UNHURRIED
@given(STREAMS)
def test_one_byte_at_a_time_changes_nothing(data: bytes) -> None:
    assert events_of(data[place : place + 1] for place in range(len(data))) == events_of([data])


@UNHURRIED
@given(st.lists(st.binary(max_size=40).map(lambda raw: raw.replace(b"\n", b"").rstrip(b"\r")), max_size=10))
def test_what_is_written_is_read(payloads: list[bytes]) -> None:
    assert events_of([b"".join(b"data: " + payload + b"\n\n" for payload in payloads)]) == payloads


def test_the_parts_of_an_event() -> None:
    stream = (
        b": comment\n\nevent: x\nid: 1\ndata: a\ndata:b\ndata:  c\n\ndatum: no\n\ndata: last\r\n\r\ndata: unfinished\n"
    )
    assert events_of([stream]) == [b"a\nb\n c", b"last"]


MEGABYTE = b"x" * (1 << 20)


@pytest.mark.parametrize("line", [MEGABYTE, b"data: " + MEGABYTE + b"\n", b": " + MEGABYTE + b"\n"])
def test_an_event_without_end_is_given_up(line: bytes) -> None:
    taken = 0

    def endless() -> Iterable[bytes]:
        nonlocal taken
        while taken < 100:
            taken += 1
            yield line

    with pytest.raises(BrokenStream):
        events_of(endless())
    assert taken <= 17


def test_a_stream_without_end_is_given_up() -> None:
    def endless() -> Iterable[bytes]:
        for _ in range(500):
            yield b"data: " + MEGABYTE + b"\n\n"

    with pytest.raises(BrokenStream):
        events_of(endless())

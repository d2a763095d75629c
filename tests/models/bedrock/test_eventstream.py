"""The binary event stream: the same frames in whatever chunks, and an error for whatever is broken."""

import asyncio
import struct
from collections.abc import AsyncIterator
from itertools import pairwise
from zlib import crc32

import pytest
from botocore.eventstream import EventStreamBuffer
from hypothesis import given
from hypothesis import strategies as st

from hermes_agent.models.wire.eventstream import Frame, FrameReader, Header, frames
from hermes_agent.types.errors import ModelError, ModelFailure
from tests.endpoint.eventstream import message


def packed(name: bytes, kind: int, value: bytes) -> bytes:
    return b"%c%b%c%b" % (len(name), name, kind, value)


def whole(headers: bytes, payload: bytes) -> bytes:
    prelude = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
    front = prelude + struct.pack(">I", crc32(prelude)) + headers + payload
    return front + struct.pack(">I", crc32(front))


def read(*chunks: bytes) -> list[Frame]:
    """All frames of a stream cut into these chunks, as the adapter reads them."""

    async def source() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk

    async def work() -> list[Frame]:
        return [frame async for frame in frames(source())]

    return asyncio.run(work())


def cut(data: bytes, places: list[int]) -> list[bytes]:
    bounds = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in pairwise(bounds)]


_names = st.text(alphabet=st.characters(max_codepoint=0x2FF, codec="utf-8"), min_size=1, max_size=20)
_texts = st.text(max_size=40)
_streams = st.lists(st.tuples(st.dictionaries(_names, _texts, max_size=4), st.binary(max_size=300)), max_size=6)
_places = st.lists(st.integers(min_value=0, max_value=10_000), max_size=20)


@given(_streams, _places)
def test_chunks_do_not_matter(told: list[tuple[dict[str, str], bytes]], places: list[int]) -> None:
    data = b"".join(message_of(headers, payload) for headers, payload in told)
    expected = [Frame(headers=dict(headers), payload=payload) for headers, payload in told]
    assert read(*cut(data, places)) == expected
    assert read(*(data[place : place + 1] for place in range(len(data)))) == expected


def message_of(headers: dict[str, str], payload: bytes) -> bytes:
    coded = [
        packed(name.encode(), 7, struct.pack(">H", len(value.encode())) + value.encode())
        for name, value in headers.items()
    ]
    return whole(b"".join(coded), payload)


@given(_streams.filter(bool), _places, st.integers(min_value=0), st.integers(min_value=1, max_value=255))
def test_one_changed_byte_is_noticed(
    told: list[tuple[dict[str, str], bytes]], places: list[int], place: int, change: int
) -> None:
    """Frames before the damage are right, and none comes from it or behind it."""
    data = bytearray(b"".join(message_of(headers, payload) for headers, payload in told))
    data[place % len(data)] ^= change
    got: list[Frame] = []
    reader = FrameReader()
    with pytest.raises(ModelError) as caught:
        for chunk in cut(bytes(data), places):
            got.extend(reader.feed(chunk))
        reader.finish()
    assert caught.value.failure is ModelFailure.MALFORMED
    expected = [Frame(headers=dict(headers), payload=payload) for headers, payload in told]
    assert (got, len(got) < len(expected)) == (expected[: len(got)], True)


@given(st.binary(min_size=1, max_size=200), _places)
def test_noise_is_never_a_frame(noise: bytes, places: list[int]) -> None:
    with pytest.raises(ModelError) as caught:
        read(*cut(noise, places))
    assert caught.value.failure is ModelFailure.MALFORMED


@given(_streams.filter(bool), st.integers(min_value=0))
def test_a_stream_that_ends_inside_a_frame_is_broken(told: list[tuple[dict[str, str], bytes]], place: int) -> None:
    parts = [message_of(headers, payload) for headers, payload in told]
    short = parts[-1][: 1 + place % (len(parts[-1]) - 1)]
    with pytest.raises(ModelError, match="broke off inside a message"):
        read(*parts[:-1], short)


KINDS: list[tuple[int, bytes, Header]] = [
    (0, b"", True),
    (1, b"", False),
    (2, b"\xff", -1),
    (3, b"\x80\x00", -32768),
    (4, b"\x7f\xff\xff\xff", 2**31 - 1),
    (5, b"\x80" + bytes(7), -(2**63)),
    (6, b"\x00\x02\xff\xfe", b"\xff\xfe"),
    (7, b"\x00\x03\xe6\x97\xa5", "日"),
    (8, struct.pack(">q", 1_700_000_000_000), 1_700_000_000_000),
    (9, bytes(range(16)), bytes(range(16))),
]


@pytest.mark.parametrize(("kind", "value", "expected"), KINDS)
def test_every_kind_of_header(kind: int, value: bytes, expected: Header) -> None:
    data = whole(packed(b"before", 0, b"") + packed(b"it", kind, value) + packed(b"after", 1, b""), b"payload")
    assert read(data) == [Frame(headers={"before": True, "it": expected, "after": False}, payload=b"payload")]
    official = EventStreamBuffer()
    official.add_data(data)
    (frame,) = official
    assert (frame.headers, frame.payload) == ({"before": True, "it": expected, "after": False}, b"payload")


@pytest.mark.parametrize(
    "headers",
    [
        packed(b"it", 10, b""),
        packed(b"it", 7, b"\x00\x05abc"),
        packed(b"it", 7, b"\x00\x01\xff"),
        packed(b"it", 5, b"\x00"),
        b"\x05it",
        b"\x02it",
    ],
)
def test_headers_that_cannot_be_read(headers: bytes) -> None:
    with pytest.raises(ModelError, match="headers that cannot be read") as caught:
        read(whole(headers, b""))
    assert caught.value.failure is ModelFailure.MALFORMED


def test_impossible_lengths_are_refused_before_they_are_waited_for() -> None:
    for length, headers in ((15, 0), (16, 1), (1 << 31, 0), (1 << 20, (1 << 17) + 1)):
        prelude = struct.pack(">II", length, headers)
        with pytest.raises(ModelError, match="impossible length"):
            list(FrameReader().feed(prelude + struct.pack(">I", crc32(prelude))))


def test_a_stream_without_end_is_given_up() -> None:
    frame = message({}, bytes(8 * 1024 * 1024))
    reader = FrameReader()
    with pytest.raises(ModelError, match="longer than any answer"):
        for _ in range(64):
            for _ in reader.feed(frame):
                continue

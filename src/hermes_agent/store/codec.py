"""Events as text: ASCII-escaped JSON with a checksum, and older versions lifted to the present one.

PostgreSQL refuses NUL characters in text and a lone surrogate does not encode at all, so payloads are escaped.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Mapping
from typing import Any, get_args

import msgspec

from ..types.errors import StoreDamaged, StoreTooNew
from ..types.events import AnyEvent
from ..types.text import clean

Upcaster = Callable[[dict[str, Any]], dict[str, Any]]
UPCASTERS: Mapping[tuple[str, int], Upcaster] = {}
"""(kind, version) -> what turns that version's payload into the next one's. Entries are never removed."""

VERSIONS: Mapping[str, int] = {str(kind.__struct_config__.tag): kind.version for kind in get_args(AnyEvent)}
"""The version of each event kind that this code writes."""

_decoder: msgspec.json.Decoder[AnyEvent] = msgspec.json.Decoder(AnyEvent)
_encode = msgspec.json.Encoder().encode


class Encoded(msgspec.Struct, frozen=True, kw_only=True):
    """An event ready to be inserted; `event` is what reading it back will give."""

    event: AnyEvent
    kind: str
    version: int
    payload: str
    crc: int


def encode(event: AnyEvent) -> Encoded:
    """The stored form of an event. Lone surrogates, which no encoding has, become replacement characters."""
    kind = type(event)
    try:
        raw = _encode(event)
    except UnicodeEncodeError:
        event = msgspec.convert(_cleaned(msgspec.to_builtins(event)), kind)
        raw = _encode(event)
    if not raw.isascii():
        raw = json.dumps(json.loads(raw), separators=(",", ":")).encode("ascii")
    return Encoded(
        event=event,
        kind=str(kind.__struct_config__.tag),
        version=kind.version,
        payload=raw.decode("ascii"),
        crc=zlib.crc32(raw),
    )


def plain(text: str) -> str:
    """`text` as any database column takes it: no lone surrogates, no NUL."""
    return clean(text).replace("\x00", " ")


def dump(value: Any) -> str:
    """A JSON value as ASCII text; every string survives, NUL and lone surrogates included."""
    return json.dumps(value, separators=(",", ":"))


def _cleaned(value: Any) -> Any:
    """A JSON value with every string made encodable."""
    match value:
        case str():
            return clean(value)
        case dict():
            return {clean(key): _cleaned(item) for key, item in value.items()}
        case list() | tuple():
            return [_cleaned(item) for item in value]
        case _:
            return value


def decode(
    kind: str,
    version: int,
    payload: str,
    crc: int,
    *,
    where: str = "",
    upcasters: Mapping[tuple[str, int], Upcaster] = UPCASTERS,
) -> AnyEvent:
    """The event behind a stored row. A wrong checksum or an unknown shape is damage, and is said so."""
    if zlib.crc32(payload.encode("utf-8", "replace")) != crc:
        raise StoreDamaged(
            f"the journal entry {where} does not match its checksum",
            remedy="run `hermes doctor`; restore the database from a backup, or delete this session",
        )
    try:
        if version == VERSIONS.get(kind):
            return _decoder.decode(payload)
        return _lifted(kind, version, msgspec.json.decode(payload), where, upcasters)
    except (msgspec.MsgspecError, KeyError, TypeError, ValueError) as error:
        raise StoreDamaged(
            f"the journal entry {where} ({kind} version {version}) cannot be read: {error}",
            remedy="run `hermes doctor`; restore the database from a backup, or delete this session",
        ) from error


def _lifted(
    kind: str, version: int, data: dict[str, Any], where: str, upcasters: Mapping[tuple[str, int], Upcaster]
) -> AnyEvent:
    """An older version's payload as the present event."""
    present = VERSIONS.get(kind)
    if present is None or version > present:
        raise StoreTooNew(f"the journal entry {where} is {kind} version {version}, which this hermes does not know")
    for old in range(version, present):
        data = upcasters[kind, old](data)
    event: AnyEvent = msgspec.convert(data, AnyEvent)
    return event

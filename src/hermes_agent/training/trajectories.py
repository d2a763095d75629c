"""Finished runs as trajectories for training: conversation, tools, outcome and provenance, without secrets.

Read in pages along the index of start times, one run at a time: a million runs need no more memory than a long one.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Sequence
from enum import StrEnum
from functools import partial
from typing import Any

import msgspec

from ..harness.compaction import conversation
from ..learning.lessons import success_of
from ..learning.observe import observe
from ..models.request import Prefix
from ..safety.redact import Redactor
from ..store.database import Connection, Row
from ..store.families import resolved
from ..store.forks import origin_of, own_events
from ..store.journal import read_run, recorded
from ..store.learning_views import Best, best_of, family_names
from ..store.open import Store
from ..store.traces import trace_of
from ..types.base import Value
from ..types.errors import StoreDamaged
from ..types.events import (
    MESSAGE_KINDS,
    AssistantMessage,
    CallFinished,
    Compacted,
    Fragment,
    Message,
    PrefixFrozen,
    Recorded,
    RunStarted,
    UserMessage,
)
from ..types.text import clean_json
from ..types.tools import Label
from ..types.trace import CallStatus, Judge, RunStatus, Trace
from ..version import __version__
from .chat import ChatMessage, chat_of, declared

_PAGE = 500
_SESSIONS = 32
_PREFIXES = 64
_FAILED = (CallStatus.ERROR, CallStatus.TIMEOUT)
_KINDS = ", ".join(f"'{kind}'" for kind in (*MESSAGE_KINDS, "compacted"))
_EVENTS = (
    "SELECT e.run_id, e.seq, e.epoch, e.kind, e.version, e.payload, e.crc, e.at FROM events e"
    " JOIN runs r ON r.id = e.run_id WHERE r.session_id = ? AND r.ordinal > ? AND r.ordinal < ?"
    f" AND e.kind IN ({_KINDS}) ORDER BY r.ordinal, e.seq"
)
_RUNS = (
    "SELECT r.id, r.started_at, r.session_id, r.ordinal, r.agent, s.surface FROM runs r"
    " JOIN outcomes o ON o.run_id = r.id JOIN sessions s ON s.id = r.session_id LEFT JOIN lessons l ON l.run_id = r.id"
    " WHERE s.deleted_at IS NULL AND (r.started_at > ? OR (r.started_at = ? AND r.id > ?)) AND r.started_at >= ?"
)
"""Copies that forks hold have no outcome of their own, so each run comes once."""
_PREFIX = (
    "SELECT p.payload, e.product FROM prefixes p LEFT JOIN prefix_epochs e"
    " ON e.fingerprint = p.fingerprint AND e.session_id = ? AND e.epoch = ? WHERE p.fingerprint = ?"
)


class Wanted(StrEnum):
    """Which runs by how they went. A run nobody can judge, such as an interrupted one, is only in `any`."""

    SUCCESS = "success"
    FAILURE = "failure"
    ANY = "any"


class Selection(Value, frozen=True, kw_only=True):
    """Which runs are exported. Times are those of a run's start; `family` is an id; 0 for `limit` means all."""

    since: float = 0.0
    until: float = 0.0
    min_value: float = 0.0
    family: str = ""
    model: str = ""
    outcome: Wanted = Wanted.ANY
    judged: Judge | None = None
    tainted: bool = False
    limit: int = 0


class Metadata(Value, frozen=True, kw_only=True):
    """Where a trajectory comes from and how it went. Flat, and each field of one type in every row and never null: the
    loaders of training tools take the types of a column from the first rows they see. An unknown text is empty.

    `context_messages` stand before the run's own request: earlier turns that the model saw. `compacted` counts how
    often the conversation was shortened during the run; the messages here are those before shortening.
    `heuristic_set` is the version of what was learned when the run was advised, `advice_applied` how many items of it
    acted. `forked_from` is the run that this one began as a copy of, up to its step `forked_at_step`.
    """

    run_id: str
    session_id: str
    turn: int
    agent: str
    surface: str
    model: str
    family: str
    family_name: str
    started_at: float
    seconds: float
    status: str
    outcome: str
    judged_by: str
    reason: str
    learning_value: float
    efficiency: float
    tool_calls: int
    failed_calls: int
    tainted: bool
    context_messages: int
    compacted: int
    images_left_out: int
    heuristic_set: int
    advice_applied: int
    seed: str
    forked_from: str
    forked_at_step: int
    prefix: str
    product_version: str
    exported_by: str = __version__


class Trajectory(Value, frozen=True, kw_only=True):
    """One run as one line of JSONL."""

    messages: tuple[ChatMessage, ...]
    tools: tuple[dict[str, Any], ...]
    metadata: Metadata


class Counts(Value, frozen=True, kw_only=True):
    """What an export came to. `left_out` counts runs by reason, among those that were read."""

    runs: int
    trajectories: int
    left_out: dict[str, int]


class _Said(Value, frozen=True, kw_only=True):
    """A session's conversation behind one of its runs, compactions applied; whether strangers' text was in it."""

    turn: int = 0
    messages: tuple[Message, ...] = ()
    tainted: bool = False

    def with_events(self, turn: int, events: Sequence[Recorded]) -> _Said:
        return _Said(
            turn=turn,
            messages=tuple(conversation(self.messages, events)),
            tainted=self.tainted or any(map(_is_strangers, events)),
        )


class _Head(Value, frozen=True, kw_only=True):
    """A frozen prefix, redacted; empty where the run never came to one."""

    system: str = ""
    tools: tuple[dict[str, Any], ...] = ()
    fingerprint: str = ""
    product: str = ""


class _Read(Value, frozen=True, kw_only=True):
    """One run as it was read, before it is decided whether it is exported."""

    row: Row
    events: list[Recorded]
    earlier: _Said
    trace: Trace
    family: str
    family_name: str
    best: Best
    head: _Head


class Export:
    """Exports the runs of a store, once. Afterwards, or in between, `counts` says what came of it."""

    def __init__(self, store: Store, redactor: Redactor, page: int = _PAGE) -> None:
        self._store = store
        self._redactor = redactor
        self._page = page
        self._said: OrderedDict[str, _Said] = OrderedDict()
        self._heads: OrderedDict[tuple[str, str], _Head] = OrderedDict()
        self._left_out: Counter[str] = Counter()
        self._runs = self._written = 0

    @property
    def counts(self) -> Counts:
        """What came of it so far."""
        return Counts(runs=self._runs, trajectories=self._written, left_out=dict(sorted(self._left_out.items())))

    async def trajectories(self, chosen: Selection) -> AsyncIterator[Trajectory]:
        """The chosen runs, in the order they began."""
        place = (0.0, "")
        while True:
            rows = await self._store.database.read(partial(_page, chosen=chosen, after=place, limit=self._page))
            for row in rows:
                self._runs += 1
                made = await self._made(row, chosen)
                if made is None:
                    continue
                self._written += 1
                yield made
                if self._written == chosen.limit:
                    return
            if len(rows) < self._page:
                return
            place = (rows[-1][1], rows[-1][0])

    async def _made(self, row: Row, chosen: Selection) -> Trajectory | None:
        try:
            read = await self._store.database.read(lambda connection: self._read(connection, row))
        except StoreDamaged:
            self._left_out["damaged"] += 1
            return None
        made = self._trajectory(read)
        reason = _against(made, chosen) if _has_answer(read.events) else "without an answer"
        if reason:
            self._left_out[reason] += 1
            return None
        return made

    def _read(self, connection: Connection, row: Row) -> _Read:
        run_id, session_id, turn, surface = row[0], row[2], row[3], row[5]
        events = read_run(connection, run_id)
        earlier = self._earlier(connection, session_id, turn)
        self._keep(session_id, earlier.with_events(turn, events))
        trace = trace_of(own_events(events), session_id, surface)
        rows = connection.run("SELECT family, seq FROM lessons WHERE run_id = ?", (run_id,))
        family, seq = rows[0] if rows else (resolved(connection, trace.family), None)
        return _Read(
            row=row,
            events=events,
            earlier=earlier,
            trace=trace,
            family=family,
            family_name=family_names(connection, [family])[family] if family else "",
            best=best_of(connection, family, trace.model, seq) if family else Best(),
            head=self._head(connection, session_id, events),
        )

    def _earlier(self, connection: Connection, session_id: str, turn: int) -> _Said:
        """What the session said before its `turn`th run; only what is not known from its last one is read."""
        known = self._said.get(session_id, _Said())
        if known.turn >= turn:
            known = _Said()
        if known.turn == turn - 1:
            return known
        rows = connection.run(_EVENTS, (session_id, known.turn, turn))
        return known.with_events(turn - 1, [recorded(row) for row in rows])

    def _keep(self, session_id: str, said: _Said) -> None:
        self._said[session_id] = said
        self._said.move_to_end(session_id)
        if len(self._said) > _SESSIONS:
            self._said.popitem(last=False)

    def _head(self, connection: Connection, session_id: str, events: Sequence[Recorded]) -> _Head:
        """The prefix that the run's last answer was given under."""
        frozen = next((entry.event for entry in reversed(events) if isinstance(entry.event, PrefixFrozen)), None)
        if frozen is None:
            return _Head()
        rows = connection.run(_PREFIX, (session_id, frozen.prefix_epoch, frozen.fingerprint))
        if not rows:
            return _Head(fingerprint=frozen.fingerprint)
        payload, product = rows[0]
        key = (frozen.fingerprint, product or "")
        if key not in self._heads:
            prefix = msgspec.json.decode(payload, type=Prefix)
            self._heads[key] = _Head(
                system=self._redactor.redact(prefix.system),
                tools=tuple(self._redactor.redact_json(clean_json(declared(tool))) for tool in prefix.tools),
                fingerprint=frozen.fingerprint,
                product=product or "",
            )
            if len(self._heads) > _PREFIXES:
                self._heads.popitem(last=False)
        return self._heads[key]

    def _trajectory(self, read: _Read) -> Trajectory:
        chat = chat_of(read.head.system, read.earlier.messages, _own_messages(read.events))
        messages = self._redactor.redact_json(clean_json(list(chat.messages)))
        metadata = _metadata(read, context=chat.begins, pictures=chat.pictures)
        told = self._redactor.redact_json(clean_json(msgspec.to_builtins(metadata)))
        return Trajectory(messages=tuple(messages), tools=read.head.tools, metadata=msgspec.convert(told, Metadata))


def line_of(trajectory: Trajectory) -> bytes:
    """A trajectory as a line."""
    return msgspec.json.encode(trajectory) + b"\n"


def _page(connection: Connection, chosen: Selection, after: tuple[float, str], limit: int) -> list[Row]:
    """The next finished runs, in the order they began."""
    sql, params = _RUNS, [after[0], after[0], after[1], max(chosen.since, after[0])]
    judged = None if chosen.judged is None else chosen.judged.value
    status = {Wanted.SUCCESS: RunStatus.DONE, Wanted.FAILURE: RunStatus.FAILED}.get(chosen.outcome)
    for condition, value in (
        (" AND r.started_at < ?", chosen.until),
        (" AND r.model = ?", chosen.model),
        (" AND (l.run_id IS NULL OR l.family = ?)", chosen.family),
        (" AND o.judged_by = ?", judged),
        (" AND o.status = ?", status and status.value),
    ):
        if value:
            sql += condition
            params.append(value)
    return connection.run(f"{sql} ORDER BY r.started_at, r.id LIMIT ?", (*params, limit))


def _against(made: Trajectory, chosen: Selection) -> str:
    """Why a run is not exported; empty when it is."""
    metadata = made.metadata
    if chosen.outcome is not Wanted.ANY and metadata.outcome != chosen.outcome:
        return "another outcome"
    if chosen.family and metadata.family != chosen.family:
        return "another family"
    if metadata.tainted and not chosen.tainted:
        return "tainted"
    if metadata.learning_value < chosen.min_value:
        return "worth less"
    return ""


def _metadata(read: _Read, *, context: int, pictures: int) -> Metadata:
    trace, events = read.trace, read.events
    success, judge = success_of(trace)
    observed = observe(trace, read.best)
    started = next((entry.event for entry in events if isinstance(entry.event, RunStarted)), None)
    options = started.options if started else {}
    origin = origin_of(options)
    seed = options.get("seed")
    return Metadata(
        run_id=read.row[0],
        session_id=read.row[2],
        turn=read.row[3],
        agent=read.row[4],
        surface=read.row[5],
        model=trace.model,
        family=read.family,
        family_name=read.family_name,
        started_at=float(read.row[1]),
        seconds=float(trace.summary.total_time),
        status=trace.outcome.status.value,
        outcome="unknown" if success is None else "success" if success else "failure",
        judged_by=judge.value,
        reason=trace.outcome.reason,
        learning_value=float(observed.learning_value),
        efficiency=float(observed.efficiency_score),
        tool_calls=len(trace.calls),
        failed_calls=sum(call.status in _FAILED for call in trace.calls),
        tainted=read.earlier.tainted or any(map(_is_strangers, events)),
        context_messages=context,
        compacted=sum(isinstance(entry.event, Compacted) for entry in events),
        images_left_out=pictures,
        heuristic_set=trace.advised_by,
        advice_applied=sum(item.applied for item in trace.advice),
        seed="" if seed is None else str(seed),
        forked_from=origin.run if origin else "",
        forked_at_step=origin.step if origin else 0,
        prefix=read.head.fingerprint,
        product_version=read.head.product,
    )


def _own_messages(events: Sequence[Recorded]) -> list[Message]:
    """What was said in a run, word for word. Calls that a tool made are the tool's own business."""
    return [
        event
        for event in (entry.event for entry in events)
        if isinstance(event, UserMessage | Fragment | AssistantMessage)
        or (isinstance(event, CallFinished) and not event.parent)
    ]


def _has_answer(events: Sequence[Recorded]) -> bool:
    return any(isinstance(entry.event, AssistantMessage) for entry in own_events(events))


def _is_strangers(entry: Recorded) -> bool:
    match entry.event:
        case CallFinished(labels=labels) | Fragment(labels=labels):
            return Label.UNTRUSTED in labels
        case Compacted(aside=aside):
            return bool(aside)
        case _:
            return False

"""A run's record while it is driven: what is journaled, and what that means for state and transcript."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any

from ..models.request import Transcript
from ..safety.taint import Provenance
from ..store.journal import Journal
from ..store.runs import Run
from ..types.events import (
    AnyEvent,
    AssistantMessage,
    CallFinished,
    Compacted,
    Fragment,
    ModelCalled,
    Recorded,
    UserMessage,
)
from ..types.sinks import EventSink
from .compaction import conversation
from .state import RunState


class RunRecord:
    """Commits events and keeps the fold of all that was committed. Nothing else changes a run's state."""

    def __init__(
        self,
        journal: Journal,
        run: Run,
        sink: EventSink,
        state: RunState,
        transcript: Transcript,
        provenance: Provenance,
    ) -> None:
        self._journal = journal
        self._run = run
        self._sink = sink
        self.state = state
        self.transcript = transcript
        self.provenance = provenance
        self.events: list[Recorded] = []
        self._fresh: list[Recorded] = []

    async def commit(self, events: Sequence[AnyEvent]) -> None:
        """Journal events and take them into account."""
        if events:
            await self.written(self._journal.append(self._run.id, self._run.epoch, events))

    async def written(self, write: Coroutine[Any, Any, list[Recorded]]) -> None:
        """Take into account what a write committed. Being cancelled waits for the write that is under way."""
        writing = asyncio.ensure_future(write)
        try:
            self._applied(await asyncio.shield(writing))
        except asyncio.CancelledError:
            await asyncio.wait([writing])
            if not writing.cancelled() and writing.exception() is None:
                self._applied(writing.result())
            raise

    def _applied(self, recorded: Sequence[Recorded]) -> None:
        for entry in recorded:
            self.state.apply(entry.event)
            self.provenance.apply(entry.event)
            self.events.append(entry)
            if isinstance(entry.event, UserMessage | Fragment | AssistantMessage | CallFinished | Compacted):
                self._fresh.append(entry)
            if not (isinstance(entry.event, ModelCalled) and entry.event.failure):
                self._sink.event(self._run.id, entry.event)

    def flush(self) -> None:
        """Let new messages enter the transcript in the journal's order, which is the order a resumed run reads."""
        fresh = sorted(self._fresh, key=lambda entry: entry.seq)
        self._fresh.clear()
        if any(isinstance(entry.event, Compacted) for entry in fresh):
            self.transcript = Transcript(conversation(list(self.transcript), fresh), self.transcript.image)
            return
        for message in conversation((), fresh):
            self.transcript.append(message)

"""Who watches a run: surfaces, logs, metrics."""

from __future__ import annotations

from typing import Protocol

from .events import AnyEvent


class EventSink(Protocol):
    """Told of every committed event and of streamed text. Must not block: a slow listener is dropped."""

    def event(self, run_id: str, event: AnyEvent) -> None: ...

    def text(self, run_id: str, delta: str) -> None: ...

"""Sinks: several at once, and a log file of what happened without what was said."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ..types.events import (
    AnyEvent,
    AssistantMessage,
    CallFinished,
    CallIntended,
    Decided,
    ModelCalled,
    PrefixFrozen,
    ProcessSpawned,
    Recovered,
    RunFinished,
)
from ..types.sinks import EventSink

_LARGEST_LOG = 8 * 1024 * 1024


class NoSink:
    """Listens to nothing."""

    def event(self, run_id: str, event: AnyEvent) -> None:
        return None

    def text(self, run_id: str, delta: str) -> None:
        return None


class Fanout:
    """Passes everything on to several sinks. A sink that raises is dropped, so that it cannot stop a run."""

    def __init__(self, sinks: Sequence[EventSink]) -> None:
        self._sinks = list(sinks)

    def add(self, sink: EventSink) -> None:
        """One more listener."""
        self._sinks.append(sink)

    def event(self, run_id: str, event: AnyEvent) -> None:
        self._tell(lambda sink: sink.event(run_id, event))

    def text(self, run_id: str, delta: str) -> None:
        self._tell(lambda sink: sink.text(run_id, delta))

    def _tell(self, tell: Callable[[EventSink], None]) -> None:
        for sink in tuple(self._sinks):
            try:
                tell(sink)
            except Exception:  # noqa: BLE001 - a listener's failure is its own
                self._sinks.remove(sink)


class LogFile:
    """One JSON line per event: kinds, names, figures, decisions. No message, argument or output is ever written."""

    def __init__(self, path: Path, clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self._clock = clock
        self._file: Any = None
        self._broken = False

    def event(self, run_id: str, event: AnyEvent) -> None:
        self.note(str(type(event).__struct_config__.tag), run=run_id, **_figures(event))

    def note(self, kind: str, **figures: Any) -> None:
        """One line about something that is no event of a run, such as the store being opened."""
        self._write({"at": round(self._clock(), 3), "kind": kind, **figures})

    def text(self, run_id: str, delta: str) -> None:
        return None

    def _write(self, line: dict[str, Any]) -> None:
        """Append one line. A log that cannot be written is given up: it must not stop a run."""
        if self._broken:
            return
        try:
            if self._file is None:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                if self._path.exists() and self._path.stat().st_size > _LARGEST_LOG:
                    self._path.replace(self._path.with_suffix(".old.log"))
                self._file = self._path.open("ab", buffering=0)
            self._file.write(msgspec.json.encode(line) + b"\n")
        except OSError:
            self._broken = True


def _figures(event: AnyEvent) -> dict[str, Any]:
    match event:
        case ModelCalled():
            return {
                "provider": event.provider,
                "model": event.model,
                "latency_ms": event.latency_ms,
                "tokens": event.usage,
                "failure": event.failure,
                "decision": event.decision,
            }
        case AssistantMessage():
            return {"calls": [call.name for call in event.calls], "stop": event.stop}
        case CallIntended():
            return {"tool": event.tool, "call": event.call_id, "effect": event.effect}
        case CallFinished():
            return {
                "tool": event.tool,
                "call": event.call_id,
                "status": event.status,
                "error": event.error,
                "duration_ms": event.duration_ms,
                "attempts": event.attempts,
            }
        case ProcessSpawned():
            return {"process": event.process, "pid": event.identity.pid, "background": event.background}
        case Decided():
            return {"subject": event.subject, "choice": event.choice, "call": event.call_id}
        case Recovered():
            return {"in_doubt": event.in_doubt, "rerun": event.rerun, "ended": event.ended, "adopted": event.adopted}
        case PrefixFrozen():
            return {"epoch": event.prefix_epoch, "reason": event.reason}
        case RunFinished():
            return {"status": event.status, "judged_by": event.outcome.judged_by}
        case _:
            return {}

"""Sinks: several at once, and a log file of what happened without what was said."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from ..safety.redact import Redactor
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
from ..types.text import clean_json
from .logs import KEPT, aside, level_of

LARGEST_LOG = 8 * 1024 * 1024


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
    """One JSON line per event: kinds, names, figures, decisions. No message, argument or output is ever written, and
    what looks like a secret is taken out of the rest. Only its user may read it.

    Several processes append to one file. Whoever finds it full moves it aside; the others notice and go on in the new
    one. `KEPT` older files are kept: `hermes.log.1` is the newest of them.
    """

    def __init__(
        self,
        path: Path,
        clock: Callable[[], float] = time.time,
        redactor: Redactor | None = None,
        largest: int = LARGEST_LOG,
    ) -> None:
        self._path = path
        self._clock = clock
        self._redactor = redactor or Redactor()
        self._largest = largest
        self._file = -1
        self._broken = False

    def event(self, run_id: str, event: AnyEvent) -> None:
        self.note(str(type(event).__struct_config__.tag), run=run_id, **_figures(event))

    def note(self, kind: str, **figures: Any) -> None:
        """One line about something that is no event of a run, such as the store being opened."""
        said = {"kind": kind, **figures}
        self._write(self._encoded({"at": round(self._clock(), 3), "level": level_of(said).value, **said}))

    def _encoded(self, line: dict[str, Any]) -> bytes:
        """The line without secrets. Most have nothing to redact, which one look at the whole tells; where something is
        escaped, a secret may look different there, so that every string is looked at by itself."""
        try:
            raw = msgspec.json.encode(line)
        except UnicodeEncodeError:
            raw = b"\\"
        text = raw.decode()
        if "\\" not in text and self._redactor.redact(text) == text:
            return raw
        return msgspec.json.encode(self._redactor.redact_json(clean_json(msgspec.to_builtins(line))))

    def text(self, run_id: str, delta: str) -> None:
        return None

    def close(self) -> None:
        """Let go of the file; the next line opens it again."""
        if self._file >= 0:
            os.close(self._file)
        self._file = -1

    def _write(self, line: bytes) -> None:
        """Append one line. A log that cannot be written is given up: it must not stop a run."""
        if self._broken:
            return
        try:
            if self._file < 0 or not self._is_current():
                self._open()
            if os.fstat(self._file).st_size >= self._largest:
                self._rotate()
            os.write(self._file, line + b"\n")
        except OSError:
            self._broken = True

    def _open(self) -> None:
        self.close()
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        if os.fstat(self._file).st_mode & 0o077:
            os.fchmod(self._file, 0o600)

    def _is_current(self) -> bool:
        try:
            found = os.stat(self._path)
        except FileNotFoundError:
            return False
        ours = os.fstat(self._file)
        return (found.st_dev, found.st_ino) == (ours.st_dev, ours.st_ino)

    def _rotate(self) -> None:
        """Move the full file aside. The lock is on the file itself: of several who find it full, one moves it."""
        import fcntl

        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        if self._is_current():
            for number in range(KEPT - 1, 0, -1):
                with suppress(FileNotFoundError):
                    os.replace(aside(self._path, number), aside(self._path, number + 1))
            os.replace(self._path, aside(self._path, 1))
        self._open()


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

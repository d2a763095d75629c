"""Shows a run as it happens: streamed text, tool calls with their results, retries, recovery."""

from __future__ import annotations

import msgspec

from ...types.events import (
    AnyEvent,
    AssistantMessage,
    CallFinished,
    Decided,
    ModelCalled,
    Recovered,
)
from ...types.text import one_line, visible
from ...types.tools import ToolCall
from ...types.trace import CallStatus
from .console import Console

_MARKS = {
    CallStatus.OK: ("✓", "green"),
    CallStatus.ERROR: ("✗", "red"),
    CallStatus.TIMEOUT: ("⧖", "yellow"),
    CallStatus.REFUSED: ("⊘", "yellow"),
    CallStatus.STEERED: ("↷", "yellow"),
    CallStatus.INTERRUPTED: ("■", "yellow"),
    CallStatus.IN_DOUBT: ("?", "yellow"),
}


class Progress:
    """A sink for terminals. Text goes to stdout as it streams (when `stream` is set), the rest to stderr."""

    def __init__(self, console: Console, *, stream: bool) -> None:
        self._console = console
        self._stream = stream
        self._in_text = False
        self.streamed: dict[str, int] = {}
        self._calls: dict[str, ToolCall] = {}

    def text(self, run_id: str, delta: str) -> None:
        """A piece of the answer."""
        if self._stream:
            self._console.out.write(visible(delta))
            self._console.out.flush()
            self._in_text = not delta.endswith("\n")
            self.streamed[run_id] = self.streamed.get(run_id, 0) + len(delta)

    def event(self, run_id: str, event: AnyEvent) -> None:
        """Something was committed."""
        match event:
            case AssistantMessage(calls=calls):
                self.end_text()
                self._calls.update((call.id, call) for call in calls)
                for call in calls:
                    self._console.note(f"→ {shown(call)}")
            case CallFinished():
                self._finished(event)
            case ModelCalled(failure=failure) if failure is not None:
                self.end_text()
                self._console.note(f"model: {one_line(event.reason, 160)}; {event.decision}", "yellow")
            case Decided(choice="retry"):
                self._console.note(f"↻ {one_line(event.reason, 160)}", "yellow")
            case Recovered():
                self._console.note(
                    f"resumed after a crash: {len(event.rerun)} calls run again, {len(event.in_doubt)} in doubt, "
                    f"{len(event.ended)} orphaned processes ended",
                    "yellow",
                )
            case _:
                return

    def end_text(self) -> None:
        """Close a streamed line."""
        if self._in_text:
            self._console.out.write("\n")
            self._console.out.flush()
            self._in_text = False

    def _finished(self, event: CallFinished) -> None:
        mark, style = _MARKS[event.status]
        call = self._calls.get(event.call_id)
        named = f"{event.tool}" if call is None else shown(call, 60)
        said = "" if event.status is CallStatus.OK else f": {one_line(_message(event.text), 160)}"
        self._console.note(f"{mark} {named} ({event.duration_ms / 1000:.1f} s){said}", style)


def shown(call: ToolCall, limit: int = 120) -> str:
    """A call on one line, as a person would write it."""
    arguments = ", ".join(f"{name}={one_line(str(value), 60)}" for name, value in call.arguments.items())
    return one_line(f"{call.name}({arguments})", limit)


def _message(text: str) -> str:
    try:
        return str(msgspec.json.decode(text)["error"])
    except (msgspec.MsgspecError, KeyError, TypeError):
        return text

"""Shows a run as it happens: streamed text, tool calls with their results, retries, recovery."""

from __future__ import annotations

from typing import Protocol

import msgspec

from ...types.events import (
    AnyEvent,
    AssistantMessage,
    CallFinished,
    Decided,
    InboxMode,
    ModelCalled,
    Recovered,
    UserMessage,
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


class Page(Protocol):
    """Where streamed text goes."""

    def add(self, text: str) -> None: ...

    def end_line(self) -> None: ...


class Printed:
    """Streamed text on stdout as it comes."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._in_line = False

    def add(self, text: str) -> None:
        self._console.out.write(text)
        self._console.out.flush()
        self._in_line = not text.endswith("\n")

    def end_line(self) -> None:
        if self._in_line:
            self.add("\n")


class Progress:
    """A sink for terminals. Text goes to the page as it streams (when `stream` is set), the rest to stderr.

    Runs in `muted` are not shown: those of other sessions that are resumed on the side.
    """

    def __init__(self, console: Console, *, stream: bool, page: Page | None = None) -> None:
        self._console = console
        self._page = page or Printed(console)
        self._stream = stream
        self.streamed: dict[str, int] = {}
        self.muted: set[str] = set()
        self._calls: dict[tuple[str, str], ToolCall] = {}

    def text(self, run_id: str, delta: str) -> None:
        """A piece of the answer."""
        if self._stream and run_id not in self.muted:
            self._page.add(visible(delta))
            self.streamed[run_id] = self.streamed.get(run_id, 0) + len(delta)

    def event(self, run_id: str, event: AnyEvent) -> None:
        """Something was committed."""
        if run_id in self.muted:
            return
        match event:
            case AssistantMessage(calls=calls):
                self.end_text()
                self._calls.update(((run_id, call.id), call) for call in calls)
                for call in calls:
                    self._console.note(f"→ {shown(call)}")
            case CallFinished():
                self._finished(run_id, event)
            case ModelCalled(failure=failure) if failure is not None:
                self.end_text()
                self._console.note(f"model: {one_line(event.reason, 160)}; {event.decision}", "yellow")
            case Decided(choice="retry"):
                self._console.note(f"↻ {one_line(event.reason, 160)}", "yellow")
            case UserMessage(mode=InboxMode.STEER, text=text):
                self._console.note(f"↳ joined this turn: {one_line(text, 160)}")
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
        self._page.end_line()

    def _finished(self, run_id: str, event: CallFinished) -> None:
        mark, style = _MARKS[event.status]
        call = self._calls.pop((run_id, event.call_id), None)
        named = event.tool if call is None else shown(call, 60)
        said = "" if event.status is CallStatus.OK else f": {one_line(_message(event.text), 160)}"
        self._console.note(f"{mark} {named} ({event.duration_ms / 1000:.1f} s){said}", style)


def shown(call: ToolCall, limit: int = 120) -> str:
    """A call on one line, as a person would write it."""
    call = call.meant()
    arguments = ", ".join(f"{name}={one_line(str(value), 60)}" for name, value in call.arguments.items())
    return one_line(f"{call.name}({arguments})", limit)


def _message(text: str) -> str:
    try:
        return str(msgspec.json.decode(text)["error"])
    except (msgspec.MsgspecError, KeyError, TypeError):
        return text

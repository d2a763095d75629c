"""How a check is shown: that it runs, and what it said."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...harness.verdict import CHECK, FAILED, NO_VERDICT, PASSED
from ...types.events import AnyEvent, Decided, ProcessSpawned, Recorded
from ...types.text import one_line, visible
from .console import Console

_STYLES = {PASSED: "green", FAILED: "red", NO_VERDICT: "yellow"}


class CheckNotice:
    """A sink that says when a check begins: it may take minutes, and the answer was streamed before it."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def text(self, run_id: str, delta: str) -> None:
        """Answers are shown by others."""

    def event(self, run_id: str, event: AnyEvent) -> None:
        """A check was spawned."""
        if isinstance(event, ProcessSpawned) and event.call_id == CHECK:
            self._console.note(f"checking: {one_line(event.command, 120)}")


def check_of(events: Sequence[Recorded]) -> Decided | None:
    """What was decided about the check of a run, if it had one."""
    said = (entry.event for entry in reversed(events))
    return next((event for event in said if isinstance(event, Decided) and event.subject == CHECK), None)


def show_check(found: Decided, console: Console) -> None:
    """The verdict, with the check's last words."""
    label = "check gave no verdict" if found.choice == NO_VERDICT else f"check {found.choice}"
    lines = visible(found.reason).splitlines()
    said = f": {lines[0]}" if len(lines) == 1 else "".join(f"\n  {line}" for line in lines)
    console.note(f"{label}{said}", _STYLES[found.choice])


def check_report(found: Decided | None) -> dict[str, Any]:
    """The verdict as a part of a run's JSON; nothing where there was no check."""
    return {} if found is None else {"check": {"verdict": found.choice, "reason": found.reason}}


def exit_code(code: int, found: Decided | None) -> int:
    """A check that did not pass is a failure, also where it could not say: whoever asks for one relies on it."""
    return code if found is None or found.choice == PASSED else code or 1

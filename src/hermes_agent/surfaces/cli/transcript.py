"""A session as a person reads it."""

from __future__ import annotations

import time
from collections.abc import Sequence

from ...store.sessions import Session
from ...types.events import (
    AssistantMessage,
    CallFinished,
    Fragment,
    Recorded,
    Recovered,
    RunFinished,
    RunStarted,
    UserMessage,
)
from ...types.text import head_and_tail, visible
from ...types.trace import CallStatus, RunStatus
from .console import Console
from .progress import shown

_OUTPUT = 600


class Reader:
    """Prints events one after the other. Answers are set as Markdown where a terminal can show it."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._out = console.out

    def session(self, session: Session) -> None:
        """What stands above a transcript."""
        begun = time.strftime("%Y-%m-%d %H:%M", time.localtime(session.created_at))
        self._line(visible(session.title) or "(no title)", "bold")
        self._line(f"session {session.id} · {begun} · {session.surface} · {visible(session.workspace)}", "dim")

    def events(self, events: Sequence[Recorded]) -> None:
        """All that was said and done."""
        for recorded in events:
            self._event(recorded)
        self._out.flush()

    def _event(self, recorded: Recorded) -> None:
        match recorded.event:
            case RunStarted(model=model):
                at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(recorded.at))
                self._line(f"\n── run {recorded.run_id} · {at} · {visible(model)}", "dim")
            case UserMessage(text=text):
                self._line(f"you: {visible(text)}", "cyan")
            case Fragment(source=source, text=text):
                self._line(f"[{source}] {visible(text)}", "dim")
            case AssistantMessage() as said:
                if said.text:
                    self._said(visible(said.text))
                for call in said.calls:
                    self._line(f"→ {shown(call, 400)}", "dim")
            case CallFinished() as done:
                style = "dim" if done.status is CallStatus.OK else "yellow"
                output = head_and_tail(visible(done.text), _OUTPUT).replace("\n", "\n  ")
                self._line(f"← {done.tool}: {done.status.value} ({done.duration_ms / 1000:.1f} s)\n  {output}", style)
            case Recovered():
                self._line("(interrupted here, and taken up again)", "yellow")
            case RunFinished() as end if end.status is not RunStatus.DONE:
                self._line(f"{end.status.value}: {visible(end.outcome.reason)}", "red")
            case _:
                return

    def _said(self, text: str) -> None:
        if not self._console.colourful(self._out):
            self._line(f"hermes: {text}", "bold")
            return
        from rich.console import Console as RichConsole
        from rich.markdown import Markdown

        RichConsole(file=self._out).print(Markdown(text))

    def _line(self, text: str, style: str) -> None:
        print(self._console.styled(text, style, self._out), file=self._out)

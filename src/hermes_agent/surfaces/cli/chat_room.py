"""A conversation in one terminal: what is said goes in, answers come out, one after the other."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path

from ...app import App
from ...runtime.engine import Finished
from ...safety.approvals import Approver, Nobody
from ...store.forks import own_events
from ...store.runs import Run
from ...store.sessions import Session
from ...types.base import Value
from ...types.errors import HermesError
from ...types.events import InboxMode, Recorded, UserMessage
from ...types.text import one_line
from ...types.trace import RunStatus
from .answers import EXIT_CODES, show_answer
from .chat_learning import Checkpoints
from .console import Console
from .driving import say_when_waiting
from .news import tell_news
from .opening import check_workspace
from .progress import Progress
from .why_learning import learned_line


class Seat(Value, frozen=True, kw_only=True):
    """How the user sat down: the model, the endpoint, the folder, and whether everything is allowed."""

    model: str
    base_url: str = ""
    directory: Path = Path(".")
    yes: bool = False


class Room:
    """Sends messages of this terminal and shows the answers. `work` must run as a task.

    A session begins with its first message, so that looking around leaves nothing behind.
    """

    def __init__(self, app: App, seat: Seat, console: Console, progress: Progress) -> None:
        self.app = app
        self.seat = seat
        self.console = console
        self.progress = progress
        self.checkpoints = Checkpoints(app, console)
        self.approver: Approver = Nobody()
        self.session: Session | None = None
        self.changed: Callable[[], None] = lambda: None
        self.code = 0
        self._waiting: deque[str | Run] = deque()
        self._ours: set[str] = set()
        self._shown: set[str] = set()
        self._current: asyncio.Future[None] | None = None
        self._in_hand = ""
        self._news = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def busy(self) -> bool:
        """Whether an answer is awaited."""
        return not self._idle.is_set()

    @property
    def queued(self) -> int:
        """How many messages wait behind the one in hand."""
        return len(self._waiting)

    async def open(self, session: Session) -> list[Run]:
        """Go on in a session: what was interrupted or left waiting in it is taken up first."""
        check_workspace(session, self.seat.directory, self.console)
        self.session = session
        interrupted = [run for run in await self.app.engine.abandoned() if run.session_id == session.id]
        for run in interrupted:
            self.console.note(f"resuming run {run.id}, which was interrupted", "yellow")
            self._add(run)
        for session_id, message, _ in await self.app.store.inbox.waiting_everywhere():
            if session_id == session.id and message.text:
                self.console.note(f"a message was left waiting: {one_line(message.text, 80)}", "yellow")
                self._add(message.id)
        return interrupted

    async def say(self, text: str, mode: InboxMode = InboxMode.QUEUE) -> None:
        """Commit a message; it is answered in its turn, or joins or ends the one under way. What was learned while the
        user was typing is told now."""
        await tell_news(self.app, self.console)
        redacted = self.app.redactor.redact(text)
        if redacted != text:
            self.console.note("a secret in your message was replaced before it was stored", "yellow")
        if self.session is None:
            self.session = await self.app.session("", title=redacted, surface="cli", workspace=self.seat.directory)
        options = {"model": self.seat.model, "base_url": self.seat.base_url}
        if self.seat.yes:
            options["consent"] = "all"
        if self.busy and mode is InboxMode.QUEUE:
            self.console.note("queued; /steer joins the turn, /interrupt ends it")
        message = await self.app.engine.submit(self.session, redacted, mode, options)
        self._ours.add(message)
        self._add(message)

    async def last_said(self) -> str:
        """What the user said last in this session."""
        if self.session is None:
            return ""
        said = [
            entry.event.text
            for entry in await self.app.store.journal.transcript(self.session.id)
            if isinstance(entry.event, UserMessage)
        ]
        return said[-1] if said else ""

    async def stop(self) -> bool:
        """End the turn under way, or take back the message that waits for another terminal. False when idle."""
        if self.session is None or not self.busy:
            return False
        if self.app.engine.interrupt(self.session.id):
            return True
        if self._in_hand and await self.app.store.inbox.withdraw(self._in_hand):
            self.console.note("your message was taken back", "yellow")
        elif self._in_hand:
            self.console.note(
                "not waiting for the other terminal any more; its answer will be in the session", "yellow"
            )
        if self._current is not None:
            self._current.cancel()
        return True

    async def until_idle(self) -> None:
        """Wait until everything said was answered."""
        await self._idle.wait()

    async def work(self) -> None:
        """Answer what was said, in order, for ever."""
        while True:
            while not self._waiting:
                self._idle.set()
                self.changed()
                self._news.clear()
                await self._news.wait()
            item = self._waiting.popleft()
            self._in_hand = item if isinstance(item, str) else ""
            self.changed()
            self._current = asyncio.ensure_future(self._answer(item))
            await asyncio.wait([self._current])
            if not self._current.cancelled() and (error := self._current.exception()) is not None:
                raise error

    def _add(self, item: str | Run) -> None:
        self._waiting.append(item)
        self._idle.clear()
        self._news.set()
        self.changed()

    async def _answer(self, item: str | Run) -> None:
        assert self.session is not None
        engine = self.app.engine
        watch = asyncio.ensure_future(say_when_waiting(self.app, self.session.id, self.console))
        try:
            if isinstance(item, Run):
                finished = await engine.resume_run(item, self.approver, self._deliver)
            else:
                finished = await engine.answer(self.session, item, self.approver, self._deliver)
            if finished is not None and finished.run_id not in self._shown:
                await self._deliver(finished)
            await self.checkpoints.tell()
        except HermesError as error:
            self.code = error.exit_code
            self.console.fail(error)
        finally:
            watch.cancel()

    async def _deliver(self, finished: Finished) -> None:
        self._shown.add(finished.run_id)
        self.code = max(self.code, EXIT_CODES[finished.result.status])
        events = await self.app.store.journal.run_events(finished.run_id)
        request = self._request_from_elsewhere(events)
        if request:
            self.console.note(f"the answer to a message from another terminal ({one_line(request, 80)}):", "yellow")
        await show_answer(self.app, finished, self.console, self.progress)
        if finished.result.status is RunStatus.DONE:
            self.progress.end_text()
        if learned := learned_line(own_events(events), "/why"):
            self.console.note(learned)

    def _request_from_elsewhere(self, events: Sequence[Recorded]) -> str:
        said = [entry.event for entry in events if isinstance(entry.event, UserMessage)]
        return said[0].text if said and said[0].inbox_id not in self._ours else ""

"""The terminal of a chat: the prompt stays open while answers stream in above it."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ...safety.approvals import Answer, Question
from ...types.errors import HermesError
from ...types.text import one_line
from .asking import chosen, decisions, show_choices
from .chat_commands import Leave, SlashCommands
from .chat_room import Room
from .console import Console
from .stopping import INTERRUPTED

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import CompleteEvent, Completer, Completion
    from prompt_toolkit.document import Document
    from prompt_toolkit.formatted_text import StyleAndTextTuples
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

_PROMPT = "› "
_LEAVE = "\x00leave"


class Streamed:
    """Text as it streams: whole lines go above the prompt, the line in progress stands in the prompt itself."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self.partial = ""
        self.redraw = _nothing

    def add(self, text: str) -> None:
        whole, newline, rest = (self.partial + text).rpartition("\n")
        self.partial = rest
        if newline:
            self._console.out.write(whole + "\n")
        self.redraw()

    def end_line(self) -> None:
        if self.partial:
            self.add("\n")


class Screen:
    """Reads messages, commands and answers to questions from one prompt."""

    def __init__(self, room: Room, commands: SlashCommands, streamed: Streamed, history: Sequence[str]) -> None:
        self._room = room
        self._commands = commands
        self._streamed = streamed
        self._question: tuple[str, asyncio.Future[str]] | None = None
        self._one_question = asyncio.Lock()
        self._stopping = False
        self._warned = False
        self._code = 0
        self.sessions: list[str] = []
        self._looking: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._prompt = self._make_prompt(history)
        streamed.redraw = self._prompt.app.invalidate
        room.changed = self._state_changed

    async def talk(self) -> int:
        """Until the user leaves. Leaving in the middle of a turn leaves it to the next start."""
        self._look_again()
        try:
            return await self._talk()
        finally:
            self._looking.cancel()

    async def _talk(self) -> int:
        while True:
            try:
                text = await self._prompt.prompt_async()
            except (EOFError, KeyboardInterrupt):
                text = _LEAVE
            if text == _LEAVE:
                if self._may_leave():
                    return self._code
                continue
            try:
                if self._commands.meant(text):
                    await self._commands.run(text)
                    self._look_again()
                elif text.strip():
                    await self._room.say(text)
                self._warned = False
            except Leave:
                if self._may_leave():
                    return 0

    def _look_again(self) -> None:
        self._looking.cancel()
        self._looking = asyncio.ensure_future(self._look_around())

    async def _look_around(self) -> None:
        """See what can be completed: sessions and skills."""
        with contextlib.suppress(HermesError):
            self.sessions = [one.id for one in await self._room.app.store.sessions.recent(20)]
            await self._commands.skills.refresh()

    async def approve(self, questions: Sequence[Question]) -> Sequence[Answer]:
        """Yes, no, or yes for the rest of the session, for each call."""
        async with self._one_question:
            return await decisions(self._room.console, questions, self._ask)

    async def choose(self, question: str, choices: Sequence[str]) -> str | None:
        """What the person types; a number picks a choice."""
        async with self._one_question:
            show_choices(self._room.console, question, choices)
            return chosen(await self._ask("answer: "), choices)

    async def _ask(self, prompt: str) -> str:
        """The next line belongs to the question; what was being typed comes back afterwards."""
        buffer = self._prompt.default_buffer
        typed = buffer.document
        buffer.reset()
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._question = (prompt, answer)
        self._prompt.app.invalidate()
        try:
            return await answer
        finally:
            self._question = None
            if not buffer.text:
                buffer.set_document(typed, bypass_readonly=True)
            self._prompt.app.invalidate()

    def _make_prompt(self, history: Sequence[str]) -> PromptSession[str]:
        from prompt_toolkit import PromptSession
        from prompt_toolkit.history import InMemoryHistory

        return PromptSession(
            message=self._message,
            multiline=True,
            prompt_continuation="  ",
            history=InMemoryHistory(history),
            completer=_completer(self),
            complete_while_typing=True,
            key_bindings=self._keys(),
            bottom_toolbar=self._toolbar,
            reserve_space_for_menu=4,
        )

    def _message(self) -> StyleAndTextTuples:
        """The line in progress, as much of it as fits, and the prompt. A line that was sent shows only itself."""
        if self._prompt.app.is_done:
            return [("bold", _PROMPT)]
        size = shutil.get_terminal_size()
        partial = self._streamed.partial[-size.columns * max(1, size.lines // 2) :]
        shown: StyleAndTextTuples = [("", partial + "\n")] if partial else []
        shown.append(("bold", self._question[0] if self._question else _PROMPT))
        return shown

    def _toolbar(self) -> str:
        room = self._room
        session = room.session.id if room.session else "new session"
        state = "working; Ctrl-C stops" if room.busy else "/help, Ctrl-D leaves"
        queued = f" · {room.queued} queued" if room.queued else ""
        return f" {state}{queued} · {session} · {one_line(room.seat.model, 40)}"

    def _state_changed(self) -> None:
        self._stopping = False
        self._prompt.app.invalidate()

    def _may_leave(self) -> bool:
        if not self._room.busy or self._warned:
            return True
        self._warned = True
        self._room.console.note("a turn is under way; once more leaves it to the next start, Ctrl-C stops it", "yellow")
        return False

    def _keys(self) -> KeyBindings:
        from prompt_toolkit.key_binding import KeyBindings

        keys = KeyBindings()
        keys.add("enter")(self._enter)
        keys.add("escape", "enter")(lambda event: event.current_buffer.insert_text("\n"))
        keys.add("c-c")(self._ctrl_c)
        keys.add("<sigint>")(self._ctrl_c)
        keys.add("c-d")(self._ctrl_d)
        return keys

    def _enter(self, event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if self._question is not None and not self._commands.knows(buffer.text):
            prompt, answer = self._question
            said = buffer.text
            buffer.reset()
            self._room.console.note(f"{prompt}{said}")
            if not answer.done():
                answer.set_result(said)
        elif buffer.document.text_before_cursor.endswith("\\"):
            buffer.delete_before_cursor(1)
            buffer.insert_text("\n")
        else:
            buffer.validate_and_handle()

    def _ctrl_c(self, event: KeyPressEvent) -> None:
        if self._room.busy and self._stopping:
            self._warned, self._code = True, INTERRUPTED
            event.app.exit(result=_LEAVE)
        elif self._room.busy:
            self._stopping = True
            self._room.console.note("stopping; press Ctrl-C again to leave at once", "yellow")
            event.app.create_background_task(self._stop())
        elif event.current_buffer.text:
            event.current_buffer.reset()
        else:
            self._room.console.note("Ctrl-D or /exit leaves")

    def _ctrl_d(self, event: KeyPressEvent) -> None:
        if event.current_buffer.text:
            event.current_buffer.delete()
        else:
            event.app.exit(result=_LEAVE)

    async def _stop(self) -> None:
        await self._room.stop()

    def completions(self, text: str) -> list[tuple[str, str]]:
        """What may follow a slash."""
        return self._commands.completions(text, self.sessions) if text.startswith("/") else []


def _completer(screen: Screen) -> Completer:
    from prompt_toolkit.completion import Completer, Completion

    class SlashCompleter(Completer):
        def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
            yield from _found(screen, document.text_before_cursor)

    def _found(screen: Screen, text: str) -> Iterator[Completion]:
        word = text.rpartition(" ")[2]
        for found, remark in screen.completions(text):
            yield Completion(found, start_position=-len(word), display_meta=remark)

    return SlashCompleter()


def _nothing() -> None:
    """Before there is a prompt to redraw."""


def open_terminal() -> Any:
    """While this context is open, what is printed appears above the prompt."""
    from prompt_toolkit.patch_stdout import patch_stdout

    return patch_stdout(raw=True)

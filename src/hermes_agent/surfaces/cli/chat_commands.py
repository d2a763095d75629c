"""Slash commands of a chat."""

from __future__ import annotations

import difflib
import re
from collections.abc import Awaitable, Callable, Iterable

import msgspec

from ...harness.state import RunState
from ...store.judging import last_finished
from ...types.base import Value
from ...types.errors import HermesError, UsageError
from ...types.events import InboxMode
from .chat_room import Room
from .chat_skills import ChatSkills
from .console import ago
from .judge import judged, show_judgement
from .status import read_status, show_status
from .tools import described
from .transcript import Reader
from .why_page import Page
from .why_receipt import receipt_of

_LISTED = 10
_COMMAND = re.compile(r"/([a-z][a-z0-9_-]*)?(\s|$)")


class Leave(Exception):
    """The user wants to go."""


class SlashCommand(Value, frozen=True, kw_only=True):
    """One command: what it takes, what it does, in words and in deed."""

    argument: str
    summary: str
    act: Callable[[str], Awaitable[None]]


class SlashCommands:
    """Everything that begins with a slash."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self.skills = ChatSkills(room)
        self.table = {
            "/help": SlashCommand(argument="", summary="this list", act=self._help),
            "/new": SlashCommand(argument="", summary="begin a new session", act=self._new),
            "/sessions": SlashCommand(argument="", summary="the sessions used last", act=self._sessions),
            "/switch": SlashCommand(argument="ID", summary="go on in another session", act=self._switch),
            "/show": SlashCommand(argument="", summary="this session from its beginning", act=self._show),
            "/model": SlashCommand(argument="NAME", summary="which model answers from now on", act=self._model),
            "/tools": SlashCommand(argument="", summary="which tools there are", act=self._tools),
            "/skills": SlashCommand(argument="", summary="which skills there are", act=self._skills),
            "/memory": SlashCommand(argument="", summary="what is remembered in every session", act=self._memory),
            "/status": SlashCommand(argument="", summary="what is running, waiting, interrupted", act=self._status),
            "/plan": SlashCommand(argument="", summary="where the turn under way stands", act=self._plan),
            "/steer": SlashCommand(
                argument="TEXT", summary="join the turn under way at its next step", act=self._steer
            ),
            "/queue": SlashCommand(
                argument="TEXT", summary="answer this after the turn (as Enter does)", act=self._queue
            ),
            "/interrupt": SlashCommand(
                argument="[TEXT]", summary="end the turn; answer TEXT next", act=self._interrupt
            ),
            "/good": SlashCommand(argument="[WHY]", summary="the last answer was right; learn from it", act=self._good),
            "/bad": SlashCommand(argument="[WHY]", summary="the last answer was wrong; learn from it", act=self._bad),
            "/why": SlashCommand(argument="[RUN]", summary="the receipt of the last run", act=self._why),
            "/approve": SlashCommand(
                argument="[ID]",
                summary="let something learned act; lists what waits",
                act=self._room.checkpoints.approve,
            ),
            "/reject": SlashCommand(
                argument="ID", summary="refuse something learned for good", act=self._room.checkpoints.reject
            ),
            "/retry": SlashCommand(argument="", summary="say the last message again", act=self._retry),
            "/exit": SlashCommand(argument="", summary="leave (also Ctrl-D)", act=self._exit),
        }

    def knows(self, text: str) -> bool:
        """Whether the text begins with one of the commands."""
        return bool(text.strip()) and text.split(maxsplit=1)[0] in self.table

    def meant(self, text: str) -> bool:
        """Whether the text is meant as a command or skill, known or not: a path such as /etc/hosts is not, nor is
        anything behind a space."""
        return _COMMAND.match(text) is not None

    async def run(self, text: str) -> None:
        """Do what a line that begins with a slash says: a command of the chat, else a skill of that name, which is a
        message to the agent, else a command by its beginning. Errors are shown, not raised; Leave is raised."""
        name, *rest = text.split(maxsplit=1)
        try:
            if name not in self.table and await self.skills.has(name):
                await self._room.say(text)
            else:
                await self._named(name).act(rest[0].strip() if rest else "")
        except HermesError as error:
            self._room.console.fail(error)

    def _named(self, name: str) -> SlashCommand:
        """A command by its name, or by a beginning of it that fits no other."""
        fitting = [name] if name in self.table else [one for one in self.table if one.startswith(name)]
        if len(fitting) == 1:
            return self.table[fitting[0]]
        skills = [f"/{skill}" for skill in self.skills.known]
        close = fitting + [one for one in skills if one.startswith(name)]
        close = close or difflib.get_close_matches(name, [*self.table, *skills], n=1)
        raise UsageError(f"there is no command {name}", remedy=" or ".join(close) or "/help, or /skills")

    def completions(self, text: str, sessions: Iterable[str]) -> list[tuple[str, str]]:
        """What may come behind the text, each with a remark."""
        name, space, argument = text.partition(" ")
        if not space:
            found = {f"/{skill}": what for skill, what in self.skills.known.items()}
            found |= {one: made.summary for one, made in self.table.items()}
            return [
                (one, found[one]) for one in [*self.table, *sorted(found.keys() - self.table)] if one.startswith(name)
            ]
        if name == "/switch":
            return [(one, "") for one in sessions if one.startswith(argument)]
        return []

    async def _help(self, argument: str) -> None:
        rows = [(f"{name} {made.argument}".strip(), made.summary) for name, made in self.table.items()]
        for usage, summary in rows:
            self._room.console.say(f"  {usage.ljust(18)} {summary}")
        self._room.console.say("  /SKILL [ARGUMENTS]".ljust(21) + "use a skill; /skills lists them")
        self._room.console.say(
            "A command wins over a skill of the same name; with a space before the slash the skill wins."
        )
        self._room.console.say("Enter sends; Esc Enter, or a backslash before Enter, begins a new line.")
        self._room.console.say("While a turn runs: Enter queues, /steer joins, Ctrl-C stops it.")

    async def _new(self, argument: str) -> None:
        self._must_be_idle()
        self._room.session = None
        self._room.console.note("a new session begins with your next message")

    async def _sessions(self, argument: str) -> None:
        found = await self._room.app.store.sessions.recent(_LISTED)
        current = self._room.session.id if self._room.session else ""
        if not found:
            self._room.console.note("there are no sessions yet")
            return
        self._room.console.table(
            ("", "id", "used", "title"),
            [("*" if one.id == current else " ", one.id, ago(one.updated_at), one.title) for one in found],
        )

    async def _switch(self, argument: str) -> None:
        self._must_be_idle()
        _need(argument, "/switch ID")
        session = await self._room.app.store.sessions.get(argument)
        await self._room.open(session)
        self._room.console.note(f"session {session.id}: {session.title}")

    async def _show(self, argument: str) -> None:
        if self._room.session is None:
            self._room.console.note("nothing was said yet")
            return
        Reader(self._room.console).events(await self._room.app.store.sessions.export(self._room.session.id))

    async def _model(self, argument: str) -> None:
        room = self._room
        if not argument:
            room.console.note(f"the model is {room.seat.model}; /model PROVIDER:NAME changes it")
            return
        name = room.app.model_name(argument)
        room.app.clients_for(name, room.seat.base_url)
        room.seat = msgspec.structs.replace(room.seat, model=name)
        room.changed()
        room.console.note(f"{name} answers from the next message on")

    async def _tools(self, argument: str) -> None:
        rows = [(one["name"], one["verdict"], one["description"].partition("\n")[0]) for one in described()]
        self._room.console.table(("tool", "verdict", "what it does"), rows)

    async def _skills(self, argument: str) -> None:
        await self.skills.show(self.table)

    async def _memory(self, argument: str) -> None:
        await self.skills.show_memory()

    async def _status(self, argument: str) -> None:
        show_status(await read_status(self._room.app), self._room.console)

    async def _plan(self, argument: str) -> None:
        room = self._room
        opened = None if room.session is None else await room.app.store.runs.open_run_of(room.session.id)
        if opened is None:
            room.console.note("no turn is under way")
            return
        events = await room.app.store.journal.run_events(opened[0].id)
        plan = RunState(room.app.settings.limits.retries, events).plan()
        pending = ", ".join(plan.pending) or "nothing"
        room.console.say(f"step {plan.step}, pending: {pending}, retries left: {plan.retries_left}")

    async def _steer(self, argument: str) -> None:
        _need(argument, "/steer TEXT")
        await self._room.say(argument, InboxMode.STEER)

    async def _queue(self, argument: str) -> None:
        _need(argument, "/queue TEXT")
        await self._room.say(argument)

    async def _interrupt(self, argument: str) -> None:
        if argument:
            await self._room.say(argument, InboxMode.INTERRUPT)
        elif not await self._room.stop():
            self._room.console.note("no turn is under way")

    async def _retry(self, argument: str) -> None:
        self._must_be_idle()
        text = await self._room.last_said()
        if not text:
            raise UsageError("nothing was said yet")
        self._room.console.note(f"again: {text}")
        await self._room.say(text)

    async def _good(self, argument: str) -> None:
        await self._judge(good=True, reason=argument)

    async def _bad(self, argument: str) -> None:
        await self._judge(good=False, reason=argument)

    async def _judge(self, *, good: bool, reason: str) -> None:
        self._must_be_idle()
        room = self._room
        last = None if room.session is None else await last_finished(room.app.store, room.session.id)
        if last is None:
            raise UsageError("nothing was answered yet")
        show_judgement(await judged(room.app, last.run_id, good=good, reason=reason), room.console)

    async def _why(self, argument: str) -> None:
        room = self._room
        last = None if room.session is None else await last_finished(room.app.store, room.session.id)
        if not argument and last is None:
            raise UsageError("nothing was answered yet")
        run = await room.app.store.runs.get(argument or (last.run_id if last else ""))
        Page(room.console).show(await receipt_of(room.app, run))

    async def _exit(self, argument: str) -> None:
        raise Leave

    def _must_be_idle(self) -> None:
        if self._room.busy:
            raise UsageError("a turn is under way", remedy="wait for it, or end it with /interrupt")


def _need(argument: str, usage: str) -> None:
    if not argument:
        raise UsageError("something is missing", remedy=usage)

"""Skills and memory in a chat: which skills can be invoked by name, and what is remembered."""

from __future__ import annotations

from collections.abc import Container

from ...types.errors import UsageError
from ...types.text import one_line
from .chat_room import Room

_ABSENT = "skills and memory are not part of this installation"


class ChatSkills:
    """The skills of the room's workspace. `known` is what was there when it was last looked at, with what each is for:
    enough to complete names while somebody types."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self.known: dict[str, str] = {}

    async def refresh(self) -> None:
        """Look at the shelves."""
        if self._room.app.knowledge is not None:
            found = await self._room.app.knowledge.library.all(self._workspace())
            self.known = {held.name: held.skill.description for held in found}

    async def has(self, word: str) -> bool:
        """Whether a word such as `/csv-analysis` names a skill. One that cannot be used raises NotFound with the
        reason: to send it to the model would cost a call and say no more."""
        if self._room.app.knowledge is None:
            return False
        library = self._room.app.knowledge.library
        name = word.removeprefix("/").lower().replace("_", "-")
        if await library.look(name, self._workspace()) is None:
            return False
        await library.get(name, self._workspace())
        return True

    async def show(self, commands: Container[str]) -> None:
        """One line a skill; `commands` are the names that a chat keeps for itself."""
        if self._room.app.knowledge is None:
            raise UsageError(_ABSENT)
        await self.refresh()
        console = self._room.console
        if not self.known:
            console.note("there are no skills; `hermes skills new NAME` begins one")
            return
        shown = {name: f"/{name}" if f"/{name}" not in commands else f" /{name}" for name in self.known}
        console.table(("skill", "what it is for"), [(shown[name], what) for name, what in self.known.items()])
        console.note("/NAME [ARGUMENTS] uses one; `hermes skills show NAME` shows it")
        for name in (name for name in self.known if f"/{name}" in commands):
            console.note(f"/{name} is a command of the chat: put a space before the slash to use the skill", "yellow")

    async def show_memory(self) -> None:
        """Every entry of the two files, and what is kept out of the prompt."""
        if self._room.app.knowledge is None:
            raise UsageError(_ABSENT)
        from ...memory.history import Kind
        from ...memory.snapshot import fill, shown

        notes, console = self._room.app.knowledge.notes, self._room.console
        for kind in Kind:
            file = await notes.read(kind)
            console.say(fill(file))
            for entry in file.entries:
                console.say(f"{entry.number:>3}  " + entry.text.replace("\n", "\n     "))
            for line in shown(file, notes.redactor)[1]:
                console.note(one_line(line, 300), "yellow")
        console.note("a session sees what was noted before it began; `hermes memory edit` changes it")

    def _workspace(self) -> str:
        room = self._room
        return room.session.workspace if room.session else str(room.seat.directory.resolve())

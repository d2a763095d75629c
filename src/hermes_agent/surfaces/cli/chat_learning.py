"""What waits for a person's approval, as a chat says it, and the answers to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...app import App
from ...config.settings import Learning
from ...store.heuristics import Heuristic, Stage
from ...types.errors import UsageError
from ...types.text import one_line
from .console import Console

if TYPE_CHECKING:
    from ...learning.control import Control

_SHOWN = 3


class Checkpoints:
    """The queue of heuristics that wait for a person. Each is told of once."""

    def __init__(self, app: App, console: Console) -> None:
        self._app = app
        self._console = console
        self._told: set[str] = set()

    async def tell(self) -> None:
        """Say what has come to wait since this was last asked: one line each, and a count where there are many."""
        if self._app.settings.learning.mode is Learning.OFF:
            return
        fresh = [one for one in await self._waiting() if one.id not in self._told]
        self._told.update(one.id for one in fresh)
        for one in fresh[:_SHOWN]:
            self._console.note(_line(one), "yellow")
        if len(fresh) > _SHOWN:
            self._console.note(f"{len(fresh) - _SHOWN} more wait for you: /approve lists them", "yellow")

    async def approve(self, argument: str) -> None:
        """Let what is named act; without a name, list what waits."""
        if not argument:
            waiting = await self._waiting()
            for one in waiting:
                self._console.say(_line(one))
            if not waiting:
                self._console.note("nothing waits for approval")
            return
        for after in await self._control().approve_all(await self._named(argument), by="the user in a chat"):
            self._console.note(f"{after.id} is {after.stage.value} now: {one_line(after.text, 300)}", "green")

    async def reject(self, argument: str) -> None:
        """Refuse what is named; it is not proposed again."""
        if not argument:
            raise UsageError("something is missing", remedy="/reject ID")
        for after in await self._control().reject_all(await self._named(argument), by="the user in a chat"):
            self._console.note(f"{after.id} is rejected: {one_line(after.text, 300)}", "yellow")

    def _control(self) -> Control:
        from ...learning.control import Control

        return Control(self._app.store.database, self._app.settings.learning)

    async def _waiting(self) -> list[Heuristic]:
        return await self._app.store.heuristics.all(stages=(Stage.AWAITING_APPROVAL,))

    async def _named(self, argument: str) -> list[str]:
        """All of them are found before anything is done."""
        return [(await self._app.store.heuristics.get(part)).id for part in argument.split()]


def _line(one: Heuristic) -> str:
    instead = f" (instead: {one.better})" if one.better else ""
    said = one_line(f"{one.text}{instead}", 200)
    return f"waits for you: {one.kind.value}, {said}; /approve {one.id} or /reject {one.id}"

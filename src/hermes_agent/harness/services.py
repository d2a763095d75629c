"""What tools are lent, where nobody lends anything: each says what is missing."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..models.meter import Meter
from ..store.runs import Run
from ..store.sessions import Session
from ..types.errors import NotFound
from ..types.tools import Blobs, Hit, Person, Processes, ToolResult, WebAccess
from .scene import Record, Services

Lending = Callable[[Session, Run, Meter, Record], Services]


class NoEyes:
    """Nobody looks at pictures."""

    async def look(self, picture: bytes, media_type: str, question: str) -> ToolResult:
        """Say so."""
        return ToolResult(ok=False, error="unavailable", text="no model that sees pictures is connected")


class NothingSaid:
    """No conversations are kept."""

    async def search(self, query: str, limit: int) -> Sequence[Hit]:
        """Find nothing."""
        return ()


class NoOutbox:
    """Messages have nowhere to go."""

    async def put(self, *, key: str, to: str, text: str, urgent: bool) -> str:
        """Say so."""
        raise NotFound("there is no outbox here")


class NoWorkshop:
    """The agent writes no tools here."""

    async def create(self, name: str, source: str) -> ToolResult:
        """Say so."""
        return _closed()

    async def edit(self, name: str, source: str) -> ToolResult:
        """Say so."""
        return _closed()

    async def rollback(self, name: str, version: int | None) -> ToolResult:
        """Say so."""
        return _closed()

    async def list(self) -> ToolResult:
        """There are none."""
        return ToolResult(text="no self-written tools")


def _closed() -> ToolResult:
    return ToolResult(ok=False, error="unavailable", text="self-written tools are not available here")


def no_workshop(processes: Processes, person: Person, blobs: Blobs) -> NoWorkshop:
    """A workshop that is closed."""
    return NoWorkshop()


def lend_nothing(session: Session, run: Run, meter: Meter, record: Record) -> Services:
    """The services of a harness that nobody equipped."""
    return Services(
        web=WebAccess(), eyes=NoEyes(), conversations=NothingSaid(), outbox=NoOutbox(), workshop=no_workshop
    )

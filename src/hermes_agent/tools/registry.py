"""Which tools there are. Readers never wait: a refresh builds a new table and swaps it in."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping

from ..types.base import Value
from ..types.errors import NotFound, UsageError
from ..types.tools import ToolSpec
from .tool import Tool


class Entry(Value, frozen=True, kw_only=True):
    """A tool that may not be imported yet: its declaration, and how to get it."""

    spec: ToolSpec
    load: Callable[[], Tool]
    source: str


class Registry:
    """Tools by name, from several sources. Refreshing one source is atomic and safe from any thread."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self._writing = threading.RLock()
        self._entries: Mapping[str, Entry] = {}
        self.add(entries)

    def register(self, tool: Tool, *, source: str = "program") -> None:
        """Add one tool; a tool of the same name from the same source is replaced."""
        self.add([Entry(spec=tool.spec, load=lambda: tool, source=source)])

    def add(self, entries: Iterable[Entry]) -> None:
        """Add tools; a name that another source holds already is refused."""
        with self._writing:
            table = dict(self._entries)
            for entry in entries:
                held = table.get(entry.spec.name)
                if held is not None and held.source != entry.source:
                    raise UsageError(
                        f"the tool {entry.spec.name!r} exists already (from {held.source})",
                        remedy="give yours another name",
                    )
                table[entry.spec.name] = entry
            self._entries = table

    def refresh(self, source: str, entries: Iterable[Entry]) -> None:
        """Replace everything one source contributed, such as an MCP server after its list changed."""
        with self._writing:
            fresh = list(entries)
            kept = {name: entry for name, entry in self._entries.items() if entry.source != source}
            before, self._entries = self._entries, kept
            try:
                self.add(fresh)
            except UsageError:
                self._entries = before
                raise

    def specs(self) -> list[ToolSpec]:
        """All declarations, in the order of registration."""
        return [entry.spec for entry in self._entries.values()]

    def entries(self) -> list[Entry]:
        """All tools with where they came from."""
        return list(self._entries.values())

    def spec(self, name: str) -> ToolSpec | None:
        """The declaration of a tool, without importing it."""
        entry = self._entries.get(name)
        return entry.spec if entry else None

    def source(self, name: str) -> str:
        """Where a tool came from."""
        entry = self._entries.get(name)
        return entry.source if entry else ""

    def get(self, name: str) -> Tool:
        """A tool, imported if need be."""
        entry = self._entries.get(name)
        if entry is None:
            raise NotFound(f"there is no tool {name!r}")
        return entry.load()

"""Skills and memory put together for one agent: what they offer to the prompt, to single requests, to the registry of
tools and to learning."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ..config.load import Environment
from ..config.settings import Learning, Settings
from ..memory.external import NONE
from ..memory.notes import Notes
from ..memory.snapshot import MemorySnapshot
from ..memory.tools import entries as memory_entries
from ..safety.redact import Redactor
from ..skills.index import Invocation, SkillIndex
from ..skills.library import Held, Library
from ..skills.manage import Editing
from ..skills.skill import Circumstances, Origin
from ..skills.tools import entries as skill_entries
from ..store.open import Store
from ..tools.registry import Entry
from ..types.advice import ContextSource, SessionView, TurnSource

if TYPE_CHECKING:
    from ..learning.offering import Embed
    from ..memory.external import ExternalMemory
    from ..skills.validation import SandboxRunner

_PLATFORMS = {"linux": "linux", "darwin": "macos", "win32": "windows"}


class Knowledge:
    """The skills and the memory of a home. `tools` names the tools there are, for skills that need some."""

    def __init__(
        self,
        environment: Environment,
        settings: Settings,
        store: Store,
        redactor: Redactor,
        notify: Callable[[str], None],
        tools: Callable[[], frozenset[str]],
    ) -> None:
        self._environment = environment
        self._settings = settings
        self._redactor = redactor
        self._notify = notify
        self._tools = tools
        self.library = Library(environment.home, store.skills, settings.skills, notify)
        guard = settings.skills.guard_agent_created
        self.editing = Editing(self.library, store.skills, guard=guard, redactor=redactor)
        self.notes = Notes(environment.home, notify, redactor)

    @property
    def has_skills(self) -> bool:
        """Whether skills are switched on."""
        return self._settings.skills.mode is Learning.ON

    @property
    def has_memory(self) -> bool:
        """Whether memory is switched on."""
        return self._settings.memory.mode is Learning.ON

    @cached_property
    def external(self) -> ExternalMemory | None:
        """The one memory beside the built-in one, if there is one."""
        if self._settings.memory.provider in NONE or not self.has_memory:
            return None
        from ..memory.external import connect

        return connect(self._settings.memory, self._environment.access, self._environment.home)

    @cached_property
    def runner(self) -> SandboxRunner:
        """Where skills are tried out: a sandbox without the network and without the home."""
        from ..skills.validation import sandboxed

        return sandboxed(self._settings.sandbox, self._environment.passed_on, [self._environment.home])

    @cached_property
    def embed(self) -> Embed | None:
        """The embedding model that compares requests with skills; None where words do."""
        name = self._settings.skills.embeddings
        if not name:
            return None
        from ..models.embeddings import embeddings

        return embeddings(name, self._environment.access).vectors

    def entries(self) -> list[Entry]:
        """The tools of skills and memory."""
        skills = skill_entries(self.library, self.editing) if self.has_skills else []
        return [*skills, *(memory_entries(self.notes) if self.has_memory else [])]

    def context_sources(self) -> tuple[ContextSource, ...]:
        """What stands in the prefix."""
        index = SkillIndex(self.library, self._settings.skills, self._here)
        skills: tuple[ContextSource, ...] = (index,) if self.has_skills else ()
        return (*skills, MemorySnapshot(self.notes)) if self.has_memory else skills

    def turn_sources(self) -> tuple[TurnSource, ...]:
        """What speaks to single requests."""
        invocation = Invocation(self.library, self._here, self._expanded)
        sources: list[TurnSource] = [invocation] if self.has_skills else []
        if self.external is not None:
            from ..memory.external import RecalledMemory

            sources.append(RecalledMemory(self.external, self._redactor, self._notify))
        return tuple(sources)

    def circumstances(self, surface: str) -> Circumstances:
        """What the conditions of skills are held against."""
        return Circumstances(
            platform=_PLATFORMS.get(sys.platform, sys.platform),
            group_chat=surface.endswith("-group"),
            tools=self._tools(),
            environment=frozenset(self._environment.access) | frozenset(self._environment.passed_on),
        )

    def _here(self, view: SessionView) -> Circumstances:
        return self.circumstances(view.surface)

    async def _expanded(self, held: Held, text: str) -> str:
        """A skill's text with what its snippets print, where its maker is trusted, and whoever wrote this version."""
        if "!`" not in text:
            return text
        from ..skills.snippets import expanded, is_trusted

        written = await self.library.store.written_by(held.stats.id, held.version)
        by_agent = written is not None and Origin(written.origin).by_agent
        trusted = is_trusted(held.shelf, held.origin) and not by_agent
        return await expanded(text, trusted, self.runner, Path(held.folder))

    async def close(self) -> None:
        """Let go of the external memory."""
        if "external" in self.__dict__ and self.external is not None:
            await self.external.close()

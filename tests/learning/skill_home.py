"""A home with skills in it, as tests of the curator need one."""

from __future__ import annotations

import time
from pathlib import Path

from hermes_agent.config.settings import SkillSettings
from hermes_agent.learning.curator import Changing, Curator, Rewrite
from hermes_agent.skills.format import read_folder, render_skill
from hermes_agent.skills.library import Library
from hermes_agent.skills.manage import Editing
from hermes_agent.skills.skill import MAIN, Author, Files, Origin, Skill
from hermes_agent.store.open import Store

REVIEW, USER, FOREGROUND = (Author(origin=origin) for origin in (Origin.REVIEW, Origin.USER, Origin.FOREGROUND))


class Home:
    """The skills of a home, with nothing bundled."""

    def __init__(self, store: Store, home: Path, settings: SkillSettings | None = None) -> None:
        self.store = store
        self.home = home
        self.settings = settings or SkillSettings()
        self.library = Library(home, store.skills, self.settings, lambda text: None, home / "bundled")
        self.editing = Editing(self.library, store.skills, guard=True)

    async def add(self, *skills: Skill, author: Author = REVIEW) -> None:
        """Save skills in somebody's name."""
        for skill in skills:
            made = await self.editing.create(skill.name, render_skill(skill), author)
            assert made.ok, made

    async def mark(self, name: str, **columns: object) -> None:
        """Change what is known about a skill."""
        stats = await self.store.skills.find("user", name)
        assert stats is not None
        await self.store.skills.mark(stats.id, **columns)

    def curator(self, later: float = 0.0, rewrite: Rewrite | None = None, editing: Changing | None = None) -> Curator:
        """A curator, so many seconds later."""
        return Curator(
            self.library,
            editing or self.editing,
            self.store,
            self.settings,
            lambda: time.time() + later,
            rewrite=rewrite,
        )

    def bytes(self) -> dict[str, Files]:
        """Every byte of every skill that is in use."""
        folder = self.home / "skills"
        return {path.name: read_folder(path) for path in sorted(folder.iterdir()) if (path / MAIN).is_file()}

"""Skills to try things with, and a library over a home of its own."""

from pathlib import Path

from hermes_agent.config.settings import SkillSettings
from hermes_agent.skills.library import Library
from hermes_agent.skills.manage import Editing
from hermes_agent.skills.skill import Author, Origin
from hermes_agent.store.open import Store
from hermes_agent.store.skills import Version

PERSON = Author(origin=Origin.USER)
AGENT = Author(origin=Origin.FOREGROUND, run_id="run1", batch="batch1")
REVIEW = Author(origin=Origin.REVIEW, run_id="run2", batch="batch2")


def markdown(
    name: str, body: str = "Count the rows first.", description: str = "Analyse CSV files", more: str = ""
) -> str:
    """A SKILL.md as people write it."""
    return f"---\nname: {name}\ndescription: {description}\n{more}---\n\n{body}\n"


def put(root: Path, name: str, text: str = "", files: dict[str, str] | None = None) -> Path:
    """A skill written by hand, without any tool."""
    folder = root / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(text or markdown(name))
    for path, content in (files or {}).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(content)
    return folder


class Place:
    """A home with a library, and everything that people were told."""

    def __init__(self, store: Store, settings: SkillSettings | None = None) -> None:
        self.store = store
        self.home = store.home
        self.told: list[str] = []
        self.bundled = self.home / "bundled"
        self.settings = settings or SkillSettings()
        self.library = Library(self.home, store.skills, self.settings, self.told.append, self.bundled)
        self.editing = Editing(self.library, store.skills, guard=self.settings.guard_agent_created)

    @property
    def skills(self) -> Path:
        """The user's shelf."""
        return self.home / "skills"

    async def version(self, name: str) -> str:
        """The version on disk."""
        return (await self.library.get(name)).version

    async def versions(self, name: str) -> list[Version]:
        """The history of a skill of the user's shelf."""
        stats = await self.store.skills.find("user", name)
        assert stats is not None
        return await self.store.skills.versions(stats.id)

    async def actions(self, name: str) -> list[tuple[str, str]]:
        """Who did what to a skill of the user's shelf, oldest first."""
        return [(one.action, one.origin) for one in await self.versions(name)]

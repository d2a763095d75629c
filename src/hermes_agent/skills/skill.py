"""A skill as a value: what its Markdown says, without where it lies or how it fares."""

from __future__ import annotations

from enum import StrEnum

from ..types.base import Value

SUPPORT = ("references", "templates", "scripts", "assets")
"""The folders in which a skill keeps what does not belong into its Markdown."""
MAIN = "SKILL.md"


class Origin(StrEnum):
    """Who made a skill, or a version of it; told apart for ever."""

    BUNDLED = "bundled"
    HUB = "hub"
    TEAM = "team"
    PROJECT = "project"
    USER = "user"
    FOREGROUND = "foreground-agent"
    REVIEW = "background-review"

    @property
    def by_agent(self) -> bool:
        """Whether an agent wrote it."""
        return self in (Origin.FOREGROUND, Origin.REVIEW)


class Shelf(StrEnum):
    """Where a skill lies, strongest first: of two skills with one name the one on the stronger shelf is used."""

    PROJECT = "project"
    USER = "user"
    TEAM = "team"
    HUB = "hub"
    BUNDLED = "bundled"


class Health(StrEnum):
    """What the last trial of a skill said."""

    UNKNOWN = "unknown"
    HEALTHY = "healthy"
    DEPRECATED = "deprecated"


class Slot(Value, frozen=True, kw_only=True):
    """A parameter, written `{{name}}` in the body; without a default it must be given."""

    name: str
    default: str | None = None
    description: str = ""


class Conditions(Value, frozen=True, kw_only=True):
    """When a skill is offered at all. Empty is always. `environment` names variables that must be set."""

    platforms: tuple[str, ...] = ()
    group_chat: bool | None = None
    tools: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()


class Circumstances(Value, frozen=True, kw_only=True):
    """What conditions are held against."""

    platform: str = ""
    group_chat: bool = False
    tools: frozenset[str] = frozenset()
    environment: frozenset[str] = frozenset()


class Trial(Value, frozen=True, kw_only=True):
    """A test input: a command run in a sandboxed copy of the skill with these files beside it, and what must come of
    it. `{{slots}}` are filled from `parameters`; the skill lies in `skill/` below the working directory."""

    name: str
    run: str
    files: dict[str, str] = {}
    parameters: dict[str, str] = {}
    exit: int = 0
    contains: tuple[str, ...] = ()


class Skill(Value, frozen=True, kw_only=True):
    """A procedure. Everything from `category` on is our extension and lives under `metadata` of the front matter."""

    name: str
    description: str
    body: str
    license: str = ""
    compatibility: str = ""
    allowed_tools: str = ""
    category: str = ""
    tags: tuple[str, ...] = ()
    triggers: tuple[str, ...] = ()
    conditions: Conditions = Conditions()
    slots: tuple[Slot, ...] = ()
    dependencies: tuple[str, ...] = ()
    template: str = ""
    success_criteria: tuple[str, ...] = ()
    pitfalls: tuple[str, ...] = ()
    trials: tuple[Trial, ...] = ()
    other: dict[str, str] = {}


Files = dict[str, bytes]
"""A whole skill: paths relative to its folder, with `SKILL.md` among them."""


class Author(Value, frozen=True, kw_only=True):
    """On whose behalf a skill is changed; `batch` ties changes together that are undone together."""

    origin: Origin
    run_id: str = ""
    batch: str = ""


class Change(Value, frozen=True, kw_only=True):
    """What came of a wish to change a skill: a structured answer for agents and people. `version` is the skill's after
    it, `before` the one that was replaced; `error` is a short class such as `stale`, `exists`, `invalid`, `blocked`."""

    ok: bool
    action: str
    name: str
    version: str = ""
    before: str = ""
    path: str = ""
    message: str = ""
    error: str = ""
    problems: tuple[str, ...] = ()

"""What the model is told about skills: an index in the prefix within its budget, and the skill that a request invokes
behind the request.
"""

from __future__ import annotations

import math
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from ..config.settings import SkillSettings
from ..types.advice import Section, SessionView, Told
from ..types.text import one_line
from .conditions import unmet
from .history import text_of
from .problem import SkillProblem
from .skill import Circumstances, Health

if TYPE_CHECKING:
    from .library import Held
    from .similarity import Vector

GUIDANCE_CHARACTERS = 700
READING = (
    "Skills are proven procedures. Before you begin a piece of work, look whether one of them fits it; if so, read it "
    "with skill_view and follow it."
)
WRITING = (
    "Save what you found out: after a task that took five or more calls, an error that was hard to get past, or a "
    "workflow that was not obvious, write it down with skill_manage, named for the kind of task and not for this one "
    "case. When a skill you used turns out wrong or incomplete, patch it at once, before you go on."
)
_LINE = 80
_MOST_FILES = 20
_NEAR = 0.75
_USE_WEIGHT = 0.15
_REQUEST = re.compile(r"\s*/([A-Za-z0-9][A-Za-z0-9_-]{0,79})(?:\s+(.*))?", re.DOTALL)
CircumstancesOf = Callable[[SessionView], Circumstances]


class Skills(Protocol):
    """The skills there are, as the library gives them."""

    async def all(self, workspace: str = "") -> list[Held]: ...

    async def everything(self, workspace: str = "") -> list[Held]: ...


def is_compact(model: str) -> bool:
    """Whether a model is too small to be told of skills: the embedded one takes their descriptions for the task."""
    return model.startswith("local:")


def unproven(held: Held) -> bool:
    """Whether an agent wrote a skill whose worth nobody has measured yet: it must be seen to be tried."""
    return held.origin.by_agent and held.stats.utility is None


class SkillIndex:
    """A `ContextSource`: guidance, and one line for each skill that these circumstances offer.

    Where they do not all fit into `settings.index_characters`, those `on_probation` come first, then those most like
    the session's first request and most used. Equal skills and requests give equal bytes.
    """

    def __init__(
        self,
        library: Skills,
        settings: SkillSettings,
        circumstances: CircumstancesOf,
        on_probation: Callable[[Held], bool] = unproven,
    ) -> None:
        self._library = library
        self._limit = settings.index_characters
        self._circumstances = circumstances
        self._on_probation = on_probation
        self._vectors: dict[tuple[str, str], Vector] = {}

    async def sections(self, session: SessionView) -> Sequence[Section]:
        """One section, or none where the model has no tool to read a skill with."""
        here = self._circumstances(session)
        if is_compact(session.model):
            return []
        if here.tools and "skill_view" not in here.tools:
            return []
        guidance = READING if here.tools and "skill_manage" not in here.tools else f"{READING}\n{WRITING}"
        offered = [held for held in await self._library.all(session.workspace) if _offered(held, here)]
        listed = self._listed(sorted(offered, key=lambda held: held.skill.name), session.request)
        return [Section(name="skills", text="\n\n".join((guidance, listed)) if listed else guidance)]

    def _listed(self, offered: Sequence[Held], request: str) -> str:
        lines = {held.skill.name: index_line(held) for held in offered}
        whole = "\n".join(lines.values())
        if len(whole) <= self._limit:
            return whole
        room = self._limit - len(_more(len(offered)))
        kept: set[str] = set()
        for held in self._ranked(offered, request):
            name = held.skill.name
            if len(lines[name]) + 1 <= room:
                kept.add(name)
                room -= len(lines[name]) + 1
        return "\n".join([*(line for name, line in lines.items() if name in kept), _more(len(lines) - len(kept))])

    def _ranked(self, offered: Sequence[Held], request: str) -> list[Held]:
        from .similarity import cosine, vector_of

        wanted = vector_of(request)

        def rank(held: Held) -> tuple[bool, float, str]:
            used = math.log1p(held.stats.usage_count) / (1 + math.log1p(held.stats.usage_count))
            likeness = cosine(wanted, self._vector(held)) + _USE_WEIGHT * used * held.stats.success_rate
            return not self._on_probation(held), -round(likeness, 6), held.skill.name

        return sorted(offered, key=rank)

    def _vector(self, held: Held) -> Vector:
        from .similarity import vector_of

        key = (held.skill.name, held.version)
        found = self._vectors.get(key)
        if found is None:
            if len(self._vectors) > 5000:
                self._vectors.clear()
            found = vector_of(text_of(held.skill))
            self._vectors[key] = found
        return found


def index_line(held: Held) -> str:
    """A skill in one line of at most 80 characters."""
    return one_line(f"- {held.skill.name}: {held.skill.description}", _LINE)


def invoked(request: str) -> str:
    """The name of the skill that a request would invoke; empty when it invokes none."""
    found = _REQUEST.fullmatch(request)
    return found[1].lower().replace("_", "-") if found else ""


class Invocation:
    """A `TurnSource`: a request that begins with `/skill-name` gets that skill's text behind it.

    `expand` runs the commands in a text, where the skill may. A name that no skill has is left alone, for it may be a
    path or another's command, unless it is nearly a skill's.
    """

    def __init__(
        self,
        library: Skills,
        circumstances: CircumstancesOf,
        expand: Callable[[Held, str], Awaitable[str]],
    ) -> None:
        self._library = library
        self._circumstances = circumstances
        self._expand = expand

    async def told(self, session: SessionView) -> Sequence[Told]:
        """The invoked skill, or why it cannot be used; nothing when the request invokes none."""
        found = _REQUEST.fullmatch(session.request)
        if found is None:
            return []
        name, arguments = invoked(session.request), found[2] or ""
        held = {each.skill.name: each for each in await self._library.all(session.workspace)}
        if name in held:
            return [await self._invoked(held[name], arguments, self._circumstances(session))]
        notice = await self._absent(name, found[1], sorted(held), session.workspace)
        return [_notice(notice)] if notice else []

    async def _invoked(self, held: Held, arguments: str, here: Circumstances) -> Told:
        from .slots import filled

        name = held.skill.name
        why = unmet(held.skill.conditions, here)
        if why:
            return _notice(f"The skill '{name}' is not offered here: {why}. Tell the user so.")
        try:
            text = await self._expand(held, filled(held.skill, arguments))
        except SkillProblem as error:
            return _notice(f"The skill '{name}' was not invoked: {error.explain()}. Tell the user so.")
        labels, origin = held.provenance
        return Told(source="skill", text=f"{_head(held)}\n\n{text}", labels=labels, origin=origin, family=name)

    async def _absent(self, name: str, typed: str, known: Sequence[str], workspace: str) -> str:
        import difflib

        for held in await self._library.everything(workspace):
            if held.skill.name == name:
                return f"The skill '{name}' cannot be used: {_state(held)}. Tell the user so."
        near = difflib.get_close_matches(name, known, 1, _NEAR)
        return f"There is no skill '{typed}'; did you mean /{near[0]}?" if near else ""


def _offered(held: Held, here: Circumstances) -> bool:
    stats = held.stats
    usable = not held.problem and stats.enabled and stats.archived_at is None
    return bool(usable and stats.health_status != Health.DEPRECATED and not unmet(held.skill.conditions, here))


def _state(held: Held) -> str:
    if held.problem:
        return one_line(held.problem, 300)
    name = held.skill.name
    if held.stats.archived_at is not None:
        return f"it is archived; `hermes skills restore {name}` brings it back"
    if held.stats.health_status == Health.DEPRECATED:
        return f"its last trial failed; `hermes skills test {name}` tries it again"
    return f"it is disabled; `hermes skills enable {name}` enables it"


def _head(held: Held) -> str:
    files = held.paths
    shown = ", ".join(files[:_MOST_FILES]) + f" and {len(files) - _MOST_FILES} more" * (len(files) > _MOST_FILES)
    support = f"; in {held.folder}: {shown}" if files else ""
    failed = "; its last trial failed" if held.stats.health_status == Health.DEPRECATED else ""
    return f"[The user invoked the skill {held.skill.name}, version {held.version}{failed}{support}]"


def _notice(text: str) -> Told:
    return Told(source="skill", text=text)


def _more(count: int) -> str:
    return f"and {count} more: skills_list finds them."

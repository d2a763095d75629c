"""When a background review is due, what it is told, and what it came to. The review itself is a run like any other.

Two counters follow a session: steps with tools since skills were last looked after, and messages of the user since
memory was. One that reaches its interval starts a review after the answer was delivered; never after an interrupted
turn, never without the tool it would need, and never after a review.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..config.settings import Learning, Settings
from ..skills.library import Held
from ..store.sessions import SessionValueStore
from ..store.skills import Version
from ..types.base import Value
from ..types.errors import ConfigError
from ..types.text import one_line
from ..types.trace import RunStatus, Trace

SURFACE = "review"
TOOLS = frozenset(("memory", "skill_manage", "skill_view", "skills_list"))
RULE = "a background review may only use memory and skill tools"
POLICY = Path(__file__).with_name("review_policy.md")
_STEPS, _MESSAGES = "review.steps", "review.messages"
_LONGEST_POLICY = 20_000
_LISTED = 5


class Due(Value, frozen=True, kw_only=True):
    """What a review is to look after."""

    skills: bool = False
    memory: bool = False

    def __bool__(self) -> bool:
        return self.skills or self.memory


class Counters:
    """The two counters of a session, kept with it."""

    def __init__(self, values: SessionValueStore, settings: Settings) -> None:
        self._values = values
        self._settings = settings

    async def after(self, trace: Trace, tools: frozenset[str]) -> Due:
        """Count a finished run; says what is due, and begins again for it."""
        if trace.outcome.status is not RunStatus.DONE or self._settings.review.mode is Learning.OFF:
            return Due()
        used = {call.tool for call in trace.calls}
        steps = await self._count(_STEPS, sum(not call.parent for call in trace.calls), "skill_manage" in used)
        messages = await self._count(_MESSAGES, 1, "memory" in used)
        due = Due(
            skills="skill_manage" in tools and _reached(steps, self._settings.skills.creation_nudge_interval),
            memory="memory" in tools and _reached(messages, self._settings.memory.nudge_interval),
        )
        if due.skills:
            await self._values.set(_STEPS, "0")
        if due.memory:
            await self._values.set(_MESSAGES, "0")
        return due

    async def _count(self, key: str, more: int, looked_after: bool) -> int:
        known = await self._values.get(key)
        count = 0 if looked_after else int(known or 0) + more
        await self._values.set(key, str(count))
        return count


def _reached(count: int, interval: int) -> bool:
    return bool(interval) and count >= interval


def policy(settings: Settings, home: Path) -> str:
    """The policy in force: the user's file, if one is named, else the one that comes along."""
    if not settings.review.policy:
        return POLICY.read_text(encoding="utf-8")
    path = home / Path(settings.review.policy).expanduser()
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"the review's policy {path} cannot be read: {error}", remedy="mend review.policy") from error
    if not text.strip() or len(text) > _LONGEST_POLICY:
        raise ConfigError(f"the review's policy {path} must have 1 to {_LONGEST_POLICY} characters")
    return text


def request(text: str, due: Due, used: Sequence[Held], failing: Sequence[Held]) -> str:
    """What the review is asked: the policy, and what it should know about the skills at hand."""
    about = " and ".join(name for name, wanted in (("skills", due.skills), ("memory", due.memory)) if wanted)
    lines = [text.rstrip(), "", f"This time look after: {about}."]
    if used:
        lines.append("Skills used here: " + ", ".join(f"{held.name} (version {held.version})" for held in used) + ".")
    lines += [
        f"The skill {held.name} fails more often than it serves ({held.stats.success_rate:.0%} of late, or its tests "
        f"fail: {one_line(held.stats.health_note or 'no note', 120)}): rewrite it if the conversation shows how."
        for held in failing
    ]
    return "\n".join(lines)


def summary(versions: Sequence[tuple[str, Version]], notes: Sequence[str], work_id: str) -> str:
    """One line for the user; empty when nothing was changed."""
    changed: dict[str, str] = {}
    for name, version in versions:
        changed[name] = "created" if changed.get(name) == "created" else _DONE.get(version.action, "changed")
    parts = [f"skill {name} {what}" for name, what in list(changed.items())[:_LISTED]]
    parts += [f"noted: {one_line(note, 60)}" for note in notes[:_LISTED]]
    return f"learned: {'; '.join(parts)}; undo with `hermes review undo {work_id}`" if parts else ""


_DONE = {"create": "created", "delete": "archived"}

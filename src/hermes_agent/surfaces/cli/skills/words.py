"""Skills and their figures, in words and as JSON."""

from __future__ import annotations

from typing import Any

import msgspec

from ....skills.library import Held
from ....store.skills import SkillStats


def rate(stats: SkillStats) -> str:
    """The moving success rate; a skill that was never used has none."""
    return f"{stats.success_rate:.0%}" if stats.usage_count else "-"


def gain(utility: float | None) -> str:
    """What the coin says, in points of success."""
    return "-" if utility is None else f"{100 * utility:+.0f} points"


def figures(stats: SkillStats) -> dict[str, Any]:
    """Everything that is known about a skill, without the vector it is compared by."""
    return {name: value for name, value in msgspec.to_builtins(stats).items() if name != "embedding"}


def outline(held: Held) -> dict[str, Any]:
    """A skill on a shelf without its text."""
    stats = held.stats
    return {
        "name": held.name,
        "description": held.skill.description,
        "category": held.skill.category,
        "shelf": held.shelf.value,
        "origin": stats.origin,
        "made_by": stats.made_by,
        "folder": str(held.folder),
        "version": held.version,
        "uses": stats.usage_count,
        "success_rate": stats.success_rate if stats.usage_count else None,
        "utility": stats.utility,
        "health": stats.health_status,
        "health_note": stats.health_note,
        "needs_rewrite": stats.needs_rewrite,
        "enabled": stats.enabled,
        "pinned": stats.pinned,
        "archived_at": stats.archived_at,
        "shadows": [shelf.value for shelf in held.shadows],
        "problem": held.problem,
    }

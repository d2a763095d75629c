"""Ranking of tools that can do the same job: recent rates, drawn towards what is known elsewhere.

What was seen on another model, in other families or by other people counts here, as a few observations at most, and
nowhere else: an e-value takes none of it.
"""

from __future__ import annotations

from ..store.heuristics import EVERY_FAMILY
from ..store.lessons import Lesson
from .cells import Cells, IndexCell, PriorCell, ToolCell, WideCell
from .evidence import Rate, added, prior

_CLEARLY = 0.15


def rate_of(lesson: Lesson, tool: str, cells: Cells) -> Rate:
    """How well a tool works in the lesson's family, for comparisons only."""
    cell = cells.get((lesson.model, lesson.family, f"tool:{tool}", ""), ToolCell)
    own = cell.recent
    if own is not cell.rate:
        return own
    elsewhere = cells.get((lesson.model, EVERY_FAMILY, f"tool:{tool}", ""), WideCell).rate
    brought = cells.get((lesson.model, lesson.family, f"prior:{tool}", ""), PriorCell)
    if not brought.all:
        brought = cells.get((lesson.model, EVERY_FAMILY, f"prior:{tool}", ""), PriorCell)
    others = Rate(good=max(0.0, elsewhere.good - own.good), all=max(0.0, elsewhere.all - own.all))
    return added(own, prior(added(others, Rate(good=brought.good, all=brought.all))))


def best_instead(lesson: Lesson, tool: str, cells: Cells) -> str:
    """The tool that did this one's job best; empty where none is clearly better. What was recommended before stays, so
    that advice does not swing between two that are as good."""
    index = cells.get((lesson.model, lesson.family, f"index:{tool}", ""), IndexCell)
    tried = used_instead(lesson, tool, cells)
    if not tried:
        return ""
    means = {name: rate_of(lesson, name, cells).mean() for name in tried}
    best = max(means, key=lambda name: (means[name], tried[name], name))
    if index.chosen in means and means[index.chosen] >= means[best] - _CLEARLY:
        best = index.chosen
    return best if means[best] >= rate_of(lesson, tool, cells).mean() + _CLEARLY else ""


def used_instead(lesson: Lesson, tool: str, cells: Cells) -> dict[str, int]:
    """The tools that did a tool's job after it had failed, with how often; also those that did it after another had
    failed in its place, because a run may end before it gets that far."""
    found: dict[str, int] = {}
    for other in (tool, *_instead(lesson, tool, cells)):
        for name, (good, _) in _instead(lesson, other, cells).items():
            if good and name != tool:
                found[name] = max(found.get(name, 0), good)
    return found


def _instead(lesson: Lesson, tool: str, cells: Cells) -> dict[str, tuple[int, int]]:
    index = cells.get((lesson.model, lesson.family, f"index:{tool}", ""), IndexCell)
    wide = cells.get((lesson.model, EVERY_FAMILY, f"tool:{tool}", ""), WideCell)
    return {**wide.instead, **index.instead}

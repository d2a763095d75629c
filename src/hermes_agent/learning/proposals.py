"""What a curator may propose: the values, and how one is made of skills as they lie."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any

from ..skills.differences import unified
from ..skills.format import SkillProblem, read_folder, version_of
from ..skills.library import Held
from ..skills.skill import Change, Files
from ..store.heuristics import Heuristic, Kind, Stage
from ..types.base import Value
from .merging import Whole
from .overlaps import stem_of

MOST_CHANGES = 20


class Action(StrEnum):
    """What is proposed."""

    MERGE = "merge"
    ARCHIVE = "archive"


class Seen(Value, frozen=True, kw_only=True):
    """A skill in the version that the plan was made from."""

    name: str
    version: str


class Proposal(Value, frozen=True, kw_only=True):
    """One thing to do: put `absorbed` into `skill` and archive them, or archive `skill`. `files` is the merged skill;
    `diff` shows every line that would change or go."""

    action: Action
    skill: Seen
    reason: str
    diff: str
    absorbed: tuple[Seen, ...] = ()
    files: Files = {}

    @property
    def seen(self) -> tuple[Seen, ...]:
        """Every skill it touches."""
        return (self.skill, *self.absorbed)


class Plan(Value, frozen=True, kw_only=True):
    """What a pass would do. `left` says which alike skills stay two and why, `more` how many changes wait for the next
    pass because one pass makes only so many."""

    proposals: tuple[Proposal, ...] = ()
    left: tuple[str, ...] = ()
    more: int = 0


class Applied(Value, frozen=True, kw_only=True):
    """What a pass did: `changes` in their order, `skipped` with the reason. `batch` undoes it; empty when nothing was
    changed."""

    batch: str = ""
    changes: tuple[Change, ...] = ()
    skipped: tuple[str, ...] = ()
    summary: str = ""


def withdrawn_skills(heuristics: Iterable[Heuristic]) -> frozenset[str]:
    """Skills that the coin retired and nowhere recommends any more, by the subject of their heuristics."""
    about = [heuristic for heuristic in heuristics if heuristic.kind is Kind.SKILL]
    acting = {heuristic.subject for heuristic in about if heuristic.stage.acts}
    return frozenset(heuristic.subject for heuristic in about if heuristic.stage is Stage.RETIRED) - acting


def standing(held: Held) -> tuple[float, float, int, int, float, str]:
    """What makes the better umbrella, best first: more used, of more use, a more general name, older."""
    stats, name = held.stats, held.skill.name
    return (
        -stats.usage_count,
        -(stats.utility or 0.0),
        int(stem_of(name) != name.removesuffix("s")),
        name.count("-"),
        stats.created_at,
        name,
    )


def whole_of(held: Held) -> Whole | None:
    """A skill with its files, unless they are being changed right now."""
    try:
        files = read_folder(held.folder)
    except SkillProblem:
        return None
    return Whole(skill=held.skill, files=files) if version_of(files) == held.version else None


def archive_of(held: Held, reason: str) -> Proposal | None:
    whole = whole_of(held)
    if whole is None:
        return None
    name = held.skill.name
    return Proposal(
        action=Action.ARCHIVE,
        skill=Seen(name=name, version=held.version),
        reason=reason,
        diff=unified(whole.files, {}, was=f"a/{name}", now=f"b/{name}"),
    )


def merge_of(
    name: str,
    absorbed: Sequence[str],
    held: Mapping[str, Held],
    wholes: Mapping[str, Whole],
    result: Whole,
    reasons: Sequence[str],
) -> Proposal:
    diffs = [unified(wholes[name].files, result.files, was=f"a/{name}", now=f"b/{name}")]
    diffs += [unified(wholes[other].files, {}, was=f"a/{other}", now=f"b/{other}") for other in absorbed]
    return Proposal(
        action=Action.MERGE,
        skill=Seen(name=name, version=held[name].version),
        absorbed=tuple(Seen(name=other, version=held[other].version) for other in absorbed),
        reason="; ".join(reasons),
        diff="".join(diffs),
        files=result.files,
    )


def within(proposals: Sequence[Proposal]) -> tuple[tuple[Proposal, ...], int]:
    """As many whole proposals as a pass may make, and how many changes are left for the next."""
    kept: list[Proposal] = []
    room, more = MOST_CHANGES, 0
    for proposal in proposals:
        size = len(proposal.seen)
        if size <= room:
            kept.append(proposal)
            room -= size
        else:
            more += size
    return tuple(kept), more


def payload_of(proposals: Iterable[Proposal]) -> dict[str, Any]:
    """What a pass is about, for those who ask later what was taken back."""
    found = list(proposals)
    return {
        "merged": [[seen.name for seen in one.seen] for one in found if one.action is Action.MERGE],
        "archived": [one.skill.name for one in found if one.action is Action.ARCHIVE],
    }


def undo_command(batch: str) -> str:
    return f"`hermes skills curate --undo {batch}`"


def summary_of(changes: Sequence[Change], batch: str) -> str:
    """The line that a person is shown."""
    merged_into = [change.name for change in changes if change.action != "delete"]
    gone = [change.name for change in changes if change.action == "delete"]
    said = [f"merged into {', '.join(merged_into)}"] if merged_into else []
    said += [f"archived {', '.join(gone)}"] if gone else []
    return f"curated: {'; '.join(said)}; undo with {undo_command(batch)}"

"""The curator: keeps the library of skills small. Finds duplicates and overlaps, proposes to merge them and to archive
what is not used or does harm, and takes all of it back with one command.

It touches only skills that the background review made and nobody else ever changed; pinned ones never. What a person
took back is not proposed again. A pass is a plan with whole diffs first; nothing is changed before it is applied, and
what changed since the plan was made is left alone.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import combinations
from typing import Protocol

from ..config.settings import LearningSettings, SkillSettings
from ..skills.library import Held, Library
from ..skills.skill import Author, Change, Files, Health, Origin, Shelf, Skill
from ..store.background import RUNNING, Work
from ..store.open import Store
from ..types.errors import HermesError, NotFound, UsageError
from ..types.ids import new_id
from .merging import Merged, Whole, merged, rewritten, unmergeable
from .overlaps import Alike, Overlap, find_overlaps
from .proposals import (
    MOST_CHANGES,
    Action,
    Applied,
    Plan,
    Proposal,
    archive_of,
    merge_of,
    payload_of,
    standing,
    summary_of,
    undo_command,
    whole_of,
    withdrawn_skills,
    within,
)
from .recommending import Proposing

KIND = "curation"
_DAY = 86_400.0
_POOR_RATE, _ENOUGH_USES = 0.3, 10
_LOOKED_BACK = 500
_ABANDONED = 3600.0
"""A pass that began so many seconds ago and never ended was interrupted."""

Rewrite = Callable[[Skill, Skill], Awaitable[str]]
"""Asks a model for one skill made of two: the umbrella and the absorbed one; answers with a SKILL.md."""
Pair = frozenset[str]


class Changing(Protocol):
    """What the curator needs of `skills.manage.Editing`."""

    async def replace(self, name: str, files: Files, author: Author, expect: str = "") -> Change: ...

    async def delete(self, name: str, author: Author, expect: str = "") -> Change: ...

    async def undo(self, batch: str) -> list[Change]: ...


class Curator:
    """Plans and makes passes over the skills of one home. With `rewrite` a model words the merged skills; without it,
    and where its answer cannot be taken, they are put together from what is there."""

    def __init__(
        self,
        library: Library,
        editing: Changing,
        store: Store,
        settings: SkillSettings,
        clock: Callable[[], float],
        *,
        rewrite: Rewrite | None = None,
    ) -> None:
        self._library = library
        self._editing = editing
        self._store = store
        self._settings = settings
        self._clock = clock
        self._rewrite = rewrite

    async def overlaps(self, workspace: str = "") -> list[Overlap]:
        """All pairs of skills that are alike, whoever made them."""
        return find_overlaps([held.skill for held in await self._library.all(workspace)])

    async def plan(self) -> Plan:
        """What could be done now. Changes nothing."""
        offered = {held.skill.name: held for held in await self._library.all()}
        ours = {held.skill.name: held for held in await self._library.everything() if await self._is_ours(held)}
        refused_merges, refused_archives = await self._refused()
        withdrawn = withdrawn_skills(await self._store.heuristics.all())
        archives: dict[str, Proposal] = {}
        for name, held in sorted(ours.items()):
            reason = self._useless(held, withdrawn)
            if reason and name not in refused_archives and (proposal := archive_of(held, reason)):
                archives[name] = proposal
        alike = find_overlaps([held.skill for name, held in offered.items() if name not in archives])
        left: list[str] = []
        for overlap in alike:
            copy, reason = _copy_of_anothers(overlap, ours)
            refused = copy in refused_archives or frozenset((overlap.one, overlap.other)) in refused_merges
            if copy and not refused and copy not in archives and (proposal := archive_of(ours[copy], reason)):
                archives[copy] = proposal
        healthy = {name for name, held in offered.items() if held.stats.health_status != Health.DEPRECATED}
        free = {name: held for name, held in ours.items() if name in healthy and name not in archives}
        wanted = [pair for pair in alike if pair.one in free and pair.other in free]
        allowed = [pair for pair in wanted if frozenset((pair.one, pair.other)) not in refused_merges]
        merges = await self._merges(free, allowed, left)
        proposals, more = within([*merges, *(archives[name] for name in sorted(archives))])
        return Plan(proposals=proposals, left=tuple(left), more=more)

    async def apply(self, plan: Plan) -> Applied:
        """Do what the plan says, each change only while the skills are what the plan saw. The work is recorded before
        the first change, so that after a crash what was done can be taken back like a whole pass."""
        await self._close_interrupted()
        if not plan.proposals:
            return Applied(summary="nothing to curate")
        batch = new_id()
        await self._store.background.begin(KIND, work_id=batch)
        await self._store.background.finish(batch, RUNNING, "", payload_of(plan.proposals))
        changes: list[Change] = []
        skipped: list[str] = []
        done: list[Proposal] = []
        for proposal in plan.proposals:
            if reason := await self._changed_since(proposal):
                skipped.append(reason)
                continue
            made, problem = await self._do(proposal, batch)
            changes += made
            if problem:
                skipped.append(problem)
            if made:
                done.append(proposal)
        gone = [change.name for change in changes if change.ok and change.action == "delete"]
        await Proposing(self._store.database, LearningSettings()).withdraw(gone, f"its skill was archived by {batch}")
        summary = summary_of(changes, batch)
        await self._store.background.finish(batch, "done", summary if changes else "", payload_of(done))
        return Applied(
            batch=batch if changes else "",
            changes=tuple(changes),
            skipped=tuple(skipped),
            summary=summary if changes else "nothing was changed",
        )

    async def undo(self, batch: str = "") -> list[Change]:
        """Take a pass back: the one with this id (or a part of it that only it has), else the last one that was not
        taken back yet. Skills that somebody changed since stay as they are, and the answer says so; then the pass
        counts as not undone, and the command can be given again."""
        work = await self._meant(batch)
        changes = await self._editing.undo(work.id)
        if all(change.ok for change in changes):
            await self._store.background.mark_undone(work.id)
        return changes

    async def passes(self) -> list[Work]:
        """Earlier passes that changed something, newest first."""
        listed = await self._store.background.listed(_LOOKED_BACK)
        return [work for work in listed if work.kind == KIND and await self._store.skills.by_batch(work.id)]

    async def _is_ours(self, held: Held) -> bool:
        """Whether the review made it and nobody else ever wrote a version of it."""
        stats = held.stats
        if held.shelf is not Shelf.USER or stats.origin != Origin.REVIEW or stats.pinned or not stats.enabled:
            return False
        if stats.archived_at is not None or held.problem:
            return False
        versions = await self._store.skills.versions(stats.id)
        return held.version in {version.version for version in versions} and all(
            version.origin == Origin.REVIEW for version in versions
        )

    def _useless(self, held: Held, withdrawn: frozenset[str]) -> str:
        """Why a skill should go, or nothing."""
        stats = held.stats
        if stats.utility is not None and stats.utility < 0 and stats.name in withdrawn:
            return f"it does harm: success {100 * stats.utility:+.0f} points with it, and it was retired for that"
        if stats.usage_count >= _ENOUGH_USES and stats.success_rate < _POOR_RATE:
            return f"it fails: {stats.success_rate:.0%} of its last uses succeeded ({stats.usage_count} in all)"
        days = (self._clock() - max(stats.last_used_at or 0.0, stats.created_at)) / _DAY
        if 0 < self._settings.archive_days < days:
            last = "last used" if stats.last_used_at else "never used; made"
            return f"{last} {days:.0f} days ago"
        return ""

    async def _merges(self, free: Mapping[str, Held], alike: Sequence[Overlap], left: list[str]) -> list[Proposal]:
        """Umbrellas with what is alike to each; every skill takes part in one proposal at most."""
        wholes = {
            name: whole
            for name in sorted({name for pair in alike for name in (pair.one, pair.other)})
            if (whole := whole_of(free[name]))
        }
        taken: set[str] = set()
        found = []
        for name in sorted(wholes, key=lambda name: standing(free[name])):
            if name in taken:
                continue
            partners = [pair for pair in alike if name in (pair.one, pair.other) and pair.of(name) not in taken]
            result = wholes[name]
            absorbed: list[str] = []
            reasons: list[str] = []
            for pair in partners:
                other = pair.of(name)
                if other not in wholes or free[other].shadows or len(absorbed) + 2 > MOST_CHANGES:
                    continue
                if why := unmergeable(result, wholes[other]):
                    left.append(f"{name} and {other} are alike, but {why}")
                    continue
                result = (await self._merged(result, wholes[other])).whole
                absorbed.append(other)
                reasons.append(f"{other}: {pair.kind.value} {pair.score:.2f} ({pair.why})")
            if absorbed:
                taken |= {name, *absorbed}
                found.append(merge_of(name, absorbed, free, wholes, result, reasons))
        return found

    async def _merged(self, umbrella: Whole, absorbed: Whole) -> Merged:
        """Made one by a model where one is given and its answer holds, else without."""
        if self._rewrite is not None:
            try:
                answer = rewritten(umbrella, absorbed, await self._rewrite(umbrella.skill, absorbed.skill))
            except HermesError:
                answer = None
            if answer is not None:
                return answer
        return merged(umbrella, absorbed)

    async def _changed_since(self, proposal: Proposal) -> str:
        """Why a proposal no longer holds, or nothing."""
        for seen in proposal.seen:
            try:
                held = await self._library.get(seen.name)
            except NotFound:
                return f"{seen.name} is gone since the plan was made; left alone"
            if held.version != seen.version:
                return f"{seen.name} was changed since the plan was made; left alone"
            if not await self._is_ours(held):
                return f"{seen.name} was pinned or taken over since the plan was made; left alone"
        return ""

    async def _do(self, proposal: Proposal, batch: str) -> tuple[list[Change], str]:
        """The changes of a proposal, the umbrella before what it absorbed: a crash in between leaves one skill too
        many, never one too few."""
        author = Author(origin=Origin.REVIEW, batch=batch)
        made: list[Change] = []
        if proposal.action is Action.MERGE:
            change = await self._editing.replace(
                proposal.skill.name, proposal.files, author, expect=proposal.skill.version
            )
            if not change.ok:
                return made, f"{proposal.skill.name}: {change.message or change.error}; left alone"
            made.append(change)
        going = proposal.absorbed if proposal.action is Action.MERGE else (proposal.skill,)
        problems = []
        for seen in going:
            change = await self._editing.delete(seen.name, author, expect=seen.version)
            if change.ok:
                made.append(change)
            else:
                problems.append(f"{seen.name}: {change.message or change.error}; left where it is")
        return made, "; ".join(problems)

    async def _refused(self) -> tuple[frozenset[Pair], frozenset[str]]:
        """Merges and archives that a person took back once."""
        merges: set[Pair] = set()
        archives: set[str] = set()
        for work in await self._store.background.listed(_LOOKED_BACK):
            if work.kind == KIND and work.undone_at is not None:
                for group in work.payload.get("merged", ()):
                    merges |= {frozenset(pair) for pair in combinations(group, 2)}
                archives |= set(work.payload.get("archived", ()))
        return frozenset(merges), frozenset(archives)

    async def _meant(self, batch: str) -> Work:
        if batch:
            work = await self._store.background.get(batch)
            if work.kind != KIND:
                raise UsageError(
                    f"{work.id} is {work.kind}, no curation", remedy="`hermes skills curate --undo` without an id"
                )
        else:
            last = [work for work in await self.passes() if work.undone_at is None]
            if not last:
                raise UsageError("there is no curation to undo")
            work = last[0]
        if work.undone_at is not None:
            raise UsageError(f"{work.id} was undone already")
        return work

    async def _close_interrupted(self) -> None:
        """Say of passes that a crash ended what they did."""
        for work in await self.passes():
            if work.status == RUNNING and self._clock() - work.at > _ABANDONED:
                count = len(await self._store.skills.by_batch(work.id))
                made = f"{count} change{'s' * (count != 1)}"
                summary = f"curation was interrupted after {made}; undo with {undo_command(work.id)}"
                await self._store.background.finish(work.id, "interrupted", summary, work.payload)


def _copy_of_anothers(overlap: Overlap, ours: Mapping[str, Held]) -> tuple[str, str]:
    """The one of two duplicates that is ours, and why it may go, when the other one is not ours: that one is never
    touched."""
    mine = [name for name in (overlap.one, overlap.other) if name in ours]
    if overlap.kind is not Alike.DUPLICATE or len(mine) != 1 or ours[mine[0]].shadows:
        return "", ""
    return mine[0], f"says the same as {overlap.of(mine[0])}, which is not the curator's to change ({overlap.why})"

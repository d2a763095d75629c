"""Whether skills still work: their test inputs, run in the sandbox, most used and most important first.

A skill whose tests fail twice is deprecated and waits for a rewrite; one that passes again is restored. What this
machine cannot try, because a program is missing or the sandbox forbids it, says nothing about the skill.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence

from ..skills.format import SkillProblem, parse_skill, read_folder, version_of
from ..skills.library import Held, Library
from ..skills.skill import MAIN, Files, Shelf, Skill
from ..skills.skill import Health as Status
from ..skills.trials import TRIAL_SECONDS, Runner, TrialResult, try_one, try_out
from ..store.skills import SkillStats, SkillStore
from ..types.base import Value
from ..types.text import one_line

NO_TRIALS = "it has no test inputs, so nobody knows whether it works"
_DAY = 86_400.0
_NOTE = 500


class HealthReport(Value, frozen=True, kw_only=True):
    """What a check found. `status` is the one in force afterwards, `before` the one until then; `changed` says that the
    skill was edited meanwhile, so that nothing was recorded."""

    name: str
    shelf: Shelf
    version: str
    status: Status
    before: Status
    note: str = ""
    trials: tuple[TrialResult, ...] = ()
    changed: bool = False
    at: float = 0.0

    @property
    def broke(self) -> bool:
        """Whether this check is the one that found it broken."""
        return self.status is Status.DEPRECATED and self.before is not Status.DEPRECATED

    @property
    def restored(self) -> bool:
        """Whether it works again."""
        return self.status is Status.HEALTHY and self.before is Status.DEPRECATED


class Health:
    """Checks skills. `runner_for` gives the sandbox for one; `clock` is the time of day in seconds."""

    def __init__(
        self,
        library: Library,
        store: SkillStore,
        runner_for: Callable[[Held], Runner],
        clock: Callable[[], float],
        *,
        limit: float = TRIAL_SECONDS,
    ) -> None:
        self._library = library
        self._store = store
        self._runner_for = runner_for
        self._clock = clock
        self._limit = limit

    async def due(self, days: float, workspace: str = "") -> list[Held]:
        """The skills that were not tried for so many days, or were changed since; 0 days is all of them. Pinned ones
        come first, then those with a proven gain, then the most used, then the longest untried."""
        earliest = self._clock() - days * _DAY
        waiting = [held for held in await self._library.all(workspace) if await self._waits(held, earliest)]
        return sorted(waiting, key=_importance)

    async def check(self, held: Held) -> HealthReport:
        """Try one skill and record what came of it. What fails is tried once more: a passing failure is not news."""
        before = Status(held.stats.health_status)
        try:
            files = await asyncio.to_thread(read_folder, held.folder)
            skill = parse_skill(files[MAIN], held.folder.name)
        except SkillProblem as error:
            return self._report(held, before, before, note=f"cannot be read: {'; '.join(error.problems)}")
        if held.problem:
            return self._report(held, before, before, note=held.problem)
        results = await self._tried(held, skill, files)
        status, note = _verdict(results, before)
        report = self._report(held, before, status, note=note, version=version_of(files), trials=results)
        if await asyncio.to_thread(_version_on_disk, held) != report.version:
            return self._report(held, before, before, note="it was changed while it was tried", changed=True)
        await self._record(held, report)
        return report

    async def check_due(self, days: float, budget_seconds: float, workspace: str = "") -> list[HealthReport]:
        """Check what is due, the most important first, until the time is up; what is left comes first next time."""
        return await self._within(budget_seconds, await self.due(days, workspace))

    async def check_used(self, days: float, budget_seconds: float) -> list[HealthReport]:
        """The same for the schedule: only skills that are used or pinned, and that nobody tried, or made, for so many
        days. Costs one query when there are none."""
        earliest = self._clock() - days * _DAY
        if not any(_neglected(stats, earliest) for stats in await self._store.listed()):
            return []
        held = [held for held in await self._library.all() if _neglected(held.stats, earliest)]
        return await self._within(budget_seconds, sorted(held, key=_importance))

    async def _within(self, seconds: float, waiting: Sequence[Held]) -> list[HealthReport]:
        until = self._clock() + seconds
        reports: list[HealthReport] = []
        for held in waiting:
            if self._clock() >= until:
                break
            reports.append(await self.check(held))
        return reports

    async def _waits(self, held: Held, earliest: float) -> bool:
        checked = held.stats.checked_at
        if checked is None or checked <= earliest:
            return True
        versions = await self._store.versions(held.stats.id)
        return bool(versions) and versions[-1].at > checked

    async def _tried(self, held: Held, skill: Skill, files: Files) -> list[TrialResult]:
        runner = self._runner_for(held)
        results = await try_out(skill, files, runner, limit=self._limit)
        for place, result in enumerate(results):
            if result.tried and not result.ok:
                again = await try_one(skill, files, skill.trials[place], runner, limit=self._limit)
                results[place] = again
        return results

    def _report(
        self,
        held: Held,
        before: Status,
        status: Status,
        *,
        note: str,
        version: str = "",
        trials: Sequence[TrialResult] = (),
        changed: bool = False,
    ) -> HealthReport:
        return HealthReport(
            name=held.name,
            shelf=held.shelf,
            version=version or held.version,
            status=status,
            before=before,
            note=one_line(note, _NOTE),
            trials=tuple(trials),
            changed=changed,
            at=self._clock(),
        )

    async def _record(self, held: Held, report: HealthReport) -> None:
        """A rewrite that was asked for by other reasons than health stays asked for."""
        if not held.stats.id:
            return
        rewrite: dict[str, bool] = {}
        if any(result.tried and not result.ok for result in report.trials):
            rewrite = {"needs_rewrite": True}
        elif report.restored:
            rewrite = {"needs_rewrite": False}
        await self._store.mark(
            held.stats.id,
            health_status=report.status.value,
            health_note=report.note,
            checked_at=report.at,
            **rewrite,
        )


def _verdict(results: Sequence[TrialResult], before: Status) -> tuple[Status, str]:
    """What the results say together: one real failure is enough, and only real successes make a skill healthy."""
    failed = [result for result in results if result.tried and not result.ok]
    untried = [result for result in results if not result.tried]
    if failed:
        more = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
        return Status.DEPRECATED, f"test '{failed[0].name}': {failed[0].why}{more}"
    if untried:
        return before, f"test '{untried[0].name}' {untried[0].why}"
    if not results:
        return before if before is Status.DEPRECATED else Status.UNKNOWN, NO_TRIALS
    return Status.HEALTHY, f"{len(results)} of {len(results)} tests pass"


def _neglected(stats: SkillStats, earliest: float) -> bool:
    in_use = stats.archived_at is None and stats.enabled and (stats.usage_count > 0 or stats.pinned)
    return in_use and (stats.checked_at or stats.created_at) <= earliest


def _importance(held: Held) -> tuple[bool, bool, int, float, float, str]:
    stats = held.stats
    gain = stats.utility if stats.utility is not None and math.isfinite(stats.utility) else 0.0
    return not stats.pinned, gain <= 0, -stats.usage_count, -gain, stats.checked_at or 0.0, held.name


def _version_on_disk(held: Held) -> str:
    try:
        return version_of(read_folder(held.folder))
    except SkillProblem:
        return ""

"""What a run teaches about the skills it used: how often they serve, how well, what to beware of, and a shorter way.

The moving success rate follows every use. A skill that an agent wrote takes up new pitfalls and a better template by
itself; what a person wrote is never edited here, its figures only are kept. A skill that fails more often than it
serves is marked for a rewrite.
"""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from ..config.settings import SkillSettings
from ..skills.format import SkillProblem, parse_skill, render_skill
from ..skills.index import invoked
from ..skills.library import Held, Library
from ..skills.manage import Editing
from ..skills.skill import MAIN, Author, Files, Origin
from ..store.database import Connection
from ..store.heuristics import read_cells
from ..store.learning_views import Best, best_of
from ..store.open import Store
from ..store.skills import SkillStats, Use
from ..types.errors import HermesError, NotFound
from ..types.text import one_line
from ..types.tools import Label
from ..types.trace import CallStatus, Judge, ToolRecord, Trace
from .cells import TaskCell
from .context import NEVER_LEARNED, error_class
from .lessons import REPLAYED, success_of
from .observe import Observed, observe

TEMPLATE = "templates/steps.md"
"""Where the way a run went is written down."""
REWRITE_USES = 10
REWRITE_RATE = 0.5
_MOST_PITFALLS = 12
_LOOKED_BACK = 200
_PASSING = frozenset(("timeout", "rate_limit", "unreachable"))
_SKILL_TOOLS = ("skills_list", "skill_view", "skill_manage", "memory")


async def skills_used(store: Store, library: Library, ids: Collection[str], workspace: str) -> list[Held]:
    """Skills by their ids, as they lie where a run worked: another shelf may have one of the same name."""
    found = []
    for skill_id in ids:
        same = await library.named((await store.skills.get(skill_id)).name, workspace)
        found += [held for held in same if held.stats.id == skill_id]
    return found


class Refining:
    """Keeps the figures of skills, and lets those that agents wrote follow what runs show."""

    def __init__(self, store: Store, library: Library, editing: Editing, settings: SkillSettings) -> None:
        self._store = store
        self._library = library
        self._editing = editing
        self._rate = settings.rate

    async def learned(self, trace: Trace) -> None:
        """Take a finished run into account, once; a later judgement of the same run replaces the earlier one."""
        if trace.surface == REPLAYED:
            return
        known = {use.skill_id: use for use in await self._store.skills.uses_of_run(trace.run_id)}
        named = invoked(trace.request)
        if not known and not named:
            return
        workspace = await self._workspace(trace.session_id)
        used = await skills_used(self._store, self._library, known, workspace)
        if named and (held := await self._library.look(named, workspace)) and held.stats.id not in known:
            used.append(held)
        if not used:
            return
        success, judge = success_of(trace)
        observed = await self._observed(trace)
        for held in (held for held in used if held.stats.id):
            before = known.get(held.stats.id)
            await self._store.skills.record_use(
                Use(
                    run_id=trace.run_id,
                    skill_id=held.stats.id,
                    session_id=trace.session_id,
                    version=before.version if before else held.version,
                    how=before.how if before else "invoked",
                    family=trace.family,
                    model=trace.model,
                    success=success,
                    efficiency=observed.efficiency_score,
                    at=before.at if before else 0.0,
                )
            )
            if success is None:
                continue
            stats = await self._counted(held, before, observed, success=success)
            await self._improve(held, stats, trace, observed, proven=success and judge is not Judge.INFERRED)

    async def _workspace(self, session_id: str) -> str:
        try:
            return (await self._store.sessions.get(session_id)).workspace
        except NotFound:
            return ""

    async def _observed(self, trace: Trace) -> Observed:
        def unit(connection: Connection) -> Best:
            place = connection.run("SELECT seq FROM lessons WHERE run_id = ?", (trace.run_id,))
            return best_of(connection, trace.family, trace.model, int(place[0][0]) if place else None)

        return observe(trace, await self._store.database.read(unit))

    async def _counted(self, held: Held, before: Use | None, observed: Observed, *, success: bool) -> SkillStats:
        """The figures with this use in them. A use that was judged anew is not a second one."""
        skills, score = self._store.skills, observed.efficiency_score if success else 0.0
        if before is None or before.success is None:
            stats = await skills.count_use(held.stats.id, success=success, rate=self._rate, efficiency=score)
        else:
            rate = 1.0
            for use in reversed(await skills.uses(held.stats.id, _LOOKED_BACK)):
                if use.success is not None:
                    rate += self._rate * (use.success - rate)
            await skills.mark(held.stats.id, success_rate=rate)
            stats = await skills.get(held.stats.id)
        utility = await self._utility(held.name)
        failing = stats.usage_count >= REWRITE_USES and stats.success_rate < REWRITE_RATE
        await skills.mark(stats.id, utility=utility, needs_rewrite=stats.needs_rewrite or failing)
        return await skills.get(stats.id)

    async def _utility(self, name: str) -> float | None:
        """What the coin says the skill gains, over all families and models: their effects, weighted by tasks."""
        heuristics = await self._store.heuristics.of_skill(name)
        keys = [(one.model, one.family, f"task:{one.id}", "") for one in heuristics]
        cells = await self._store.database.read(lambda connection: read_cells(connection, keys)) if keys else {}
        shown = [msgspec.json.decode(payload, type=TaskCell).evidence for payload in cells.values()]
        known = [(effect, one.tasks) for one in shown if (effect := one.effect()) is not None]
        tasks = sum(count for _, count in known)
        return round(sum(effect * count for effect, count in known) / tasks, 4) if tasks else None

    async def _improve(self, held: Held, stats: SkillStats, trace: Trace, observed: Observed, *, proven: bool) -> None:
        """Write new pitfalls and a better template into a skill that an agent wrote. Nothing that a stranger's text may
        have brought in is written, and a failure to write costs nothing but the improvement."""
        if not held.origin.by_agent or stats.pinned or any(Label.UNTRUSTED in call.labels for call in trace.calls):
            return
        try:
            files = await self._library.files(held)
            changed = _improved(held, files, trace, observed, better=proven and _beats(held, observed))
            if changed is not None:
                author = Author(origin=Origin.REVIEW, run_id=trace.run_id, batch=trace.run_id)
                await self._editing.replace(held.name, changed, author, held.version)
        except HermesError:
            return


def _beats(held: Held, observed: Observed) -> bool:
    return bool(held.skill.template) and observed.efficiency_score > held.stats.best_efficiency_score > 0


def _improved(held: Held, files: Files, trace: Trace, observed: Observed, *, better: bool) -> Files | None:
    """The skill's files with what the run taught; None when it taught nothing."""
    skill = parse_skill(files[MAIN], held.name)
    passing = {_signature(call) for call in trace.calls if not _lasts(call)}
    fresh = [
        one_line(f"{tool} fails with {error}", 120)
        for signature in observed.error_recovery.new_pitfalls
        for tool, _, error in (signature.partition(":"),)
        if signature not in passing and tool not in _SKILL_TOOLS
    ]
    pitfalls = tuple(dict.fromkeys((*skill.pitfalls, *fresh)))[:_MOST_PITFALLS]
    changed = dict(files)
    if pitfalls != skill.pitfalls:
        try:
            changed[MAIN] = render_skill(msgspec.structs.replace(skill, pitfalls=pitfalls)).encode()
        except SkillProblem:
            return None
    if better:
        changed[skill.template if skill.template.endswith(".md") else TEMPLATE] = template_of(trace).encode()
    return changed if changed != files else None


def _signature(call: ToolRecord) -> str:
    return f"{call.tool}:{call.error or call.status.value}"


def _lasts(call: ToolRecord) -> bool:
    """Whether a failure would be met again elsewhere: not a missing program or key, not a slip, not an outage."""
    return error_class(call.error or call.status.value, call.output) not in NEVER_LEARNED | _PASSING


def template_of(trace: Trace) -> str:
    """The way a run went, as steps that another run can follow: what the request named becomes a slot."""
    lines = ["# Steps that worked", ""]
    number = 0
    for call in trace.calls:
        if call.status is not CallStatus.OK or call.parent or call.tool in _SKILL_TOOLS:
            continue
        number += 1
        shown = ", ".join(f"{name}={_shown(value, trace.request)}" for name, value in call.input.items())
        lines.append(f"{number}. `{call.tool}` {one_line(shown, 300)}".rstrip())
    return "\n".join(lines) + "\n"


def _shown(value: object, request: str) -> str:
    text = one_line(str(value), 120)
    return "…" if len(text) > 2 and text in request else text

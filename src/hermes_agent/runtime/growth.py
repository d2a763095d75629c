"""What happens after an answer was delivered: a review looks back, a good run becomes a skill, memory is told.

All of it runs in the background, is recorded as work that one command undoes, and is finished before the process ends.
Nothing here can fail the run it follows.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from ..config.settings import BudgetSettings, Learning, Settings
from ..harness.calls import Restriction
from ..harness.harness import Harness
from ..harness.metering import Allowance
from ..learning.lessons import REPLAYED
from ..learning.observe import Observed, observe
from ..learning.review import RULE, SURFACE, TOOLS, Counters, Due, policy, request, summary
from ..learning.worth import refusal, ruled_out
from ..memory.history import Author as Noter
from ..memory.history import Who
from ..models.facts import ModelFacts
from ..skills.library import Held
from ..skills.skill import Author, Files, Origin
from ..store.background import Work
from ..store.database import Connection
from ..store.learning_views import Best, best_of
from ..store.open import Store
from ..store.skills import Version
from ..types.errors import HermesError, NotFound
from ..types.events import AssistantMessage, UserMessage
from ..types.text import one_line
from ..types.trace import RunStatus, Trace
from .background import Background
from .engine import Ended
from .knowledge import Knowledge
from .quiet import Conversation, Errand, QuietRuns, kept, read_back

if TYPE_CHECKING:
    from ..learning.extract import Ask

_PURSE = "review:"
_UNWATCHED = (SURFACE, REPLAYED)
"""Surfaces of runs that nobody asked for: a look back at them would be a look at oneself."""
_CHECK_SECONDS = 5.0
"""How long skills are tried behind one run; what is left waits for the next."""
_LOOK_AGAIN_SECONDS = 3600.0
_REVIEW, _EXTRACTION, _HEALTH = "review", "extraction", "health"
_NOTHING = Restriction(tools=frozenset(), rule="the extraction of a skill uses no tools")


class Growth:
    """Starts background work after runs. `facts` knows the prices of models."""

    def __init__(
        self,
        store: Store,
        settings: Settings,
        knowledge: Knowledge,
        quiet: QuietRuns,
        background: Background,
        facts: Callable[[str], ModelFacts],
        clock: Callable[[], float],
    ) -> None:
        self._store = store
        self._settings = settings
        self._knowledge = knowledge
        self._quiet = quiet
        self._background = background
        self._facts = facts
        self._clock = clock
        self._counting = asyncio.Lock()
        self._settled = False
        self._looks_again_at = 0.0

    def after(self, ended: Ended) -> None:
        """A run's answer was delivered. Returns at once."""
        if ended.session.surface in _UNWATCHED or ended.finished.result.status is not RunStatus.DONE:
            return
        self._background.start(self._follow(ended, kept(ended)), f"after run {ended.run.id}")

    async def _follow(self, ended: Ended, told: Conversation | None) -> None:
        told = told or await read_back(self._store, ended)
        trace = await self._store.traces.own_of_run(ended.run.id)
        if not self._settled:
            await self._settle()
        if self._knowledge.external is not None:
            await self._remember(ended, told)
        for name in dict.fromkeys(name for name, _ in await self._versions(ended.run.id)):
            await self._trust(name)
        tools = frozenset(spec.name for spec in ended.harness.calls.registry.specs())
        async with self._counting:
            due = await Counters(self._store.values(ended.session.id), self._settings).after(trace, tools)
        changed = await self._review(ended, told, trace, due) if due else False
        if not changed and self._settings.review.mode is Learning.ON and "skill_manage" in tools:
            changed = await self._extract(ended, told, trace)
        if changed and self._settings.skills.curate:
            await self._curate()
        await self._check_health()

    async def _settle(self) -> None:
        """Close what a process that is gone left undone. What it had changed by then is told, and can be undone."""
        self._settled = True
        for left in await self._quiet.close_abandoned():
            with contextlib.suppress(NotFound):
                work = await self._store.background.get(left.work)
                batch = work.id if work.kind == _EXTRACTION else left.run_id
                await self._record(work, batch, "interrupted", "its process ended")

    async def _remember(self, ended: Ended, told: Conversation) -> None:
        from ..memory.external import Remembering

        memory = self._knowledge.external
        if memory is None:
            return
        said = [
            ("user" if isinstance(message, UserMessage) else "assistant", message.text)
            for message in told.transcript.since_last_request()
            if isinstance(message, UserMessage | AssistantMessage) and message.text
        ]
        remembering = Remembering(memory, ended.harness.redactor, lambda text: None)
        await remembering.after(ended.session.id, said, tainted=bool(told.provenance.untrusted))

    def _restricted(self, ended: Ended, only: Restriction) -> Harness:
        review = self._settings.review
        limits = msgspec.structs.replace(self._settings.limits, iterations=review.iterations)
        budgets = BudgetSettings(run_usd=review.usd, run_tokens=review.tokens, day_usd=review.day_usd)
        allowance = Allowance(
            budgets, self._facts, self._settings.model.max_tokens, self._settings.model.effort, purse=_PURSE
        )
        return ended.harness.restricted(only, limits, allowance)

    async def _review(self, ended: Ended, told: Conversation, trace: Trace, due: Due) -> bool:
        """Let the model look back; whether it changed any skill."""
        await self._settle()
        work = await self._store.background.begin(_REVIEW, run_id=ended.run.id, session_id=ended.session.id)
        try:
            used = await self._used(trace, ended.session.workspace)
            failing = [held for held in used if held.stats.needs_rewrite and held.origin.by_agent]
            asked = request(policy(self._settings, self._store.home), due, used, failing)
            errand = Errand(surface=SURFACE, title=f"review of run {ended.run.id}", request=asked, work=work.id)
            harness = self._restricted(ended, Restriction(tools=TOOLS, rule=RULE))
            finished = await self._quiet.run(ended, told, harness, errand)
        except HermesError as error:
            await self._store.background.finish(work.id, "failed", "", {"reason": error.explain()})
            return False
        result = finished.result
        return await self._record(work, finished.run_id, result.status.value, _in_our_terms(result.outcome.reason))

    async def _used(self, trace: Trace, workspace: str) -> list[Held]:
        from ..learning.refine import skills_used

        ids = [use.skill_id for use in await self._store.skills.uses_of_run(trace.run_id)]
        return await skills_used(self._store, self._knowledge.library, ids, workspace)

    async def _record(self, work: Work, batch: str, status: str, reason: str = "") -> bool:
        """Validate what was written, and keep the line that tells of it. `reason` is why the work ended early."""
        versions = await self._versions(batch)
        for name in dict.fromkeys(name for name, _ in versions):
            await self._trust(name)
        steps = [step for step in await self._knowledge.notes.history() if step.run_id == batch]
        line = summary(versions, [f"{step.kind.value} {step.action}" for step in steps], work.id)
        payload = {"batch": batch, **({"reason": reason} if reason else {})}
        await self._store.background.finish(work.id, status, line, payload)
        return bool(versions)

    async def _versions(self, batch: str) -> list[tuple[str, Version]]:
        rows = await self._store.skills.by_batch(batch)
        return [((await self._store.skills.get(row.skill_id)).name, row) for row in rows]

    async def _trust(self, name: str) -> None:
        """Mark a skill that was changed as validated, or as one that must be rewritten before it is offered. One that
        was waiting for its rewrite begins anew. What a person made is left as it is when it cannot be validated."""
        held = await self._knowledge.library.look(name)
        if held is None or not held.stats.id:
            return
        skills, stats = self._store.skills, held.stats
        problems = await self._problems(await self._knowledge.library.files(held))
        if not problems:
            await skills.mark(stats.id, validated=held.version)
            if stats.needs_rewrite and held.version != stats.validated:
                await skills.mark(
                    stats.id, needs_rewrite=False, success_rate=1.0, health_status="unknown", health_note=""
                )
            return
        if not held.origin.by_agent:
            return
        note = one_line("; ".join(problems), 400)
        await skills.mark(held.stats.id, health_status="deprecated", health_note=note, needs_rewrite=True)

    async def _problems(self, files: Files) -> Sequence[str]:
        from ..skills.validation import validate

        found = await validate(files, self._knowledge.runner)
        return () if found.ok else (found.problems or ("it could not be tried",))

    async def _curate(self) -> None:
        """Merge what overlaps while it is fresh: two skills for one thing are worth less than one. Only what reviews
        made is touched, and one command undoes it."""
        from ..learning.curator import Curator

        known = self._knowledge
        curator = Curator(known.library, known.editing, self._store, self._settings.skills, self._clock)
        applied = await curator.apply(await curator.plan())
        for name in dict.fromkeys(change.name for change in applied.changes if change.action != "delete"):
            await self._trust(name)

    async def _extract(self, ended: Ended, told: Conversation, trace: Trace) -> bool:
        """Make a skill of a run that is worth it; whether there is one more. A run that an agent's skill led through
        without a new trouble has nothing to add to it."""
        if ruled_out(trace, len(told.transcript)):
            return False
        observed = await self._observed(trace)
        if refusal(trace, observed, len(told.transcript)):
            return False
        if await self._store.skills.by_batch(trace.run_id):
            return False
        served = any(held.origin.by_agent for held in await self._used(trace, ended.session.workspace))
        if served and not observed.error_recovery.new_pitfalls:
            return False
        from ..learning.extract import Extraction

        await self._settle()
        work = await self._store.background.begin(_EXTRACTION, run_id=ended.run.id, session_id=ended.session.id)
        try:
            asking = self._asking(ended, told, work)
            extraction = Extraction(self._knowledge.library, self._knowledge.editing, asking, self._problems)
            author = Author(origin=Origin.REVIEW, run_id=ended.run.id, batch=work.id)
            came = await extraction.run(observed, trace, author)
        except HermesError as error:
            await self._store.background.finish(work.id, "failed", "", {"reason": error.explain()})
            return False
        if came.change is None or not came.change.ok:
            await self._store.background.finish(work.id, "failed", "", {"reason": came.reason})
            return False
        await self._record(work, work.id, "done")
        return not came.updated

    def _asking(self, ended: Ended, told: Conversation, work: Work) -> Ask:
        from ..learning.extract import draft_schema

        async def ask(text: str) -> str:
            schema = json.dumps(draft_schema(), separators=(",", ":"))
            asked = f"{text}\nThe JSON schema of the answer: {schema}"
            errand = Errand(surface=SURFACE, title=f"extraction from run {ended.run.id}", request=asked, work=work.id)
            finished = await self._quiet.run(ended, told, self._restricted(ended, _NOTHING), errand)
            if finished.result.status is not RunStatus.DONE:
                raise HermesError(_in_our_terms(finished.result.outcome.reason))
            return finished.result.answer

        return ask

    async def _observed(self, trace: Trace) -> Observed:
        def unit(connection: Connection) -> tuple[Best, str]:
            place = connection.run("SELECT seq, family FROM lessons WHERE run_id = ?", (trace.run_id,))
            family = place[0][1] if place else trace.family
            return best_of(connection, family, trace.model, int(place[0][0]) if place else None), family

        best, _ = await self._store.database.read(unit)
        return observe(trace, best)

    async def _check_health(self) -> None:
        """Try skills that are in use and were not tried for `skills.check_days`. What broke is told next time."""
        days, now = self._settings.skills.check_days, self._clock()
        if not days or not self._knowledge.has_skills or now < self._looks_again_at:
            return
        self._looks_again_at = now + _LOOK_AGAIN_SECONDS
        from ..learning.health import Health

        library = self._knowledge.library
        health = Health(library, self._store.skills, lambda held: self._knowledge.runner, self._clock)
        broke = [report for report in await health.check_used(days, _CHECK_SECONDS) if report.broke]
        if broke:
            notes = [f"the skill {report.name} no longer works: {one_line(report.note, 120)}" for report in broke]
            work = await self._store.background.begin(_HEALTH)
            retry = f"`hermes skills test {broke[0].name}` tries it again"
            await self._store.background.finish(work.id, "done", "; ".join((*notes, retry)))

    async def undo(self, part: str) -> list[str]:
        """Take back what one piece of background work did; returns a line for each change."""
        work = await self._store.background.get(part)
        if work.undone_at is not None:
            raise NotFound(f"{work.id} was undone already", remedy="`hermes review list` shows what can be undone")
        batch = str(work.payload.get("batch") or work.id)
        changes = await self._knowledge.editing.undo(batch) if await self._store.skills.by_batch(batch) else []
        failed = [change.message for change in changes if not change.ok]
        if failed:
            raise HermesError("; ".join(failed), remedy="nothing was changed")
        notes = await self._knowledge.notes.undo(Noter(who=Who.USER), run_id=batch) if batch else []
        await self._store.background.mark_undone(work.id)
        said = [note.message if note.ok else f"left as it is: {note.message}" for note in notes]
        return [f"skill {change.name}: {change.message}" for change in changes] + said

    async def news(self) -> list[str]:
        """What background work did since somebody was last told, one line each; told once."""
        untold = await self._store.background.untold()
        await self._store.background.told([work.id for work in untold])
        return [work.summary for work in untold]


def _in_our_terms(reason: str) -> str:
    """Why a run ended, naming the settings by which background work is capped."""
    return reason.replace("budgets.run_", "review.").replace("budgets.day_", "review.day_")

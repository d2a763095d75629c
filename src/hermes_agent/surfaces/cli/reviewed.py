"""What one piece of background work came to: the changes with their differences, what it cost, how it ended."""

from __future__ import annotations

import time
from collections.abc import Sequence

from ...app import App
from ...learning.curator import KIND as CURATION
from ...learning.review import summary
from ...memory.history import History, Step
from ...skills.differences import unified
from ...skills.skill import Files
from ...skills.undoing import ARCHIVING
from ...store.background import RUNNING, Work
from ...store.database import Connection
from ...store.runs import Run
from ...store.skills import Version
from ...store.usage import Used, UsedBy
from ...tools.sandbox.identity import Life
from ...types.base import Value
from ...types.errors import NotFound
from ...types.events import RunFinished
from .driving import driver_of
from .usage import UsageLine, line_of

_LOOKED_AT = 50
_ABANDONED = 3600.0
"""Work of which nobody can say who drives it counts as interrupted after so many seconds."""
_BESIDE = "SELECT id FROM sessions WHERE parent = ? AND title LIKE ?"
_USED = (
    "SELECT m.provider, m.model, COUNT(*), SUM(CASE WHEN m.failure <> '' THEN 1 ELSE 0 END), SUM(m.input_tokens),"
    " SUM(m.output_tokens), SUM(m.cached_tokens) FROM model_calls m JOIN sessions s ON s.id = m.session_id"
    " WHERE s.parent = ? AND s.title LIKE ? GROUP BY m.provider, m.model ORDER BY m.provider, m.model"
)


class SkillChange(Value, frozen=True, kw_only=True):
    """What became of one skill: from version `before` (empty: it was not there) to `after` (empty: archived)."""

    name: str
    actions: tuple[str, ...]
    before: str
    after: str
    diff: str


class NoteStep(Value, frozen=True, kw_only=True):
    """One change of a memory file."""

    seq: int
    file: str
    action: str
    taken_back: bool
    diff: str


class Reviewed(Value, frozen=True, kw_only=True):
    """A piece of work with everything it changed. `reason` is why it did not end well."""

    work: Work
    reason: str
    skills: tuple[SkillChange, ...]
    notes: tuple[NoteStep, ...]
    cost: UsageLine


def batch_of(work: Work) -> str:
    """Under which name its changes are kept; empty when it made none."""
    return work.id if work.kind == CURATION else str(work.payload.get("batch") or "")


async def changed_anything(app: App, work: Work) -> bool:
    """Whether there is something to take back."""
    batch = batch_of(work)
    if not batch:
        return False
    return bool(await app.store.skills.by_batch(batch)) or bool(await _steps(app, batch))


async def reviewed(app: App, work: Work) -> Reviewed:
    """Everything about a piece of work."""
    batch = batch_of(work)
    by_skill: dict[str, list[Version]] = {}
    for version in await app.store.skills.by_batch(batch):
        by_skill.setdefault(version.skill_id, []).append(version)
    return Reviewed(
        work=work,
        reason=await _reason(app, work),
        skills=tuple([await _skill_change(app, versions) for versions in by_skill.values()]),
        notes=tuple(await _note_steps(app, batch)),
        cost=line_of(work.id, await _usage(app, work), app.environment.home),
    )


async def settle(app: App) -> None:
    """Say of work that was begun by a process that is gone what it did until then, so that it is told and undone like
    any other. Curation settles its own."""
    for work in await app.store.background.listed(_LOOKED_AT):
        if work.status != RUNNING or work.kind == CURATION:
            continue
        runs = await _runs(app, work)
        drivers = [driver_of(run) for run in runs]
        lives = {Life.UNKNOWN if driver is None else driver.life for driver in drivers} or {Life.UNKNOWN}
        if Life.ALIVE in lives or (lives != {Life.DEAD} and time.time() - work.at < _ABANDONED):
            continue
        batch = runs[0].id if runs and work.kind == "review" else work.id
        rows = await app.store.skills.by_batch(batch)
        versions = [((await app.store.skills.get(row.skill_id)).name, row) for row in rows]
        notes = [f"{step.kind.value} {step.action}" for step in await _steps(app, batch)]
        told = summary(versions, notes, work.id)
        payload = {"batch": batch, "reason": "it was skipped, or its process ended"}
        await app.store.background.finish(work.id, "interrupted", told, payload)


async def _reason(app: App, work: Work) -> str:
    """What the work itself said or, where it was a run that failed, what that run said."""
    if said := str(work.payload.get("reason") or ""):
        return said
    if work.status in ("done", RUNNING):
        return ""
    for run in await _runs(app, work):
        for entry in await app.store.journal.run_events(run.id):
            if isinstance(entry.event, RunFinished) and entry.event.outcome.reason:
                return entry.event.outcome.reason
    return ""


async def _skill_change(app: App, versions: Sequence[Version]) -> SkillChange:
    first, last = versions[0], versions[-1]
    archived = last.action in ARCHIVING
    before = await _files(app, first.skill_id, first.parent)
    after = await _files(app, first.skill_id, last.version)
    return SkillChange(
        name=(await app.store.skills.get(first.skill_id)).name,
        actions=tuple(version.action for version in versions),
        before=first.parent,
        after="" if archived else last.version,
        diff="" if archived else unified(before, after),
    )


async def _files(app: App, skill_id: str, version: str) -> Files:
    if not version:
        return {}
    try:
        return await app.store.skills.files(skill_id, version)
    except NotFound:
        return {}


async def _steps(app: App, batch: str) -> list[Step]:
    """The changes of memory under a batch; without one there are none."""
    if app.knowledge is None or not batch:
        return []
    return [step for step in await app.knowledge.notes.history() if step.run_id == batch]


async def _note_steps(app: App, batch: str) -> list[NoteStep]:
    if app.knowledge is None or not batch:
        return []
    notes = app.knowledge.notes
    kept = History(notes.folder / ".history")
    undone = {step.undoes for step in await notes.history()}
    return [
        NoteStep(
            seq=step.seq,
            file=step.kind.file,
            action=step.action,
            taken_back=step.seq in undone,
            diff=_note_diff(kept, step),
        )
        for step in await _steps(app, batch)
    ]


def _note_diff(kept: History, step: Step) -> str:
    old, new = kept.content(step.kind, step.before), kept.content(step.kind, step.version)
    if old is None or new is None:
        return ""
    return unified({step.kind.file: old} if old else {}, {step.kind.file: new} if new else {})


def _pattern(work: Work) -> tuple[str, str]:
    """Which sessions were opened beside the user's for this work."""
    return work.session_id, f"{work.kind} %{work.run_id}"


async def _runs(app: App, work: Work) -> list[Run]:
    """The runs that did the work."""
    if not work.session_id:
        return []
    rows = await app.store.database.read(lambda connection: connection.run(_BESIDE, _pattern(work)))
    return [run for row in rows for run in await app.store.runs.of_session(str(row[0]))]


async def _usage(app: App, work: Work) -> list[UsedBy]:
    if not work.session_id:
        return []

    def unit(connection: Connection) -> list[UsedBy]:
        found = []
        for provider, model, calls, failures, given, output, cached in connection.run(_USED, _pattern(work)):
            used = Used(
                calls=int(calls), failures=int(failures), input=int(given), output=int(output), cached=int(cached)
            )
            found.append(UsedBy(key=work.id, provider=provider, model=model, used=used))
        return found

    return await app.store.database.read(unit)

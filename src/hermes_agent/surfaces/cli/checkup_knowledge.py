"""The checks of `hermes doctor` on skills and memory."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from ...app import App
from ...skills.library import Held
from ...skills.skill import Health
from ...types.errors import HermesError
from ...types.text import one_line, visible
from .checkup import Check, State, failed, good

_NAMED = 3
_PATIENCE = 15.0


async def check_knowledge(app: App) -> list[Check]:
    """Skills that cannot be used, entries of memory that are kept out of the prompt, and the external memory. Skills
    that were put on a shelf by hand are taken into the history, as at every start."""
    if app.knowledge is None:
        return []
    return [await _skills(app), await _memory(app), await _provider(app)]


async def _skills(app: App) -> Check:
    assert app.knowledge is not None
    try:
        found = await app.knowledge.library.everything(_here())
    except HermesError as error:
        return failed("skills", error)
    present = [held for held in found if held.stats.archived_at is None]
    broken = [f"{held.name} ({one_line(visible(held.problem), 120)})" for held in present if held.problem]
    failing = [held.name for held in present if not held.problem and _fails(held)]
    if not broken and not failing:
        return good("skills", f"{len(present)} skills, none with a problem")
    parts = [f"{len(broken)} cannot be used: {_first(broken)}"] if broken else []
    parts += [f"{len(failing)} failed the last trial: {_first(failing)}"] if failing else []
    remedy = "`hermes skills show NAME` tells more, `hermes skills test NAME` tries one"
    return Check(name="skills", state=State.WARN, text=f"of {len(present)} skills {'; '.join(parts)}", remedy=remedy)


async def _memory(app: App) -> Check:
    assert app.knowledge is not None
    from ...memory.history import Kind
    from ...memory.snapshot import fill, shown

    notes = app.knowledge.notes
    files = [await notes.read(kind) for kind in Kind]
    left_out = [one_line(visible(line), 160) for file in files for line in shown(file, notes.redactor)[1]]
    if not left_out:
        return good("memory", "; ".join(fill(file) for file in files))
    remedy = "`hermes memory status` names all of it, `hermes memory edit` opens the file"
    text = f"{len(left_out)} kept out of the prompt: {_first(left_out)}"
    return Check(name="memory", state=State.WARN, text=text, remedy=remedy)


async def _provider(app: App) -> Check:
    """Connect to the external memory and ask whether it answers."""
    assert app.knowledge is not None
    name, remedy = "memory provider", "`hermes config set memory.provider none` goes on without it"
    try:
        external = app.knowledge.external
    except HermesError as error:
        return failed(name, error)
    if external is None:
        return good(name, "none beside the built-in memory")
    try:
        wrong = await asyncio.wait_for(external.check(), _PATIENCE)
    except HermesError as error:
        return failed(name, error)
    except TimeoutError:
        wrong = f"it did not answer within {_PATIENCE:.0f} seconds"
    if wrong:
        text = f"{external.name}: {one_line(visible(wrong), 300)}"
        return Check(name=name, state=State.WARN, text=text, remedy=remedy)
    return good(name, f"{external.name} answers")


def _fails(held: Held) -> bool:
    return held.stats.health_status == Health.DEPRECATED


def _first(lines: Sequence[str]) -> str:
    more = f" and {len(lines) - _NAMED} more" if len(lines) > _NAMED else ""
    return "; ".join(lines[:_NAMED]) + more


def _here() -> str:
    """The current folder, whose skills count too; none when it is gone."""
    try:
        return str(Path.cwd())
    except OSError:
        return ""

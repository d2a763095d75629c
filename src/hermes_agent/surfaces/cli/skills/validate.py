"""`hermes skills validate`: format, standard, syntax and scanner, and with --run the tests in the sandbox."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from ....skills.folder import read_folder, version_of
from ....skills.format import nonstandard, parse_skill
from ....skills.library import Held, is_name
from ....skills.problem import SkillProblem
from ....skills.screening import screen
from ....skills.skill import MAIN, Files
from ....skills.validation import Validated, validate
from ....types.base import Value
from ....types.errors import NotFound
from ....types.text import one_line, visible
from ....types.tools import ToolResult
from ..console import Console, print_json
from ..options import directory_option, json_option
from .opening import Desk, complete_name, opened_skills


class Judged(Value, frozen=True, kw_only=True):
    """What validation says about a skill or a folder; `complete` when its tests were run too."""

    target: str
    version: str
    ok: bool
    complete: bool
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    ran: tuple[str, ...] = ()


class _WouldRun(Exception):
    """Everything that can be told without running anything was said, and there is no objection."""


@click.command(short_help="Check a skill or a folder: format, syntax, scanner; with --run its tests.")
@click.argument("target", metavar="NAME | PATH", shell_complete=complete_name)
@click.option("--run", is_flag=True, help="Check shell scripts and run the test inputs too, in the sandbox.")
@directory_option
@json_option
def command(target: str, run: bool, directory: Path, as_json: bool) -> int:
    """Check the skill NAME, or a folder with a SKILL.md that need not be on a shelf. Nothing of it runs unless you say
    --run, and then only in the sandbox. Exit code 1 when something speaks against it."""

    async def work() -> int:
        console = Console(quiet=as_json)
        async with opened_skills(console, directory) as desk:
            folder, held = await _place(desk, target)
            judged = await _judged(desk, target, folder, held.name if held else folder.name, run=run)
            if run and judged.ok and held is not None and held.stats.id and held.version == judged.version:
                await desk.store.mark(held.stats.id, validated=judged.version)
        if as_json:
            print_json(judged)
        else:
            _print(console, judged)
        return 0 if judged.ok else 1

    return asyncio.run(work())


async def _place(desk: Desk, target: str) -> tuple[Path, Held | None]:
    """The folder that is meant. A word is a skill's name first; anything else is a path."""
    held = await desk.library.look(target, desk.workspace)
    if held is not None:
        return held.folder, held
    folder = await asyncio.to_thread(_folder, target)
    if folder is not None:
        return folder, None
    if is_name(target):
        found = await desk.find(target)
        return found.folder, found
    raise NotFound(
        f"{one_line(target, 200)!r} is neither a skill nor a folder with a {MAIN}",
        remedy="`hermes skills list` shows the skills there are",
    )


def _folder(target: str) -> Path | None:
    path = Path(target)
    try:
        if path.is_file() and path.name == MAIN:
            return path.absolute().parent
        return path.absolute() if path.is_dir() else None
    except (OSError, ValueError):
        return None


async def _judged(desk: Desk, target: str, folder: Path, name: str, *, run: bool) -> Judged:
    try:
        files = await asyncio.to_thread(read_folder, folder)
        parse_skill(files[MAIN], name)
    except SkillProblem as error:
        return Judged(target=target, version="", ok=False, complete=run, problems=error.problems)
    validated = await (validate(files, desk.runner()) if run else _read(files))
    notes = [*validated.notes, *_beside_the_standard(files)]
    return Judged(
        target=target,
        version=version_of(files),
        ok=validated.ok,
        complete=run,
        problems=validated.problems,
        notes=tuple(dict.fromkeys(notes)),
        ran=validated.ran,
    )


async def _read(files: Files) -> Validated:
    """Validation up to where something would run: nothing does before everything else was found in order."""

    async def runner(command: str, *, directory: Path, timeout: float) -> ToolResult:
        raise _WouldRun

    try:
        return await validate(files, runner)
    except _WouldRun:
        notes = tuple(f"{one.file}: line {one.line}: {one.why}" for one in screen(files).concerns)
        return Validated(ok=True, notes=notes)


def _beside_the_standard(files: Files) -> list[str]:
    return [
        f"{field!r} is no field of the standard; other programs expect it under metadata"
        for field in nonstandard(files[MAIN])
    ]


def _print(console: Console, judged: Judged) -> None:
    for problem in judged.problems:
        console.say(f"✗ {visible(problem)}")
    for note in judged.notes:
        console.note(f"note: {visible(note)}", "yellow")
    for name in judged.ran:
        console.note(f"✓ test '{visible(name)}'", "green")
    if judged.ok:
        rest = "" if judged.complete else "; --run tries its tests in the sandbox"
        console.say(f"{visible(judged.target)} is valid, version {judged.version}")
        console.note(f"format, syntax and scanner have no objection{rest}")

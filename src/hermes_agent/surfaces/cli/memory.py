"""`hermes memory`: what is remembered in every session, by whom it was noted, and how to take it back."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from ...config.load import read_environment
from ...memory.notes import Author, Kind, NoteChange, NoteFile, Notes, Step, Who
from ...memory.screening import objection
from ...memory.snapshot import fill
from ...safety.redact import Redactor
from ...types.errors import HermesError, NotFound, UsageError
from .console import Console, ago, print_json
from .options import json_option

Function = TypeVar("Function", bound=Callable[..., Any])
_PERSON = Author(who=Who.USER)
_REMEDIES = {
    "full": "`hermes memory show` numbers the entries; merge or remove some, or use `hermes memory edit`",
    "not_found": "`hermes memory show` numbers the entries",
    "ambiguous": "`hermes memory show` numbers the entries; give the number",
    "blocked": "`hermes memory edit` keeps your text in the file; what the scanner holds back stays out of the prompt",
    "secret": "keep it in the environment or in a password store, and note where it is",
    "unusable": "`hermes memory status` names the file; repair or remove it",
    "stale": "look at it with `hermes memory show` and say it again",
}


def _target(default: str | None) -> Callable[[Function], Function]:
    return click.option(
        "-t",
        "--target",
        type=click.Choice([kind.value for kind in Kind]),
        default=default,
        help="MEMORY.md (the work) or USER.md (who you are)." + ("" if default else "  [default: both]"),
    )


@click.group(short_help="What is remembered in every session.")
def command() -> None:
    """Two files under HERMES_HOME/memories that you can edit: MEMORY.md about the work, USER.md about you. Each session
    begins with what they say; a change is seen by the next one."""


@command.command()
@_target(None)
@json_option
def show(target: str | None, as_json: bool) -> None:
    """Every entry with its number."""
    notes, console = _opened()
    files = _files(notes, target)
    if as_json:
        print_json([_described(notes, file) for file in files])
        return
    for file in files:
        console.say(fill(file))
        for entry in file.entries:
            console.say(f"{entry.number:>3}  " + entry.text.replace("\n", "\n     "))
        _warn(console, file)


@command.command()
@click.argument("text")
@_target("memory")
@json_option
def add(text: str, target: str, as_json: bool) -> None:
    """Note TEXT."""
    notes, console = _opened()
    _finish(console, asyncio.run(notes.add(Kind(target), text, _PERSON)), as_json=as_json)


@command.command()
@click.argument("old")
@click.argument("text")
@_target("memory")
@json_option
def replace(old: str, text: str, target: str, as_json: bool) -> None:
    """Put TEXT in the place of the entry OLD: its number, or words that only it has."""
    notes, console = _opened()
    _finish(console, asyncio.run(notes.replace(Kind(target), old, text, _PERSON)), as_json=as_json)


@command.command()
@click.argument("old")
@_target("memory")
@json_option
def remove(old: str, target: str, as_json: bool) -> None:
    """Take out the entry OLD: its number, or words that only it has."""
    notes, console = _opened()
    _finish(console, asyncio.run(notes.remove(Kind(target), old, _PERSON)), as_json=as_json)


@command.command()
@_target("memory")
def edit(target: str) -> None:
    """Open a file in your editor. Your text is kept whatever the scanner says; what it holds back is named."""
    notes, console = _opened()
    kind = Kind(target)
    file = asyncio.run(notes.read(kind))
    if file.problem:
        raise UsageError(f"{notes.path(kind)} cannot be used: {file.problem}", remedy=_REMEDIES["unusable"])
    text = _edited(file)
    if text == file.text:
        console.note("nothing was changed")
        return
    change = asyncio.run(notes.write(kind, file.text, text))
    if not change.ok:
        raise HermesError(change.message, remedy=_REMEDIES.get(change.error, ""))
    saved = asyncio.run(notes.read(kind))
    console.note(f"{change.message}; {fill(saved)}", "green")
    _warn(console, saved)
    _warn_of_secrets(console, notes, saved)


@command.command()
@_target(None)
@click.option("--run", "run_id", default="", metavar="RUN", help="Take back everything this run noted.")
@json_option
def undo(target: str | None, run_id: str, as_json: bool) -> None:
    """Take back the last change; again for the one before it. Later changes of others stay."""
    notes, console = _opened()
    changes = asyncio.run(notes.undo(_PERSON, Kind(target) if target else None, run_id))
    if as_json:
        print_json(changes)
    elif not changes:
        raise NotFound(
            f"run {run_id} noted nothing that could be taken back" if run_id else "there is nothing to take back",
            remedy="`hermes memory history` lists the changes",
        )
    else:
        for change in changes:
            _say(console, change)


@command.command()
@_target(None)
@click.option("-n", "--limit", type=click.IntRange(min=1), default=20, show_default=True, help="How many.")
@json_option
def history(target: str | None, limit: int, as_json: bool) -> None:
    """The changes, newest first: who made them, and in which run."""
    notes, console = _opened()
    steps = asyncio.run(notes.history(Kind(target) if target else None))[::-1][:limit]
    if as_json:
        print_json(steps)
    elif not steps:
        console.note("nothing was changed yet")
    else:
        console.table(("change", "when", "file", "what", "who", "run", "note"), _rows(steps))


@command.command()
@json_option
def status(as_json: bool) -> None:
    """Where the files are, how full they are, and what of them is kept out of the prompt."""
    notes, console = _opened()
    files = _files(notes, None)
    if as_json:
        print_json([_described(notes, file) for file in files])
        return
    for file in files:
        console.say(f"{fill(file)}, {len(file.entries)} entries  {notes.path(file.kind)}")
        _warn(console, file)


def _opened() -> tuple[Notes, Console]:
    console = Console()
    environment = read_environment()
    return Notes(environment.home, console.note, Redactor(environment.secrets)), console


def _files(notes: Notes, target: str | None) -> list[NoteFile]:
    async def read() -> list[NoteFile]:
        return [await notes.read(kind) for kind in ([Kind(target)] if target else Kind)]

    return asyncio.run(read())


def _described(notes: Notes, file: NoteFile) -> dict[str, Any]:
    return {
        "target": file.kind,
        "path": str(notes.path(file.kind)),
        "version": file.version,
        "used": file.used,
        "limit": file.kind.limit,
        "problem": file.problem,
        "entries": [{"number": one.number, "line": one.line, "text": one.text} for one in file.entries],
        "left_out": file.left_out,
    }


def _finish(console: Console, change: NoteChange, *, as_json: bool) -> None:
    """Say what came of it; a refusal is an error, in JSON as well."""
    if not change.ok and not as_json:
        for entry in change.entries:
            console.note(f"{entry.number:>3}  {entry.characters:>5} characters  {entry.beginning}")
        for pair in change.similar:
            console.note(f"entries {pair.first} and {pair.second} say nearly the same")
    if not change.ok:
        raise UsageError(change.message, remedy=_REMEDIES.get(change.error, ""))
    if as_json:
        print_json(change)
    else:
        _say(console, change)


def _say(console: Console, change: NoteChange) -> None:
    share = change.used * 100 // change.limit
    console.note(f"{change.target.file}: {change.message} ({share} % full)", "green" if change.ok else "yellow")


def _warn(console: Console, file: NoteFile) -> None:
    if file.problem:
        console.note(f"{file.kind.file} cannot be used: {file.problem}", "yellow")
    for one in file.left_out:
        if one.line:
            console.note(f"line {one.line}: entry {one.number} is kept out of the prompt: {one.reason}", "yellow")
    if file.used > file.kind.limit:
        console.note(f"{fill(file)}: the entries beyond the limit are kept out of the prompt", "yellow")


def _warn_of_secrets(console: Console, notes: Notes, file: NoteFile) -> None:
    for entry in file.entries:
        error, reason = objection(entry.text, notes.redactor)
        if error == "secret":
            console.note(f"line {entry.line}: entry {entry.number}: {reason}", "yellow")


def _rows(steps: Sequence[Step]) -> list[tuple[str, ...]]:
    now = time.time()
    return [
        (
            str(step.seq),
            ago(step.at, now),
            step.kind.file,
            f"{step.action} of {step.undoes}" if step.undoes else step.action,
            step.who,
            step.run_id or "-",
            step.note or "-",
        )
        for step in steps
    ]


def _edited(file: NoteFile) -> str:
    """What the person made of the text, in a copy: the agent may note something meanwhile."""
    with tempfile.TemporaryDirectory(prefix="hermes-memory-") as folder:
        copy = Path(folder) / file.kind.file
        copy.write_bytes(file.text.encode())
        os.chmod(copy, 0o600)
        click.edit(filename=str(copy))
        try:
            return copy.read_bytes().decode()
        except UnicodeDecodeError as error:
            raise UsageError(
                f"what you saved is not UTF-8 (byte {error.start}); {file.kind.file} is as it was",
                remedy="save it as UTF-8",
            ) from error
        except OSError as error:
            raise UsageError(f"what you saved cannot be read: {error.strerror}", remedy="try again") from error

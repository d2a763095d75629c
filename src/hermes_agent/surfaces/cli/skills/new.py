"""`hermes skills new`: a skill of the user's own, from a template, a file, or the editor."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import click

from ....skills.folder import MAX_SKILL
from ....skills.format import parse_skill, render_skill
from ....skills.library import is_name
from ....skills.problem import SkillProblem
from ....skills.screening import screen
from ....skills.skill import MAIN, Skill
from ....types.errors import NotFound, UsageError
from ....types.text import one_line
from ..console import Console, print_json
from ..options import directory_option, json_option
from .drafting import Draft
from .hub import show_concerns
from .opening import PERSON, Desk, opened_skills, refuse

_TO_DO = "What it does, and when to use it."
_BODY = """# {title}

What comes out at the end, in a sentence.

## When to use it
-

## Steps
1.

## Preferred tools
-

## Pitfalls
-

## How to verify
-
"""


@click.command(short_help="Write a skill.")
@click.argument("name")
@click.option("-d", "--description", default="", help="What it does and when to use it: the agent decides by this.")
@click.option("--from", "source", default="", metavar="FILE | -", help="A SKILL.md, or its text without front matter.")
@click.option("--category", default="", help="One word, such as data.")
@click.option("-e", "--edit", is_flag=True, help="Open it in your editor before it is saved.")
@directory_option
@json_option
def command(
    name: str, description: str, source: str, category: str, edit: bool, directory: Path, as_json: bool
) -> None:
    """A new skill on your shelf. Without --from it is a template to fill in: give --description, or --edit to write all
    of it at once. What is saved is a valid skill; what the scanner says about it is shown. Take it back with
    `hermes skills archive NAME`."""
    console = Console(quiet=as_json)
    if not is_name(name):
        raise UsageError(
            f"{one_line(name, 64)!r} is no name of a skill", remedy="use small letters, digits and single hyphens"
        )
    content = _begun(name, description, source, edit=edit)

    async def work() -> None:
        async with opened_skills(console, directory) as desk:
            if there := await desk.library.look(name, desk.workspace):
                raise UsageError(
                    f"there is a skill {name} already, on the shelf {there.shelf}",
                    remedy=f"`hermes skills edit {name}` changes it, or choose another name",
                )
            if edit:
                await _drafted(desk, console, name, content, category, as_json=as_json)
            else:
                _check(name, content)
                await _saved(desk, console, name, content, category, as_json=as_json)
                if not source:
                    console.note(f"it is a template as yet: `hermes skills edit {name}` fills it in", "yellow")

    asyncio.run(work())


def _begun(name: str, description: str, source: str, *, edit: bool) -> bytes:
    """The text to begin with."""
    if source:
        content = _read(source)
        if content.lstrip(b"\xef\xbb\xbf").startswith(b"---"):
            if description:
                raise UsageError("--from has a description of its own", remedy="leave out --description")
            return content
        body = _decoded(content).strip("\n")
    else:
        body = _BODY.format(title=name.replace("-", " ").capitalize())
    if not description and not edit:
        raise UsageError(
            "the agent needs to know when to use it",
            remedy='say --description "what it does and when to use it", or --edit to write all of it',
        )
    return render_skill(Skill(name=name, description=description or _TO_DO, body=body)).encode()


def _read(source: str) -> bytes:
    if source == "-":
        return sys.stdin.buffer.read(MAX_SKILL + 1)
    path = Path(source)
    try:
        with (path / MAIN if path.is_dir() else path).open("rb") as file:
            return file.read(MAX_SKILL + 1)
    except FileNotFoundError:
        raise NotFound(f"there is no file {source!r}", remedy="check the path") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(f"{source!r} cannot be read: {reason}", remedy="give a readable file") from error


def _decoded(content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise SkillProblem(f"line {line}: byte 0x{content[error.start]:02x} is not UTF-8") from error


def _check(name: str, content: bytes) -> None:
    if parse_skill(content, name).description == _TO_DO:
        raise SkillProblem("the description is still that of the template; say what it does and when to use it")


async def _drafted(desk: Desk, console: Console, name: str, content: bytes, category: str, *, as_json: bool) -> None:
    draft = Draft(MAIN, content)
    text = draft.edited(console, lambda edited: _check(name, edited))
    await _saved(desk, console, name, text, category, as_json=as_json, draft=draft)


async def _saved(
    desk: Desk,
    console: Console,
    name: str,
    content: bytes,
    category: str,
    *,
    as_json: bool,
    draft: Draft | None = None,
) -> None:
    change = await desk.editing.create(name, content.decode(), PERSON, category, workspace=desk.workspace)
    refuse(change, draft.kept() if draft else "")
    if draft:
        draft.drop()
    if as_json:
        return print_json(change)
    show_concerns(console, screen({MAIN: content}))
    console.say(f"made {name} in {desk.library.folders.root / name}, version {change.version}")
    if change.message:
        console.note(change.message, "yellow")
    return console.note(f"take it back with `hermes skills archive {name}`")

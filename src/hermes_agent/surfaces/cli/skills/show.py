"""`hermes skills show`: what a skill says, who made it, and whether it is offered here."""

from __future__ import annotations

import asyncio
import difflib
import sys
from pathlib import Path

import click

from ....skills.library import Held
from ....skills.skill import MAIN, Files
from ....skills.slots import usage
from ....store.skills import Version
from ....types.errors import NotFound
from ....types.text import visible
from ..console import Console, ago, amount, print_json
from ..options import directory_option, json_option
from .opening import opened_skills, skill_argument, state_of
from .words import gain, outline, rate


@click.command(short_help="One skill: what it says, who made it, whether it is offered here.")
@skill_argument
@click.option("--file", "path", default="", metavar="PATH", help="One of its files instead.")
@click.option("--raw", is_flag=True, help="SKILL.md as it lies there, with its front matter.")
@directory_option
@json_option
def command(name: str, path: str, raw: bool, directory: Path, as_json: bool) -> None:
    """The skill NAME with its provenance. With --file or --raw only the file, byte for byte unless a terminal shows
    it."""

    async def work() -> None:
        console = Console()
        async with opened_skills(console, directory) as desk:
            held = await desk.find(name)
            if path or raw:
                content = _file(held, await desk.library.files(held), path or MAIN)
                _print_file(console, held, path or MAIN, content, as_json=as_json)
                return
            versions = await desk.store.versions(held.stats.id) if held.stats.id else []
            not_here = desk.not_here(held)
        if as_json:
            print_json(_as_json(held, versions, not_here))
        else:
            _print(console, held, versions, _why_not(held, not_here))

    asyncio.run(work())


def _file(held: Held, files: Files, path: str) -> bytes:
    if path not in files:
        close = difflib.get_close_matches(path, files, n=1)
        hint = f"did you mean {close[0]}?" if close else f"it has: {', '.join(sorted(files)[:20])}"
        raise NotFound(f"the skill {held.name} has no file {path[:200]!r}", remedy=hint)
    return files[path]


def _print_file(console: Console, held: Held, path: str, content: bytes, *, as_json: bool) -> None:
    if as_json:
        return print_json(
            {"name": held.name, "version": held.version, "path": path, "size": len(content), "text": _text(content)}
        )
    if not console.out.isatty():
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return None
    text = _text(content)
    return console.say(f"[{len(content)} bytes that are not text]" if text is None else text)


def _text(content: bytes) -> str | None:
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None


def _as_json(held: Held, versions: list[Version], not_here: str) -> dict[str, object]:
    return {
        **outline(held),
        "not_here": not_here,
        "skill": held.skill,
        "paths": held.paths,
        "versions": len({one.version for one in versions}),
        "last_change": versions[-1] if versions else None,
    }


def _why_not(held: Held, not_here: str) -> str:
    """Why the agent is not offered a skill, with what to do about it."""
    name, stats = held.name, held.stats
    if held.problem:
        return held.problem
    if stats.archived_at is not None:
        return f"it is archived; `hermes skills restore {name}` brings it back"
    if not stats.enabled:
        return f"it is disabled; `hermes skills enable {name}`"
    if stats.health_status == "deprecated":
        return f"its last test failed ({stats.health_note}); `hermes skills test {name}` tries it again"
    return not_here


def _print(console: Console, held: Held, versions: list[Version], why_not: str) -> None:
    stats, skill = held.stats, held.skill
    last = versions[-1] if versions else None
    made = f"{stats.origin}, {ago(stats.created_at)}" if stats.created_at else stats.origin
    lines = {
        "skill": skill.name,
        "for": skill.description,
        "invoke": usage(skill),
        "not offered": why_not,
        "shelf": f"{held.shelf.value}, in {held.folder}",
        "hides": f"the one on the shelf {', '.join(held.shadows)}" if held.shadows else "",
        "made by": f"{made}, in run {stats.made_by}" if stats.made_by else made,
        "version": held.version + (f", {_changed(last)}" if last else ""),
        "versions": f"{len({one.version for one in versions})}, see `hermes skills history {skill.name}`",
        "state": ", ".join(state_of(held)),
        "health": ", ".join(filter(None, (stats.health_status, stats.health_note))),
        "uses": f"{stats.usage_count:,}, success {rate(stats)}, utility {gain(stats.utility)}",
        "tags": ", ".join(filter(None, (skill.category, *skill.tags))),
        "triggers": "; ".join(skill.triggers),
        "environment": ", ".join(skill.conditions.environment),
        "tests": ", ".join(trial.name for trial in skill.trials),
        "files": ", ".join(_sized(held)),
    }
    for key, value in lines.items():
        if value:
            console.say(f"{key:<12} {visible(value)}")
    if skill.body:
        console.say("")
        _markdown(console, skill.body)


def _changed(version: Version) -> str:
    run = f" in run {version.run_id}" if version.run_id else ""
    return f"{version.action} by {version.origin} {ago(version.at)}{run}"


def _sized(held: Held) -> list[str]:
    sized = []
    for path in held.paths:
        try:
            sized.append(f"{path} ({amount((held.folder / path).lstat().st_size)})")
        except OSError:
            sized.append(path)
    return sized


def _markdown(console: Console, body: str) -> None:
    """Set on a terminal, plain anywhere else."""
    if not console.colourful(console.out):
        console.say(body)
        return
    from rich.console import Console as RichConsole
    from rich.markdown import Markdown

    RichConsole(file=console.out).print(Markdown(visible(body), hyperlinks=False))

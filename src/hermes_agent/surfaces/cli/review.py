"""`hermes review`: what background reviews changed, what that cost, and how to take it back."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path

import click

from ...app import App
from ...config.load import load_settings, read_environment
from ...learning.curator import KIND as CURATION
from ...learning.review import POLICY
from ...learning.review import policy as policy_in_force
from ...store.background import Work
from ...types.errors import HermesError, NotFound, UsageError
from ...types.text import one_line, visible
from .console import Console, ago, print_json
from .opening import opened
from .options import json_option
from .reviewed import Reviewed, SkillChange, changed_anything, reviewed, settle
from .usage import UsageLine

_LAST = "last"
_LOOKED_BACK = 500
_STYLES = {"+": "green", "-": "red", "@": "cyan"}


@click.group(short_help="What background reviews changed; undo it.")
def command() -> None:
    """After an answer was delivered, a review may look back at the work and keep what is worth it in skills and memory.
    ID may be a unique beginning or end of an id."""


@command.command("list")
@click.option("-n", "--limit", type=click.IntRange(1, 10_000), default=20, show_default=True, help="How many.")
@json_option
def list_work(limit: int, as_json: bool) -> None:
    """The last background work, newest first: reviews, extraction of skills, curation."""

    async def work() -> None:
        console = Console()
        async with opened(console) as app:
            await settle(app)
            found = await app.store.background.listed(limit)
        if as_json:
            print_json(found)
        elif not found:
            console.note("nothing was done in the background yet")
        else:
            now = time.time()
            rows = [(one.id, ago(one.at, now), one.kind, state(one), one.run_id or "-", _came(one)) for one in found]
            console.table(("id", "when", "kind", "status", "run", "what came of it"), rows)

    asyncio.run(work())


@command.command()
@click.argument("part", metavar="ID")
@json_option
def show(part: str, as_json: bool) -> None:
    """What the work ID changed, line by line, what it cost and how it ended. `last` is the newest."""

    async def work() -> None:
        console = Console()
        async with opened(console) as app:
            await settle(app)
            found = await reviewed(app, await _meant(app, part))
        if as_json:
            print_json(found)
        else:
            _print(console, found)

    asyncio.run(work())


@command.command()
@click.argument("part", metavar="ID|last")
@json_option
def undo(part: str, as_json: bool) -> None:
    """Take back what the work ID changed in skills and memory; `last` is the newest that changed something. When a
    skill was changed since, nothing is taken back."""

    async def work() -> None:
        console = Console()
        async with opened(console) as app:
            await settle(app)
            meant = await _last_to_undo(app) if part == _LAST else await app.store.background.get(part)
            if meant.undone_at is None and not await changed_anything(app, meant):
                raise NotFound(
                    f"{meant.id} changed nothing that could be taken back",
                    remedy="`hermes review list` shows what came of each",
                )
            lines = await _undone(app, console, meant)
        if as_json:
            print_json({"id": meant.id, "undone": lines})
        else:
            for line in lines:
                console.say(line)
            console.note(f"{meant.id} is taken back", "green")

    asyncio.run(work())


@command.command()
@click.option("--copy", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write it to a new FILE.")
@json_option
def policy(copy: Path | None, as_json: bool) -> None:
    """The policy in force: what a review looks for, and what it must never record.

    To have another one: `hermes review policy --copy FILE`, edit FILE, `hermes config set review.policy FILE`.
    """
    environment, console = read_environment(), Console()
    if copy is not None:
        _write_new(copy)
        absolute = copy.absolute()
        if as_json:
            return print_json({"file": str(absolute)})
        console.note(f"edit {absolute}, then `hermes config set review.policy {absolute}` puts it in force", "green")
        return None
    settings = load_settings(environment.home)
    text = policy_in_force(settings, environment.home)
    named = settings.review.policy
    if as_json:
        return print_json({"file": named or str(POLICY), "own": bool(named), "text": text})
    console.say(text.rstrip("\n"))
    if named:
        console.note(f"this is {named}; `hermes config set review.policy ''` goes back to the one that comes along")
    else:
        console.note("to replace it: `hermes review policy --copy FILE`, then `hermes config set review.policy FILE`")
    return None


def state(work: Work) -> str:
    """How it ended, in one word."""
    return "undone" if work.undone_at is not None else work.status


def _came(work: Work) -> str:
    """What it changed or, when it did not, why."""
    changed = work.summary.rpartition("; undo with ")[0] or work.summary
    reason = str(work.payload.get("reason") or "")
    return changed or reason or ("-" if work.status == "running" else "nothing was changed")


async def _meant(app: App, part: str) -> Work:
    if part != _LAST:
        return await app.store.background.get(part)
    found = await app.store.background.listed(1)
    if not found:
        raise NotFound("nothing was done in the background yet")
    return found[0]


async def _last_to_undo(app: App) -> Work:
    for one in await app.store.background.listed(_LOOKED_BACK):
        if one.undone_at is None and await changed_anything(app, one):
            return one
    raise NotFound("there is nothing to take back", remedy="`hermes review list` shows what was done")


async def _undone(app: App, console: Console, work: Work) -> list[str]:
    if app.growth is None:
        raise UsageError("skills and memory are not part of this installation")
    if work.kind != CURATION:
        return await app.growth.undo(work.id)
    from .skills.curate import curator_of

    changes = await curator_of(app, console).undo(work.id)
    failed = [f"{change.name}: {change.message or change.error}" for change in changes if not change.ok]
    if failed:
        raise HermesError("; ".join(failed), remedy="nothing was changed")
    return [f"skill {change.name}: {change.message}" for change in changes]


def _write_new(file: Path) -> None:
    """The policy that comes along as a file to edit. What is there already is not written over."""
    try:
        with file.open("x", encoding="utf-8") as opened_file:
            opened_file.write(POLICY.read_text(encoding="utf-8"))
    except FileExistsError as error:
        raise UsageError(f"{file} is there already", remedy="name a file that is not there yet") from error
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror or error}", remedy="name another file") from error


def _print(console: Console, found: Reviewed) -> None:
    work = found.work
    console.say(f"{work.kind} {work.id}, {ago(work.at)}: {state(work)}")
    if work.run_id:
        console.say(f"after run {work.run_id} of session {work.session_id}")
    if found.reason:
        console.say(f"reason: {visible(one_line(found.reason, 1000))}")
    console.say(f"cost: {_cost(found.cost)}")
    for change in found.skills:
        console.say(f"\nskill {change.name}: {_versions(change)}")
        _print_diff(console, change.diff)
    for step in found.notes:
        console.say(f"\n{step.file}: {step.action}{', taken back since' if step.taken_back else ''}")
        _print_diff(console, step.diff or "(the versions are not kept any more)")
    if not found.skills and not found.notes:
        console.say("nothing was changed")
    elif work.undone_at is None:
        console.note(f"`hermes review undo {work.id}` takes it back")


def _versions(change: SkillChange) -> str:
    done = ", ".join(change.actions)
    if not change.after:
        return f"{done}; archived, `hermes skills restore {change.name}` brings it back"
    return f"{done}; {f'version {change.before} to' if change.before else 'new, version'} {change.after}"


def _cost(line: UsageLine) -> str:
    used = line.used
    if not used.calls:
        return "no model was asked"
    price = f"${line.usd:,.4f}" if line.usd is not None else "price unknown"
    calls = f"{used.calls} call{'s' * (used.calls != 1)}"
    return f"{calls}, {used.input:,} tokens in ({used.cached:,} cached), {used.output:,} out, {price}"


def _print_diff(console: Console, diff: str) -> None:
    for line in _shown(diff):
        style = _STYLES.get(line[:1], "")
        print(console.styled(line, style, console.out) if style else line, file=console.out)
    console.out.flush()


def _shown(diff: str) -> Sequence[str]:
    """The lines of a diff; escape sequences were made visible when it was made."""
    return diff.splitlines()

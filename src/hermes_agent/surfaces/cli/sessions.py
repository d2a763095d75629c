"""`hermes sessions`: list, show, search, export, delete, prune."""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

import click
import msgspec

from ...app import App
from ...store.retention import delete_sessions, prune
from ...store.sessions import Session
from ...types.errors import HermesError, StoreUnwritable, UsageError
from .console import Console, ago, print_json
from .opening import opened
from .options import json_option
from .transcript import Reader


@click.group(short_help="List, show, search, export and delete sessions.")
def command() -> None:
    """Sessions are kept until you delete them. ID may be `last`, or a unique beginning or end of an id."""


@command.command("list")
@click.option("-n", "--limit", type=click.IntRange(min=1), default=20, show_default=True, help="How many.")
@json_option
def list_sessions(limit: int, as_json: bool) -> None:
    """The sessions used last, newest first."""

    async def work() -> None:
        console = Console()
        async with opened(console) as app:
            found = await app.store.sessions.recent(limit)
        if as_json:
            print_json(found)
        elif not found:
            console.note('there are no sessions yet; `hermes run "TEXT"` or `hermes chat` begins one')
        else:
            _table(console, found)

    asyncio.run(work())


@command.command()
@click.argument("session", metavar="ID")
@json_option
def show(session: str, as_json: bool) -> None:
    """What was said and done in a session."""

    async def work() -> None:
        console = Console()
        async with opened(console) as app:
            found = await app.store.sessions.get(session)
            events = await app.store.sessions.export(found.id)
        if as_json:
            print_json({"session": found, "events": events})
            return
        reader = Reader(console)
        reader.session(found)
        reader.events(events)

    asyncio.run(work())


@command.command()
@click.argument("words", nargs=-1, required=True)
@click.option("-n", "--limit", type=click.IntRange(min=1), default=20, show_default=True, help="How many places.")
@json_option
def search(words: tuple[str, ...], limit: int, as_json: bool) -> None:
    """Where all of WORDS were said or answered, newest first. A word may be given by its beginning."""

    async def work() -> None:
        console = Console()
        async with opened(console) as app:
            found = await app.store.sessions.search(" ".join(words), limit)
        if as_json:
            print_json(found)
        elif not found:
            console.note("nothing was found")
        else:
            console.table(
                ("session", "run", "who", "text"),
                [(one.session_id, one.run_id, one.role, one.snippet) for one in found],
            )

    asyncio.run(work())


@command.command()
@click.argument("session", metavar="ID")
@click.option("--format", "kind", type=click.Choice(["json", "jsonl"]), default="json", show_default=True)
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write to this file.")
@click.option("--force", is_flag=True, help="Replace the file if it exists.")
def export(session: str, kind: str, output: Path | None, force: bool) -> None:
    """Every event of a session: one JSON document, or one event per line."""
    if output is not None and output.exists() and not force:
        raise UsageError(f"{output} exists already", remedy="choose another name, or replace it with --force")

    async def work() -> bytes:
        async with opened(Console()) as app:
            found = await app.store.sessions.get(session)
            events = await app.store.sessions.export(found.id)
        if kind == "jsonl":
            return b"".join(msgspec.json.encode(event) + b"\n" for event in events)
        raw = msgspec.json.encode({"session": found, "events": events})
        return msgspec.json.format(raw, indent=2) + b"\n"

    data = asyncio.run(work())
    if output is None:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    try:
        output.write_bytes(data)
    except OSError as error:
        raise StoreUnwritable(f"cannot write {output}: {error.strerror}", remedy="choose another file") from error
    Console().note(f"wrote {output}")


@command.command()
@click.argument("sessions", metavar="ID...", nargs=-1, required=True)
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@json_option
def delete(sessions: tuple[str, ...], yes: bool, as_json: bool) -> int:
    """Erase sessions with everything they left: messages, outputs, logs. This cannot be undone."""

    async def work() -> int:
        console = Console()
        async with opened(console) as app:
            found = {one.id: one for one in [await app.store.sessions.get(name) for name in sessions]}
            if not yes and not _agreed(console, list(found.values())):
                return 1
            copies = await _erase(app, list(found), console)
        if as_json:
            print_json({"deleted": list(found), "copies": copies})
        else:
            _say_deleted(console, len(found), copies)
        return 0

    return asyncio.run(work())


@command.command("prune")
@click.option("--older-than", type=click.FloatRange(min=0), required=True, metavar="DAYS", help="Not used for DAYS.")
@click.option("--dry-run", is_flag=True, help="Only say which.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@json_option
def prune_sessions(older_than: float, dry_run: bool, yes: bool, as_json: bool) -> int:
    """Erase the sessions that were not used for some days. This cannot be undone."""

    async def work() -> int:
        console = Console()
        async with opened(console) as app:
            old = await prune(app.store, older_than, time.time(), dry_run=True)
            if old and not dry_run:
                if not yes and not _agreed(console, old):
                    return 1
                copies = await _erase(app, [one.id for one in old], console)
                if not as_json:
                    _say_deleted(console, len(old), copies)
        if as_json:
            print_json({"deleted": [] if dry_run else [one.id for one in old], "found": old})
        elif not old:
            console.note(f"no session is older than {older_than:g} days")
        elif dry_run:
            _table(console, old)
        return 0

    return asyncio.run(work())


def _table(console: Console, found: list[Session]) -> None:
    rows = [(one.id, ago(one.updated_at), str(one.runs), one.workspace, one.title) for one in found]
    console.table(("id", "used", "runs", "workspace", "title"), rows)


def _agreed(console: Console, found: list[Session]) -> bool:
    """Whether the person agrees. Without a terminal nobody can, and that is an error with the way around it."""
    if not sys.stdin.isatty():
        raise UsageError("deleting asks first, and there is no terminal to ask", remedy="say --yes")
    for one in found:
        console.note(f"{one.id}  {one.title or '(no title)'}  ({ago(one.updated_at)}, {one.runs} runs)", "bold")
    console.note("everything in it is erased; this cannot be undone", "yellow")
    agreed = click.confirm("Delete?" if len(found) == 1 else f"Delete these {len(found)}?", err=True)
    if not agreed:
        console.note("nothing was deleted")
    return agreed


async def _erase(app: App, ids: list[str], console: Console) -> list[str]:
    try:
        return await delete_sessions(app.store, ids)
    except OSError as error:
        raise HermesError(
            f"the sessions are gone from the database, but a file of theirs could not be removed: {error}",
            remedy=f"remove the folders of these ids under {app.environment.home}/blobs and /processes yourself",
        ) from error


def _say_deleted(console: Console, count: int, copies: list[str]) -> None:
    console.note("1 session was erased" if count == 1 else f"{count} sessions were erased", "green")
    for copy in copies:
        console.note(f"an older copy of the database may still hold them: {copy}", "yellow")

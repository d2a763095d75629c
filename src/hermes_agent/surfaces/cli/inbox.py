"""`hermes inbox`: the messages that the agent left for people."""

from __future__ import annotations

import asyncio
import sys
import time

import click

from ...app import App
from ...store.outbox import Posted
from ...types.errors import UsageError
from ...types.text import one_line, visible
from .console import Console, ago, print_json
from .opening import opened
from .options import json_option

_ALL = 10_000


@click.group(invoke_without_command=True, short_help="Messages the agent left for you and others.")
@click.option("-n", "--limit", type=click.IntRange(min=1), default=20, show_default=True, help="How many.")
@click.option("--unread", is_flag=True, help="Only those that were not read.")
@json_option
@click.pass_context
def command(context: click.Context, limit: int, unread: bool, as_json: bool) -> None:
    """Messages, unread ones first. ID may be `last`, or a unique beginning or end of an id."""
    if context.invoked_subcommand is not None:
        return

    async def work() -> None:
        console = Console()
        async with opened(console) as app:
            found = await app.store.outbox.messages(limit, unread=unread)
        if as_json:
            print_json(found)
        elif not found:
            console.note("there are no unread messages" if unread else "there are no messages")
        else:
            console.table(("id", "when", "to", "", "text"), [_row(one) for one in found])

    asyncio.run(work())


@command.command()
@click.argument("message", metavar="ID")
@json_option
def show(message: str, as_json: bool) -> None:
    """One message as a whole. It counts as read from then on."""

    async def work() -> None:
        console = Console()
        async with opened(console) as app:
            found = await app.store.outbox.get(message)
            await app.store.outbox.mark_read([found.id])
        if as_json:
            print_json(found)
            return
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(found.created_at))
        urgent = ", urgent" if found.urgent else ""
        print(f"to {one_line(found.to, 200)}, {when}{urgent}, from session {found.session_id}\n")
        print(visible(found.text), flush=True)

    asyncio.run(work())


@command.command()
@click.argument("messages", metavar="[ID]...", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="All messages.")
@json_option
def read(messages: tuple[str, ...], everything: bool, as_json: bool) -> None:
    """Mark messages as read."""

    async def work() -> None:
        console = Console()
        async with opened(console) as app:
            ids = await _chosen(app, messages, everything=everything)
            news = await app.store.outbox.mark_read(ids)
        if as_json:
            print_json({"read": ids, "news": news})
        else:
            console.note(f"{news} marked as read", "green")

    asyncio.run(work())


@command.command()
@click.argument("messages", metavar="[ID]...", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="All messages.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@json_option
def delete(messages: tuple[str, ...], everything: bool, yes: bool, as_json: bool) -> int:
    """Remove messages from the list. The conversation they came from still tells of them."""

    async def work() -> int:
        console = Console()
        async with opened(console) as app:
            ids = await _chosen(app, messages, everything=everything)
            if ids and not yes and not _agreed(console, len(ids)):
                return 1
            await app.store.outbox.delete(ids)
        if as_json:
            print_json({"deleted": ids})
        else:
            console.note(f"{len(ids)} deleted", "green")
        return 0

    return asyncio.run(work())


async def _chosen(app: App, messages: tuple[str, ...], *, everything: bool) -> list[str]:
    if everything == bool(messages):
        raise UsageError("say which messages, or --all", remedy="`hermes inbox` shows their ids")
    if everything:
        return [one.id for one in await app.store.outbox.messages(_ALL)]
    return list(dict.fromkeys([(await app.store.outbox.get(name)).id for name in messages]))


def _agreed(console: Console, count: int) -> bool:
    if not sys.stdin.isatty():
        raise UsageError("deleting asks first, and there is no terminal to ask", remedy="say --yes")
    agreed = click.confirm("Delete this message?" if count == 1 else f"Delete these {count} messages?", err=True)
    if not agreed:
        console.note("nothing was deleted")
    return agreed


def _row(one: Posted) -> tuple[str, str, str, str, str]:
    state = "" if one.read_at is not None else "urgent" if one.urgent else "new"
    return (one.id, ago(one.created_at), one_line(one.to, 40), state, one.text)

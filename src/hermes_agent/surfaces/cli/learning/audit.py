"""`hermes learning audit`: every change of a heuristic, with its time, its cause and the run that caused it."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Sequence

import click

from ....store.heuristics import AuditEntry
from ....store.learning_views import change_of
from ..console import Console, ago, print_json
from ..opening import opened
from ..options import json_option
from .words import evidence_in_words


@click.command(short_help="Every change of a heuristic: when, why, after which run.")
@click.argument("heuristic", metavar="[ID]", required=False, default="")
@click.option("--since", default="", metavar="7d|DATE", help="Only changes since then: 24h, 7d, 4w or 2026-01-31.")
@click.option("-n", "--limit", type=click.IntRange(1, 100_000), default=50, show_default=True, help="How many.")
@json_option
def command(heuristic: str, since: str, limit: int, as_json: bool) -> None:
    """Changes of the heuristic ID, or of all, newest first. The evidence is that of the moment of the change."""
    from .replay import parse_since

    start = parse_since(since, time.time())

    async def work() -> None:
        console = Console()
        async with opened(console) as app:
            found = await app.store.heuristics.get(heuristic) if heuristic else None
            entries = await app.store.heuristics.audit(found.id if found else "", limit, start)
        if as_json:
            print_json(entries)
        elif entries:
            _print(console, entries, full=len(entries) == limit)
        else:
            console.note(f"nothing was changed{f' since {since}' if since else ' yet'}")

    asyncio.run(work())


def _print(console: Console, entries: Sequence[AuditEntry], *, full: bool) -> None:
    rows = [
        (
            ago(entry.at),
            entry.heuristic_id,
            entry.kind,
            f"{entry.was or 'new'} > {entry.became}",
            str(entry.set_version) if entry.set_version else "-",
            entry.run_id or "-",
            evidence_in_words(entry.evidence),
            entry.cause,
        )
        for entry in entries
    ]
    console.table(("when", "heuristic", "kind", "change", "set", "after run", "evidence", "why"), rows)
    counted = Counter(change_of(entry.was, entry.became) for entry in entries)
    shown = ", ".join(f"{count} {change}" for change, count in sorted(counted.items()))
    console.note(f"{shown}{'; there may be more, --limit shows them' if full else ''}")

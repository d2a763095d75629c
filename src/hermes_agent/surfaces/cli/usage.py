"""`hermes usage`: calls, tokens, the share that came from the cache, and money where the price is known."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import click

from ...models.facts import cost_usd, facts_for
from ...store.usage import UsageBy, UsageReport, Used, UsedBy, added
from ...types.base import Value
from ...types.errors import UsageError
from ...types.events import Usage
from .console import Console, print_json
from .opening import opened
from .options import json_option

_DAY = 86_400.0


class UsageLine(Value, frozen=True, kw_only=True):
    """What was used under one key, in tokens and money.

    `usd` is None when a model in it has no known price; `usd_known` is the cost of the others and `unpriced` names
    those without. `cached_share` is the part of the input that the provider had cached, None without any input.
    """

    key: str
    title: str
    used: Used
    cached_share: float | None
    usd: float | None
    usd_known: float
    unpriced: tuple[str, ...]


@click.command(short_help="What the models were asked, and what it cost.")
@click.option("--by", type=click.Choice([by.value for by in UsageBy]), default=UsageBy.DAY.value, show_default=True)
@click.option("--since", type=click.IntRange(1, 100_000), metavar="DAYS", help="Only the last DAYS days.")
@json_option
def command(by: str, since: int | None, as_json: bool) -> None:
    """Tokens, calls and money by day, model, session or provider. Deleted sessions are still counted."""
    start = time.time() - since * _DAY if since else 0.0

    async def work() -> None:
        console = Console()
        async with opened(console) as app:
            parts = await UsageReport(app.store.database).sums(UsageBy(by), start)
            home = app.environment.home
        lines = [line_of(key, list(of_key), home) for key, of_key in groupby(parts, lambda part: part.key)]
        total = line_of("total", parts, home)
        if as_json:
            print_json({"by": by, "since_days": since, "rows": lines, "total": total})
        elif not parts:
            console.note("no model was called" + (f" in the last {since} days" if since else " yet"))
        else:
            _print(console, by, lines, total)

    asyncio.run(work())


def line_of(key: str, parts: Sequence[UsedBy], home: Path) -> UsageLine:
    """Several models' usage as one line."""
    used = added(part.used for part in parts)
    known, unpriced = 0.0, set()
    for part in parts:
        cost = _cost(part, home)
        if cost is None:
            unpriced.add(_name(part))
        else:
            known += cost
    return UsageLine(
        key=key,
        title=next((part.title for part in parts if part.key == key), ""),
        used=used,
        cached_share=round(used.cached / used.input, 4) if used.input else None,
        usd=None if unpriced else round(known, 6),
        usd_known=round(known, 6),
        unpriced=tuple(sorted(unpriced)),
    )


def _cost(part: UsedBy, home: Path) -> float | None:
    """What a model's part cost. Nothing used costs nothing, whatever the price."""
    used = part.used
    if not used.input and not used.output:
        return 0.0
    try:
        facts = facts_for(_name(part), home)
    except UsageError:  # a program of the user's may call its provider anything
        return None
    return cost_usd(facts, Usage(input=used.input, output=used.output, cached=used.cached))


def _name(part: UsedBy) -> str:
    return f"{part.provider}:{part.model}"


def _print(console: Console, by: str, lines: Sequence[UsageLine], total: UsageLine) -> None:
    shown = [*lines, total] if len(lines) > 1 else list(lines)
    titles = by == UsageBy.SESSION
    head = [by, "calls", "failed", "input", "output", "cached", "from cache", "cost", *(["title"] if titles else [])]
    console.table(head, [_row(line, titles=titles) for line in shown])
    used = total.used
    if used.fixed or used.conversation:
        share = used.fixed / (used.fixed + used.conversation)
        console.say(
            f"estimate: {share:.0%} of the input is fixed overhead (system prompt and tools, about {used.fixed:,}"
            f" tokens), the rest conversation (about {used.conversation:,})"
        )
    if total.unpriced:
        console.note(f"no price is known for {', '.join(total.unpriced)}: give it in models.yaml", "yellow")


def _row(line: UsageLine, *, titles: bool) -> tuple[str, ...]:
    used = line.used
    numbers = [f"{number:,}" for number in (used.calls, used.failures, used.input, used.output, used.cached)]
    share = "-" if line.cached_share is None else f"{line.cached_share:.0%}"
    return (line.key, *numbers, share, _money(line), *([line.title] if titles else []))


def _money(line: UsageLine) -> str:
    if line.usd is not None:
        return f"${line.usd:,.4f}"
    return f"${line.usd_known:,.4f} + unknown" if line.usd_known else "unknown"

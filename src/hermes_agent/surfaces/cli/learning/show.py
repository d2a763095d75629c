"""`hermes learning show`: what is learned, with its evidence; and everything about one heuristic."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence

import click

from ....app import App
from ....store.database import Connection
from ....store.heuristics import EVERY_FAMILY, AuditEntry, Heuristic, Stage
from ....store.learning_views import family_named, family_names, known_model, latency_of
from ....types.text import visible
from ..console import Console, ago, print_json
from ..opening import opened
from ..options import json_option
from .words import evidence_in_words, where

_HISTORY = 100


@click.command(short_help="What is learned, with its evidence.")
@click.argument("heuristic", metavar="[ID]", required=False, default="")
@click.option(
    "--family", default="", metavar="FAMILY", help="Only of this family, by id or name; `*` for general ones."
)
@click.option("-m", "--model", default="", metavar="PROVIDER:MODEL", help="Only about this model.")
@click.option("--stage", type=click.Choice([stage.value for stage in Stage]), help="Only at this stage of life.")
@click.option("-n", "--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="How many.")
@json_option
def command(heuristic: str, family: str, model: str, stage: str | None, limit: int, as_json: bool) -> None:
    """List what was learned, newest change first, or tell everything about the heuristic ID (a beginning of its id is
    enough). `hermes learning replay --without ID` says whether it helps."""

    async def work() -> None:
        console = Console()
        async with opened(console) as app:
            if heuristic:
                await _one(app, console, heuristic, as_json=as_json)
                return
            place = await app.store.database.read(lambda connection: _place(connection, family, model))
            stages = (Stage(stage),) if stage else ()
            found = await app.store.heuristics.all(family=place, model=model, stages=stages)
            names = await _names(app, found[:limit])
        if as_json:
            print_json(found[:limit])
        elif found:
            _table(console, found[:limit], names, left_out=len(found) - len(found[:limit]))
        else:
            _nothing(console, narrowed=bool(family or model or stage))

    asyncio.run(work())


def _place(connection: Connection, family: str, model: str) -> str:
    """The id of the family that is meant, after both names were found to exist."""
    if model:
        known_model(connection, model)
    return family_named(connection, family) if family and family != EVERY_FAMILY else family


async def _names(app: App, found: Sequence[Heuristic]) -> dict[str, str]:
    ids = {one.family for one in found}
    return await app.store.database.read(lambda connection: family_names(connection, ids))


async def _one(app: App, console: Console, part: str, *, as_json: bool) -> None:
    found = await app.store.heuristics.get(part)
    history = await app.store.heuristics.audit(found.id, limit=_HISTORY)
    latency = await app.store.database.read(lambda connection: latency_of(connection, found.id))
    names = await _names(app, [found])
    if as_json:
        print_json({"heuristic": found, "feedback_latency_seconds": latency, "audit": history})
    else:
        _tell(console, found, latency, names)
        _history(console, history)


def _table(console: Console, found: Sequence[Heuristic], names: Mapping[str, str], left_out: int) -> None:
    rows = [
        (
            one.id,
            one.kind.value,
            where(one, names),
            one.stage.value,
            f"{one.confidence:.0%}",
            evidence_in_words(one.evidence),
            one.text,
        )
        for one in found
    ]
    console.table(("id", "kind", "family", "stage", "confidence", "evidence", "what it says"), rows)
    if left_out:
        console.note(f"{left_out} more; --limit shows them")


def _nothing(console: Console, *, narrowed: bool) -> None:
    if narrowed:
        console.note("nothing that fits was learned; `hermes learning show` lists everything")
    else:
        console.note(
            "nothing is learned yet: it takes several runs of the same kind, from at least two sessions;"
            ' `hermes run "TEXT" --check COMMAND` tells at once whether a run succeeded'
        )


def _tell(console: Console, one: Heuristic, latency: float | None, names: Mapping[str, str]) -> None:
    now = time.time()
    applied = "never" if one.applied_at is None else ago(one.applied_at, now)
    lines = {
        "heuristic": one.id,
        "says": one.text,
        "kind": one.kind.value,
        "about": one.subject,
        "instead": one.better,
        "family": where(one, names),
        "model": one.model,
        "stage": one.stage.value,
        "confidence": f"{one.confidence:.0%}",
        "evidence": evidence_in_words(one.evidence),
        "source": one.source,
        "learned": ago(one.created_at, now),
        "changed": ago(one.updated_at, now),
        "first applied": applied + (f", {latency:.3g} s after it could act" if latency is not None else ""),
        **{f"  {key}": str(value) for key, value in one.detail.items()},
    }
    for key, value in lines.items():
        if value:
            console.say(f"{key:<14} {visible(value)}")


def _history(console: Console, history: Sequence[AuditEntry]) -> None:
    console.say("")
    if not history:
        console.say("no change of it is on record")
        return
    rows = [
        (
            ago(entry.at),
            entry.was or "-",
            entry.became,
            entry.run_id or "-",
            evidence_in_words(entry.evidence),
            entry.cause,
        )
        for entry in reversed(history)
    ]
    console.table(("when", "was", "became", "after run", "evidence then", "why"), rows)

"""`hermes export`: what leaves for other programs. Trajectories for training, as JSONL."""

from __future__ import annotations

import asyncio
import os
import secrets
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from ...app import App
from ...types.base import Value
from ...types.errors import StoreUnwritable, UsageError
from ...types.trace import Judge
from .console import Console, print_json
from .opening import opened
from .options import json_option

if TYPE_CHECKING:
    from ...training.trajectories import Selection

_QUIET_SECONDS = 1.0
_ANY = "any"


class Asked(Value, frozen=True, kw_only=True):
    """What the user asked for on the command line."""

    since: str
    until: str
    min_value: float
    family: str
    model: str
    outcome: str
    judged: str
    include_tainted: bool
    limit: int


@click.group(short_help="Trajectories for training, as JSONL.")
def command() -> None:
    """Write what runs left behind in a form that other programs read."""


@command.command()
@click.option("--since", default="", metavar="7d|DATE", help="Only runs begun since then: 24h, 7d, 4w or 2026-01-31.")
@click.option("--until", default="", metavar="7d|DATE", help="Only runs begun before then.")
@click.option(
    "--min-value",
    type=click.FloatRange(0, 1),
    default=0.0,
    show_default=True,
    help="Only runs with at least this learning value, as `hermes why` shows it.",
)
@click.option("--family", default="", metavar="NAME", help="Only tasks of this family, by name or id.")
@click.option("-m", "--model", default="", metavar="PROVIDER:MODEL", help="Only runs on this model.")
@click.option("--outcome", type=click.Choice(["success", "failure", _ANY]), default=_ANY, show_default=True)
@click.option(
    "--judged",
    type=click.Choice([Judge.VERIFIER.value, Judge.USER.value, _ANY]),
    default=_ANY,
    show_default=True,
    help="Only runs whose outcome a check or a person confirmed.",
)
@click.option("--include-tainted", is_flag=True, help="Also runs that read strangers' text.")
@click.option("-n", "--limit", type=click.IntRange(min=1), default=None, help="At most so many.")
@click.option(
    "-o",
    "--out",
    type=click.Path(dir_okay=False, allow_dash=True, path_type=Path),
    metavar="FILE",
    help="Write to this file instead of standard output.",
)
@click.option("--force", is_flag=True, help="Replace the file if it exists.")
@json_option
def trajectories(out: Path | None, force: bool, as_json: bool, limit: int | None, **given: Any) -> None:
    """Finished runs, one per line, with messages, tools, outcome and provenance, without secrets. The file loads in
    `transformers` chat templates and TRL as it is. Runs that read strangers' text are left out unless asked for: a
    model would learn to follow it. Look into the file before you send it on: it holds what was said."""
    target = None if out is None or str(out) == "-" else out
    if as_json and target is None:
        raise UsageError("--json prints the summary where the trajectories would go", remedy="give --out FILE with it")
    if target is not None:
        _check(target, force=force)
    asyncio.run(_work(Asked(limit=limit or 0, **given), target, as_json=as_json))


async def _work(asked: Asked, target: Path | None, *, as_json: bool) -> None:
    from ...training.trajectories import Export, line_of

    console, size = Console(), 0
    async with opened(console) as app:
        chosen = await _selection(app, asked)
        export = Export(app.store, app.redactor)
        with _written(target) as file:
            following = time.monotonic() + _QUIET_SECONDS
            async for one in export.trajectories(chosen):
                size += file.write(line_of(one))
                if time.monotonic() >= following:
                    console.note(f"{export.counts.trajectories:,} trajectories of {export.counts.runs:,} runs")
                    following = time.monotonic() + _QUIET_SECONDS
    counts = export.counts
    if as_json:
        print_json({"out": str(target), "bytes": size, "summary": counts})
        return
    left_out = ", ".join(f"{count:,} {why}" for why, count in counts.left_out.items())
    said = f"{counts.trajectories:,} of {counts.runs:,} runs" + (f" (left out: {left_out})" if left_out else "")
    console.note(said + (f" in {target}" if target else ""), "green")
    if counts.left_out.get("tainted"):
        console.note("runs that read strangers' text are exported with --include-tainted", "yellow")


async def _selection(app: App, asked: Asked) -> Selection:
    from ...store.learning_views import family_named
    from ...training.trajectories import Selection, Wanted
    from .learning.replay import parse_since

    now, family = time.time(), asked.family
    since, until = parse_since(asked.since, now), parse_since(asked.until, now)
    if asked.until and until <= since:
        raise UsageError("--until is not behind --since, so nothing lies between", remedy="exchange them")
    if family:
        family = await app.store.database.read(lambda connection: family_named(connection, asked.family))
    return Selection(
        since=since,
        until=until,
        min_value=asked.min_value,
        family=family,
        model=asked.model,
        outcome=Wanted(asked.outcome),
        judged=None if asked.judged == _ANY else Judge(asked.judged),
        tainted=asked.include_tainted,
        limit=asked.limit,
    )


def _check(target: Path, *, force: bool) -> None:
    """Refuse before anything is read what could not be written in the end."""
    if target.exists() and not target.is_file():
        raise UsageError(f"{target} is no ordinary file", remedy="leave --out away to write to standard output")
    if target.exists() and not force:
        raise UsageError(f"{target} exists already", remedy="choose another name, or replace it with --force")
    if not target.parent.is_dir():
        raise UsageError(f"there is no folder {target.parent}", remedy="make it first, or choose another file")


@contextmanager
def _written(target: Path | None) -> Iterator[BinaryIO]:
    """Where the lines go. A file is there whole or not at all, and only its user may read it."""
    if target is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    draft = target.with_name(f".{target.name[:200]}.{secrets.token_hex(6)}")
    try:
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "wb", buffering=1 << 20) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, target)
    except OSError as error:
        raise StoreUnwritable(f"cannot write {target}: {error.strerror}", remedy="choose another file") from error
    finally:
        with suppress(OSError):
            draft.unlink()

"""`hermes learning export`: what was learned, as a signed file for others."""

from __future__ import annotations

import asyncio
import os
import secrets
import sys
import time
from contextlib import suppress
from pathlib import Path

import click

from ....config.load import read_environment
from ....learning.bundle import written
from ....learning.gathering import Gathered, gather
from ....learning.signing import signing_key
from ....store.heuristics import Stage
from ....types.errors import StoreUnwritable, UsageError
from ....types.text import one_line
from ..console import Console
from ..opening import opened


@click.command(short_help="Write what was learned into a signed bundle.")
@click.argument("file", required=False, default="", metavar="FILE | -")
@click.option("--family", default="", metavar="FAMILY", help="Only this kind of task, by name or id.")
@click.option("--model", default="", metavar="PROVIDER:MODEL", help="Only what was learned on this model.")
@click.option(
    "--stage",
    "stages",
    multiple=True,
    type=click.Choice([stage.value for stage in Stage]),
    default=(Stage.TRUSTED.value,),
    show_default=True,
    help="Only heuristics at this stage; may be given several times.",
)
@click.option("--public-key", is_flag=True, help="Print the key that others check your bundles with, and nothing else.")
@click.option("--force", is_flag=True, help="Replace the file if it exists.")
def command(file: str, family: str, model: str, stages: tuple[str, ...], public_key: bool, force: bool) -> None:
    """Write heuristics and the counts behind them to FILE, or to standard output with `-`, signed with the key of this
    home. Runs, sessions, paths and requests are never in it; what could name one is left out, and that is said. Read
    the file before you send it on: it is plain JSON."""
    if public_key == bool(file):
        raise UsageError("say where to write", remedy="give FILE, or `-`; --public-key alone prints your key")
    if public_key:
        print(signing_key(read_environment().home).public.line)
        return
    if file != "-" and Path(file).exists() and not force:
        raise UsageError(f"{file} exists already", remedy="choose another name, or replace it with --force")

    async def work() -> tuple[Gathered, bytes]:
        async with opened(Console()) as app:
            wanted = [Stage(stage) for stage in stages]
            database = app.store.database
            gathered = await gather(database, app.redactor, time.time(), family=family, model=model, stages=wanted)
            _say_left_out(gathered)
            if not gathered.bundle.heuristics:
                raise UsageError(
                    f"nothing that is {' or '.join(stages)} can be shared yet",
                    remedy="`hermes learning show` lists what there is; --stage widens the choice",
                )
            return gathered, written(gathered.bundle, signing_key(app.environment.home))

    gathered, data = asyncio.run(work())
    if file == "-":
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    else:
        _save(Path(file), data)
    count = len(gathered.bundle.heuristics)
    Console().note("1 heuristic, signed" if count == 1 else f"{count} heuristics, signed", "green")


def _say_left_out(gathered: Gathered) -> None:
    console = Console()
    for one in gathered.left_out:
        console.note(f"left out {one.id}: {one_line(one.why, 200)}", "yellow")


def _save(path: Path, data: bytes) -> None:
    """Write the whole file or none."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    try:
        draft.write_bytes(data)
        os.replace(draft, path)
    except OSError as error:
        with suppress(OSError):
            draft.unlink()
        raise StoreUnwritable(f"cannot write {path}: {error.strerror}", remedy="choose another file") from error

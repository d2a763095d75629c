"""`hermes learning import`: read a bundle, show what it would bring, take it in, and take it back."""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path
from typing import Any

import click

from ....config.load import read_environment
from ....learning.bundle import LARGEST_FILE, SharedHeuristic, Signed, flagged, give_up, incoming, read
from ....learning.signing import read_public, trusted_folder, trusted_keys
from ....store.imports import Import, Imports, Plan, Undone
from ....types.errors import NotFound, UsageError
from ....types.text import one_line
from ..console import Console, ago, print_json
from ..opening import opened
from ..options import json_option


@click.command(short_help="Read a bundle, after showing what is in it.")
@click.argument("file", required=False, default="", metavar="FILE")
@click.option("--key", "key_file", default="", metavar="FILE", help="The public key that must have signed it.")
@click.option("-y", "--yes", is_flag=True, help="Take it in without asking, if its key is known here.")
@click.option("--dry-run", is_flag=True, help="Only show what it would bring.")
@click.option("--list", "listed", is_flag=True, help="The bundles that were taken in.")
@click.option("--undo", "undone", default="", metavar="ID", help="Take a bundle back.")
@json_option
def command(file: str, key_file: str, yes: bool, dry_run: bool, listed: bool, undone: str, as_json: bool) -> int:
    """Take in what others learned. It comes as candidates and as weak priors: nothing of it acts before this home's
    own runs confirm it, and `--undo` takes all of it back. A bundle that was changed after signing is refused; one
    signed by a key that is not known here is asked about, also with --yes."""
    if bool(file) + listed + bool(undone) != 1:
        raise UsageError("say what to do", remedy="give FILE, or --list, or --undo ID")
    console = Console()
    if listed:
        asyncio.run(_list(console, as_json=as_json))
        return 0
    if undone:
        asyncio.run(_undo(console, undone, as_json=as_json))
        return 0
    signed = read(content(Path(file)))
    known_as = _known_as(console, signed, key_file)
    return asyncio.run(_import(console, signed, known_as, yes=yes, dry_run=dry_run, as_json=as_json))


async def _import(console: Console, signed: Signed, known_as: str, *, yes: bool, dry_run: bool, as_json: bool) -> int:
    brought = incoming(signed)
    async with opened(console) as app:
        imports = Imports(app.store.database)
        plan = await imports.plan(brought)
        doubts = flagged(signed.bundle)
        if not as_json:
            _review(console, signed, known_as, plan, doubts)
        taken: Import | None = None
        if not plan.already and not dry_run:
            if not _agreed(signed, known_as, yes=yes):
                console.note("nothing was changed")
                return 1
            taken = await imports.take_in(brought, time.time())
    if as_json:
        print_json(_as_json(signed, known_as, plan, doubts, taken))
    elif plan.already:
        console.note(f"this bundle is in already, as import {plan.already}; nothing was changed")
    elif taken is not None:
        console.note(
            f"taken in as import {taken.id}; `hermes learning import --undo {taken.id}` takes it back", "green"
        )
    else:
        console.note("nothing was changed")
    return 0


def content(path: Path) -> bytes:
    """The file, as far as a bundle may be long, and one byte more."""
    try:
        with path.open("rb") as file:
            return file.read(LARGEST_FILE + 1)
    except FileNotFoundError:
        raise NotFound(f"there is no file {str(path)!r}", remedy="check the path") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(f"{str(path)!r} cannot be read: {reason}", remedy="give a readable file") from error


def _known_as(console: Console, signed: Signed, key_file: str) -> str:
    """What the signing key is known as; empty when it is a stranger's. `--key` names the only one that will do."""
    if key_file:
        if read_public(Path(key_file)).raw != signed.key.raw:
            raise UsageError(
                f"the bundle is signed by another key: {signed.key.fingerprint}",
                remedy="ask its author which key is right; nothing was changed",
            )
        return Path(key_file).name
    trusted = trusted_keys(read_environment().home)
    for problem in trusted.broken:
        console.note(problem, "yellow")
    return trusted.name_of(signed.key)


def _agreed(signed: Signed, known_as: str, *, yes: bool) -> bool:
    """Whether the user wants it. `--yes` speaks for known keys only."""
    if known_as and yes:
        return True
    if not sys.stdin.isatty():
        if known_as:
            raise UsageError("importing asks first, and there is no terminal to ask", remedy="say --yes, or --dry-run")
        folder = trusted_folder(read_environment().home)
        raise UsageError(
            f"the bundle is signed by a key that is not known here: {signed.key.fingerprint}",
            remedy=f"get the public key from the author and give it with --key, or put it into {folder}/NAME.pub",
        )
    if not known_as:
        question = f"The key {signed.key.fingerprint} is not known here. Did its author confirm it to you?"
        if not click.confirm(question, err=True):
            return False
    return yes or click.confirm("Take this in?", err=True)


def _review(console: Console, signed: Signed, known_as: str, plan: Plan, doubts: list[str]) -> None:
    bundle = signed.bundle
    console.say(f"signed by {signed.key.fingerprint} ({one_line(known_as, 60) or 'not known here'})")
    console.say(
        f"made by hermes {one_line(bundle.product, 40)}, {ago(bundle.made_at)}, on {one_line(', '.join(bundle.models))}"
    )
    tasks = {family.name: family.tasks for family in bundle.families}
    if plan.families:
        rows = [
            (match.name, f"{tasks.get(match.name, 0)}", "new" if match.new else f"is {match.id} here")
            for match in plan.families
        ]
        console.say("")
        console.table(("family", "tasks there", "here"), rows)
    coming = {_claim(one): one.id for one in plan.heuristics}
    ids = {match.name: match.id for match in plan.families}
    console.say("")
    console.table(
        ("kind", "family", "about", "worked there", "stage there", "here", "what it says"),
        [_row(one, known=_claim_of(one, ids) not in coming) for one in bundle.heuristics],
    )
    console.say("")
    rates = f" and {len(plan.priors)} rates that only break ties" if plan.priors else ""
    console.say(f"{len(plan.heuristics)} would come in as candidates, none acts by itself{rates}")
    for doubt in doubts:
        console.note(f"doubtful: {one_line(doubt, 200)}", "yellow")


def _row(one: SharedHeuristic, *, known: bool) -> tuple[str, ...]:
    counts = one.counts
    seen = counts.worked + counts.failed
    about = " ".join([one.subject, *(f"[{feature}]" for feature in one.condition)])
    here = "known" if known else "candidate"
    return (one.kind.value, one.family, about, f"{counts.worked} of {seen}", one.stage.value, here, one.text)


def _claim(one: Any) -> tuple[Any, ...]:
    return one.kind, one.model, one.family, one.subject, one.condition, one.better


def _claim_of(one: SharedHeuristic, ids: dict[str, str]) -> tuple[Any, ...]:
    """The claim of a shared heuristic, with its family as it is called here."""
    return one.kind, one.model, ids.get(one.family, one.family), one.subject, one.condition, one.better


def _as_json(signed: Signed, known_as: str, plan: Plan, doubts: list[str], taken: Import | None) -> dict[str, Any]:
    return {
        "fingerprint": signed.key.fingerprint,
        "known_as": known_as,
        "digest": signed.digest,
        "plan": plan,
        "doubtful": doubts,
        "imported": taken.id if taken else "",
    }


async def _list(console: Console, *, as_json: bool) -> None:
    async with opened(console) as app:
        found = await Imports(app.store.database).all()
    if as_json:
        print_json(found)
    elif not found:
        console.note("no bundle was taken in yet; `hermes learning import FILE` does")
    else:
        console.table(("id", "when", "heuristics", "rates", "state", "signed by"), [_listed(one) for one in found])


def _listed(one: Import) -> tuple[str, ...]:
    state = "in" if one.undone_at is None else f"undone {ago(one.undone_at)}"
    written = one.written
    return (one.id, ago(one.at), str(len(written.heuristics)), str(len(written.priors)), state, one.fingerprint)


async def _undo(console: Console, part: str, *, as_json: bool) -> None:
    async with opened(console) as app:
        undone: Undone = await Imports(app.store.database).undo(part, time.time(), give_up)
    if as_json:
        print_json(undone)
        return
    console.note(f"import {undone.id} is taken back: {len(undone.removed)} candidates removed", "green")
    if undone.retired:
        console.note(f"retired, because runs were advised by them: {', '.join(undone.retired)}")
    if undone.kept:
        console.note(f"kept, because another import brought them too: {', '.join(undone.kept)}")

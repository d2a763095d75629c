"""`hermes skills install`: a skill from a git repository or a folder, scanned and locked; nothing of it runs."""

from __future__ import annotations

import asyncio

import click

from ....safety.scan import Verdict
from ....skills.screening import refuse_blocked
from ..console import Console, print_json
from ..options import json_option, yes_option
from .hub import agreed, offer_as_json, open_hub, show_diff, show_offer


@click.command(short_help="Install a skill from a git repository or a folder.")
@click.argument("source", metavar="ADDRESS[#SKILL]")
@click.option("--ref", default="", metavar="REF", help="A branch, a tag or a whole commit id; a commit pins.")
@click.option("--pin", is_flag=True, help="Leave it out of updates.")
@click.option("--accept-flagged", is_flag=True, help="Install it although the scanner remarks on it.")
@click.option("--discard-edits", is_flag=True, help="Replace it although it was edited here; the edit is archived.")
@click.option("--dry-run", is_flag=True, help="Only show what would be installed.")
@yes_option
@json_option
def command(
    source: str,
    ref: str,
    pin: bool,
    accept_flagged: bool,
    discard_edits: bool,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> int:
    """ADDRESS is https://…, ssh://…, file://… or a folder; SKILL is a name or a path in it. Nothing of the skill runs.
    What the scanner blocks is refused; what it flags must be accepted by name, --yes does not."""
    console = Console(quiet=as_json)

    async def work() -> int:
        hub = open_hub()
        offer = await hub.offer(source, ref)
        show_offer(console, offer)
        refuse_blocked(offer.name, offer.screening)
        if offer.before and offer.diff:
            show_diff(console, offer.diff)
        if dry_run:
            if as_json:
                print_json({"installed": False, "offer": offer_as_json(offer)})
            return 0
        flagged = offer.screening.verdict is Verdict.FLAG
        wanted = agreed("Install it although it is flagged?", "--accept-flagged", yes=accept_flagged or not flagged)
        if wanted and offer.before and offer.diff:
            wanted = agreed("Replace the installed version?", "--yes", yes=yes)
        if not wanted:
            console.note("nothing was installed")
            return 1
        pinned = True if pin else None
        locked = await hub.install(offer, accept_flagged=flagged, discard_edits=discard_edits, pinned=pinned)
        if as_json:
            print_json({"installed": True, "offer": offer_as_json(offer), "locked": locked})
        else:
            console.note(
                f"installed {offer.name} {locked.version}; `hermes skills show {offer.name}` shows it", "green"
            )
        return 0

    return asyncio.run(work())
